"""Compiled kernels of the intruders: the one person whom an intruder picks for each target.

Arrays in, arrays out. Candidates are sorted by cell (what must be equal) and by the first column
with a window; the kernels share a file because Numba's cache does not notice a change in another.
"""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, inner

EQUAL = 1e-9  # distances that differ by less are the same


@inner("int64(float64[::1], int64, int64, float64, boolean)")
def _first(values: Floats, start: int, end: int, wanted: float, after: bool) -> int:  # noqa: FBT001
    """Return the first place with at least the wanted value; with ``after``, with a larger one."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] < wanted or (after and values[middle] == wanted):
            start = middle + 1
        else:
            end = middle
    return start


@compiled("int64(float64[:, ::1], int64[::1], int64[::1], float64[:, ::1], float64[:, ::1])")
def pairs(values: Floats, starts: Ints, cells: Ints, low: Floats, high: Floats) -> int:
    """Return how many candidates are in the first window of all targets together."""
    total = 0
    for k in range(cells.size):
        start, end = starts[cells[k]], starts[cells[k] + 1]
        begin = _first(values[0], start, end, low[0, k], False)
        total += _first(values[0], start, end, high[0, k], True) - begin
    return total


@compiled(
    "int64[::1](float64[:, ::1], float64[:, ::1], int64[::1], int64[::1], int64[::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)
def pick(  # noqa: C901  # compiled code takes arrays one by one
    values: Floats,
    points: Floats,
    people: Ints,
    starts: Ints,
    cells: Ints,
    low: Floats,
    high: Floats,
    wanted: Floats,
) -> Ints:
    """Return the person whom an intruder picks for each target, -1 where it is not one person.

    Of the candidates in the target's cell and windows those nearest to the wanted point are taken;
    rows of one person count once.

    Parameters
    ----------
    values, points, people
        Of the candidates: the columns with a window, one a row; the columns compared by distance,
        one a column (none where every compatible row is as good); and the person of each.
    starts
        Where the candidates of each cell begin; one more entry for the end.
    cells, low, high, wanted
        Of the targets: their cells, the ends of their windows, and their points.
    """
    picked = np.full(cells.size, -1, dtype=np.int64)
    columns = points.shape[1]
    for k in range(cells.size):
        start, end = starts[cells[k]], starts[cells[k] + 1]
        begin = _first(values[0], start, end, low[0, k], False)
        stop = _first(values[0], start, end, high[0, k], True)
        best = np.inf
        several = False
        for place in range(begin, stop):
            fits = True
            for c in range(1, values.shape[0]):
                if values[c, place] < low[c, k] or values[c, place] > high[c, k]:
                    fits = False
                    break
            if not fits:
                continue
            distance = 0.0
            for c in range(columns):
                distance += min(abs(points[place, c] - wanted[k, c]), 1.0)
                if distance > best + EQUAL:
                    break
            if distance > best + EQUAL:
                continue
            if distance < best - EQUAL:
                best = distance
                picked[k] = people[place]
                several = False
            elif people[place] != picked[k]:
                several = True
                if best <= EQUAL:  # nobody can be nearer
                    break
        if several:
            picked[k] = -1
    return picked
