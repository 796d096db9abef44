"""Compiled calibration: means of leaves moved in rounds, donors changed for others.

What kinds and cells are, `cells` says. Kernels that call each other share this file because Numba's
cache does not notice a change in another one.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints
from veladura.numeric.trees.cells import Kinds, Places
from veladura.numeric.trees.regression import ENTRIES, compiled

within = partial(jit.inner, wraparound=False)  # no index is below zero

Held = NDArray[np.int32]

MOST_MOVED = 0.75  # of the donors of one kind that a leaf hands out
RELAX = 1.4  # leaves of one kind do not move: the others move further
ENOUGH = 262_144  # rows that say what leaves allow in the first of two rounds


@within("float64(float64)")
def _most(share: float) -> float:
    return MOST_MOVED * min(share, 1 - share)


@within("void(float64[::1], float64[::1], int64)")
def _limit(moved: Floats, share: Floats, first: int) -> None:
    """Cut what kinds are moved by at what a leaf allows; in sum they are moved by nought."""
    up = down = 0.0
    for c in range(moved.size):
        most = _most(share[first + c])
        moved[c] = min(max(moved[c], -most), most)
        up += max(moved[c], 0.0)
        down += max(-moved[c], 0.0)
    both = min(up, down)
    of_up, of_down = both / max(up, 1e-300), both / max(down, 1e-300)
    for c in range(moved.size):
        moved[c] *= of_up if moved[c] > 0 else of_down


@within("void(int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1])")
def _tables(place: Ints, value: Floats, slopes: Floats, step: Floats) -> None:
    """Write what each code adds to the linear predictors."""
    step[:] = 0.0
    for code in range(len(place)):
        for e in range(ENTRIES):
            if place[code, e] >= 0:
                for c in range(slopes.shape[1]):
                    step[code, c] += slopes[place[code, e], c] * value[code, e]


@within(
    "void(int64[:, ::1], float64[:, ::1], float64[:, :], float64[::1], float64[:, ::1],"
    " float64[:, ::1])"
)
def _regressed(
    place: Ints, value: Floats, root: Floats, total: Floats, sums: Floats, slopes: Floats
) -> None:
    """Write the slopes of residuals, from their sums in all and by code."""
    right = np.zeros(slopes.shape)
    for code in range(len(place)):
        for e in range(ENTRIES):
            if place[code, e] >= 0:
                for c in range(slopes.shape[1]):
                    right[place[code, e], c] += value[code, e] * sums[code, c]
    right[0] += total
    own = np.empty(len(root))
    for c in range(slopes.shape[1]):
        own[:] = 0.0
        for u in range(len(root)):  # row by row of the triangle, as it lies in memory
            much = 0.0
            for t in range(u + 1):
                much += root[u, t] * right[t, c]
            for t in range(u + 1):
                own[t] += root[u, t] * much
        for t in range(len(root)):
            slopes[t, c] = RELAX * own[t]


@compiled(
    "void(int32[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :],"
    " float64[::1], float64[::1], float64[::1], int64[::1], int64[::1], float64[::1], int32[::1],"
    " int32[::1], uint8[::1], float64[::1], int64[::1], float64[:, ::1])"
)
def correct_one(  # noqa: C901  # compiled: one loop over rows
    held: Held,
    place: Ints,
    value: Floats,
    slopes: Floats,
    root: Floats,
    mean: Floats,
    gap: Floats,
    share: Floats,
    first: Ints,
    leaf: Ints,
    uniforms: Floats,
    order: Places,
    begin: Places,
    kind: Kinds,
    most: Floats,
    donors: Ints,
    shift: Floats,
) -> None:
    """Change donors where there is one response: see `correct_several`."""
    rows, features = held.shape
    stride = max(1, rows // ENOUGH)
    first_step, step = np.empty((len(place), 1)), np.empty((len(place), 1))
    sums, total = np.zeros((len(place), 1)), np.zeros(1)
    once, twice = np.empty(slopes.shape), np.empty(slopes.shape)
    _tables(place, value, slopes, step)
    for i in range(rows):
        own = mean[leaf[i]] - slopes[0, 0]
        for f in range(features):
            own -= step[held[i, f], 0]
        total[0] += own
        for f in range(features):
            sums[held[i, f], 0] += own
    _regressed(place, value, root, total, sums, once)
    _tables(place, value, once, first_step)
    for i in range(0, rows, stride):
        much = -once[0, 0]
        for f in range(features):
            much -= first_step[held[i, f], 0]
        limit = most[leaf[i]]
        much = stride * min(max(much, -limit), limit)
        total[0] += much
        for f in range(features):
            sums[held[i, f], 0] += much
    _regressed(place, value, root, total, sums, twice)
    _tables(place, value, twice, step)
    both = np.empty((len(place), 2))
    both[:, 0], both[:, 1] = first_step[:, 0], step[:, 0]
    for i in range(rows):
        here = leaf[i]
        limit = most[here]
        if limit <= 0 and len(shift) == 0:
            continue
        much, more = once[0, 0], twice[0, 0]
        for f in range(features):
            much += both[held[i, f], 0]
            more += both[held[i, f], 1]
        much = min(max(-much, -limit), limit)
        much = min(max(much - more, -limit), limit)
        if len(shift) > 0:
            shift[i, 0] = much
        away = -much if kind[donors[i]] > 0 else much
        if away <= 0:
            continue
        cell = first[here] + kind[donors[i]]
        wanted = uniforms[i] * share[cell] * gap[here] / away
        if wanted < 1:
            other = 2 * first[here] + 1 - cell
            last = begin[other + 1] - 1
            picked = begin[other] + int(wanted * (last + 1 - begin[other]))
            donors[i] = order[min(picked, last)]


@within(
    "void(int32[:, ::1], float64[:, ::1], float64[:, ::1], int64[::1], uint8[::1], float64[::1],"
    " int64[::1], float64[:, ::1], float64[::1])"
)
def _first_round(
    held: Held,
    step: Floats,
    slopes: Floats,
    first: Ints,
    own: Kinds,
    share: Floats,
    leaf: Ints,
    sums: Floats,
    total: Floats,
) -> None:
    """Add what means are moved by to the sums of residuals, from some rows for all."""
    rows, features = held.shape
    stride = max(1, rows // ENOUGH)
    moved = np.empty(slopes.shape[1])
    for i in range(0, rows, stride):
        begin = first[leaf[i]]
        size = first[leaf[i] + 1] - begin
        if size == 1:
            continue
        for c in range(size):
            moved[c] = -slopes[0, own[begin + c]]
        for f in range(features):
            added = step[held[i, f]]
            for c in range(size):
                moved[c] -= added[own[begin + c]]
        _limit(moved[:size], share, begin)
        for c in range(size):
            moved[c] *= stride
            total[own[begin + c]] += moved[c]
        for f in range(features):
            sum_of_code = sums[held[i, f]]
            for c in range(size):
                sum_of_code[own[begin + c]] += moved[c]


@within("int64(float64[::1], int64, float64, int64, int32[::1], int32[::1])")
def _exchanged(
    moved: Floats, size: int, uniform: float, begin: int, order: Places, start: Places
) -> int:
    """Return a donor of a kind that is to be drawn more often."""
    up = 0.0
    for c in range(size):
        up += max(moved[c], 0.0)
    wanted, chosen = uniform * up, -1
    for c in range(size):
        if moved[c] > 0:
            chosen = c
            if wanted < moved[c]:
                break
            wanted -= moved[c]
    first, last = start[begin + chosen], start[begin + chosen + 1] - 1
    picked = first + int(min(wanted / moved[chosen], 1.0) * (last + 1 - first))
    return int(order[min(picked, last)])


@compiled(
    "void(int32[:, ::1], int64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, :],"
    " float64[::1], int64[::1], int64[::1], float64[::1], int32[::1], int32[::1], uint8[::1],"
    " uint8[::1], int64[::1], float64[:, ::1])"
)
def correct_several(  # noqa: C901, PLR0912  # compiled: one loop over rows
    held: Held,
    place: Ints,
    value: Floats,
    slopes: Floats,
    root: Floats,
    share: Floats,
    first: Ints,
    leaf: Ints,
    uniforms: Floats,
    order: Places,
    begins: Places,
    kind: Kinds,
    own: Kinds,
    donors: Ints,
    shift: Floats,
) -> None:
    """Change donors for others of their leaf, so that its means are moved by what is asked.

    Of several responses as much is taken off as is added. Means are moved in two rounds: what
    leaves do not allow in the first is made up for in the second.

    Parameters
    ----------
    held
        By row the codes of its columns, counted through all columns.
    leaf, first
        By row its leaf, and by leaf where its cells begin.
    uniforms
        By row, what decides on its donor: one variate, stretched again for each decision.
    kind, own
        The kind of each donor, and of each cell.
    donors
        By row, as places in the order of the tree; these are changed.
    shift
        By row how far the means are moved, where somebody asks; else without rows.
    """
    rows, features = held.shape
    kinds = slopes.shape[1]
    sums, total = np.zeros((len(place), kinds)), np.zeros(kinds)
    step, rest = np.empty((len(place), kinds)), np.empty(kinds)
    once, twice = np.empty(slopes.shape), np.empty(slopes.shape)
    _tables(place, value, slopes, step)
    for i in range(rows):
        for c in range(kinds):
            rest[c] = -slopes[0, c]
        for cell in range(first[leaf[i]], first[leaf[i] + 1]):
            rest[own[cell]] += share[cell]
        for f in range(features):
            added = step[held[i, f]]
            for c in range(kinds):
                rest[c] -= added[c]
        for c in range(kinds):
            total[c] += rest[c]
        for f in range(features):
            sum_of_code = sums[held[i, f]]
            for c in range(kinds):
                sum_of_code[c] += rest[c]
    _regressed(place, value, root, total, sums, once)
    _tables(place, value, once, step)
    _first_round(held, step, once, first, own, share, leaf, sums, total)
    _regressed(place, value, root, total, sums, twice)
    both = np.empty((len(place), 2 * kinds))
    for c in range(kinds):
        both[:, 2 * c] = step[:, c]
    _tables(place, value, twice, step)
    for c in range(kinds):
        both[:, 2 * c + 1] = step[:, c]
    moved, more = np.empty(kinds), np.empty(kinds)
    for i in range(rows):
        begin = first[leaf[i]]
        size = first[leaf[i] + 1] - begin
        mine = 0
        for c in range(size):
            mine = c if own[begin + c] == kind[donors[i]] else mine
        held_share = share[begin + mine]
        surely = uniforms[i] * held_share >= _most(held_share)  # it stays, whatever is asked
        if size == 1 or (surely and len(shift) == 0):
            continue
        for c in range(size):
            moved[c], more[c] = -once[0, own[begin + c]], -twice[0, own[begin + c]]
        for f in range(features):
            added = both[held[i, f]]
            for c in range(size):
                moved[c] -= added[2 * own[begin + c]]
                more[c] -= added[2 * own[begin + c] + 1]
        _limit(moved[:size], share, begin)
        for c in range(size):
            moved[c] += more[c]
        _limit(moved[:size], share, begin)
        if len(shift) > 0:
            for c in range(size):
                shift[i, own[begin + c]] = moved[c]
        wanted = uniforms[i] * held_share / max(-moved[mine], 1e-300)
        if moved[mine] < 0 and wanted < 1:
            donors[i] = _exchanged(moved, size, wanted, begin, order, begins)
