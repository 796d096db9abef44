"""Local recoding: rows that would be suppressed get higher levels of their own instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.lattice import build_lattice
from veladura.methods.kanonymity.privacy_models import LDiversity
from veladura.methods.kanonymity.search import walk_lattice
from veladura.methods.kanonymity.suppression import Criteria
from veladura.methods.kanonymity.tuples import Tuples, group_numbers, group_rows
from veladura.numeric.hierarchies.levels import Levels


@dataclass(frozen=True, eq=False)
class Diversity:
    """Different sensitive values that every class must hold, and those that each tuple holds.

    It is safe row by row: rows that join a class never take one of its values away. Of the privacy
    models only distinct l-diversity is like that.
    """

    fewest: int
    holder: Ints = field(repr=False)
    value: Ints = field(repr=False)

    def fails(self, numbers: Ints, members: Ints) -> Mask:
        """Return which classes of some tuples hold too few values, by their number."""
        groups = int(numbers.max()) + 1
        group_of = np.full(int(self.holder.max()) + 1, -1, dtype=np.int64)
        group_of[members] = numbers
        group = group_of[self.holder]
        inside = group >= 0
        held = np.unique(np.column_stack([group[inside], self.value[inside]]), axis=0)
        return np.asarray(np.bincount(held[:, 0], minlength=groups) < self.fewest)


def diversity_of(tuples: Tuples, criteria: Criteria) -> tuple[Diversity, ...]:
    """Return what distinct l-diversity asks of classes, model by model."""
    lattice, columns = criteria.lattice, criteria.columns
    if not criteria.models:
        return ()
    plain = list(tuples.at([0] * len(columns)).T)
    both = np.concatenate([lattice.packed(plain, columns), lattice.keys & lattice.mask(columns)])
    numbers, first = lattice.numbered(both, columns)
    of_tuple = np.zeros(first.size, dtype=np.int64)
    of_tuple[numbers[: len(tuples.sizes)]] = np.arange(len(tuples.sizes))
    holder = of_tuple[numbers[len(tuples.sizes) :]]
    return tuple(
        Diversity(model.l, holder, lattice.unpacked(lattice.keys, criteria.extra[model.column]))
        for model in criteria.models
        if isinstance(model, LDiversity)
    )


def raise_levels(
    tuples: Tuples,
    vector: Sequence[int],
    kept: Mask,
    k: int,
    diversity: Sequence[Diversity] = (),
) -> tuple[Ints, Mask]:
    """Return the level of every cell, and which tuples are released.

    Rows that are too rare at the chosen levels are taken as a table by themselves: its k-minimal
    generalisation at or above those levels that leaves out at most half of them is applied to
    them, and what it leaves out goes through the same again. Each round settles at least half of
    the rows, so there are few rounds; fewer than k rows can be left at the end, and those go.
    Where sensitive values must differ as well, a round must not leave rows that are all alike: it
    asks for ever larger classes until it does not.

    Parameters
    ----------
    vector
        The levels chosen for all rows.
    kept
        Tuples that are frequent enough at those levels.
    diversity
        What is asked of a class besides k.

    References
    ----------
    Prasser, F., Eicher, J., Spengler, H., Bild, R. and Kuhn, K. A. (2020). Flexible data
    anonymization using ARX. Software: Practice and Experience 50(7), 1277-1304, sec. 4.3.
    """
    heights = np.tile(np.array(vector, dtype=np.int64), (len(kept), 1))
    released = kept.copy()
    floor = [_above(level, height) for level, height in zip(tuples.levels, vector, strict=True)]
    left = np.flatnonzero(~kept)
    if not _diverse(left, diversity):  # rare rows that are all alike need others beside them
        left, released = np.arange(len(kept)), np.zeros_like(kept)
    while int(tuples.people[left].sum()) >= k:
        chosen, settled = _one_round(tuples, np.array(vector), floor, left, k, diversity)
        heights[left] = chosen
        released[left[settled]] = True
        left = left[~settled]
        if not settled.any():
            break
    return heights, released


def _one_round(
    tuples: Tuples,
    vector: Ints,
    floor: Sequence[Levels],
    left: Ints,
    k: int,
    diversity: Sequence[Diversity],
) -> tuple[Ints, Mask]:
    """Return the levels of the rows that are left, and which of them are settled by them."""
    people, wanted = int(tuples.people[left].sum()), k
    while wanted <= people:
        chosen = np.array(_best(tuples, floor, left, wanted)) + vector
        settled = _settled(tuples, chosen, left, k, diversity)
        if settled.any() and _diverse(left[~settled], diversity):
            return chosen, settled
        wanted = max(min(2 * wanted, people), wanted + 1)
    return tuples.heights, _settled(tuples, tuples.heights, left, k, diversity)


def _diverse(members: Ints, diversity: Sequence[Diversity]) -> bool:
    """Whether some tuples could be one class, or there are none."""
    one = np.zeros(len(members), dtype=np.int64)
    return not len(members) or not any(asked.fails(one, members).any() for asked in diversity)


def _settled(
    tuples: Tuples, vector: Ints, left: Ints, k: int, diversity: Sequence[Diversity]
) -> Mask:
    """Return which of the tuples that are left are in a class that can be released."""
    codes = tuples.at(vector.tolist())[left]
    settled = group_rows(codes, tuples.people[left]) >= k
    numbers = group_numbers(codes)
    for asked in diversity:
        settled &= ~asked.fails(numbers, left)[numbers]
    return np.asarray(settled)


def _above(level: Levels, height: int) -> Levels:
    """Return the part of a hierarchy at and above a level, its codes still those of the values."""
    return replace(
        level, codes=level.codes[height:], labels=level.labels[height:], exact=level.exact[height:]
    )


def _best(tuples: Tuples, floor: Sequence[Levels], left: Ints, k: int) -> tuple[int, ...]:
    """Return the generalisation of the rows left, from the floor up, that keeps most precision."""
    places = np.column_stack(
        [level.codes[0][tuples.places[left, c]] for c, level in enumerate(floor)]
    )
    _, first, numbers = np.unique(group_numbers(places), return_index=True, return_inverse=True)
    sizes = np.bincount(numbers, weights=tuples.people[left]).astype(np.int64)
    lattice = build_lattice(places[first].T, sizes, [_renumbered(level) for level in floor])
    minimal, _ = walk_lattice(lattice, k, int(sizes.sum()) // 2)
    tops = np.maximum(tuples.heights, 1)
    return min(minimal, key=lambda vector: (float(np.sum(np.array(vector) / tops)), vector))


def _renumbered(level: Levels) -> Levels:
    """Return levels whose lowest codes stand for themselves, as if they were the values."""
    first = level.codes[0]
    count = int(first.max()) + 1
    codes = []
    for code in level.codes:
        lifted = np.zeros(count, dtype=np.int64)
        lifted[first] = code
        codes.append(lifted)
    return replace(level, codes=tuple(codes))
