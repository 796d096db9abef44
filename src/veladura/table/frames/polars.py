"""polars frames in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import DataError


def new_frame(arrow: pa.Table) -> Any:
    """Return a polars frame of a table with columns of its own."""
    return pl.from_arrow(arrow)


def arrays_of(frame: Any) -> list[pa.ChunkedArray]:
    """Return the columns of a polars frame as Arrow arrays; an Enum is an ordered dictionary."""
    return [_array_of(series) for series in frame.get_columns()]


def _array_of(series: Any) -> pa.ChunkedArray:
    try:
        if isinstance(series.dtype, pl.Enum):
            labels = pa.array(series.dtype.categories.to_list(), pa.string())
            indices = series.to_physical().cast(pl.Int32).to_arrow()
            return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, labels, ordered=True)])
        return pa.chunked_array([series.to_arrow()])
    except (pl.exceptions.PolarsError, pa.ArrowException, TypeError, ValueError):
        msg = (
            f"column {series.name!r} has type {series.dtype}, which is not supported.\n\nHint:"
            " leave the column out, or convert it to text, numbers or dates."
        )
        raise DataError(msg) from None


def restore(
    frame: Any, arrow: pa.Table, changed: Mapping[str, bool], rows: NDArray[np.int64] | None
) -> Any:
    """Return released columns as a polars frame."""
    columns = []
    for name, new in changed.items():
        own = frame.get_column(name)
        columns.append(
            like(arrow.column(name), own)
            if new or rows is None
            else _compact(own.gather(rows), own)
        )
    return pl.DataFrame(columns)


def ordered(frame: Any, place: int, labels: list[str]) -> Any:
    """Return a frame with one of its columns of text as an Enum."""
    return frame.with_columns(frame.to_series(place).cast(pl.Enum(labels)))


def like(column: pa.ChunkedArray, own: Any) -> Any:
    """Return released values in the dtype the column came in, where they allow it."""
    series = pl.Series(own.name, pl.from_arrow(column))
    if isinstance(own.dtype, pl.Enum):
        return _compact(series.cast(pl.String), own)
    if series.dtype == own.dtype:
        return series
    labelled = isinstance(own.dtype, pl.Categorical)
    if series.dtype == pl.String and not labelled:
        # a generalised number stays text, even where its digits could be parsed
        return series
    try:
        return series.cast(pl.String).cast(own.dtype) if labelled else series.cast(own.dtype)
    except pl.exceptions.PolarsError:
        return series


def _compact(series: Any, own: Any) -> Any:
    """Return a column whose Enum has only categories that occur: old ones in their order, then new.

    A Categorical needs no such care: its dtype lists no values, and polars writes only those in
    use.
    """
    if not isinstance(own.dtype, pl.Enum):
        return series
    text = series.cast(pl.String)
    used = set(text.drop_nulls().unique().to_list())
    kept = [label for label in own.dtype.categories if label in used]
    return text.cast(pl.Enum([*kept, *sorted(used - set(kept))]))
