"""Compiled kernels that compare rows with rows: nearest ones, and rows that a description fits.

Arrays in, arrays out; time grows with rows x rows, memory with rows. Categories are whole numbers
and missing is a number far from all others, so that one rule serves every column: the difference,
at most 1. They are in one file because Numba's cache does not notice a change in another.
"""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.jit import compiled, inner

TIE = 1e-12


@inner("float64(float64[::1], float64[::1], float64)")
def _distance(point: Floats, other: Floats, limit: float) -> float:
    """Return the sum over columns of differences, at most 1 each; stop above the limit."""
    total: float = 0.0
    for j in range(point.size):
        total += min(abs(point[j] - other[j]), 1.0)
        if total > limit:
            return total
    return total


@compiled(
    "void(float64[:, ::1], float64[:, ::1], int64[::1], int64[::1], float64[::1], int64[::1],"
    " int64, int64)"
)
def nearest(
    points: Floats,
    others: Floats,
    skip: Ints,
    index: Ints,
    distance: Floats,
    ties: Ints,
    start: int,
    stop: int,
) -> None:
    """Fill in the nearest other row of each point of a range, its distance, and its ties.

    Of ties the first row is taken. ``skip`` is a row of the others that is left out for each point,
    or -1.
    """
    for i in range(start, stop):
        best, first, many = np.inf, -1, 0
        for k in range(others.shape[0]):
            if k == skip[i]:
                continue
            apart = _distance(points[i], others[k], best + TIE)
            if apart < best - TIE:
                best, first, many = apart, k, 1
            elif apart <= best + TIE:
                many += 1
        index[i], distance[i], ties[i] = first, best, many


@compiled("float64[::1](float64[:, ::1], float64[:, ::1])")
def paired(points: Floats, others: Floats) -> Floats:
    """Return the distance of each point from the other row with the same number."""
    distance = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        distance[i] = _distance(points[i], others[i], np.inf)
    return distance


@compiled("int64[::1](float64[:, ::1], float64[:, ::1], boolean[:, ::1], float64)")
def fitting(points: Floats, table: Floats, used: Mask, width: float) -> Ints:
    """Return how many rows of a table each description fits; counting stops at two.

    A description names the values of a point in its used columns, to within a width below 1.
    """
    count = np.zeros(points.shape[0], dtype=np.int64)
    for i in range(points.shape[0]):
        for k in range(table.shape[0]):
            fits = True
            for j in range(table.shape[1]):
                if used[i, j] and abs(points[i, j] - table[k, j]) > width:
                    fits = False
                    break
            if fits:
                count[i] += 1
                if count[i] > 1:
                    break
    return count
