"""Records: rows packed into a few words of memory, and how they find their leaves.

Growth and descent both read records: a head of one or two words, then the codes of the predictors,
a byte or two each.
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


def layout_of(levels: Ints, categorical: Mask, head: int) -> tuple[Ints, Ints, int]:
    """Return where codes stand in a record: their bytes, their high bytes, the words of a record.

    A code of one byte has 0 for its high byte.

    Examples
    --------
    >>> at, high, words = layout_of(np.array([256, 256]), np.array([True, False]), head=1)
    >>> at.tolist(), high.tolist(), words
    ([8, 10], [9, 0], 2)
    """
    # a category that is new to the tree has a code of its own, above the others
    size = 1 + (levels + categorical > 256).astype(np.int64)  # noqa: PLR2004
    at = 8 * head + np.cumsum(size) - size
    return at, np.where(size > 1, at + 1, 0), head + -(-int(size.sum()) // 8)


@compiled("void(uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], uint8[:, ::1])")
def pack(
    bins: NDArray[np.uint16], rows: Ints, columns: Ints, at: Ints, high: Ints, codes: Bytes
) -> None:
    """Write the codes of some columns into records."""
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
    """Return 1 for a record that goes to the left child of a node, else 0."""
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
    "void(int64[:, ::1], uint8[:, ::1], int64[:, ::1], uint8[:, ::1], int64[:, ::1],"
    " int64[:, ::1], uint64[::1], int64[::1], int64[::1], int64[::1])"
)
def find_leaves(  # noqa: C901  # compiled: one loop over nodes
    first_records: Ints,
    first_codes: Bytes,
    spare: Ints,
    spare_codes: Bytes,
    layout: Ints,
    nodes: Ints,
    sets: Words,
    stop: Ints,
    roots: Ints,
    leaves: Ints,
) -> None:
    """Write the leaf of each record.

    All records of a node go down together, so that memory is read in order however large the tree.
    Each level is a copy from one memory to the other: those that go left from the front, the others
    from the end, each written to both places of which only one moves on, so that the processor has
    no branch to guess.

    Parameters
    ----------
    first_records
        A record a line: its place in the answer, then codes. ``first_codes`` is the same memory in
        bytes; ``spare`` is as large. Both are written to.
    layout
        For each column the byte of its code, that of the high part (0 for none), its number of
        codes, and whether they are categories.
    stop
        Marks nodes that a pruned tree ends at.
    roots
        Where the records of each root begin and end.
    """
    stack = np.empty((nodes.shape[0] + 1, 4), dtype=np.int64)
    waiting = 0
    for root in range(roots.size - 1):
        stack[waiting, 0] = root
        stack[waiting, 1] = roots[root]
        stack[waiting, 2] = roots[root + 1]
        stack[waiting, 3] = 0
        waiting += 1
    while waiting > 0:
        waiting -= 1
        node, start, end = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        if start == end:
            continue
        aside = stack[waiting, 3]
        records, target = (first_records, spare) if aside == 0 else (spare, first_records)
        codes = first_codes if aside == 0 else spare_codes
        f = nodes[node, 0]
        if f < 0 or stop[node] > 0:
            for i in range(start, end):
                leaves[records[i, 0]] = node
            continue
        child = nodes[node, 2]
        if (nodes[child, 0] < 0 or stop[child] > 0) and (
            nodes[child + 1, 0] < 0 or stop[child + 1] > 0
        ):
            for i in range(start, end):
                goes_left = _goes_left(codes, i, layout, nodes, node, f, sets)
                leaves[records[i, 0]] = child + 1 - goes_left
            continue
        left, right = start, end - 1
        for i in range(start, end):
            goes_left = _goes_left(codes, i, layout, nodes, node, f, sets)
            for k in range(records.shape[1]):
                word = records[i, k]
                target[left, k] = word
                target[right, k] = word
            left += goes_left
            right -= 1 - goes_left
        for side in range(2):
            stack[waiting, 0] = child + side
            stack[waiting, 1] = start if side == 0 else left
            stack[waiting, 2] = left if side == 0 else end
            stack[waiting, 3] = 1 - aside
            waiting += 1
