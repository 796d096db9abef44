"""Frames as tables: most columns need a cast only; text to be parsed goes through DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.codes import label_text
from veladura.table.database.connection import fetch_sql, own_connection, registered
from veladura.table.database_errors import without_values
from veladura.table.equal_values import plain_numbers
from veladura.table.fields import field_of, refuse_empty, refuse_misfits
from veladura.table.frames import conversion as frames
from veladura.table.missing_words import present_in_array
from veladura.table.schema import LABELLED, Declared, Field, Schema, kind_of
from veladura.table.table import Source, Table, from_arrow
from veladura.table.text import typed


def from_frame(frame: Any, declared: Mapping[str, Declared], source: Source) -> Table:
    """Return a frame as an in-memory table; the frame itself is kept, and never changed."""
    arrow, names, by_dtype = frames.to_arrow(frame)
    refuse_empty(arrow.num_rows, "the frame")
    full = {name: _merged(declared.get(name), by_dtype.get(name)) for name in names}
    arrays: list[pa.Array] = []
    fields: list[Field] = []
    misfits: dict[str, int] = {}
    for i, name in enumerate(names):
        array, given = present_in_array(arrow.column(i), full[name].missing), full[name]
        field = field_of(name, array.type, given, keep_types=True)
        with without_values(f"column {name!r}"):
            if _needs_parsing(array.type, field):
                array, misfits[name] = _parsed(array, field, given)
            else:
                array, misfits[name] = _cast(array, field)
        misfits[name] += _unlisted(array, field)
        arrays.append(array)
        fields.append(field)
    refuse_misfits(misfits, fields, full)
    schema = pa.schema([(field.name, field.type) for field in fields])
    return from_arrow(
        pa.Table.from_arrays(arrays, schema=schema), Schema(tuple(fields)), source, frame
    )


def _merged(given: Declared | None, by_dtype: Declared | None) -> Declared:
    """Return what the holder declares, completed by what the dtype declares."""
    if given is None or by_dtype is None:
        return given or by_dtype or Declared()
    if given.kind in (None, "ordered") and not given.order:
        return Declared(
            role=given.role,
            kind=given.kind or by_dtype.kind,
            order=by_dtype.order,
            labels=given.labels,
            missing=given.missing,
        )
    return given


def _needs_parsing(type_: pa.DataType, field: Field) -> bool:
    """Whether values must be parsed: text or booleans as numbers, text as dates, and the like."""
    natural = kind_of(type_)
    if field.kind in LABELLED or natural == field.kind:
        return False
    return not (field.kind == "number" and natural == "integer")


def _parsed(column: pa.ChunkedArray, field: Field, given: Declared) -> tuple[pa.ChunkedArray, int]:
    """Return a column parsed as that of a file would be, and how many values do not fit."""
    if not pa.types.is_string(column.type):  # true and false as numbers
        return column.cast(pa.int8()).cast(field.type), 0
    connection = own_connection()
    with registered(connection, pa.table({"c0": column})) as view:
        sql = f"SELECT {typed('c0', field, given)} AS c0 FROM {view}"  # noqa: S608
        parsed = fetch_sql(connection, sql).column(0).cast(field.type)
    return parsed, parsed.null_count - column.null_count


def _cast(column: pa.ChunkedArray, field: Field) -> tuple[pa.ChunkedArray, int]:
    """Return a column in its storage type, and how many values do not fit."""
    if pa.types.is_uint64(column.type) and field.kind == "integer":
        fits = pc.less_equal(column, pa.scalar(np.iinfo(np.int64).max, pa.uint64()))
        misfits = int(pc.sum(pc.invert(fits)).as_py() or 0)
        return pc.if_else(fits, column, pa.scalar(None, pa.uint64())).cast(pa.int64()), misfits
    if column.type != field.type:
        # what is finer than a microsecond is cut off; a column that is kept comes back whole
        finer = pa.types.is_timestamp(column.type) and column.type.unit == "ns"
        column = column.cast(field.type, safe=field.kind != "number" and not finer)
    return plain_numbers(column), 0


def _unlisted(column: pa.ChunkedArray, field: Field) -> int:
    """Return the number of values that a declared order does not name."""
    if not field.order:
        return 0
    counted = column.drop_null().value_counts()
    named = set(field.order)
    return sum(
        pair["counts"] for pair in counted.to_pylist() if label_text(pair["values"]) not in named
    )
