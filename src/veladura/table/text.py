"""Text as numbers and dates, in DuckDB's SQL: what does not fit becomes missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from veladura.table.database.connection import sql_text
from veladura.table.fields import ISO_DATE, field_of, has_time
from veladura.table.missing_words import present_sql
from veladura.table.schema import LABELLED, NUMERIC, Declared, Field

INTEGER = r"^\s*[+-]?[0-9]+\s*$"
FIRST_YEAR = 1000  # "24-02-03" under %Y is not a date of the year 24


def number_pattern(decimal: str = ".") -> str:
    """Return the pattern of numbers; exponents that no float can hold are left out.

    Examples
    --------
    >>> import re
    >>> [bool(re.search(number_pattern(","), text)) for text in ("1,5", "-,5", " 2 ")]
    [True, True, True]
    >>> [bool(re.search(number_pattern(","), text)) for text in ("1.5", "x", "1e999")]
    [False, False, False]
    """
    point = f"[{decimal}]"
    exponent = "[eE][+-]?([0-9]|[0-9][0-9]|[12][0-9][0-9])"
    return rf"^\s*[+-]?([0-9]+{point}?[0-9]*|{point}[0-9]+)({exponent})?\s*$"


def typed(text: str, field: Field, declared: Declared, decimal: str = ".") -> str:
    """Return SQL for a text column in the storage of its kind."""
    if field.kind in LABELLED:
        return text
    if field.kind == "date":
        return _date(text, declared.format or ISO_DATE)
    if field.kind == "integer":  # 3.0 is whole: so pandas writes whole numbers beside missing ones
        zeros = rf"[{decimal}]0*\s*$"
        digits = f"regexp_replace({text}, {sql_text(zeros)}, '')"
        return f"CASE WHEN {_fits(digits, INTEGER)} THEN TRY_CAST({digits} AS BIGINT) END"
    # adding 0 makes a zero of a negative zero: the two count as one value, and must look like one
    digits = text if decimal == "." else f"replace({text}, {sql_text(decimal)}, '.')"
    number = f"TRY_CAST({digits} AS DOUBLE) + 0.0"
    return f"CASE WHEN {_fits(text, number_pattern(decimal))} THEN {number} END"


@dataclass(frozen=True)
class Parsed:
    """A column of text: its field, and SQL for its text and for the values it stands for."""

    field: Field
    text: str
    value: str

    def misfits(self) -> str | None:
        """Return SQL for the number of values that do not fit; None where all do."""
        if self.field.order:
            listed = ", ".join(sql_text(label) for label in self.field.order)
            return f"count(CASE WHEN {self.value} NOT IN ({listed}) THEN 1 END)"
        if self.field.kind in LABELLED:
            return None
        return f"count({self.text}) - count({self.value})"


def parsed_columns(
    names: Sequence[str], declared: Mapping[str, Declared], decimal: str
) -> list[Parsed]:
    """Return how the text columns ``c0``, ``c1``, ... of a file are parsed."""
    columns = []
    for i, name in enumerate(names):
        given = declared.get(name, Declared())
        field, text = field_of(name, pa.string(), given), f"c{i}"
        number = typed(text, field, given, decimal) if field.kind in NUMERIC else ""
        text = present_sql(text, given.missing, number)
        columns.append(Parsed(field, text, typed(text, field, given, decimal)))
    return columns


def _fits(text: str, pattern: str) -> str:
    return f"regexp_matches({text}, {sql_text(pattern)}, 's')"


def _date(text: str, form: str) -> str:
    moment = f"try_strptime({text}, {sql_text(form)})"
    kind = "TIMESTAMP" if has_time(form) else "DATE"
    return f"CASE WHEN year({moment}) >= {FIRST_YEAR} THEN CAST({moment} AS {kind}) END"
