"""Describe each column: its kind by declaration or type, and refusals of what does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from veladura.errors import DataError, PlanError
from veladura.table.schema import LABELLED, NUMERIC, Declared, Field, Kind, kind_of, storage_of

ISO_DATE = "%Y-%m-%d"
_DIGITS_OF_64_BITS = 18


def field_of(
    name: str, type_: pa.DataType | None, declared: Declared, *, keep_types: bool = False
) -> Field:
    """Return the description of one column: what is declared, else what its type suggests.

    A frame keeps the types of its categories (booleans, whole numbers) and the zone of its times;
    files and databases hold them in one type, so that every source gives the same release. Times
    are microseconds and dates days, whatever the source: everything that computes with them relies
    on it.
    """
    natural = None if type_ is None else kind_of(type_)
    if type_ is None or natural is None:
        msg = (
            f"column {name!r} has type {type_ or 'unknown'}, which is not supported.\n\nHint: leave"
            " the column out, or convert it to text, numbers or dates."
        )
        raise DataError(msg)
    kind: Kind = declared.kind or (
        "ordered" if declared.order else "date" if declared.format else natural
    )
    if declared.kind is None and kind == "integer" and declared.role in ("strata", "cluster"):
        kind = "category"  # numbers of places have no arithmetic
    if pa.types.is_null(type_):
        type_ = pa.string()
    text = kind_of(type_) == "category" and not pa.types.is_boolean(type_)
    _refuse_impossible(name, kind, natural, text=text)
    storage = storage_of(kind, type_)
    if kind == "date" and text:
        storage = pa.timestamp("us") if has_time(declared.format) else pa.date32()
    elif keep_types and kind in LABELLED:
        storage = type_
    elif keep_types and pa.types.is_timestamp(type_) and kind == "date":
        storage = pa.timestamp("us", tz=type_.tz)
    about = (declared.role, declared.order, declared.labels, declared.replication)
    return Field(name, kind, storage, *about)


def has_time(form: str | None) -> bool:
    """Whether a date format has a time of day."""
    return form is not None and any(letter in form for letter in ("%H", "%I", "%T", "%X"))


def _refuse_impossible(name: str, kind: Kind, natural: Kind, *, text: bool) -> None:
    """Refuse a date declared as a number and the reverse: no conversion is the obvious one."""
    number_of_date = kind in NUMERIC and natural == "date"
    date_of_number = kind == "date" and natural != "date" and not text
    if number_of_date or date_of_number:
        msg = (
            f"column {name!r} is declared as {kind} but holds values of kind {natural}.\n\nHint:"
            f" declare it as {natural}, or convert the source."
        )
        raise PlanError(msg)


def refuse_misfits(
    misfits: Mapping[str, int], fields: Sequence[Field], declared: Mapping[str, Declared]
) -> None:
    """Refuse a table in which values do not fit their declared kinds; show counts by column."""
    if not (bad := {name: count for name, count in misfits.items() if count}):
        return
    kinds = {field.name: field.kind for field in fields}
    formats = {name: declared[name].format or ISO_DATE for name in bad if kinds[name] == "date"}
    wanted = ", ".join(
        f"{name!r}: {kinds[name]}" + (f" {formats[name]}" if name in formats else "")
        for name in bad
    )
    msg = (
        f"values that do not fit the declared kind, by column: {bad}. Declared: {wanted}.\n\nHint:"
        " declare another kind, order or date format, add the word for missing, or correct the"
        " source."
    )
    raise DataError(msg)


def refuse_empty(rows: int, what: str) -> None:
    """Refuse a table without rows."""
    if rows == 0:
        msg = f"{what} has no rows.\n\nHint: check that the source is the one you meant."
        raise DataError(msg)


def refuse_unclear(name: str, dtype: Any, declared: Declared) -> None:
    """Refuse whole numbers of Spark that do not say whether they are counts or measurements.

    Spark reads unsigned 64-bit integers of a file as decimals; other readers, as integers.
    """
    if dtype.is_decimal() and dtype.scale == 0 and dtype.precision > _DIGITS_OF_64_BITS:
        if declared.kind is not None:
            return
        msg = (
            f"column {name!r} has type decimal({dtype.precision}, 0): Spark calls unsigned integers"
            " so, and very long numbers.\n\nHint: declare its kind, integer or number."
        )
        raise DataError(msg)


def refuse_fractions(fractions: Mapping[str, int]) -> None:
    """Refuse fractions as categories in Spark: it writes their digits as nobody else does."""
    if bad := {name: count for name, count in fractions.items() if count}:
        msg = (
            f"numbers with fractions are declared as categories, by column: {bad}. Spark writes"
            " them with other digits than other databases, so that the release would depend on"
            " where it was made.\n\nHint: declare them as numbers, or cast them to text in the"
            " source."
        )
        raise DataError(msg)
