"""Columns of several tables in common codes: equal values have equal codes in all tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints
from veladura.table.codes import Column, label_texts

if TYPE_CHECKING:
    from veladura.table.table import Table

_SMALL = 1 << 22  # a table of this many flags is cheaper than a sort
_FEW_PER_VALUE = 4  # so is one of this many flags for each value


def is_recoded(original: Table, released: Table, name: str) -> bool:
    """Whether a released column has another kind, or categories that the original does not have.

    An intruder who knows a value of the original cannot look it up in such a column.
    """
    before, after = (
        table.column(name) if table.in_memory else table.profile(name).columns[0]
        for table in (original, released)
    )
    if (before.labels is None) != (after.labels is None) or (before.field.kind == "date") != (
        after.field.kind == "date"
    ):
        return True
    return before.labels is not None and not set(label_texts(after)) <= set(label_texts(before))


def common_cells(tables: Sequence[Table], names: Sequence[str]) -> tuple[list[Ints], int]:
    """Return the cell of each row in the cross table of some columns, and the number of cells.

    Missing counts as a value of its own. A column that is of categories in one table and of numbers
    in another is compared as text.
    """
    sizes = [table.rows for table in tables]
    cells, number = np.zeros(sum(sizes), dtype=np.int64), 1
    for name in names:
        codes, levels = common_codes([table.column(name) for table in tables])
        cells, number = dense(cells * levels + codes, number * levels)
    return np.split(cells, np.cumsum(sizes)[:-1]), number


def common_codes(columns: Sequence[Column]) -> tuple[Ints, int]:
    """Return the values of all columns in common codes, and their number; the last is missing."""
    missing = np.concatenate([column.missing for column in columns])
    if all(column.labels is not None for column in columns):
        codes, levels = _labels(columns)
    elif any(column.labels is not None for column in columns):
        codes, levels = ranks(np.concatenate([_texts(column) for column in columns]))
    else:
        codes, levels = ranks(np.concatenate([column.values for column in columns]))
    return np.where(missing, levels, codes), levels + 1


def _labels(columns: Sequence[Column]) -> tuple[Ints, int]:
    """Return codes into the labels of all columns; labels are compared, not rows."""
    texts = [label_texts(column) for column in columns]
    codes = {
        text: code
        for code, text in enumerate(dict.fromkeys(text for part in texts for text in part))
    }
    maps = [np.array([codes[text] for text in part] or [0], dtype=np.int64) for part in texts]
    return np.concatenate(
        [place[column.values] for place, column in zip(maps, columns, strict=True)]
    ), max(len(codes), 1)


def _texts(column: Column) -> NDArray[np.str_]:
    """Return the values of a column as text; where a value is missing the text is arbitrary."""
    if column.labels is None:
        return np.array([str(value) for value in column.to_arrow().to_pylist()], dtype=np.str_)
    labels = np.array(label_texts(column) or [""], dtype=np.str_)
    texts: NDArray[np.str_] = labels[column.values]
    return texts


def ranks(values: NDArray[Any]) -> tuple[Ints, int]:
    """Return the rank of each value among the distinct ones, and their number.

    Examples
    --------
    >>> ranks(np.array([5.0, 2.0, 5.0]))[0].tolist()
    [1, 0, 1]
    """
    if values.dtype.kind in "iu" and values.size:
        low, high = int(values.min()), int(values.max())
        if high - low < _FEW_PER_VALUE * values.size:
            return dense((values - low).astype(np.int64), high - low + 1)
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64), max(int(distinct.size), 1)


def dense(codes: Ints, bound: int) -> tuple[Ints, int]:
    """Return codes below a bound renumbered without gaps, zero-based, and their number."""
    if bound > max(_SMALL, _FEW_PER_VALUE * codes.size):
        return ranks(codes)
    present = np.zeros(bound, dtype=bool)
    present[codes] = True
    return (np.cumsum(present) - 1)[codes], max(int(np.count_nonzero(present)), 1)
