"""Linear scores as codes: summed, cut into bins and written beside the columns in one pass."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero

Codes = NDArray[np.uint16]

TOGETHER = 64  # rows that are looked up at the same time, so that none waits for another


@compiled(
    "void(uint16[:, ::1], int64[::1], int64[::1], float64[:, ::1], float64[::1], int64[::1],"
    " uint16[:, ::1])"
)
def write_scored(  # noqa: C901, PLR0912  # compiled: one loop over blocks of rows
    bins: Codes,
    features: Ints,
    start: Ints,
    tables: Floats,
    edges: Floats,
    ends: Ints,
    scored: Codes,
) -> None:
    """Write the codes of all rows, and those of their linear scores beside them.

    Parameters
    ----------
    features, start
        The columns that scores are summed over, and where the codes of each begin in ``tables``.
    tables
        By code, what it adds to each score.
    edges, ends
        Between the bins of each score, one after the other, and where those of each end.
    """
    columns, scores = bins.shape[1], tables.shape[1]
    total = np.empty((scores, TOGETHER))
    low = np.empty(TOGETHER, dtype=np.int64)
    for first in range(0, len(bins), TOGETHER):
        size = min(TOGETHER, len(bins) - first)
        for i in range(size):
            for c in range(columns):
                scored[first + i, c] = bins[first + i, c]
        for d in range(scores):
            for i in range(size):
                total[d, i] = 0.0
        for f in range(features.size):
            column, begin, last = features[f], start[f], start[f + 1] - 1
            for i in range(size):
                # the last code of a column is a category that is new to the tree
                code = min(begin + bins[first + i, column], last)
                for d in range(scores):
                    total[d, i] += tables[code, d]
        begin = 0
        for d in range(scores):
            left = ends[d] - begin
            for i in range(size):
                low[i] = begin
            while left > 1:
                half = left >> 1
                for i in range(size):
                    low[i] += half if edges[low[i] + half - 1] < total[d, i] else 0
                left -= half
            for i in range(size):
                above = int(left > 0 and edges[low[i]] < total[d, i])
                scored[first + i, columns + d] = low[i] - begin + above
            begin = ends[d]
