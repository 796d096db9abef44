"""Put a method's result back: columns replaced in memory, or recoded where the data lives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.table.codes import Column
from veladura.table.database.connection import compares_missing
from veladura.table.schema import LABELLED, Field, Kind, Schema, kind_of
from veladura.table.table import Source, Table, from_arrow
from veladura.table.write import row_text

if TYPE_CHECKING:
    import ibis


def replace(table: Table, columns: Mapping[str, Column], rows: NDArray[np.int64]) -> Table:
    """Return the table at some rows with columns replaced; these are in the order of ``rows``."""
    arrow = table.arrow
    whole = rows.size == arrow.num_rows and bool(np.all(rows[1:] > rows[:-1]))
    if not whole:
        unchanged = [name for name in table.names if name not in columns]
        arrow = arrow.select(unchanged).take(pa.array(rows))
    return assembled(table.schema, columns, arrow, table.source)


def fresh(table: Table, columns: Mapping[str, Column]) -> Table:
    """Return a table of new rows, linked to none of the old ones; every column must be given."""
    if absent := [name for name in table.names if name not in columns]:
        msg = f"a table of new rows needs every column; not given: {absent}."
        raise ValueError(msg)
    return assembled(table.schema, columns, None, table.source)


def assembled(
    schema: Schema,
    columns: Mapping[str, Column],
    kept: pa.Table | None,
    source: Source | None = None,
) -> Table:
    """Return a table of replaced columns, and of the others as they are kept."""
    fields = [columns[field.name].field if field.name in columns else field for field in schema]
    arrays = [
        columns[field.name].to_arrow() if field.name in columns else kept.column(field.name)  # type: ignore[union-attr]
        for field in fields
    ]
    types = pa.schema([(field.name, field.type) for field in fields])
    return from_arrow(pa.Table.from_arrays(arrays, schema=types), Schema(tuple(fields)), source)


def recode(table: Table, mapping: Mapping[str, pa.Table], drop: pa.Table | None = None) -> Table:
    """Return the table with values mapped and some classes of rows dropped, as a lazy table.

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
        typed = _typed(pairs, fields[place])
        expression = _map_column(expression, f"c{place}", typed)
        fields[place] = _field(fields[place], typed.column("new").type)
    if drop is not None and drop.num_rows:
        table.schema.check("drop", drop.column_names)
        places = [table.schema.position(name) for name in drop.column_names]
        columns = [drop.column(i).cast(fields[place].type) for i, place in enumerate(places)]
        classes = pa.table(columns, names=[f"d{i}" for i in range(len(places))])
        expression = _drop_classes(expression, classes, [f"c{place}" for place in places])
    recoded = Table(Schema(tuple(fields)), expression, table.source)
    _tell(table, recoded, {name: pairs.column("new") for name, pairs in mapping.items()})
    return recoded


def _tell(table: Table, recoded: Table, new: Mapping[str, Any]) -> None:
    """Tell a recoded table what values its columns can have, as far as nobody need be asked."""
    if table.in_memory:
        return
    labels = {name: _with_type(values) for name, values in new.items()}
    for field in table.schema:
        if field.name in new:
            continue
        if field.name in table.cache.distinct:
            recoded.cache.distinct[field.name] = table.cache.distinct[field.name]
        if field.kind in LABELLED and table.knows_counts([field.name]):
            labels[field.name] = table.counts([field.name]).columns[0].to_arrow()
    recoded.cache.most_rows = table.cache.rows
    recoded.cache.labels.update(
        {
            name: values.drop_null().unique()
            for name, values in labels.items()
            if values.type == pa.string()
        }
    )


