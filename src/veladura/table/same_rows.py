"""Find rows again by what they hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints


def found_rows(known: pa.Table, rows: pa.Table) -> Ints:
    """Return the place of each row among known rows, -1 for a row that is not there.

    Of rows that hold the same, the first is found at the first place, the second at the second;
    one more than are known is not there.

    Examples
    --------
    >>> known = pa.table({"a": [1, 2, 2], "b": ["x", None, None]})
    >>> found_rows(known, pa.table({"a": [2, 1, 2, 3], "b": [None, "x", None, "x"]})).tolist()
    [1, 0, 2, -1]
    """
    size = known.num_rows
    number = np.zeros(size + rows.num_rows, dtype=np.int64)
    for name in known.column_names:
        both = pa.chunked_array([*known.column(name).chunks, *rows.column(name).chunks])
        codes = both.dictionary_encode(null_encoding="encode").combine_chunks()
        own = codes.indices.to_numpy().astype(np.int64)
        pairs = number * (int(own.max(initial=0)) + 1) + own
        number = np.unique(pairs, return_inverse=True)[1].reshape(-1)  # without gaps: no overflow
    number = number * (number.size + 1) + np.concatenate(
        [_occurrence(number[:size]), _occurrence(number[size:])]
    )
    order = np.argsort(number[:size], kind="stable")
    ordered, wanted = number[:size][order], number[size:]
    if not size:
        return np.full(wanted.size, -1, dtype=np.int64)
    place = np.minimum(np.searchsorted(ordered, wanted), size - 1)
    return np.asarray(np.where(ordered[place] == wanted, order[place], -1), dtype=np.int64)


def _occurrence(number: Ints) -> Ints:
    """Return how many rows before it hold the same as each row."""
    order = np.argsort(number, kind="stable")
    first = np.flatnonzero(np.append(True, np.diff(number[order]) != 0)[: number.size])
    starts = np.repeat(first, np.diff(first, append=number.size))
    before = np.empty(number.size, dtype=np.int64)
    before[order] = np.arange(number.size) - starts
    return before
