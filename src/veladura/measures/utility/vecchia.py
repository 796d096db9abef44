"""The likelihood of a spatial regression with many rows: nearest neighbours stand for all.

Vecchia (1988): the law of each response given all those before it in an order is replaced by that
given its nearest ones among these, which makes the work linear in the rows (as a Gaussian process:
Datta et al. 2016). A random order keeps distant neighbours among the near ones (Guinness 2018).
"""

from __future__ import annotations

import numpy as np
from numba import types

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, inner

NEIGHBOURS = 20
INT, REAL, NONE = types.int64, types.float64, types.void
INTS, FLOATS = types.int64[:, ::1], types.float64[::1]
TABLE, CUBE = types.float64[:, ::1], types.float64[:, :, ::1]


@compiled(NONE(TABLE, INTS))
def nearest_before(points: Floats, near: Ints) -> None:
    """Find the nearest points among those before each one, the nearest first; -1 for none."""
    n, k = near.shape
    best = np.empty(k)
    for i in range(n):
        for a in range(k):
            best[a] = np.inf
            near[i, a] = -1
        for j in range(i):
            across, up = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            distance = across * across + up * up
            if distance < best[k - 1]:
                a = k - 1
                while a > 0 and best[a - 1] > distance:
                    best[a], near[i, a] = best[a - 1], near[i, a - 1]
                    a -= 1
                best[a], near[i, a] = distance, j


@inner(REAL(TABLE, INT, INT))
def _distance(points: Floats, i: int, j: int) -> float:
    across, up = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
    return float(np.sqrt(across * across + up * up))


@inner(REAL(TABLE, FLOATS, TABLE, FLOATS, INT, REAL))
def _regress(
    alike: Floats, own: Floats, root: Floats, weight: Floats, many: int, ratio: float
) -> float:
    """Find the weights of the neighbours of a row, and return its variance given them.

    Cholesky of the neighbours' covariance, then two triangular solves.
    """
    variance = 1.0 + ratio
    for a in range(many):
        for b in range(a + 1):
            total = alike[a, b] if b < a else 1.0 + ratio
            for c in range(b):
                total -= root[a, c] * root[b, c]
            root[a, b] = np.sqrt(max(total, 1e-12)) if a == b else total / root[b, b]
    for a in range(many):
        total = own[a]
        for c in range(a):
            total -= root[a, c] * weight[c]
        weight[a] = total / root[a, a]
        variance -= weight[a] * weight[a]
    for back in range(many):
        a = many - 1 - back
        total = weight[a]
        for c in range(a + 1, many):
            total -= root[c, a] * weight[c]
        weight[a] = total / root[a, a]
    return max(variance, 1e-12)


@inner(NONE(TABLE, INTS, FLOATS, FLOATS, TABLE, INT, INT, REAL))
def _add(
    rows: Floats,
    near: Ints,
    weight: Floats,
    left: Floats,
    product: Floats,
    i: int,
    many: int,
    variance: float,
) -> None:
    """Add the squares of row i less its regression on its neighbours."""
    for p in range(left.size):
        left[p] = rows[i, p]
        for a in range(many):
            left[p] -= weight[a] * rows[near[i, a], p]
    for p in range(left.size):
        for q in range(left.size):
            product[p, q] += left[p] * left[q] / variance


@compiled(NONE(TABLE, INTS, TABLE, REAL, FLOATS, CUBE, FLOATS))
def accumulate(
    points: Floats,
    near: Ints,
    rows: Floats,
    decay: float,
    ratios: Floats,
    products: Floats,
    logs: Floats,
) -> None:
    """Add rows' V^-1 rows (by ratio) to products of 0, and log |V| to logs of 0.

    V = exp(-decay h) + ratio I. Row i less its regression on its neighbours, over its conditional
    standard deviation, is a row of the whitened matrix; rows hold the response and the design.
    """
    n, k = near.shape
    alike, root = np.empty((k, k)), np.empty((k, k))
    own, weight, left = np.empty(k), np.empty(k), np.empty(rows.shape[1])
    for i in range(n):
        many = min(i, k)
        for a in range(many):
            own[a] = np.exp(-decay * _distance(points, i, near[i, a]))
            for b in range(a):
                alike[a, b] = np.exp(-decay * _distance(points, near[i, a], near[i, b]))
        for r in range(ratios.size):
            variance = _regress(alike, own, root, weight, many, ratios[r])
            logs[r] += np.log(variance)
            _add(rows, near, weight, left, products[r], i, many, variance)