def recode_tuples(table: Table, old: pa.Table, new: Mapping[str, tuple[Field, pa.Array]]) -> Table:
    """Return the table with tuples of values mapped by one join, as a lazy table.

    Parameters
    ----------
    old
        Distinct tuples, named by column. Rows with any other tuple are left out, including those
        that were added to the database after it was counted.
    new
        For each column that changes its new description, and its value for every tuple.
    """
    import ibis

    table.schema.check("old", old.column_names)
    table.schema.check("new", new)
    places = [table.schema.position(name) for name in old.column_names]
    olds = {
        f"d{i}": old.column(i).cast(table.schema.fields[place].type)
        for i, place in enumerate(places)
    }
    news = {
        f"n{table.schema.position(name)}": _with_type(values) for name, (_, values) in new.items()
    }
    pairs, expression = ibis.memtable(pa.table({**olds, **news})), table.expression
    own = [_without_negative_zero(expression[f"c{place}"]) for place in places]
    theirs = [_without_negative_zero(pairs[f"d{i}"]) for i in range(len(places))]
    joined = expression.inner_join(pairs, _equal(expression, own, theirs))
    columns = {
        name: joined[f"n{name[1:]}"] if f"n{name[1:]}" in news else joined[name]
        for name in expression.columns
    }
    fields = tuple(new[field.name][0] if field.name in new else field for field in table.schema)
    recoded = Table(Schema(fields), joined.select(**columns).view(), table.source)
    _tell(table, recoded, {name: values for name, (_, values) in new.items()})
    return recoded


def _typed(pairs: pa.Table, field: Field) -> pa.Table:
    """Return pairs whose old values have the column's own type."""
    new = pairs.column("new")
    return pa.table({"old": pairs.column("old").cast(field.type), "new": _with_type(new)})


def _with_type(values: Any) -> Any:
    """Return an Arrow column; one of nulls only becomes text, as databases have no null type."""
    return values.cast(pa.string()) if pa.types.is_null(values.type) else values


def _field(field: Field, type_: pa.DataType) -> Field:
    """Return the description of a recoded column: order and labels of old values are dropped."""
    if type_ == field.type and field.kind not in ("ordered", "category"):
        return field
    same = type_ == field.type and field.kind != "ordered"
    kind: Kind = field.kind if same else (kind_of(type_) or "category")
    return changed(field, type=type_, kind=kind, order=(), labels={})


def _map_column(expression: ibis.Table, place: str, pairs: pa.Table) -> ibis.Table:
    """Join with the pairs on equality, which every database hashes; missing is mapped by itself.

    A column that is given up has one new value, and needs no join.
    """
    import ibis

    if pairs.num_rows and len(pairs.column("new").unique()) == 1 and pairs["new"][0].is_valid:
        alone = ibis.literal(pairs["new"][0].as_py(), type=ibis.memtable(pairs)["new"].type())
        if pairs.column("old").null_count == 0:
            alone = expression[place].isnull().ifelse(ibis.null(alone.type()), alone)
        return expression.mutate(**{place: alone}).view()
    lookup = ibis.memtable(pairs.filter(pc.is_valid(pairs.column("old"))))
    of_missing = pairs.filter(pc.is_null(pairs.column("old"))).column("new")
    joined = expression.left_join(lookup, expression[place] == lookup["old"])
    value: Any = joined["new"]
    if len(of_missing) and of_missing[0].is_valid:
        literal = ibis.literal(of_missing[0].as_py(), type=value.type())
        value = joined[place].isnull().ifelse(literal, value)
    mapped = joined.select(
        **{name: value if name == place else joined[name] for name in expression.columns}
    )
    # a table of its own: Ibis would add the next join to this one, and lose the new values
    return mapped.view()


def _drop_classes(expression: ibis.Table, drop: pa.Table, places: Sequence[str]) -> ibis.Table:
    """Leave out the rows of some classes."""
    import ibis

    classes = ibis.memtable(drop.append_column("hit", pa.array([True] * drop.num_rows)))
    own = [expression[place] for place in places]
    theirs = [classes[f"d{i}"] for i in range(len(places))]
    joined = expression.left_join(classes, _equal(expression, own, theirs))
    return joined.filter(joined["hit"].isnull()).select(*expression.columns)


def _equal(expression: ibis.Table, own: Sequence[Any], theirs: Sequence[Any]) -> list[Any]:
    """Return conditions of equality in which missing equals missing.

    DuckDB and Spark hash such a comparison; in other databases the rows are compared as text.
    """
    if compares_missing(expression):
        return [mine.identical_to(their) for mine, their in zip(own, theirs, strict=True)]
    return [row_text(own) == row_text(theirs)]


def _without_negative_zero(column: Any) -> Any:
    """Return a number without a negative zero: it equals zero, but is written differently."""
    return column + 0.0 if column.type().is_floating() else column
