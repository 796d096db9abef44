"""Which equivalence classes must be suppressed: those that fail k or a privacy model.

Tuples carry, beside the quasi-identifiers, the sensitive columns and their origin (the table or the
population), as columns that are never generalised. So one roll-up merges everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.equivalence_classes import (
    EquivalenceClasses,
    Sensitive,
    ValueCounts,
)
from veladura.methods.kanonymity.lattice import Lattice, Words
from veladura.methods.kanonymity.privacy_models import (
    OF_TABLE,
    DeltaPresence,
    Model,
    column_of,
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """The equivalence classes of a node, and which of them stay.

    Attributes
    ----------
    keys
        The classes, packed as the lattice packs them.
    sizes
        Rows of each.
    kept
        Whether each stays.
    population
        People of the population in each; 0 without a population.
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
        """Equivalence classes that stay."""
        return int(np.count_nonzero(self.kept))


@dataclass(frozen=True, eq=False)
class People:
    """People with several rows.

    Attributes
    ----------
    sizes
        People of each tuple of quasi-identifiers.
    most
        Most rows of one person.
    add_up
        Whether everyone has one tuple: then the people of several tuples add up.
    """

    sizes: Ints = field(repr=False)
    most: int
    add_up: bool


@dataclass(frozen=True, eq=False)
class Criteria:
    """k and the privacy models, for one or several quasi-identifiers.

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
    person
        Where the person stands, if people have several rows: then every count is of people.
    people
        How many people each tuple has, likewise.
    household
        Where the household stands, if one that has a suppressed member goes as a whole.
    """

    lattice: Lattice
    sets: tuple[tuple[int, ...], ...]
    k: int
    models: Sequence[Model] = ()
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict, repr=False)
    extra: Mapping[str, int] = field(default_factory=dict)
    origin: int | None = None
    person: int | None = None
    people: People | None = None
    household: int | None = None

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
    def only_k(self) -> bool:
        """Whether k for one quasi-identifier is all that is asked."""
        alone = self.person is None and self.household is None
        return not self.models and len(self.sets) == 1 and alone

    @property
    def only_people(self) -> bool:
        """Whether k people of one quasi-identifier are all that is asked, and people add up."""
        add_up = self.people is not None and self.people.add_up
        return add_up and not self.models and len(self.sets) == 1 and self.household is None

    def of_k(self, lattice: Lattice) -> Criteria:
        """Return what asks for k alone; ``lattice`` holds the quasi-identifiers alone.

        Where rows get levels of their own, those of all rows are chosen by it: a class that fails a
        model costs no row.
        """
        if self.person is None and self.household is None:
            return Criteria(lattice, self.sets, self.k)
        return replace(self, models=())

    @property
    def smallest(self) -> int:
        """Fewest rows that an equivalence class can have."""
        return max([self.k, *(model.smallest for model in self.models)])

    def at(self, vector: Sequence[int]) -> Outcome:
        """Return which equivalence classes stay at a node."""
        return self.outcome(*self.lattice.groups(self._full(vector)))

    def outcome(self, keys: Words, sizes: Ints) -> Outcome:
        """Return which equivalence classes stay, given the tuples of a node.

        Rows in a failing class of any quasi-identifier go, and classes are counted again, until
        none fails: one pass for each quasi-identifier would leave classes below k.
        """
        if self.only_k:
            return Outcome(keys, sizes, sizes >= self.k, np.zeros_like(sizes))
        in_table = self._in_table(keys)
        alive = in_table.copy()
        groupings = [self.lattice.numbered(keys, columns) for columns in self.sets]
        if self._refused(keys, sizes, groupings):
            alive[:] = False
        again = len(groupings) > 1 or any(isinstance(model, OF_TABLE) for model in self.models)
        homes = None
        if self.household is not None:
            homes, again = self.lattice.numbered(keys, (self.household,))[0], True
        changed = True
        while changed:
            changed = False
            for columns, (ids, _) in zip(self.sets, groupings, strict=True):
                failing = self._failing(keys, sizes, ids, columns, alive)[ids] & alive
                if failing.any():
                    alive &= ~(failing if homes is None else np.isin(homes, homes[failing]))
                    changed = again
        if homes is not None:
            return self._by_part(keys, sizes, groupings[0], alive)
        single = len(groupings) == 1
        ids, first = groupings[0] if single else self.lattice.numbered(keys, self.columns)
        total = _summed(ids, np.where(in_table, sizes, 0), first.size)
        kept = _summed(ids, np.where(alive, sizes, 0), first.size) > 0
        population = _summed(ids, np.where(in_table, 0, sizes), first.size)
        used = total > 0
        classes = keys[first[used]] & self.lattice.mask(self.columns)
        return Outcome(classes, total[used], kept[used], population[used])

    def _by_part(
        self, keys: Words, sizes: Ints, grouping: tuple[Ints, Ints], alive: Mask
    ) -> Outcome:
        """Return the classes, each in two parts: the rows that stay, and those that go.

        Of a class that stays some rows may go, with their households.
        """
        ids, first = grouping
        parts = [_summed(ids, np.where(part, sizes, 0), first.size) for part in (alive, ~alive)]
        there = [np.flatnonzero(part) for part in parts]
        classes = keys[first] & self.lattice.mask(self.columns)
        return Outcome(
            np.concatenate([classes[part] for part in there]),
            np.concatenate([part[some] for part, some in zip(parts, there, strict=True)]),
            np.repeat([True, False], [part.size for part in there]),
            np.zeros(there[0].size + there[1].size, dtype=np.int64),
        )

    def population_of(self, vector: Sequence[int], columns: Sequence[int]) -> tuple[Words, Ints]:
        """Return the released combinations of some columns, and the population of each."""
        outcome = self.at(vector)
        keys, sizes = self.lattice.groups(self._full(vector))
        both = np.concatenate([outcome.keys[outcome.kept], keys])
        ids, first = self.lattice.numbered(both, columns)
        released = outcome.distinct
        people = np.where(self._in_table(keys), 0, sizes)
        numbers = _summed(ids, np.concatenate([np.zeros(released, np.int64), people]), first.size)
        shown = first < released
        return both[first[shown]] & self.lattice.mask(columns), numbers[shown]

    def suppressed_tuples(self, vector: Sequence[int], codes: Sequence[Ints]) -> Mask:
        """Return which tuples go, given their codes at a node, one array a column."""
        outcome = self.at(vector)
        classes = len(outcome.keys)
        tuples = self.lattice.packed(codes, self.columns)
        ids, first = self.lattice.numbered(np.concatenate([outcome.keys, tuples]), self.columns)
        kept = np.zeros(first.size, dtype=bool)
        kept[ids[:classes][outcome.kept]] = True
        return np.asarray(~kept[ids[classes:]])

    def _full(self, vector: Sequence[int]) -> tuple[int, ...]:
        """Return the levels of all columns: those that are carried along are never generalised."""
        return (*vector, *(0,) * (len(self.lattice.levels) - len(vector)))

    def _refused(self, keys: Words, sizes: Ints, groupings: Sequence[tuple[Ints, Ints]]) -> bool:
        """Whether a node fails whatever is suppressed."""
        presence = [model for model in self.models if isinstance(model, DeltaPresence)]
        if not presence:
            return False
        in_table = self._in_table(keys)
        for ids, first in groupings:
            rows = _summed(ids, np.where(in_table, sizes, 0), first.size)
            people = _summed(ids, np.where(in_table, 0, sizes), first.size)
            if any(model.refuses(rows, people) for model in presence):
                return True
        return False

    def _failing(
        self, keys: Words, sizes: Ints, ids: Ints, columns: Sequence[int], alive: Mask
    ) -> Mask:
        """Return which equivalence classes have rows that must go."""
        groups = int(ids.max(initial=-1)) + 1
        rows = self._sizes(keys, sizes, ids, columns, alive)
        failing = rows < self.k
        if self.models:
            people = _summed(ids, np.where(self._in_table(keys), 0, sizes), groups)
            counted = self._counted(keys, sizes, ids, columns, alive)
            for model in self.models:
                column, total = column_of(model), rows
                if column is not None and self.person is not None:  # pairs of person and value
                    values = counted(column)
                    total = _summed(values.group, values.size, groups)
                failing |= model.fails(EquivalenceClasses(total, people, counted, self.sensitive))
        return np.asarray(failing & (rows > 0))

    def _sizes(
        self, keys: Words, sizes: Ints, ids: Ints, columns: Sequence[int], alive: Mask
    ) -> Ints:
        """Return the people of each equivalence class; rows, where every row is a person."""
        groups = int(ids.max(initial=-1)) + 1
        if self.person is None:
            return _summed(ids, np.where(alive, sizes, 0), groups)
        _, first = self.lattice.numbered(keys[alive], (*columns, self.person))
        return np.bincount(ids[alive][first], minlength=groups).astype(np.int64)

    def _counted(
        self, keys: Words, sizes: Ints, ids: Ints, columns: Sequence[int], alive: Mask
    ) -> Callable[[str], ValueCounts]:
        """Return what counts the values of a sensitive column in each equivalence class."""
        by_column: dict[str, ValueCounts] = {}

        def counted(column: str) -> ValueCounts:
            if column not in by_column:
                place, rows, of, many = self.extra[column], keys[alive], ids[alive], sizes[alive]
                if self.person is not None:  # every pair of person and value counts once
                    _, pairs = self.lattice.numbered(rows, (*columns, place, self.person))
                    rows, of, many = rows[pairs], of[pairs], np.ones(pairs.size, dtype=np.int64)
                which, first = self.lattice.numbered(rows, (*columns, place))
                size = _summed(which, many, first.size)
                codes = self.lattice.unpacked(rows[first], place)
                by_column[column] = ValueCounts(of[first], codes, size)
            return by_column[column]

        return counted

    def _in_table(self, keys: Words) -> Mask:
        if self.origin is None:
            return np.ones(len(keys), dtype=bool)
        return np.asarray(self.lattice.unpacked(keys, self.origin) == 0)


def _summed(ids: Ints, sizes: Ints, groups: int) -> Ints:
    return np.bincount(ids, weights=sizes, minlength=groups).astype(np.int64)
