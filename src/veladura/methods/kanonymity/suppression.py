"""Which rows of a node must be suppressed: k and the privacy models, for one or several quasi-identifiers.

Tuples carry, beside the quasi-identifiers, the sensitive columns and whether they stand in the
table or in the population, as columns that are never generalised. So one roll-up merges everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veladura.methods.kanonymity.equivalence_classes import Pairs, Sensitive, View
from veladura.methods.kanonymity.lattice import Lattice
from veladura.methods.kanonymity.presence import DeltaPresence
from veladura.methods.kanonymity.privacy_models import Model

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The combinations of all quasi-identifiers at a node, with their rows, and which of them stay.

    Attributes
    ----------
    keys
        The combinations, packed as the lattice packs them.
    population
        Persons of the population that share each, 0 without one.
    """

    keys: Words = field(repr=False)
    sizes: Ints = field(repr=False)
    kept: Mask = field(repr=False)
    population: Ints = field(repr=False)

    @property
    def suppressed(self) -> int:
        """Rows that must go."""
        return int(self.sizes[~self.kept].sum())

    @property
    def distinct(self) -> int:
        """Combinations that stay."""
        return int(np.count_nonzero(self.kept))


@dataclass(frozen=True, eq=False)
class Judge:
    """Decides nodes of a lattice.

    Parameters
    ----------
    lattice
        Tuples of quasi-identifiers, then sensitive columns, then the origin (0 table, 1
        population).
    sets
        For each quasi-identifier, where its columns stand.
    extra
        Where each sensitive column stands.
    origin
        Where the origin stands; None without a population.
    """

    lattice: Lattice
    sets: tuple[tuple[int, ...], ...]
    k: int
    models: tuple[Model, ...] = ()
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict, repr=False)
    extra: Mapping[str, int] = field(default_factory=dict)
    origin: int | None = None

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Where the columns of all quasi-identifiers stand."""
        return tuple(sorted({c for columns in self.sets for c in columns}))

    def monotone(self, allowed: int) -> bool:
        """Whether a node above a good one is good, if so many rows may be suppressed."""
        return all(
            model.monotone if allowed else model.monotone_unsuppressed for model in self.models
        )

    @property
    def simple(self) -> bool:
        """Whether k for one quasi-identifier is all that is asked."""
        return not self.models and len(self.sets) == 1

    @property
    def smallest(self) -> int:
        """Fewest rows that a group can have."""
        return max([self.k, *(model.smallest for model in self.models)])

    def at(self, vector: Sequence[int]) -> Verdict:
        """Return which combinations stay at a node."""
        full = (*vector, *(0,) * (len(self.lattice.levels) - len(vector)))
        return self.verdict(*self.lattice.groups(full))

    def verdict(self, keys: Words, sizes: Ints) -> Verdict:
        """Return which combinations stay, given the tuples of a node.

        Rows in a failing group of any quasi-identifier go, and groups are counted again, until none
        fails (methods/1: one pass for each would leave groups below k).
        """
        here = self._in_table(keys)
        alive = here.copy()
        groupings = [self._number(keys, columns) for columns in self.sets]
        if self._refused(keys, sizes, groupings):
            alive[:] = False
        changed = True
        while changed:
            changed = False
            for columns, (ids, _) in zip(self.sets, groupings, strict=True):
                failing = self._failing(keys, sizes, ids, columns, alive)[ids] & alive
                if failing.any():
                    alive &= ~failing
                    changed = len(groupings) > 1
        ids, first = groupings[0] if len(groupings) == 1 else self._number(keys, self.columns)
        total = _summed(ids, np.where(here, sizes, 0), first.size)
        kept = _summed(ids, np.where(alive, sizes, 0), first.size) > 0
        population = _summed(ids, np.where(here, 0, sizes), first.size)
        used = total > 0
        return Verdict(
            keys[first[used]] & self._mask(self.columns), total[used], kept[used], population[used]
        )

    def people(self, vector: Sequence[int], columns: Sequence[int]) -> tuple[Words, Ints]:
        """Return the released combinations of some columns at a node, with the population that shares each."""
        verdict = self.at(vector)
        keys, sizes = self.lattice.groups(
            (*vector, *(0,) * (len(self.lattice.levels) - len(vector)))
        )
        both = np.concatenate([verdict.keys[verdict.kept], keys])
        ids, first = self._number(both, columns)
        released = verdict.distinct
        numbers = _summed(
            ids,
            np.concatenate(
                [np.zeros(released, np.int64), np.where(self._in_table(keys), 0, sizes)]
            ),
            first.size,
        )
        shown = first < released
        return both[first[shown]] & self._mask(columns), numbers[shown]

    def suppressed_rows(self, vector: Sequence[int], codes: Sequence[Ints]) -> Mask:
        """Return which rows go, given their codes at a node, one array a column."""
        verdict = self.at(vector)
        rows = np.zeros((codes[0].size, self.lattice.keys.shape[1]), dtype=np.uint64)
        for c, code in zip(self.columns, codes, strict=True):
            word, shift, _ = self.lattice.places[c].tolist()
            rows[:, word] |= code.astype(np.uint64) << np.uint64(shift)
        ids, first = self._number(np.concatenate([verdict.keys, rows]), self.columns)
        kept = np.zeros(first.size, dtype=bool)
        kept[ids[: len(verdict.keys)]] = verdict.kept
        return np.asarray(~kept[ids[len(verdict.keys) :]])

    def _refused(self, keys: Words, sizes: Ints, groupings: Sequence[tuple[Ints, Ints]]) -> bool:
        """Whether a node fails whatever is suppressed."""
        asking = [model for model in self.models if isinstance(model, DeltaPresence)]
        here = self._in_table(keys)
        for ids, first in groupings if asking else ():
            rows, people = (
                _summed(ids, np.where(mask, sizes, 0), first.size) for mask in (here, ~here)
            )
            if any(model.refuses(rows, people) for model in asking):
                return True
        return False

    def _failing(
        self, keys: Words, sizes: Ints, ids: Ints, columns: Sequence[int], alive: Mask
    ) -> Mask:
        """Return which groups have rows that must go."""
        groups = int(ids.max(initial=-1)) + 1
        rows = _summed(ids, np.where(alive, sizes, 0), groups)
        bad = rows < self.k
        if self.models:
            people = _summed(ids, np.where(self._in_table(keys), 0, sizes), groups)
            view = View(
                rows, people, self._paired(keys, sizes, ids, columns, alive), self.sensitive
            )
            for model in self.models:
                bad |= model.fails(view)
        return np.asarray(bad & (rows > 0))

    def _paired(
        self, keys: Words, sizes: Ints, ids: Ints, columns: Sequence[int], alive: Mask
    ) -> Callable[[str], Pairs]:
        """Return what counts the values of a sensitive column in each group."""
        found: dict[str, Pairs] = {}

        def paired(column: str) -> Pairs:
            if column not in found:
                rows = keys[alive]
                which, first = self._number(rows, (*columns, self.extra[column]))
                size = _summed(which, sizes[alive], first.size)
                found[column] = Pairs(
                    ids[alive][first], self._codes(rows[first], self.extra[column]), size
                )
            return found[column]

        return paired

    def _number(self, keys: Words, columns: Sequence[int]) -> tuple[Ints, Ints]:
        """Return the number of each tuple's group by some columns, and the first tuple of each group."""
        from veladura.methods.kanonymity.grouping import number_groups

        ids, first = np.empty(len(keys), dtype=np.int64), np.empty(len(keys), dtype=np.int64)
        found = number_groups(keys, self._mask(columns), ids, first)
        return ids, first[:found]

    def _mask(self, columns: Sequence[int]) -> Words:
        mask = np.zeros(self.lattice.keys.shape[1], dtype=np.uint64)
        for c in columns:
            word, shift, bits = self.lattice.places[c].tolist()
            mask[word] |= np.uint64(bits) << np.uint64(shift)
        return mask

    def _in_table(self, keys: Words) -> Mask:
        return (
            np.ones(len(keys), dtype=bool)
            if self.origin is None
            else self._codes(keys, self.origin) == 0
        )

    def _codes(self, keys: Words, column: int) -> Ints:
        return unpack(self.lattice, keys, column)


def unpack(lattice: Lattice, keys: Words, column: int) -> Ints:
    """Return the codes of one column in packed tuples."""
    word, shift, bits = lattice.places[column].tolist()
    return ((keys[:, word] >> np.uint64(shift)) & np.uint64(bits)).astype(np.int64)


def _summed(ids: Ints, sizes: Ints, groups: int) -> Ints:
    return np.bincount(ids, weights=sizes, minlength=groups).astype(np.int64)
