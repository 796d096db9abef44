"""Parse text as numbers and dates inside the database: what does not fit becomes missing."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import ibis

from veladura.errors import PlanError
from veladura.table.fields import ISO_DATE, has_time
from veladura.table.text import FIRST_YEAR, INTEGER, number_pattern

_PIECES = {
    "Y": "([0-9]{4})",
    "y": "([0-9]{2})",
    "m": "([0-9]{1,2})",
    "d": "([0-9]{1,2})",
    "H": "([0-9]{1,2})",
    "M": "([0-9]{1,2})",
    "S": "([0-9]{1,2})",
}


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def try_strptime(text: str, format: str) -> ibis.dtype("timestamp"):  # type: ignore[valid-type]  # noqa: A002
    """Parse a date where the format fits, as DuckDB does."""


def as_integer(text: Any, *, duckdb: bool) -> Any:
    """Return whole numbers that a 64-bit integer can hold."""
    if duckdb:
        return _where(text.re_search(INTEGER), text).try_cast("int64")
    # No try_cast there: digits first, then the range, both before the cast.
    wide = _where(text.re_search(r"^\s*[+-]?0*[0-9]{1,19}\s*$"), text).cast("decimal(38, 0)")
    low, high = (
        ibis.literal(Decimal(limit), type="decimal(38, 0)") for limit in (-(2**63), 2**63 - 1)
    )
    return _where((wide >= low) & (wide <= high), wide).cast("int64")


def as_number(text: Any, *, duckdb: bool) -> Any:
    """Return numbers as floats."""
    digits = _where(text.re_search(number_pattern()), text)
    return digits.try_cast("float64") if duckdb else digits.cast("float64")


def as_date(text: Any, form: str | None, *, duckdb: bool) -> Any:
    """Return dates, or times where the format has hours."""
    form = form or ISO_DATE
    timed = has_time(form)
    if duckdb:
        moment = try_strptime(text, form)
        moment = _where(moment.year() >= FIRST_YEAR, moment)
        return moment.cast("timestamp(6)") if timed else moment.cast("date")
    pieces = _pieces(text, form)
    year, month, day = pieces["Y"], pieces["m"], pieces["d"]
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    last = ibis.cases(
        (month.isin([4, 6, 9, 11]), 30),
        ((month == 2) & leap, 29),  # noqa: PLR2004
        (month == 2, 28),  # noqa: PLR2004
        else_=31,
    )
    valid = (year >= FIRST_YEAR) & month.between(1, 12) & (day >= 1) & (day <= last)
    if not timed:
        return _where(valid, ibis.date(year, month, day))
    hour, minute, second = (pieces.get(letter, ibis.literal(0)) for letter in "HMS")
    valid &= (hour < 24) & (minute < 60) & (second < 60)  # noqa: PLR2004
    return _where(valid, ibis.timestamp(year, month, day, hour, minute, second)).cast(
        "timestamp(6)"
    )


def _pieces(text: Any, form: str) -> dict[str, Any]:
    """Return year, month, day and time as integers, by a pattern made from the format."""
    parts = re.split(r"%(.)", form)
    letters = parts[1::2]
    if unknown := [letter for letter in letters if letter not in _PIECES]:
        what = "date format of a database column: directive"
        raise PlanError.unknown(what, f"%{unknown[0]}", [f"%{letter}" for letter in _PIECES])
    if (
        len(set(letters)) < len(letters)
        or "m" not in letters
        or "d" not in letters
        or not {"Y", "y"} & set(letters)
    ):
        msg = (
            f"the date format {form!r} must contain year, month and day once each.\n\nHint: as in"
            " %d.%m.%Y."
        )
        raise PlanError(msg)
    pattern = "".join(_PIECES[part] if i % 2 else re.escape(part) for i, part in enumerate(parts))
    fitting = _where(text.re_search(rf"^\s*{pattern}\s*$"), text)
    pieces = {
        letter: fitting.re_extract(rf"^\s*{pattern}\s*$", i + 1).cast("int32")
        for i, letter in enumerate(letters)
    }
    if "y" in pieces:  # as in POSIX: 69 to 99 mean 1969 to 1999
        pieces["Y"] = pieces["y"] + (pieces["y"] >= 69).ifelse(1900, 2000)  # noqa: PLR2004
    return pieces


def _where(condition: Any, value: Any) -> Any:
    """Return the value where the condition holds, missing elsewhere; evaluated only there."""
    return condition.ifelse(value, ibis.null(value.type()))
