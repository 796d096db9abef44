"""The canonical order of rows: by values, never by their place in the source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.sorting import argsort, ranked

LONGEST = 16  # cells of combined keys for each row
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
    for key in _combined(keys, size):
        if tied.size == 0:
            return order
        rows = order[tied]
        combined = _within(block, key[rows])
        inner = argsort(combined)
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


def _combined(keys: Iterable[NDArray[Any]], size: int) -> Iterator[NDArray[Any]]:
    """Yield keys, whole numbers of short ranges as one: sorting takes longer than counting."""
    combined, cells = None, 1
    for key in keys:
        values = int(key.max()) - int(key.min()) + 1 if size and key.dtype.kind in "iu" else 0
        if not 0 < values <= LONGEST * size:
            if combined is not None:
                yield combined
            yield key
            combined, cells = None, 1
            continue
        if combined is not None and cells * values >= _WIDEST:
            yield combined
            combined, cells = None, 1
        steps = key.astype(np.int64) - int(key.min())
        combined, cells = steps if combined is None else combined * values + steps, cells * values
        if cells > LONGEST * size:
            yield combined
            combined, cells = None, 1
    if combined is not None:
        yield combined


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
    return ranked(values)[1]
