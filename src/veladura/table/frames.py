"""Frames in and out: what comes back is the caller's own frame with only the changed columns replaced."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.table.schema import Declared


def library_of(frame: object) -> str | None:
    """Return "pandas", "polars" or "pyarrow" for a frame of theirs, without importing any of them."""
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        module = sys.modules.get(library)
        if module is not None and isinstance(frame, getattr(module, kind)):
            return library
    return None


def to_arrow(frame: Any) -> tuple[pa.Table, list[str], dict[str, Declared]]:
    """Return a frame's columns as Arrow (named by position), their names, and the orders its dtypes declare."""
    library = library_of(frame)
    names = [str(name) for name in (frame.column_names if library == "pyarrow" else frame.columns)]
    if library == "pandas":
        arrays = [_pandas_to_arrow(frame.iloc[:, i], name) for i, name in enumerate(names)]
    elif library == "polars":
        arrays = [column.to_arrow() for column in frame.get_columns()]
    else:
        arrays = [column.combine_chunks() for column in frame.columns]
    orders = {}
    for name, array in zip(names, arrays, strict=True):
        if pa.types.is_dictionary(array.type) and array.type.ordered:
            orders[name] = Declared(kind="ordered", order=tuple(str(label) for label in array.dictionary.to_pylist()))
    plain = [_plain(array) for array in arrays]
    return pa.table(plain, names=[f"c{i}" for i in range(len(names))]), names, orders


def _pandas_to_arrow(series: Any, name: str) -> pa.Array:
    try:
        array = pa.Array.from_pandas(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        msg = f"column {name!r} mixes types that cannot stand in one column.\n\nHint: make it all text or all numbers."
        raise DataError(msg) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _plain(array: pa.Array) -> pa.Array:
    """Return a column without dictionary and with the one text type."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        return array.cast(pa.string())
    return array


def restore(frame: Any, arrow: pa.Table, changed: Mapping[str, bool], rows: NDArray[np.int64] | None) -> Any:
    """Return released columns as the caller's kind of frame.

    Parameters
    ----------
    frame
        What the caller handed in; None for a file or database, which gives pandas.
    changed
        The released columns, and whether their values were replaced.
    rows
        Which row of ``frame`` each released row is; None when there is no such link.
    """
    library = library_of(frame) or "pandas"
    if frame is None or rows is None:
        columns = {name: _like(library, arrow.column(name), frame, name) for name in changed}
        return _new_frame(library, columns, arrow)
    whole = len(rows) == len(frame) and bool(np.array_equal(rows, np.arange(len(rows))))
    if library == "pandas":
        return _restore_pandas(frame if whole else frame.iloc[rows], frame, arrow, changed)
    if library == "polars":
        kept = (frame if whole else frame[rows]).select(_polars_column(frame, name) for name in changed)
        replaced = [_like("polars", arrow.column(name), frame, name) if new else _compact_polars(kept[name]) for name, new in changed.items()]
        return kept.with_columns(replaced)
    kept = (frame if whole else frame.take(pa.array(rows))).select(list(changed))
    replaced = [_like("pyarrow", arrow.column(name), frame, name) if new else _compact_arrow(kept.column(name)) for name, new in changed.items()]
    return pa.table(dict(zip(changed, replaced, strict=True)))  # new schema: no metadata of the original


def _polars_column(frame: Any, name: str) -> str:
    return str(name) if name in frame.columns else name


def _restore_pandas(kept: Any, frame: Any, arrow: pa.Table, changed: Mapping[str, bool]) -> Any:
    import pandas as pd

    originals = {str(name): name for name in frame.columns}
    columns = {}
    for name, new in changed.items():
        own = originals[name]
        column = _like("pandas", arrow.column(name), frame, own) if new else kept[own]
        if new:
            column.index = kept.index
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.cat.remove_unused_categories()
        columns[own] = column
    result = pd.DataFrame(columns, index=kept.index, copy=True)
    result.columns = pd.Index([originals[name] for name in changed], dtype=frame.columns.dtype, name=frame.columns.name)
    return result


def _like(library: str, column: pa.ChunkedArray, frame: Any, name: Any) -> Any:
    """Return released values in the dtype the column came in, where they allow it."""
    if library == "pandas":
        return _like_pandas(column, None if frame is None else frame[name].dtype)
    if library == "polars":
        return _like_polars(column, str(name), None if frame is None else frame.schema[name])
    if frame is None or column.type == frame.schema.field(name).type:
        return column
    return _cast_arrow(column, frame.schema.field(name).type)


def _like_pandas(column: pa.ChunkedArray, dtype: Any) -> Any:
    import pandas as pd

    if dtype is None:
        return column.to_pandas()
    if isinstance(dtype, pd.CategoricalDtype):
        used = pd.Index(column.drop_null().unique().to_pylist())
        known = [label for label in dtype.categories if label in used]
        new = sorted(set(used) - set(known))
        # New labels have no place in the old order, so the order is kept only without them.
        return pd.Series(pd.Categorical(column.to_pandas(), categories=[*known, *new], ordered=bool(dtype.ordered) and not new))
    try:
        if hasattr(dtype, "__from_arrow__"):
            return column.to_pandas(types_mapper=lambda _: dtype)
        return column.to_pandas().astype(dtype)
    except (TypeError, ValueError, NotImplementedError, pa.ArrowException):
        return column.to_pandas()


def _like_polars(column: pa.ChunkedArray, name: str, dtype: Any) -> Any:
    import polars as pl

    series = pl.Series(name, pl.from_arrow(column))
    if dtype is None or dtype in (pl.Categorical, pl.Enum):
        return series if dtype is None else _compact_polars(series.cast(pl.Enum(sorted(set(series.drop_nulls().to_list())))), dtype)
    try:
        return series.cast(dtype)
    except pl.exceptions.PolarsError:
        return series


def _compact_polars(series: Any, dtype: Any = None) -> Any:
    """Return a polars column whose dtype names no category that it does not hold."""
    import polars as pl

    wanted = dtype if dtype is not None else series.dtype
    if wanted == pl.Enum:
        used = set(series.cast(pl.String).drop_nulls().to_list())
        known = [label for label in wanted.categories if label in used]
        return series.cast(pl.String).cast(pl.Enum([*known, *sorted(used - set(known))]))
    if wanted == pl.Categorical:
        return series.cast(pl.String).cast(pl.Categorical)
    return series


def _cast_arrow(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    try:
        if pa.types.is_dictionary(type_):
            return column.cast(type_.value_type).dictionary_encode()
        return column.cast(type_)
    except pa.ArrowException:
        return column


def _compact_arrow(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an Arrow column whose dictionary holds only values that occur."""
    if not pa.types.is_dictionary(column.type):
        return column
    return column.cast(column.type.value_type).dictionary_encode()


def _new_frame(library: str, columns: Mapping[str, Any], arrow: pa.Table) -> Any:
    """Return a frame of rows that are linked to no original row."""
    if library == "polars":
        import polars as pl

        return pl.DataFrame(list(columns.values()))
    if library == "pyarrow":
        return pa.table(dict(columns))
    import pandas as pd

    return pd.DataFrame(dict(columns), index=pd.RangeIndex(arrow.num_rows))
