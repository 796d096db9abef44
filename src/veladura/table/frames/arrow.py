"""pyarrow tables in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def new_frame(arrow: pa.Table) -> pa.Table:
    """Return a table with columns of its own, without metadata."""
    return arrow.replace_schema_metadata(None)


def arrays_of(frame: pa.Table) -> list[pa.ChunkedArray]:
    """Return the columns of a pyarrow table."""
    return list(frame.columns)


def restore(
    frame: pa.Table, arrow: pa.Table, changed: Mapping[str, bool], rows: NDArray[np.int64] | None
) -> pa.Table:
    """Return released columns as a pyarrow table, without any metadata of the original."""
    columns: list[Any] = []
    for name, new in changed.items():
        own = frame.column(frame.schema.get_field_index(name))
        column = (
            like(arrow.column(name), own)
            if new or rows is None
            else _compact(_take(own, rows), own)
        )
        columns.append(column)
    return pa.table(columns, names=list(changed))


def ordered(frame: pa.Table, place: int, labels: list[str]) -> pa.Table:
    """Return a table with one of its columns of text as an ordered dictionary."""
    values = frame.column(place)
    names = pa.array(labels, pa.string())
    codes = pc.index_in(values.cast(pa.string()), value_set=names).combine_chunks()
    column = pa.DictionaryArray.from_arrays(codes, names, ordered=True)
    return frame.set_column(place, frame.column_names[place], column)


def _take(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    if pa.types.is_string_view(column.type):  # Arrow cannot take from a view yet
        return column.cast(pa.string()).take(pa.array(rows)).cast(column.type)
    return column.take(pa.array(rows))


def like(column: pa.ChunkedArray, own: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return released values in the type the column came in, where they allow it."""
    type_ = own.type
    if column.type == type_:
        return column
    try:
        if pa.types.is_dictionary(type_):
            return _dictionary(column.cast(type_.value_type), own)
        if is_text(column.type) and not is_text(type_):
            # a generalised number stays text, even where its digits could be parsed
            return column
        return column.cast(type_, safe=not pa.types.is_floating(type_))
    except pa.ArrowException:
        return column


def _compact(column: pa.ChunkedArray, own: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a kept column whose dictionary holds only values that occur."""
    if not pa.types.is_dictionary(column.type):
        return column
    return _dictionary(column.cast(column.type.value_type), own)


def _dictionary(values: pa.ChunkedArray, own: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values with a dictionary of those that occur: old ones in their order, then new."""
    old = labels_of(own)
    used = values.drop_null().unique()
    kept = old.filter(pc.is_in(old, value_set=used))
    fresh = used.filter(pc.invert(pc.is_in(used, value_set=kept)))
    labels = pa.concat_arrays([kept, fresh.take(pc.sort_indices(fresh))])
    indices = pc.index_in(values, value_set=labels).combine_chunks().cast(own.type.index_type)
    # New labels have no place in the old order: with them the dictionary is not ordered.
    return pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                indices, labels, ordered=own.type.ordered and not len(fresh)
            )
        ]
    )


def labels_of(column: pa.ChunkedArray) -> pa.Array:
    """Return the dictionary of a column, over all its chunks."""
    unified = column.unify_dictionaries()
    return (
        unified.chunk(0).dictionary if unified.num_chunks else pa.array([], column.type.value_type)
    )


def is_text(type_: pa.DataType) -> bool:
    """Whether a type is one of Arrow's text types."""
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
    )
