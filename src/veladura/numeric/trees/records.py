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


@inner(
    "int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64, int64, int64, boolean, int64, int64,"
    " int64, uint64[::1], int64[:, ::1])"
)
def _divide(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    at: int,
    high: int,
    levels: int,
    categorical: bool,
    cut: int,
    missing_left: int,
    first: int,
    sets: Words,
    spare: Ints,
) -> int:
    """Move records so that those that go left come first; return where the others begin.

    Each record is written to both sides and only one side moves on: no branch for the processor to
    guess.
    """
    place: Any = start
    aside: Any = 0
    for i in range(start, end):
        code: Any = np.int64(codes[i, at])
        if high > 0:
            code |= np.int64(codes[i, high]) << 8
        if categorical:
            seen: Any = min(code, levels)
            left: Any = np.int64((sets[first + (seen >> 6)] >> np.uint64(seen & 63)) & np.uint64(1))
        else:
            left = missing_left if code >= levels - 1 else np.int64(code <= cut)
        for k in range(records.shape[1]):
            word = records[i, k]
            records[place, k] = word
            spare[aside, k] = word
        place += left
        aside += 1 - left
    for i in range(aside):
        for k in range(records.shape[1]):
            records[place + i, k] = spare[i, k]
    return int(place)


@compiled(
    "int64[::1](int64[:, ::1], uint8[:, ::1], int64[:, ::1], int64[:, ::1], uint64[::1],"
    " int64[::1], int64[::1])"
)
def find_leaves(
    records: Ints, codes: Bytes, layout: Ints, nodes: Ints, sets: Words, stop: Ints, roots: Ints
) -> Ints:
    """Return the leaf of each record.

    All records of a node go down together, so that memory is read in order however large the tree.

    Parameters
    ----------
    records
        A record a line: its place in the answer, then codes; moved about. ``codes`` is the same
        memory in bytes.
    layout
        For each column the byte of its code, that of the high part (0 for none), its number of
        codes, and whether they are categories.
    stop
        Marks nodes that a pruned tree ends at.
    roots
        Where the records of each root begin and end.
    """
    leaves = np.empty(records.shape[0], dtype=np.int64)
    spare = np.empty((records.shape[0], records.shape[1]), dtype=np.int64)
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
                leaves[records[i, 0]] = node
            continue
        middle = _divide(
            records,
            codes,
            start,
            end,
            layout[f, 0],
            layout[f, 1],
            layout[f, 2],
            layout[f, 3] > 0,
            nodes[node, 1],
            nodes[node, 3],
            nodes[node, 4],
            sets,
            spare,
        )
        for side in range(2):
            stack[waiting, 0] = nodes[node, 2] + side
            stack[waiting, 1] = start if side == 0 else middle
            stack[waiting, 2] = middle if side == 0 else end
            waiting += 1
    return leaves
