"""Codes of rows packed into a few words of memory, as trees read them; how rows find their leaves.

Growth and descent read them: a byte or two for each predictor.
"""

from __future__ import annotations

from functools import partial

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


@inner("int64(uint8[:, ::1], int64, int64, int64)")
def _code(codes: Bytes, i: int, at: int, high: int) -> int:
    """Return the code of a row."""
    return int(codes[i, at]) if high == 0 else int(codes[i, at]) | int(codes[i, high]) << 8


@inner("int64(uint64[::1], int64, int64)")
def _is_in(sets: Words, first: int, code: int) -> int:
    """Return 1 for a code of a set, else 0."""
    return int((sets[first + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1))


@inner("int64(int64, int64, int64, int64)")
def _is_below(code: int, cut: int, missing: int, missing_left: int) -> int:
    """Return 1 for a number that goes left, else 0."""
    return missing_left if code >= missing else int(code <= cut)


@inner(
    "void(uint8[:, ::1], int32[::1], int64, int64, int64[::1], int64[::1], uint64[::1], int64,"
    " int64[::1])"
)
def _end(
    codes: Bytes,
    order: Places,
    start: int,
    end: int,
    column: Ints,
    split: Ints,
    sets: Words,
    child: int,
    leaves: Ints,
) -> None:
    """Write the leaves of rows whose next nodes are leaves."""
    at, high, levels = column[0], column[1], column[2]
    cut, missing_left, first = split[1], split[3], split[4]
    if column[3] > 0:
        for i in range(start, end):
            code = min(_code(codes, order[i], at, high), levels)
            leaves[order[i]] = child + 1 - _is_in(sets, first, code)
    else:
        for i in range(start, end):
            code = _code(codes, order[i], at, high)
            leaves[order[i]] = child + 1 - _is_below(code, cut, levels - 1, missing_left)


@inner(
    "int64(uint8[:, ::1], int32[::1], int32[::1], int64, int64, int64[::1], int64[::1],"
    " uint64[::1])"
)
def _part(
    codes: Bytes,
    order: Places,
    spare: Places,
    start: int,
    end: int,
    column: Ints,
    split: Ints,
    sets: Words,
) -> int:
    """Put rows that go left before the others; return where these begin.

    What a node says is read before its rows are: a compiler that sees rows written cannot know that
    they are not the node, and would read it again for every row.
    """
    at, high, levels = column[0], column[1], column[2]
    cut, missing_left, first = split[1], split[3], split[4]
    left, right = start, 0
    if column[3] > 0:
        for i in range(start, end):
            row = order[i]
            goes_left = _is_in(sets, first, min(_code(codes, row, at, high), levels))
            order[left] = row
            spare[right] = row
            left += goes_left
            right += 1 - goes_left
    else:
        for i in range(start, end):
            row = order[i]
            goes_left = _is_below(_code(codes, row, at, high), cut, levels - 1, missing_left)
            order[left] = row
            spare[right] = row
            left += goes_left
            right += 1 - goes_left
    for i in range(right):
        order[left + i] = spare[i]
    return left


@compiled(
    "void(uint8[:, ::1], int32[::1], int32[::1], int64[:, ::1], int64[:, ::1], uint64[::1],"
    " int64[::1], int64[::1], int64[::1])"
)
def find_leaves(  # compiled: one loop over nodes
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
            _end(codes, order, start, end, layout[f], nodes[node], sets, child, leaves)
            continue
        left = _part(codes, order, spare, start, end, layout[f], nodes[node], sets)
        for side in range(2):
            stack[waiting, 0] = child + side
            stack[waiting, 1] = start if side == 0 else left
            stack[waiting, 2] = left if side == 0 else end
            waiting += 1
