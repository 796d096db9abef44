"""Compiled kernels that compare rows with rows: nearest ones, and rows that a description fits.

Arrays in, arrays out; time grows with rows x rows, memory with rows. They stand in one file because
Numba's cache does not notice a change in another.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
TIE = 1e-12


@njit("float64(float64[::1], float64[::1], boolean[::1], float64)", cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _distance(one: Floats, other: Floats, category: Flags, limit: float) -> float:
    """Return the sum over columns of how far two values are apart, or something above the limit as soon as it is passed."""
    total = 0.0
    for j in range(one.size):
        a, b = one[j], other[j]
        if np.isnan(a) or np.isnan(b):
            total += 0.0 if np.isnan(a) and np.isnan(b) else 1.0
        elif category[j]:
            total += 0.0 if a == b else 1.0
        else:
            total += abs(a - b)
        if total > limit:
            return total
    return total


@njit(
    "void(float64[:, ::1], float64[:, ::1], boolean[::1], int64[::1], int64[::1], float64[::1], int64[::1])",
    cache=True,
    nogil=True,
)  # type: ignore[untyped-decorator]
def nearest(points: Floats, others: Floats, category: Flags, skip: Ints, index: Ints, distance: Floats, ties: Ints) -> None:
    """Fill in, for each point, the first of the nearest other rows, its distance, and how many are as near.

    ``skip`` names a row of the others that is left out for each point, or -1.
    """
    for i in range(points.shape[0]):
        best, first, many = np.inf, -1, 0
        for k in range(others.shape[0]):
            if k == skip[i]:
                continue
            found = _distance(points[i], others[k], category, best + TIE)
            if found < best - TIE:
                best, first, many = found, k, 1
            elif found <= best + TIE:
                many += 1
        index[i], distance[i], ties[i] = first, best, many


@njit("float64[::1](float64[:, ::1], float64[:, ::1], boolean[::1])", cache=True, nogil=True)  # type: ignore[untyped-decorator]
def paired(points: Floats, others: Floats, category: Flags) -> Floats:
    """Return how far each point is from the other row in its place."""
    found = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        found[i] = _distance(points[i], others[i], category, np.inf)
    return found


@njit("int64[::1](float64[:, ::1], float64[:, ::1], boolean[::1], boolean[:, ::1], float64)", cache=True, nogil=True)  # type: ignore[untyped-decorator]
def fitting(points: Floats, table: Floats, category: Flags, used: Flags, width: float) -> Ints:
    """Return how many rows of a table each description fits; counting stops at two.

    A description names the values of a point in its used columns: equal categories, numbers at most ``width`` away.
    """
    found = np.zeros(points.shape[0], dtype=np.int64)
    for i in range(points.shape[0]):
        for k in range(table.shape[0]):
            fits = True
            for j in range(table.shape[1]):
                if not used[i, j]:
                    continue
                a, b = points[i, j], table[k, j]
                if np.isnan(a) or np.isnan(b):
                    fits = np.isnan(a) and np.isnan(b)
                elif category[j]:
                    fits = a == b
                else:
                    fits = abs(a - b) <= width
                if not fits:
                    break
            if fits:
                found[i] += 1
                if found[i] > 1:
                    break
    return found
