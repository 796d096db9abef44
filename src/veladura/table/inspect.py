"""Facts on the columns of a table, to guess kinds and roles: counts, never values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.database.connection import fetch_one, is_duckdb
from veladura.table.database_errors import without_values
from veladura.table.schema import LABELLED, Field, Kind, Role
from veladura.table.table import Table

LONG_TEXT = 40
ROUGH_SHARE = 0.15  # half the share that makes a named column look like an identifier
UNIQUE_SHARE = 0.95
FEWEST_ROWS = 50  # in fewer rows values may all differ by chance
SHORTEST_CODE = 6
FEWEST_WEIGHTS = 100

_IDENTIFIER_NAMES = (
    r"(^|_)(id|name|surname|lastname|firstname|email|e_?mail|phone|telephone|mobile|ssn|"
    r"passport|account|iban|uuid|guid|address|street|"
    r"(social|patient|person|record|policy|insurance)_?(number|no|id))($|_)"
)
_QUASI_NAMES = (
    r"(^|_)(zip|zipcode|postcode|postal|birth|birthday|dob|age|agegr|agep|sex|gender|race|"
    r"ethnicity|ethnic|marital|marstat|msp|nationality|country|region|county|city|town|district|"
    r"puma|place|placesize|education|edu|eduspec|occupation|profession|workclass|job|language|"
    r"religion|height|weight|socprof|rac1p|hisp)($|_|code)"
)
_SENSITIVE_NAMES = (
    r"(^|_)(income|salary|wage|wealth|pincp|diagnosis|disease|illness|icd|hiv|crime|debt|tax|"
    r"drug|alcabuse|stay|treatment|therapy)($|_|code)"
)
_GEOGRAPHIC_NAMES = r"(^|_)(lon|lng|longitude|lat|latitude|easting|northing|x_?coord|y_?coord)($|_)"
_WEIGHT_NAMES = r"(^|_)(weight|weights|wgt|pwgtp|sampling_?weight)($|_)"


@dataclass(frozen=True)
class Facts:
    """Counts about one column, enough to guess its kind and role."""

    name: str
    kind: Kind
    present: int
    distinct: int
    longest: int
    rows: int = 0
    format: str | None = None
    missing: tuple[str, ...] = field(default=(), repr=False)
    note: str = ""


def inspect_table(table: Table) -> dict[str, Facts]:
    """Return facts on every column of a table, with the notes on guessed kinds."""
    figures = _figures(table, table.names)
    return {field.name: _facts(table, field, figures[field.name]) for field in table.schema}


def _facts(table: Table, field: Field, figures: tuple[int, int, int]) -> Facts:
    facts = Facts(field.name, field.kind, *figures, rows=table.rows)
    if (seen := table.guessed.get(field.name)) is None:
        return facts
    return replace(facts, format=seen.format, missing=seen.missing, note=seen.note)


def find_identifiers(table: Table) -> list[str]:
    """Return the columns that look like identifiers; a lazy table is counted roughly first."""
    likely = [
        field.name
        for field in table.schema
        if field.kind in LABELLED or (field.kind == "integer" and _is_named(field.name))
    ]
    if likely and not table.in_memory and is_duckdb(table.expression):
        rough = _rough_distinct(table, likely)
        likely = [name for name in likely if rough[name] > ROUGH_SHARE * table.rows]
    figures = _figures(table, likely) if likely else {}
    return [
        name
        for name in likely
        if looks_like_identifier(Facts(name, table.schema[name].kind, *figures[name]))
    ]


def _rough_distinct(table: Table, names: Sequence[str]) -> dict[str, int]:
    """Return estimated numbers of distinct values, about ten percent off.

    They are the same for any order of rows.
    """
    figures = {
        f"n{i}": table.expression[f"c{table.schema.position(name)}"].approx_nunique()
        for i, name in enumerate(names)
    }
    with without_values(table.source.name):
        row = fetch_one(table.expression, figures)
    return {name: int(row[f"n{i}"]) for i, name in enumerate(names)}


def _figures(table: Table, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return numbers of present and distinct values, and the longest text, by column."""
    if table.in_memory:
        return {
            name: _figures_of(table.data.column(table.schema.position(name)), table.schema[name])
            for name in names
        }
    figures: dict[str, Any] = {}
    for i, name in enumerate(names):
        column = table.expression[f"c{table.schema.position(name)}"]
        figures |= {f"present{i}": column.count(), f"distinct{i}": column.nunique()}
        if table.schema[name].kind in LABELLED:
            figures[f"longest{i}"] = column.length().max()
    with without_values(table.source.name):
        row = fetch_one(table.expression, figures)
    return {
        name: (
            int(row[f"present{i}"]),
            int(row[f"distinct{i}"]),
            int(row.get(f"longest{i}") or 0),
        )
        for i, name in enumerate(names)
    }


def _figures_of(column: pa.ChunkedArray, field: Field) -> tuple[int, int, int]:
    present = len(column) - column.null_count
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    longest = (
        pc.max(pc.utf8_length(column)).as_py() or 0
        if field.kind in LABELLED and pa.types.is_string(column.type)
        else 0
    )
    return present, distinct, longest


def looks_like_identifier(facts: Facts) -> bool:
    """Whether a column's name, or its long unique codes, look like those of an identifier."""
    unique = facts.present > 1 and facts.distinct >= UNIQUE_SHARE * facts.present
    if facts.kind in ("number", "date"):
        return False
    named = _is_named(facts.name)
    if facts.kind == "integer":
        return named and unique and facts.present >= FEWEST_ROWS
    return (named and facts.distinct > 0.3 * facts.present and facts.present > 1) or (
        unique and facts.present >= FEWEST_ROWS and facts.longest >= SHORTEST_CODE
    )


def _is_named(name: str) -> bool:
    return re.search(_IDENTIFIER_NAMES, _snake(name)) is not None


def guess_role(facts: Facts) -> Role:
    """Return the likely role of a column, by its facts and its name."""
    name = _snake(facts.name)
    if looks_like_identifier(facts):
        return "identifier"
    if (
        facts.kind in ("number", "integer")
        and re.search(_WEIGHT_NAMES, name)
        and facts.distinct > FEWEST_WEIGHTS
    ):
        return "weight"
    if facts.kind == "number" and re.search(_GEOGRAPHIC_NAMES, name):
        return "geographic"
    if re.search(_SENSITIVE_NAMES, name):
        return "sensitive"
    if re.search(_QUASI_NAMES, name):
        return "quasi-identifier"
    return "other"


def _snake(name: str) -> str:
    """Return a name in lower case with underscores, so that patterns match its words."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
