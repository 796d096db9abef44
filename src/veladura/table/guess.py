"""Guess the kind of each text column of a CSV file: whole numbers, numbers, dates, categories."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from veladura.table.database.connection import run_sql
from veladura.table.files.dialect import Dialect
from veladura.table.inspect import LONG_TEXT, UNIQUE_SHARE, Facts
from veladura.table.missing_words import present_sql
from veladura.table.schema import Declared, Kind
from veladura.table.text import FIRST_YEAR, INTEGER, number_pattern

DATE_FORMATS = (
    "%Y-%m-%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%Y/%m/%d",
    "%d-%m-%Y",
    "%Y-%m-%d %H:%M:%S",
    "%Y-%m-%dT%H:%M:%S",
)
DATE_LIKE = r"^\s*[0-9]+[-./][0-9]+[-./][0-9]+"
COMPACT, COMPACT_DATE = r"^(18|19|20)[0-9]{6}$", "%Y%m%d"
FEWEST_COMPACT = 5  # of so many numbers not all are dates by chance
MOST_DIGITS = 18  # a 64-bit integer holds any number of so many digits


def guess_kinds(
    connection: Any,
    source: str,
    names: Sequence[str],
    declared: Mapping[str, Declared],
    dialect: Dialect,
) -> tuple[dict[str, Declared], dict[str, Facts]]:
    """Return declarations with a kind for every column of a CSV file, and facts on the guesses."""
    unsure = [name for name in names if _is_unsure(declared.get(name, Declared()))]
    places = {name: f"c{names.index(name)}" for name in unsure}
    words = {name: declared[name].missing for name in unsure if name in declared}
    facts = inspect_text(connection, source, places, dialect, words) if unsure else {}
    full = dict(declared)
    for name, guess in facts.items():
        given = declared.get(name, Declared())
        kind: Kind = given.kind or ("ordered" if given.order else guess.kind)
        full[name] = replace(
            given,
            kind=kind,
            format=given.format or guess.format,
            missing=given.missing or guess.missing,
        )
    return full, facts


def _is_unsure(declared: Declared) -> bool:
    """Whether a column must be inspected: it has no kind, or is a date without a format."""
    return declared.format is None and declared.kind in (None, "date")


def inspect_text(
    connection: Any,
    source: str,
    places: Mapping[str, str],
    dialect: Dialect,
    words: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Facts]:
    """Return facts on text columns of a table or view of DuckDB: the kind that all values fit.

    Two scans in plain SQL: the first sorts values into five classes, the second looks for dates
    and words in the columns that hold both numbers and text, text that starts like a date, or long
    text.
    """
    number = number_pattern("," if dialect.decimal == "," else ".")
    columns = {
        name: present_sql(place, (words or {}).get(name, ())) for name, place in places.items()
    }
    classes = ", ".join(
        f"{column} AS v{i}, {_class_of(column, number)} AS k{i}"
        for i, column in enumerate(columns.values())
    )
    figures = ", ".join(
        f"count(v{i}), coalesce(max(length(v{i})), 0), count_if(k{i} = 0), count_if(k{i} = 1),"
        f" count_if(k{i} = 2), count_if(k{i} = 4), coalesce(max(CASE WHEN k{i} <= 1 THEN"
        f" length(v{i}) END), 0), count_if(k{i} = 1 AND regexp_matches(v{i}, '{COMPACT}') AND"
        f" try_strptime(v{i}, '{COMPACT_DATE}') IS NOT NULL)"
        for i in range(len(columns))
    )
    row = run_sql(connection, f"SELECT {figures} FROM (SELECT {classes} FROM {source})")[0]  # noqa: S608
    keys = ("present", "longest", "zeros", "integer", "number", "dated", "digits", "compact")
    width = len(keys)
    seen = {
        name: dict(
            zip(
                keys, (int(figure or 0) for figure in row[i * width : (i + 1) * width]), strict=True
            )
        )
        for i, name in enumerate(columns)
    }
    mixed = [name for name, figure in seen.items() if _is_mixed(figure)]
    details = (
        _details(connection, source, {name: columns[name] for name in mixed}, number)
        if mixed
        else {}
    )
    return {
        name: _text_facts(name, figure | details.get(name, {})) for name, figure in seen.items()
    }


def _is_mixed(figure: Mapping[str, int]) -> bool:
    """Whether a column needs a second look: not all numbers, and not all short words either."""
    numbers = figure["zeros"] + figure["integer"] + figure["number"]
    return numbers < figure["present"] and bool(
        numbers or figure["dated"] or figure["longest"] > LONG_TEXT
    )


def _class_of(column: str, number: str) -> str:
    """Return SQL for the class of each value.

    0 whole number with leading zeros, 1 whole number, 2 number, 3 other text, 4 like a date.
    """
    return (
        f"CASE WHEN {column} IS NULL THEN NULL WHEN regexp_matches({column}, '{INTEGER}') THEN CASE"
        f" WHEN regexp_matches({column}, '^\\s*[+-]?0[0-9]') THEN 0 ELSE 1 END WHEN"
        f" regexp_matches({column}, '{number}') THEN CASE WHEN regexp_matches({column},"
        f" '^\\s*[+-]?0[0-9]') THEN 3 ELSE 2 END WHEN regexp_matches({column}, '{DATE_LIKE}') THEN"
        " 4 ELSE 3 END"
    )


def _details(
    connection: Any, source: str, columns: Mapping[str, str], number: str
) -> dict[str, dict[str, Any]]:
    """Return figures on columns that are not all numbers.

    Distinct values, distinct words, a word, and how many values fit each date format.
    """
    figures = []
    for column in columns.values():
        words = f"CASE WHEN {_class_of(column, number)} >= 3 THEN {column} END"
        figures += [f"count(DISTINCT {column})", f"count(DISTINCT {words})", f"max({words})"]
        dated = f"CASE WHEN regexp_matches({column}, '{DATE_LIKE}') THEN {column} END"
        figures += [
            f"count_if(year(try_strptime({dated}, '{form}')) >= {FIRST_YEAR})"
            for form in DATE_FORMATS
        ]
    row = run_sql(connection, f"SELECT {', '.join(figures)} FROM {source}")[0]  # noqa: S608
    step = 3 + len(DATE_FORMATS)
    details = {}
    for i, name in enumerate(columns):
        distinct, words, word, *dates = row[i * step : (i + 1) * step]
        details[name] = {
            "distinct": distinct,
            "words": words,
            "word": word,
            "dates": [int(fits or 0) for fits in dates],
        }
    return details


def _text_facts(name: str, figures: Mapping[str, Any]) -> Facts:
    """Return facts on a column of text: its kind is the narrowest that every value fits."""
    present = figures["present"]
    whole = figures["zeros"] + figures["integer"]
    numbers = whole + figures["number"]
    facts = Facts(name, "category", present, figures.get("distinct", 0), figures["longest"])
    if present == 0:
        return replace(facts, note="no values")
    if numbers < present:
        return _word_facts(facts, figures, whole, numbers)
    if figures["zeros"]:
        return replace(facts, note="numbers with leading zeros: kept as text")
    if figures["digits"] > MOST_DIGITS and whole == present:
        return replace(facts, note="numbers with too many digits: kept as text")
    if figures["compact"] == present >= FEWEST_COMPACT:
        return replace(facts, kind="date", format=COMPACT_DATE, note="whole numbers that are dates")
    return replace(facts, kind="number" if whole < present else "integer")


def _word_facts(facts: Facts, figures: Mapping[str, Any], whole: int, numbers: int) -> Facts:
    """Return facts on a column in which some values are not numbers."""
    dates, present = figures.get("dates", [0]), facts.present
    if max(dates) == present:
        fitting = [form for form, fits in zip(DATE_FORMATS, dates, strict=True) if fits == present]
        note = f"the format could also be {fitting[1]}: check it" if len(fitting) > 1 else ""
        return replace(facts, kind="date", format=fitting[0], note=note)
    if figures["dated"] == present:
        return replace(facts, note="looks like dates in several formats: use one, and declare it")
    one_word = figures.get("words") == 1 and not re.search(r"[0-9]", str(figures["word"]))
    if one_word and numbers >= 2 and not figures["zeros"] and facts.distinct > 2:  # noqa: PLR2004
        kind: Kind = "integer" if whole == numbers else "number"
        return replace(
            facts,
            kind=kind,
            missing=(str(figures["word"]),),
            note="numbers, and one word that is taken to mean missing",
        )
    if numbers > present / 2:
        return replace(facts, note="a mix of numbers and other text")
    if facts.longest > LONG_TEXT and facts.distinct > UNIQUE_SHARE * present:
        return replace(facts, kind="text")
    return facts
