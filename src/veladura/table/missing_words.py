"""Words for missing: "NA", "?", and numbers such as -9, however a source stores them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.database.connection import sql_text
from veladura.table.schema import NUMERIC, kind_of


def numbers_of(words: Sequence[str]) -> list[float]:
    """Return the numbers among words: -9 means missing where a column holds -9.0 as well.

    Examples
    --------
    >>> numbers_of(["NA", "-9", "99.5", "nan"])
    [-9.0, 99.5]
    """
    numbers = []
    for word in words:
        try:
            number = float(word)
        except ValueError:
            continue
        if number == number and abs(number) != float("inf"):  # noqa: PLR0124  # not NaN
            numbers.append(number)
    return numbers


def present_sql(place: str, words: Sequence[str], number: str = "") -> str:
    """Return SQL for a text column with its own words for missing as missing.

    Parameters
    ----------
    number
        SQL for the number that the text stands for, where the column holds numbers.

    Examples
    --------
    >>> present_sql("c0", ["?"])
    "CASE WHEN c0 IN ('?') THEN NULL ELSE c0 END"
    """
    if not words:
        return place
    listed = f"{place} IN ({', '.join(sql_text(word) for word in words)})"
    if number and (numbers := numbers_of(words)):
        listed += f" OR {number} IN ({', '.join(map(repr, numbers))})"
    return f"CASE WHEN {listed} THEN NULL ELSE {place} END"


def present_in_array(column: pa.ChunkedArray, words: Sequence[str]) -> pa.ChunkedArray:
    """Return a column of a frame with its words for missing as missing."""
    if words and pa.types.is_string(column.type):
        return pc.if_else(pc.is_in(column, pa.array(words)), pa.scalar(None, pa.string()), column)
    if kind_of(column.type) not in NUMERIC or not (numbers := numbers_of(words)):
        return column
    meant = pc.is_in(column.cast(pa.float64(), safe=False), pa.array(numbers))
    return pc.if_else(meant, pa.scalar(None, column.type), column)


def present_in_database(column: Any, words: Sequence[str]) -> Any:
    """Return a column of a database with its words for missing as missing."""
    import ibis  # a frame needs no database

    if words and column.type().is_string():
        return column.isin(words).ifelse(ibis.null("string"), column)
    if not column.type().is_numeric() or not (numbers := numbers_of(words)):
        return column
    return column.cast("float64").isin(numbers).ifelse(ibis.null(column.type()), column)
