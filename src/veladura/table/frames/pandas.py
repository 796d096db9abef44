"""pandas frames in and out: index, nullable integers, category order and time zones are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.table.frames.arrow import is_text


def arrays_of(frame: Any) -> list[pa.ChunkedArray]:
    """Return the columns of a pandas frame as Arrow arrays."""
    return [_array_of(frame.iloc[:, i], str(name)) for i, name in enumerate(frame.columns)]


def _array_of(series: Any, name: str) -> pa.ChunkedArray:
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        msg = (
            f"column {name!r} mixes types, or has a type that is not supported.\n\nHint: convert it"
            " to text, numbers or dates."
        )
        raise DataError(msg) from None
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def restore(
    frame: Any, arrow: pa.Table, changed: Mapping[str, bool], rows: NDArray[np.int64] | None
) -> Any:
    """Return released columns as a pandas frame, without ``attrs`` of the original."""
    places = {str(name): i for i, name in enumerate(frame.columns)}
    whole = (
        rows is not None and len(rows) == len(frame) and np.array_equal(rows, np.arange(len(rows)))
    )
    index = (
        pd.RangeIndex(arrow.num_rows)
        if rows is None
        else frame.index
        if whole
        else frame.index[rows]
    )
    columns = {}
    for place, (name, new) in enumerate(changed.items()):
        own = frame.iloc[:, places[name]]
        column = (
            like(arrow.column(name), own.dtype)
            if new or rows is None
            else own
            if whole
            else own.iloc[rows]
        )
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.cat.remove_unused_categories()
        columns[place] = column.array  # by position: names need not be text, nor unique to pandas
    result = pd.DataFrame(columns, index=index, copy=True)
    result.columns = frame.columns[[places[name] for name in changed]]
    return result


def new_frame(arrow: pa.Table) -> Any:
    """Return a pandas frame of a table with columns of its own, or that was no frame."""
    return pd.DataFrame(
        {name: arrow.column(name).to_pandas() for name in arrow.column_names},
        index=pd.RangeIndex(arrow.num_rows),
    )


def ordered(frame: Any, place: int, labels: list[str]) -> Any:
    """Return a frame with one of its columns of text as ordered categories."""
    values = pd.Categorical(frame.iloc[:, place], categories=labels, ordered=True)
    frame.isetitem(place, values)
    return frame


def like(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return released values as a series of the dtype the column came in, where they allow it."""
    if isinstance(dtype, pd.CategoricalDtype):
        return _category(column, dtype)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        return pd.Series(column.to_pylist(), dtype=object)
    if is_text(column.type) and not isinstance(dtype, pd.StringDtype) and not _is_arrow_text(dtype):
        # a generalised number stays text, even where its digits could be parsed
        return column.to_pandas()
    try:
        return _cast(column, dtype)
    except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
        return column.to_pandas()


def _is_arrow_text(dtype: Any) -> bool:
    return isinstance(dtype, pd.ArrowDtype) and is_text(dtype.pyarrow_dtype)


def _cast(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a series of a dtype, or of a wider one where values are too large for it."""
    if isinstance(dtype, pd.ArrowDtype):
        return pd.Series(pd.arrays.ArrowExtensionArray(column.cast(dtype.pyarrow_dtype)))
    kind = getattr(dtype, "kind", "O")
    if kind in "iub":
        return _whole(column, dtype)
    if kind == "f" and isinstance(dtype, np.dtype):
        return column.to_pandas().astype(dtype)
    if hasattr(dtype, "__from_arrow__"):
        return pd.Series(dtype.__from_arrow__(column))
    return column.to_pandas().astype(dtype)


def _whole(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return whole numbers or booleans, nullable where values are missing."""
    nullable = column.null_count > 0 or not isinstance(dtype, np.dtype)
    if dtype.kind == "b":
        return (
            _nullable(column.cast(pa.bool_()), "boolean")
            if nullable
            else column.to_pandas().astype(dtype)
        )
    try:
        narrow = column.cast(pa.from_numpy_dtype(np.dtype(dtype.name.lower())))
    except pa.ArrowInvalid:
        narrow = column.cast(pa.int64())
    plain = str(narrow.type)
    if not nullable:
        return narrow.to_pandas()
    name = plain.replace("uint", "UInt") if plain.startswith("u") else plain.replace("int", "Int")
    return _nullable(narrow, name)


def _nullable(column: pa.ChunkedArray, name: str) -> Any:
    dtype: Any = pd.api.types.pandas_dtype(name)
    return pd.Series(dtype.__from_arrow__(column))


def _category(column: pa.ChunkedArray, dtype: Any) -> Any:
    """Return a categorical of the values that occur: old ones in their order, then new."""
    values = column.to_pandas()
    used = values.dropna().unique()
    kept = dtype.categories[dtype.categories.isin(used)]
    fresh = sorted(set(used) - set(kept), key=lambda label: (str(type(label)), label))
    if not fresh:
        return pd.Series(pd.Categorical(values, categories=kept, ordered=dtype.ordered))
    # New labels have no place in the old order: with them the categorical is not ordered.
    return pd.Series(pd.Categorical(values, categories=[*kept, *fresh], ordered=False))
