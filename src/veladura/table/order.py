"""The canonical order of rows: by values, never by their place in the source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

_WIDEST = 1 << 62


def canonical_order(keys: Iterable[NDArray[Any]], size: int) -> NDArray[np.int64]:
    """Return the rows sorted by the first key, ties by the next, and so on until none is left.

    Rows that tie in every key keep their order. Keys are taken one by one, so a generator
    computes only those that are needed.

    Examples
    --------
    >>> canonical_order([np.array([2, 1, 2]), np.array([5, 9, 4])], 3).tolist()
    [1, 2, 0]
    """
    order = np.arange(size, dtype=np.int64)
    tied = order.copy()  # places in `order` whose rows still tie
    block = np.zeros(size, dtype=np.int64)  # which tied block each of them is in, ascending
    for key in keys:
        if tied.size == 0:
            return order
        rows = order[tied]
        combined = _within(block, key[rows])
        # Not stable, but several times faster; rows that tie at the end are put in order below.
        inner = np.argsort(combined)
        order[tied], combined = rows[inner], combined[inner]
        starts = np.ones(tied.size, dtype=bool)
        np.not_equal(combined[1:], combined[:-1], out=starts[1:])
        together = ~(starts & np.append(starts[1:], True))
        block = np.cumsum(starts)[together]
        tied = tied[together]
    if tied.size:
        rows = order[tied]
        order[tied] = rows[np.lexsort((rows, block))]
    return order


def _within(block: NDArray[np.int64], values: NDArray[Any]) -> NDArray[Any]:
    """Return one key that sorts by block, then by value."""
    if block.size == 0 or block[0] == block[-1]:
        return values
    if values.dtype.kind == "f":
        values = _ranks(values)
    low, high = int(values.min()), int(values.max())
    if (int(block[-1]) + 1) * (high - low + 1) >= _WIDEST:
        values = _ranks(values)
        low, high = 0, int(values.max())
    combined: NDArray[np.int64] = block * (high - low + 1) + (values.astype(np.int64) - low)
    return combined


def _ranks(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the dense rank of each value."""
    inner = np.argsort(values)
    ordered = values[inner]
    steps = np.zeros(values.size, dtype=np.int64)
    steps[1:] = ordered[1:] != ordered[:-1]
    ranks = np.empty(values.size, dtype=np.int64)
    ranks[inner] = np.cumsum(steps)
    return ranks
