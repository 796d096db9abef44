"""Put a method's result back: replaced columns in memory, or a lazy recode where the data lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.table.codes import Column
from veladura.table.database.connection import is_duckdb
from veladura.table.schema import Field, Kind, Schema, kind_of
from veladura.table.table import Table, from_arrow
from veladura.table.write import row_text, write_arrow, write_parquet, write_table

__all__ = ["fresh", "recode", "replace", "write_arrow", "write_parquet", "write_table"]


def replace(table: Table, columns: Mapping[str, Column], rows: NDArray[np.int64]) -> Table:
    """Return the table at some rows with columns replaced; new columns are in the order of ``rows``."""
    whole = rows.size == table.arrow.num_rows and bool(
        np.all(rows[1:] > rows[:-1])
    )  # as many as there are, rising: all
    kept = (
        table.arrow
        if whole
        else table.arrow.select([name for name in table.names if name not in columns]).take(
            pa.array(rows)
        )
    )
    return _assemble(table, columns, kept)


def fresh(table: Table, columns: Mapping[str, Column]) -> Table:
    """Return a table of new rows, linked to none of the old ones; every column must be given."""
    if absent := [name for name in table.names if name not in columns]:
        msg = f"a table of new rows needs every column, and these are not given: {absent}."
        raise ValueError(msg)
    return _assemble(table, columns, None)


def _assemble(table: Table, columns: Mapping[str, Column], kept: pa.Table | None) -> Table:
    fields = [
        columns[field.name].field if field.name in columns else field for field in table.schema
    ]
    arrays = [
        columns[field.name].to_arrow() if field.name in columns else kept.column(field.name)  # type: ignore[union-attr]
        for field in fields
    ]
    schema = pa.schema([(field.name, field.type) for field in fields])
    return from_arrow(
        pa.Table.from_arrays(arrays, schema=schema), Schema(tuple(fields)), table.source
    )


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
        pairs = _typed(pairs, fields[place])  # noqa: PLW2901
        expression = _map_column(expression, f"c{place}", pairs)
        fields[place] = _field(fields[place], pairs.column("new").type)
    if drop is not None and drop.num_rows:
        table.schema.check("drop", drop.column_names)
        places = [table.schema.position(name) for name in drop.column_names]
        typed = [drop.column(i).cast(fields[place].type) for i, place in enumerate(places)]
        expression = _drop_classes(
            expression,
            pa.table(typed, names=[f"d{i}" for i in range(len(places))]),
            [f"c{place}" for place in places],
        )
    return Table(Schema(tuple(fields)), expression, table.source)


def _typed(pairs: pa.Table, field: Field) -> pa.Table:
    """Return pairs whose old values have the column's own type, and whose new ones have a type at all."""
    new = pairs.column("new")
    new = new.cast(pa.string()) if pa.types.is_null(new.type) else new
    return pa.table({"old": pairs.column("old").cast(field.type), "new": new})


def _field(field: Field, type_: pa.DataType) -> Field:
    """Return the description of a recoded column: an order or labels of the old values say nothing of new ones."""
    if type_ == field.type and field.kind not in ("ordered", "category"):
        return field
    kind: Kind = (
        field.kind
        if type_ == field.type and field.kind != "ordered"
        else (kind_of(type_) or "category")
    )
    return changed(field, type=type_, kind=kind, order=(), labels={})


def _map_column(expression: ibis.Table, place: str, pairs: pa.Table) -> ibis.Table:
    """Join with the pairs on equality, which every database hashes; missing is mapped by itself."""
    known = pairs.filter(pc.is_valid(pairs.column("old")))
    of_missing = pairs.filter(pc.is_null(pairs.column("old"))).column("new")
    lookup = ibis.memtable(known)
    joined = expression.left_join(lookup, expression[place] == lookup["old"])
    value: Any = joined["new"]
    if len(of_missing) and of_missing[0].is_valid:
        value = (
            joined[place]
            .isnull()
            .ifelse(ibis.literal(of_missing[0].as_py(), type=value.type()), value)
        )
    mapped = joined.select(
        **{name: value if name == place else joined[name] for name in expression.columns}
    )
    return (
        mapped.view()
    )  # a table of its own: Ibis would add the next join to this one, and lose the new values


def _drop_classes(expression: ibis.Table, drop: pa.Table, places: Sequence[str]) -> ibis.Table:
    """Leave out rows of some classes, null-safe; not every database hashes a null-safe comparison, so others compare text."""
    classes = ibis.memtable(drop.append_column("hit", pa.array([True] * drop.num_rows)))
    own, theirs = (
        [expression[place] for place in places],
        [classes[f"d{i}"] for i in range(len(places))],
    )
    if is_duckdb(expression):
        same = [mine.identical_to(their) for mine, their in zip(own, theirs, strict=True)]
    else:
        same = [row_text(own) == row_text(theirs)]
    joined = expression.left_join(classes, same)
    return joined.filter(joined["hit"].isnull()).select(*expression.columns)
