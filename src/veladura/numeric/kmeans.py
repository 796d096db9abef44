"""k-means on plain arrays: one thread, one stream, the same clusters everywhere."""

from __future__ import annotations

import math

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.streams import Streams

ROUNDS = 20


def k_means(matrix: Floats, clusters: int) -> Ints:
    """Return the cluster of each row: Lloyd's algorithm from k-means++ starts, fixed stream.

    Examples
    --------
    >>> place = k_means(np.array([[0.0], [0.1], [5.0], [5.1]]), 2)
    >>> bool(place[0] == place[1] != place[2] == place[3])
    True
    """
    rng = Streams(0)("utility", "clusters")
    double = 2 * matrix
    columns = np.ascontiguousarray(matrix.T)
    centres = _far_apart(rng, matrix, double, clusters)
    place = np.zeros(len(matrix), dtype=np.int64)
    distance = np.empty((len(matrix), len(centres)))  # squared, without the norm of the row
    for _ in range(ROUNDS):
        before = place
        np.matmul(double, centres.T, out=distance)
        place = np.argmin(np.subtract((centres**2).sum(axis=1), distance, out=distance), axis=1)
        if np.array_equal(place, before):
            break
        size = np.bincount(place, minlength=len(centres))
        sums = np.column_stack(
            [np.bincount(place, weights=column, minlength=len(centres)) for column in columns]
        )
        centres = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres)
    return place


def _far_apart(rng: np.random.Generator, matrix: Floats, double: Floats, clusters: int) -> Floats:
    """Return the first centres by k-means++ (Arthur and Vassilvitskii 2007).

    Each is a row drawn in proportion to its squared distance from those before.
    """
    norms = (matrix**2).sum(axis=1)
    chosen = [int(rng.integers(len(matrix)))]
    nearest = np.full(len(matrix), math.inf)
    for _ in range(clusters - 1):
        last = matrix[chosen[-1]]
        nearest = np.minimum(nearest, np.maximum(norms - double @ last + last @ last, 0.0))
        total = nearest.sum()
        if total <= 0:
            break
        chosen.append(
            min(int(np.searchsorted(np.cumsum(nearest), rng.random() * total)), len(matrix) - 1)
        )
    return matrix[chosen]
