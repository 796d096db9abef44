"""Local recoding: rows that would be suppressed get higher levels of their own instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.kanonymity.lattice import build_lattice
from veladura.methods.kanonymity.search import walk_lattice
from veladura.methods.kanonymity.tuples import Tuples, group_numbers, group_rows
from veladura.numeric.hierarchies.levels import Levels


def raise_levels(tuples: Tuples, vector: Sequence[int], kept: Mask, k: int) -> tuple[Ints, Mask]:
    """Return the level of every cell, and which tuples are released.

    Rows that are too rare at the chosen levels are taken as a table by themselves: its k-minimal
    generalisation at or above those levels that leaves out at most half of them is applied to
    them, and what it leaves out goes through the same again. Each round settles at least half of
    the rows, so there are few rounds; fewer than k rows can be left at the end, and those go.

    Parameters
    ----------
    vector
        The levels chosen for all rows.
    kept
        Tuples that are frequent enough at those levels.

    References
    ----------
    Prasser, F., Eicher, J., Spengler, H., Bild, R. and Kuhn, K. A. (2020). Flexible data
    anonymization using ARX. Software: Practice and Experience 50(7), 1277-1304, sec. 4.3.
    """
    heights = np.tile(np.array(vector, dtype=np.int64), (len(kept), 1))
    released = kept.copy()
    floor = [_above(level, height) for level, height in zip(tuples.levels, vector, strict=True)]
    left = np.flatnonzero(~kept)
    while int(tuples.people[left].sum()) >= k:
        chosen = np.array(_best(tuples, floor, left, k)) + np.array(vector)
        heights[left] = chosen
        settled = group_rows(tuples.at(chosen.tolist())[left], tuples.people[left]) >= k
        released[left[settled]] = True
        left = left[~settled]
    return heights, released


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
    lattice = build_lattice(places[first], sizes, [_renumbered(level) for level in floor])
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
