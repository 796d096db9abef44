"""Give every column of a database the storage of its kind, and count what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any

import ibis
import pyarrow as pa

from veladura.table.database.connection import fetch_one, home_of
from veladura.table.database_errors import without_values
from veladura.table.fields import (
    field_of,
    refuse_empty,
    refuse_fractions,
    refuse_misfits,
    refuse_unclear,
)
from veladura.table.missing_words import present_in_database
from veladura.table.parse import as_date, as_integer, as_number
from veladura.table.schema import LABELLED, Declared, Field, Schema

_LARGEST_WHOLE = 9.2e18


@dataclass(frozen=True)
class Prepared:
    """What was counted while a table was opened.

    Attributes
    ----------
    distinct
        Approximate numbers of distinct values, of Spark's columns.
    """

    rows: int
    distinct: Mapping[str, int] = dataclass_field(default_factory=dict)


def prepare(
    expression: ibis.Table,
    names: Sequence[str],
    declared: Mapping[str, Declared],
    *,
    what: str = "the table",
) -> tuple[ibis.Table, Schema, Prepared]:
    """Return the expression with columns in the storage of their kinds, its schema and figures.

    The columns of the expression are called ``c0``, ``c1``, ...

    Parameters
    ----------
    what
        What the table is called in messages.
    """
    home = home_of(expression).name
    duckdb, spark = home == "duckdb", home == "pyspark"
    columns: dict[str, Any] = {}
    fields: list[Field] = []
    figures: dict[str, Any] = {"rows": expression.count()}
    for i, name in enumerate(names):
        given = declared.get(name, Declared())
        raw = present_in_database(_of_some_type(expression[i]), given.missing)
        field = field_of(name, arrow_type(raw.type()), given)
        typed = _typed(raw, field, given, duckdb=duckdb)
        columns[f"c{i}"] = typed
        fields.append(field)
        if field.order:
            figures[f"c{i}"] = (typed.notnull() & ~typed.isin(field.order)).sum()
        elif _may_misfit(raw, field):
            figures[f"c{i}"] = (raw.notnull() & typed.isnull()).sum()
        if spark:
            refuse_unclear(name, raw.type(), given)
            figures[f"d{i}"] = typed.approx_nunique()
            if field.kind in LABELLED and (raw.type().is_floating() or raw.type().is_decimal()):
                figures[f"f{i}"] = (raw.notnull() & ~_is_whole(_as_float(raw))).sum()
    with without_values(what):
        row = fetch_one(expression, figures)
    rows = int(row.pop("rows"))
    refuse_empty(rows, what)
    counted = {
        letter: {
            fields[int(key[1:])].name: int(count or 0)
            for key, count in row.items()
            if key.startswith(letter)
        }
        for letter in "cdf"
    }
    refuse_fractions(counted["f"])
    refuse_misfits(counted["c"], fields, declared)
    prepared = Prepared(rows, counted["d"])
    return expression.select(**columns), Schema(tuple(fields)), prepared


def arrow_type(dtype: Any) -> pa.DataType | None:
    """Return the Arrow type of an Ibis type; None for types that are not supported."""
    if dtype.is_uuid() or dtype.is_inet() or dtype.is_macaddr():
        return pa.string()
    if dtype.is_decimal():
        return pa.decimal128(38, 9)
    try:
        return None if dtype.is_json() or dtype.is_unknown() else dtype.to_pyarrow()
    except (TypeError, KeyError, NotImplementedError, ibis.common.exceptions.IbisError):
        return None


def _of_some_type(column: Any) -> Any:
    """Return a column of nothing but missing values, which DuckDB gives no type, as text."""
    dtype = column.type()
    untyped = dtype.is_unknown() and str(dtype.raw_type) == '"NULL"'
    return ibis.null("string") if untyped or dtype.is_null() else column


def _may_misfit(raw: Any, field: Field) -> bool:
    dtype = raw.type()
    return bool(
        (dtype.is_string() and field.kind not in LABELLED)
        or (field.kind == "integer" and (dtype.is_floating() or dtype.is_decimal()))
    )


def _typed(raw: Any, field: Field, declared: Declared, *, duckdb: bool) -> Any:
    """Return a column cast to its storage; what does not fit becomes missing and is counted."""
    dtype = raw.type()
    if field.kind in LABELLED:
        return _as_text(raw)
    if dtype.is_null():
        return raw.cast(str(ibis.dtype(field.type)))
    if field.kind == "date":
        return (
            as_date(raw, declared.format, duckdb=duckdb) if dtype.is_string() else _as_moment(raw)
        )
    if dtype.is_boolean():
        return ibis.cases((raw, 1), (~raw, 0)).cast(
            "int64" if field.kind == "integer" else "float64"
        )
    if field.kind == "integer":
        return as_integer(raw, duckdb=duckdb) if dtype.is_string() else _whole(raw)
    return as_number(raw, duckdb=duckdb) + 0.0 if dtype.is_string() else _as_float(raw)


def _as_moment(raw: Any) -> Any:
    """Return dates unchanged, times in microseconds, and times with a zone in UTC."""
    dtype = raw.type()
    if not dtype.is_timestamp():
        return raw
    target = ibis.dtype("timestamp('UTC', 6)" if dtype.timezone else "timestamp(6)")
    return raw if dtype == target else raw.cast(target)


def _as_float(raw: Any) -> Any:
    """Return numbers as floats, NaN as missing and a negative zero as zero.

    A database may keep them apart, and equal values that look different would mark rows.
    """
    number = raw if raw.type().is_float64() else raw.cast("float64")
    if not raw.type().is_floating():
        return number
    number = number + 0.0  # -0.0 + 0.0 is 0.0
    backends, _ = raw._find_backends()  # noqa: SLF001  # see connection.home_of
    name = backends[0].name if backends else "duckdb"
    if name == "sqlite":  # it stores NaN as missing
        return number
    # DuckDB 2.0 believes the statistics of a Parquet file, which leave NaN out, and takes isnan(x)
    # for false where all other values are the same; it has none about exp(x)
    nan = number.exp().isnan() if name == "duckdb" else number.isnan()
    return nan.ifelse(ibis.null("float64"), number)


def _whole(raw: Any) -> Any:
    """Return whole numbers as 64-bit integers; fractions and what is too large become missing."""
    dtype = raw.type()
    if dtype.is_integer() and not dtype.is_uint64():
        return raw if dtype.is_int64() else raw.cast("int64")
    fits = raw.abs() < _LARGEST_WHOLE
    if not dtype.is_uint64():
        fits &= raw == raw.floor()
    return fits.ifelse(raw, ibis.null(dtype)).cast("int64")


def _as_text(raw: Any) -> Any:
    """Return values as the one text that every source gives them."""
    dtype = raw.type()
    if dtype.is_string():
        return raw
    if dtype.is_boolean():
        return ibis.cases((raw, "true"), (~raw, "false"))
    if dtype.is_floating() or dtype.is_decimal():  # 1.0 is "1.0" in one database and "1" in another
        number = _as_float(raw)
        whole = _is_whole(number)
        return whole.ifelse(
            whole.ifelse(number, ibis.null("float64")).cast("int64").cast("string"),
            number.cast("string"),
        )
    return raw.cast("string")


def _is_whole(number: Any) -> Any:
    """Whether a float is a whole number that every database writes with the same digits."""
    return (number.abs() < 1e15) & (number == number.floor())  # noqa: PLR2004
