"""Donors of leaves by kind, for calibrated draws.

Kinds are the responses of a regression or, of one response, below and above the mean of the leaf. A
leaf of a few people has few of many kinds: its cells are those that it has.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero

Kinds = NDArray[np.uint8]
Codes = NDArray[np.uint16]
Places = NDArray[np.int32]


@compiled(
    "Tuple((float64[::1], float64[::1]))(float64[::1], int64[::1], int64[::1], int64[::1],"
    " uint8[::1])"
)
def halve(score: Floats, order: Ints, start: Ints, end: Ints, kind: Kinds) -> tuple[Floats, Floats]:
    """Write which donors are above the mean of their leaf; return that mean, and what they add.

    What those above have more than those below is nought where one kind is absent.
    """
    mean, gap = np.zeros(start.size), np.zeros(start.size)
    for leaf in range(start.size):
        rows = end[leaf] - start[leaf]
        total = 0.0
        for j in range(start[leaf], end[leaf]):
            total += score[order[j]]
        mean[leaf] = total / max(rows, 1)
        above, number = 0.0, 0
        for j in range(start[leaf], end[leaf]):
            upper = score[order[j]] > mean[leaf]
            kind[j] = upper
            above += score[order[j]] if upper else 0.0
            number += upper
        if 0 < number < rows:
            gap[leaf] = above / number - (total - above) / (rows - number)
    return mean, gap


@compiled(
    "Tuple((int64[::1], uint8[::1], float64[::1], int32[::1], int32[::1]))(uint8[::1], int64[::1],"
    " int64[::1], int64)"
)
def cells_of(
    kind: Kinds, start: Ints, end: Ints, kinds: int
) -> tuple[Ints, Kinds, Floats, Places, Places]:
    """Return where the cells of each leaf begin; their kinds and shares; donors cell by cell."""
    first, size = np.zeros(start.size + 1, dtype=np.int64), 0
    seen = np.full(kinds, -1, dtype=np.int64)
    for leaf in range(start.size):
        for j in range(start[leaf], end[leaf]):
            if seen[kind[j]] != leaf:
                seen[kind[j]] = leaf
                size += 1
        first[leaf + 1] = size
    own, share = np.empty(size, dtype=np.uint8), np.empty(size)
    begin, order = np.zeros(size + 1, dtype=np.int32), np.empty(kind.size, dtype=np.int32)
    number, place = np.zeros(kinds, dtype=np.int64), 0
    for leaf in range(start.size):
        rows, cell = end[leaf] - start[leaf], first[leaf]
        for j in range(start[leaf], end[leaf]):
            number[kind[j]] += 1
        for k in range(kinds):
            if number[k] > 0:
                own[cell], share[cell] = k, number[k] / rows
                begin[cell] = place
                place, number[k] = place + number[k], place
                cell += 1
        for j in range(start[leaf], end[leaf]):
            order[number[kind[j]]] = j
            number[kind[j]] += 1
        for j in range(first[leaf], cell):
            number[own[j]] = 0
    begin[size] = place
    return first, own, share, order, begin


@compiled("void(uint16[:, ::1], int64[::1], int64[::1], int32[:, ::1])")
def hold(bins: Codes, features: Ints, start: Ints, held: Places) -> None:
    """Write the codes of all rows, counted through all columns."""
    for i in range(len(bins)):
        for f in range(features.size):
            held[i, f] = min(start[f] + bins[i, features[f]], start[f + 1] - 1)
