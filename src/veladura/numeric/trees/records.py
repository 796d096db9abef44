"""Records as growth and descent take them: a few words in one place, the codes of the predictors a byte or two each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veladura.base.jit import compiled

Ints = NDArray[np.int64]
Codes = NDArray[np.uint16]


def layout_of(levels: Ints, head: int) -> tuple[Ints, Ints, int]:
    """Return the byte of each code in a record, that of its high part (0 for none), and the words of a record.

    Examples
    --------
    >>> [part.tolist() for part in layout_of(np.array([2, 1000, 3]), head=1)[:2]]
    [[8, 9, 11], [0, 10, 0]]
    """
    size = 1 + (levels > 255).astype(  # noqa: PLR2004
        np.int64
    )  # a category never seen has a code of its own, above the others
    at = 8 * head + np.cumsum(size) - size
    return at, np.where(size > 1, at + 1, 0), head + -(-int(size.sum()) // 8)


@compiled("void(uint16[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1], uint8[:, ::1])")
def pack(
    bins: Codes, rows: Ints, columns: Ints, at: Ints, high: Ints, codes: NDArray[np.uint8]
) -> None:
    """Write the codes of some columns into records."""
    for i in range(rows.size):
        row = rows[i]
        for j in range(columns.size):
            code = bins[row, columns[j]]
            codes[i, at[j]] = code & 255
            if high[j] > 0:
                codes[i, high[j]] = code >> 8
