"""Give every column the storage of its kind, and count what does not fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import ibis
import pyarrow as pa

from veladura.errors import DataError, PlanError
from veladura.table.database.connection import fetch_one, is_duckdb
from veladura.table.database_errors import told_without_values
from veladura.table.files.dialect import Dialect
from veladura.table.parse import ISO_DATE, as_date, as_integer, as_number, has_time
from veladura.table.schema import LABELLED, Declared, Field, Kind, Schema, kind_of, storage_of

_LARGEST_WHOLE = 9.2e18


def prepare(
    expression: ibis.Table,
    names: Sequence[str],
    declared: Mapping[str, Declared],
    *,
    dialect: Dialect | None = None,
    verified: Collection[str] = (),
    what: str = "the table",
) -> tuple[ibis.Table, Schema]:
    """Return the expression with columns ``c0``, ``c1``, ... in the storage of their kinds, and its schema.

    Parameters
    ----------
    verified
        Columns whose values were all seen to fit: they are not counted again.
    """
    duckdb = is_duckdb(expression)
    columns: dict[str, Any] = {}
    fields: list[Field] = []
    figures: dict[str, Any] = {"rows": expression.count()}
    for i, name in enumerate(names):
        given = declared.get(name, Declared())
        raw = _without_missing_words(expression[i], given.missing)
        field = field_of(name, arrow_type(raw.type()), given)
        typed = _typed(raw, field, given, (dialect or Dialect()).decimal, duckdb=duckdb)
        columns[f"c{i}"] = typed
        fields.append(field)
        if field.order:
            figures[f"c{i}"] = (typed.notnull() & ~typed.isin(field.order)).sum()
        elif name not in verified and _may_misfit(raw, field):
            figures[f"c{i}"] = (raw.notnull() & typed.isnull()).sum()
    with told_without_values(what):
        found = fetch_one(expression, figures)
    refuse_empty(int(found.pop("rows")), what)
    refuse_misfits(
        {fields[int(key[1:])].name: int(count or 0) for key, count in found.items()},
        fields,
        declared,
    )
    return expression.select(**columns), Schema(tuple(fields))


def arrow_type(dtype: Any) -> pa.DataType | None:
    """Return the Arrow type of an Ibis type; None where it has none we can hold."""
    if dtype.is_uuid() or dtype.is_inet() or dtype.is_macaddr():
        return pa.string()
    if dtype.is_decimal():
        return pa.decimal128(38, 9)
    try:
        return None if dtype.is_json() or dtype.is_unknown() else dtype.to_pyarrow()
    except (TypeError, KeyError, NotImplementedError, ibis.common.exceptions.IbisError):
        return None


def field_of(
    name: str, type_: pa.DataType | None, declared: Declared, *, keep_types: bool = False
) -> Field:
    """Return the description of one column: what is declared, else what its type suggests.

    A frame keeps the types of its category and date columns (booleans, whole numbers, time
    units); files and databases hold them in one type, so that every source gives the same release.
    """
    natural = None if type_ is None else kind_of(type_)
    if type_ is None or natural is None:
        msg = (
            f"column {name!r} holds values of type {type_ or 'unknown'}, which cannot be"
            " released.\n\nHint: leave the column out, or turn it into text, numbers or dates."
        )
        raise DataError(msg)
    kind: Kind = declared.kind or (
        "ordered" if declared.order else "date" if declared.format else natural
    )
    if pa.types.is_null(type_):
        type_ = pa.string()
    text = kind_of(type_) == "category" and not pa.types.is_boolean(type_)
    _refuse_impossible(name, kind, natural, text=text)
    storage = storage_of(kind, type_)
    if kind == "date" and text:
        storage = pa.timestamp("us") if has_time(declared.format) else pa.date32()
    elif keep_types and kind in (*LABELLED, "date"):
        storage = type_
    return Field(name, kind, storage, declared.role, declared.order, declared.labels)


def _refuse_impossible(name: str, kind: Kind, natural: Kind, *, text: bool) -> None:
    """Refuse a date declared as a number and the reverse: no cast means what the holder meant."""
    numbers = ("integer", "number")
    if (kind in numbers and natural == "date") or (
        kind == "date" and natural != "date" and not text
    ):
        msg = (
            f"column {name!r} is declared as {kind} but holds values of kind {natural}.\n\nHint:"
            f" declare it as {natural}, or convert the source."
        )
        raise PlanError(msg)


def _without_missing_words(column: Any, words: Sequence[str]) -> Any:
    """Return a text column with the words for missing turned into missing."""
    if not words or not column.type().is_string():
        return column
    return column.isin(words).ifelse(ibis.null("string"), column)


def _may_misfit(raw: Any, field: Field) -> bool:
    dtype = raw.type()
    return bool(
        (dtype.is_string() and field.kind not in LABELLED)
        or (field.kind == "integer" and (dtype.is_floating() or dtype.is_decimal()))
    )


def _typed(raw: Any, field: Field, declared: Declared, decimal: str, *, duckdb: bool) -> Any:
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
    return as_number(raw, decimal, duckdb=duckdb) if dtype.is_string() else _as_float(raw)


def _as_moment(raw: Any) -> Any:
    """Return a date as it is, a time in microseconds; with a zone, as that of UTC."""
    dtype = raw.type()
    if not dtype.is_timestamp():
        return raw
    target = ibis.dtype("timestamp('UTC', 6)" if dtype.timezone else "timestamp(6)")
    return raw if dtype == target else raw.cast(target)


def _as_float(raw: Any) -> Any:
    """Return numbers as floats. A database may keep NaN apart from missing; both mean that nothing is known."""
    number = raw if raw.type().is_float64() else raw.cast("float64")
    return (
        number.isnan().ifelse(ibis.null("float64"), number)
        if raw.type().is_floating() and _knows_nan(raw)
        else number
    )


def _knows_nan(raw: Any) -> bool:
    backends, _ = raw._find_backends()  # noqa: SLF001  # see connection.home_of
    return not backends or backends[0].name != "sqlite"  # SQLite stores NaN as missing


def _whole(raw: Any) -> Any:
    """Return whole numbers as 64-bit integers; fractions and what is too large become missing."""
    dtype = raw.type()
    if dtype.is_integer() and not dtype.is_uint64():
        return raw if dtype.is_int64() else raw.cast("int64")
    fits = (
        (raw.abs() < _LARGEST_WHOLE)
        if dtype.is_uint64()
        else (raw.abs() < _LARGEST_WHOLE) & (raw == raw.floor())
    )
    return fits.ifelse(raw, ibis.null(dtype)).cast("int64")


def _as_text(raw: Any) -> Any:
    """Return values as the one text that every source gives them."""
    dtype = raw.type()
    if dtype.is_string():
        return raw
    if dtype.is_boolean():
        return ibis.cases((raw, "true"), (~raw, "false"))
    if dtype.is_floating() or dtype.is_decimal():  # 1.0 is "1.0" in one database and "1" in another
        number = raw.cast("float64")
        whole = (number.abs() < 1e15) & (number == number.floor())  # noqa: PLR2004
        return whole.ifelse(
            whole.ifelse(number, ibis.null("float64")).cast("int64").cast("string"),
            number.cast("string"),
        )
    return raw.cast("string")


def refuse_misfits(
    found: Mapping[str, int], fields: Sequence[Field], declared: Mapping[str, Declared]
) -> None:
    """Refuse a table in which values do not fit their declared kinds, told by counts."""
    if not (bad := {name: count for name, count in found.items() if count}):
        return
    kinds = {field.name: field.kind for field in fields}
    formats = {name: declared[name].format or ISO_DATE for name in bad if kinds[name] == "date"}
    wanted = ", ".join(
        f"{name!r}: {kinds[name]}" + (f" {formats[name]}" if name in formats else "")
        for name in bad
    )
    msg = (
        f"values that do not fit the declared kind, by column: {bad}. Declared: {wanted}.\n\nHint:"
        " declare another kind, order or date format, add the word for missing, or mend the"
        " source."
    )
    raise DataError(msg)


def refuse_empty(rows: int, what: str) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        msg = f"{what} has no rows: there is nothing to protect."
        raise DataError(msg)


def check_declared(declared: Mapping[str, Declared], what: str) -> None:
    """Refuse declarations that contradict each other over the table."""
    if len(weights := [name for name, d in declared.items() if d.role == "weight"]) > 1:
        msg = f"{what}: more than one column has the role 'weight': {weights}."
        raise PlanError(msg)
