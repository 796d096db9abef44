"""Referential integrity on the way in: keys that number rows, and links that lead to one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Ints
from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    from veladura.table.linked import LinkedTable


def refuse_absent(rows: pa.Table, table: LinkedTable, names: Sequence[str]) -> None:
    """Refuse a key or a link that is no column of its table."""
    if several := [name for name in names if not isinstance(name, str)]:
        msg = (
            f"table {table.name!r}: key and link name one column each, got {several[0]!r}.\n\nHint:"
            " put the parts of a key into one column first, in both tables."
        )
        raise PlanError(msg)
    if absent := [name for name in names if name not in rows.column_names]:
        msg = f"table {table.name!r} has no column {absent}; it has {rows.column_names}."
        raise PlanError(msg)


def check_key(rows: pa.Table, table: LinkedTable) -> None:
    """Refuse a key that is missing or not unique."""
    column = rows.column(str(table.key))
    repeated = len(column) - column.null_count - pc.count_distinct(column).as_py()
    if column.null_count or repeated:
        msg = (
            f"the key {table.key!r} of table {table.name!r} is missing in {column.null_count} rows"
            f" and repeated in {repeated}: it numbers no rows.\n\nHint: name a column that has"
            " every value once."
        )
        raise DataError(msg)


def places_above(
    above: pa.Table, rows: pa.Table, column: str, parent: LinkedTable, table: LinkedTable
) -> Ints:
    """Return for every row the place of the one above that it belongs to; refuse orphans."""
    held = above.column(str(parent.key)).combine_chunks()
    place = pc.index_in(_like(rows.column(column), held.type), held)
    if orphans := place.null_count:
        msg = (
            f"{orphans} rows of table {table.name!r} have a {column!r} that table {parent.name!r}"
            " does not have: they belong to nothing.\n\nHint: correct the source, or leave these"
            " rows out."
        )
        raise DataError(msg)
    at: Ints = place.combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    return at


def _like(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return a link as its keys are stored; what cannot be one of them is missing.

    Arrow's own error would show the value.
    """
    try:
        return column.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.chunked_array([[_cast(value, wanted) for value in column]], wanted)


def _cast(value: pa.Scalar, wanted: pa.DataType) -> Any:
    try:
        return value.cast(wanted).as_py()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
