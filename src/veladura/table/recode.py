"""Put a method's result back: replaced columns in memory, or a lazy recode where the data lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.table.codes import Column
from veladura.table.faults import told_without_values
from veladura.table.schema import Schema
from veladura.table.table import Table, from_arrow


def replace(table: Table, columns: Mapping[str, Column], rows: NDArray[np.int64]) -> Table:
    """Return the table at some rows with columns replaced; new columns are in the order of ``rows``."""
    return _assemble(table, columns, rows)


def fresh(table: Table, columns: Mapping[str, Column]) -> Table:
    """Return a table of new rows, linked to none of the old ones; every column must be given."""
    return _assemble(table, columns, None)


def _assemble(table: Table, columns: Mapping[str, Column], rows: NDArray[np.int64] | None) -> Table:
    arrays, fields = [], []
    for field in table.schema:
        if (column := columns.get(field.name)) is not None:
            array, field = column.to_arrow(), column.field  # noqa: PLW2901
        elif rows is None:
            msg = f"a table of new rows needs every column: {field.name!r} is not given."
            raise ValueError(msg)
        else:
            array = table.arrow.column(field.name).take(pa.array(rows))
        arrays.append(array)
        fields.append(field)
    schema = pa.schema([(field.name, field.type) for field in fields])
    return from_arrow(pa.Table.from_arrays(arrays, schema=schema), Schema(tuple(fields)), table.source)


def recode(table: Table, mapping: Mapping[str, pa.Table], drop: pa.Table | None = None) -> Table:
    """Return the table with values mapped and some classes of rows dropped, as a lazy expression.

    Parameters
    ----------
    mapping
        For each column a table of two columns, ``old`` and ``new``; every value must be in it.
        Missing values are mapped when ``old`` holds one, and stay missing otherwise.
    drop
        Distinct tuples (named by column) of *recoded* values whose rows are left out.
    """
    table.schema.check("mapping", mapping)
    expression, fields = table.expression, list(table.schema)
    for name, pairs in mapping.items():
        place = table.schema.position(name)
        new_type = pairs.column("new").type
        expression = _map_column(expression, f"c{place}", pairs)
        fields[place] = changed(fields[place], type=new_type, kind=fields[place].kind if new_type == fields[place].type else "category")
    if drop is not None and drop.num_rows:
        expression = _drop_classes(expression, drop, [f"c{table.schema.position(name)}" for name in drop.column_names])
    return Table(Schema(tuple(fields)), expression, table.source)


def _map_column(expression: ibis.Table, place: str, pairs: pa.Table) -> ibis.Table:
    """Join with the pairs, null-safe: no CASE per value, whatever the number of values."""
    lookup = ibis.memtable(pairs.select(["old", "new"]))
    joined = expression.left_join(lookup, expression[place].identical_to(lookup["old"]))
    return joined.select(**{name: joined["new"] if name == place else joined[name] for name in expression.columns})


def _drop_classes(expression: ibis.Table, drop: pa.Table, places: Sequence[str]) -> ibis.Table:
    classes = ibis.memtable(drop.rename_columns([f"d{i}" for i in range(drop.num_columns)]))
    same = [expression[place].identical_to(classes[f"d{i}"]) for i, place in enumerate(places)]
    return expression.anti_join(classes, same)


def write_parquet(table: Table, path: Path) -> None:
    """Write a table to one Parquet file inside its database, in an order that says nothing.

    Rows are ordered by a hash of the released row: the order of the source would tell which
    row is whose.
    """
    with told_without_values(table.source.name):
        _hashed_order(table).to_parquet(path)


def write_table(table: Table, name: str, *, overwrite: bool = False) -> None:
    """Write a table as a new table of the database it lives in."""
    with told_without_values(table.source.name):
        table.expression.get_backend().create_table(name, obj=_hashed_order(table), overwrite=overwrite)


def _hashed_order(table: Table) -> ibis.Table:
    expression = table.expression
    text = [expression[place].cast("string").fill_null("\x00") for place in expression.columns]
    digest = ibis.literal("\x1f").join(text).hash()
    named = expression.mutate(order=digest).order_by("order")
    return named.select(**{field.name: named[f"c{i}"] for i, field in enumerate(table.schema)})
