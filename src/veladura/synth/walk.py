"""Compiled descent: how rows find their leaves."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(
    "int64[::1](uint16[:, ::1], int64[::1], boolean[::1], int64[::1], int64[:, ::1], uint64[::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def find_leaves(
    bins: NDArray[np.uint16],
    rows: Ints,
    categorical: NDArray[np.bool_],
    levels: Ints,
    nodes: Ints,
    sets: NDArray[np.uint64],
    root: Ints,
    stop: Ints,
) -> Ints:
    """Return the leaf each record falls into; ``stop`` marks nodes that a pruned tree ends at."""
    leaves = np.empty(rows.size, dtype=np.int64)
    short = np.empty((nodes.shape[0], 5), dtype=np.int32)  # what a step needs, close together in memory
    for node in range(nodes.shape[0]):
        for j in range(5):
            short[node, j] = nodes[node, j]
        if stop[node] > 0:
            short[node, 0] = -1
    for i in range(rows.size):
        node = root[i]
        row = rows[i]
        while short[node, 0] >= 0:
            f = short[node, 0]
            code = int(bins[row, f])
            if categorical[f]:
                seen = min(code, levels[f])
                left = (sets[short[node, 4] + seen // 64] >> np.uint64(seen % 64)) & np.uint64(1) == np.uint64(1)
            elif code >= levels[f] - 1:
                left = short[node, 3] == 1
            else:
                left = code <= short[node, 1]
            node = short[node, 2] if left else short[node, 2] + 1
        leaves[i] = node
    return leaves
