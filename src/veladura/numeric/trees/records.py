"""Codes of rows packed into a few words of memory, as trees read them; how rows find their leaves.

Growth and descent read them: a byte or two for each predictor.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Ints, Mask

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero
inner = partial(jit.inner, wraparound=False)

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Places = NDArray[np.int32]


def layout_of(levels: Ints, categorical: Mask) -> tuple[Ints, Ints, int]:
    """Return where codes stand: their bytes, their high bytes, and the words that they fill.

    A code of one byte has 0 for its high byte.

    Examples
    --------
    >>> at, high, words = layout_of(np.array([256, 256]), np.array([True, False]))
    >>> at.tolist(), high.tolist(), words
    ([0, 2], [1, 0], 1)
    """
    # a category that is new to the tree has a code of its own, above the others
    size = 1 + (levels + categorical > 256).astype(np.int64)  # noqa: PLR2004
    at = np.cumsum(size) - size
    return at, np.where(size > 1, at + 1, 0), -(-int(size.sum()) // 8)


@compiled("void(uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], uint8[:, ::1])")
def pack(
    bins: NDArray[np.uint16], rows: Ints, columns: Ints, at: Ints, high: Ints, codes: Bytes
) -> None:
    """Write the codes of some columns, a line a row."""
    for i in range(rows.size):
        row = rows[i]
        for j in range(columns.size):
            code = bins[row, columns[j]]
            codes[i, at[j]] = code & 255
            if high[j] > 0:
                codes[i, high[j]] = code >> 8


@inner("int64(uint8[:, ::1], int64, int64[:, ::1], int64[:, ::1], int64, int64, uint64[::1])")
def _goes_left(
    codes: Bytes, i: int, layout: Ints, nodes: Ints, node: int, f: int, sets: Words
) -> int:
    """Return 1 for a row that goes to the left child of a node, else 0."""
    code: Any = np.int64(codes[i, layout[f, 0]])
    if layout[f, 1] > 0:
        code |= np.int64(codes[i, layout[f, 1]]) << 8
    if layout[f, 3] > 0:
        seen: Any = min(code, layout[f, 2])
        word = sets[nodes[node, 4] + (seen >> 6)]
        return int((word >> np.uint64(seen & 63)) & np.uint64(1))
    if code >= layout[f, 2] - 1:
        return int(nodes[node, 3])
    return int(code <= nodes[node, 1])


@compiled(
    "void(uint8[:, ::1], int32[::1], int32[::1], int64[:, ::1], int64[:, ::1], uint64[::1],"
    " int64[::1], int64[::1], int64[::1])"
)
def find_leaves(  # noqa: C901  # compiled: one loop over nodes
    codes: Bytes,
    order: Places,
    spare: Places,
    layout: Ints,
    nodes: Ints,
    sets: Words,
    stop: Ints,
    roots: Ints,
    leaves: Ints,
) -> None:
    """Write the leaf of each row.

    All rows of a node go down together, in order, so that memory is read forwards however large the
    tree. Each is written to both sides of which only one moves on, so that the processor has no
    branch to guess.

    Parameters
    ----------
    codes
        Of all rows, a line each.
    order, spare
        The rows, root by root, and memory for as many. Both are written to.
    layout
        For each column the byte of its code, that of the high part (0 for none), its number of
        codes, and whether they are categories.
    stop
        Marks nodes that a pruned tree ends at.
    roots
        Where the rows of each root begin and end.
    """
    stack = np.empty((nodes.shape[0] + 1, 3), dtype=np.int64)
    waiting = 0
    for root in range(roots.size - 1):
        stack[waiting, 0] = root
        stack[waiting, 1] = roots[root]
        stack[waiting, 2] = roots[root + 1]
        waiting += 1
    while waiting > 0:
        waiting -= 1
        node, start, end = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        if start == end:
            continue
        f = nodes[node, 0]
        if f < 0 or stop[node] > 0:
            for i in range(start, end):
                leaves[order[i]] = node
            continue
        child = nodes[node, 2]
        if (nodes[child, 0] < 0 or stop[child] > 0) and (
            nodes[child + 1, 0] < 0 or stop[child + 1] > 0
        ):
            for i in range(start, end):
                goes_left = _goes_left(codes, order[i], layout, nodes, node, f, sets)
                leaves[order[i]] = child + 1 - goes_left
            continue
        left, right = start, 0
        for i in range(start, end):
            row = order[i]
            goes_left = _goes_left(codes, row, layout, nodes, node, f, sets)
            order[left] = row
            spare[right] = row
            left += goes_left
            right += 1 - goes_left
        for i in range(right):
            order[left + i] = spare[i]
        for side in range(2):
            stack[waiting, 0] = child + side
            stack[waiting, 1] = start if side == 0 else left
            stack[waiting, 2] = left if side == 0 else end
            waiting += 1
