"""Give every column the storage of its kind, and count what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ibis
import pyarrow as pa

from veladura.errors import DataError, PlanError
from veladura.table.dialect import Dialect
from veladura.table.faults import told_without_values
from veladura.table.schema import LABELLED, Declared, Field, Schema, kind_of, storage_of

INTEGER = r"^\s*[+-]?[0-9]+\s*$"
NUMBER = r"^\s*[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?\s*$"
ISO_DATE = "%Y-%m-%d"


@ibis.udf.scalar.builtin
def try_strptime(text: str, format: str) -> ibis.dtype("timestamp"):  # type: ignore[valid-type,empty-body]  # noqa: A002
    """Parse a date where the format fits, as DuckDB does."""


def prepare(
    expression: ibis.Table,
    names: Sequence[str],
    declared: Mapping[str, Declared],
    *,
    dialect: Dialect | None = None,
    keep_types: bool = False,
    what: str = "the table",
) -> tuple[ibis.Table, Schema]:
    """Return the expression with columns ``c0``, ``c1``, ... in the storage of their kinds, and its schema.

    Parameters
    ----------
    keep_types
        A frame keeps the types of its category columns (booleans, whole numbers); files and
        databases hold them as text, so that every source gives the same release.
    """
    types = expression.schema().to_pyarrow()
    columns: dict[str, Any] = {}
    fields: list[Field] = []
    misfits: dict[str, Any] = {}
    for i, name in enumerate(names):
        raw = _without_missing_words(expression[i], types.field(i).type, declared.get(name), dialect)
        field = _field(name, types.field(i).type, declared.get(name, Declared()), keep_types=keep_types)
        typed = _typed(raw, types.field(i).type, field, declared.get(name, Declared()), dialect or Dialect())
        columns[f"c{i}"], fields = typed, [*fields, field]
        if not typed.equals(raw) and pa.types.is_string(types.field(i).type) and field.kind not in LABELLED:
            misfits[f"c{i}"] = (raw.notnull() & typed.isnull()).sum()
        elif field.order:
            misfits[f"c{i}"] = (typed.notnull() & ~typed.cast("string").isin(field.order)).sum()
    with told_without_values(what):
        _refuse_misfits(expression.aggregate(**misfits) if misfits else None, fields, declared)
    return expression.select(**columns), Schema(tuple(fields))


def _field(name: str, type_: pa.DataType, declared: Declared, *, keep_types: bool) -> Field:
    """Return the description of one column: what is declared, else what its type suggests."""
    natural = kind_of(type_)
    if natural is None:
        msg = (
            f"column {name!r} holds values of type {type_}, which cannot be released.\n\n"
            "Hint: leave the column out, or turn it into text, numbers or dates."
        )
        raise DataError(msg)
    kind = declared.kind or natural
    if pa.types.is_null(type_):
        type_ = pa.string()
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    storage = type_ if keep_types and kind in (*LABELLED, "date") and kind_of(type_) in ("category", "integer", "date") else storage_of(kind, type_)
    if kind == "date" and pa.types.is_string(type_):
        storage = pa.timestamp("us") if declared.format and "%H" in declared.format else pa.date32()
    return Field(name, kind, storage, declared.role, declared.order, declared.labels)


def _without_missing_words(column: Any, type_: pa.DataType, declared: Declared | None, dialect: Dialect | None) -> Any:
    """Return a text column with the words for missing turned into missing."""
    words = [*(dialect.missing if dialect else ()), *(declared.missing if declared else ())]
    if not words or not pa.types.is_string(type_):
        return column
    return column.isin(words).ifelse(ibis.null("string"), column)


def _typed(raw: Any, type_: pa.DataType, field: Field, declared: Declared, dialect: Dialect) -> Any:
    """Return a column cast to its storage; text that does not fit becomes missing and is counted."""
    target = ibis.dtype(_ibis_name(field.type))
    if pa.types.is_string(type_) and field.kind not in LABELLED:
        text = raw.replace(dialect.decimal, ".") if dialect.decimal != "." and field.kind == "number" else raw
        if field.kind == "date":
            return try_strptime(text, declared.format or ISO_DATE).cast(target)
        pattern = INTEGER if field.kind == "integer" else NUMBER
        return text.re_search(pattern).ifelse(text, ibis.null("string")).try_cast(target)
    return raw if raw.type() == target else raw.cast(target)


def _ibis_name(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        scale = {"s": 0, "ms": 3, "us": 6, "ns": 9}[type_.unit]
        return f"timestamp('{type_.tz}', {scale})" if type_.tz else f"timestamp({scale})"
    return str(ibis.dtype(type_))


def _refuse_misfits(counts: ibis.Table | None, fields: Sequence[Field], declared: Mapping[str, Declared]) -> None:
    if counts is None:
        return
    found = {fields[int(key[1:])].name: int(values[0] or 0) for key, values in counts.to_pyarrow().to_pydict().items()}
    if not (bad := {name: count for name, count in found.items() if count}):
        return
    kinds = {field.name: field.kind for field in fields}
    formats = {name: declared[name].format or ISO_DATE for name in bad if kinds[name] == "date"}
    wanted = ", ".join(f"{name!r}: {kinds[name]}" + (f" {formats[name]}" if name in formats else "") for name in bad)
    msg = (
        f"values that do not fit the declared kind, by column: {bad}. Declared: {wanted}.\n\n"
        "Hint: declare another kind, order or date format, add the word for missing, or mend the source."
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
