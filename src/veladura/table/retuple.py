"""Recode tuples of columns where the data lives: one join with the distinct tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import pyarrow as pa

from veladura.table.database.connection import is_duckdb
from veladura.table.schema import Field, Schema
from veladura.table.table import Table
from veladura.table.write import row_text


def recode_tuples(table: Table, old: pa.Table, new: Mapping[str, tuple[Field, pa.Array]]) -> Table:
    """Return the table with tuples of values mapped, as a lazy expression.

    Parameters
    ----------
    old
        Distinct tuples, named by column. Rows of any other tuple are left out, also such that
        a database took in after it was counted.
    new
        For each column that changes its new description, and its value for every tuple.
    """
    table.schema.check("old", old.column_names)
    table.schema.check("new", new)
    places = [table.schema.position(name) for name in old.column_names]
    olds = {
        f"d{i}": old.column(i).cast(table.schema.fields[place].type)
        for i, place in enumerate(places)
    }
    news = {f"n{table.schema.position(name)}": values for name, (_, values) in new.items()}
    pairs = ibis.memtable(
        pa.table({**olds, **{name: _held(values) for name, values in news.items()}})
    )
    expression = table.expression
    joined = expression.inner_join(pairs, _same(expression, pairs, places))
    columns = {
        name: joined[f"n{name[1:]}"] if f"n{name[1:]}" in news else joined[name]
        for name in expression.columns
    }
    fields = tuple(new[field.name][0] if field.name in new else field for field in table.schema)
    return Table(Schema(fields), joined.select(**columns).view(), table.source)


def _held(values: pa.Array) -> pa.Array:
    return values.cast(pa.string()) if pa.types.is_null(values.type) else values


def _same(expression: ibis.Table, pairs: ibis.Table, places: list[int]) -> list[Any]:
    """Compare null-safe; not every database hashes such a comparison, so others compare text."""
    own = [_plain(expression[f"c{place}"]) for place in places]
    theirs = [_plain(pairs[f"d{i}"]) for i in range(len(places))]
    if is_duckdb(expression):
        return [mine.identical_to(their) for mine, their in zip(own, theirs, strict=True)]
    return [row_text(own) == row_text(theirs)]


def _plain(column: Any) -> Any:
    """Return a number without a negative zero: it equals zero, but is written differently."""
    return column + 0.0 if column.type().is_floating() else column
