"""Columns that tell who somebody is: names, addresses, numbers of which everybody has one."""

from __future__ import annotations

from collections.abc import Sequence

from veladura.table.database.connection import fetch_one, is_duckdb
from veladura.table.database_errors import without_values
from veladura.table.roles.answer import Answer
from veladura.table.roles.evidence import FEWEST_ROWS, UNIQUE_SHARE, Evidence, gather
from veladura.table.roles.names import hints_of
from veladura.table.roles.shapes import shape_of
from veladura.table.schema import LABELLED
from veladura.table.table import Table

_SHARED_NAMES = 0.3  # distinct values a person from which names identify
_ROUGH_SHARE = 0.15  # half of it: rough counts are about ten percent off


def find_identifiers(table: Table) -> list[str]:
    """Return the columns that a holder is warned of; a lazy table is counted roughly first.

    Whole numbers must have the name of an identifier too: a warning is no plan that can be read
    and corrected.
    """
    likely = [
        field.name
        for field in table.schema
        if field.kind in LABELLED
        or (field.kind == "integer" and "identifier" in hints_of(field.name))
    ]
    if likely and not table.in_memory and is_duckdb(table.expression):
        rough = _rough_distinct(table, likely)
        likely = [name for name in likely if rough[name] > _ROUGH_SHARE * table.rows]
    return [
        column.name
        for column in (gather(table, likely) if likely else ())
        if identifying(column, shape_of(column), column.present)
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


def identifying(  # noqa: PLR0911  # one for each reason
    column: Evidence, shape: str, people: int
) -> Answer | None:
    """Return the answer for names, numbers and addresses that tell who somebody is."""
    if shape == "free text":
        return None
    share = column.distinct / max(people, 1)
    if shape in ("e-mail", "address on a network", "hash"):
        return Answer("identifier", f"its values have the shape of {_PLURAL[shape]}")
    if shape in ("phone", "person name", "street") and (
        share > _SHARED_NAMES or (share > _SHARED_NAMES / 3 and "identifier" in column.hints)
    ):
        return Answer(
            "identifier", f"its values have the shape of {_PLURAL[shape]}, and few people share one"
        )
    if shape == "sequence":
        return Answer("identifier", "whole numbers in sequence, a row each")
    nearly = share >= UNIQUE_SHARE and people >= FEWEST_ROWS
    if nearly and (column.levels is None or shape in ("long code", "running number")):
        return Answer("identifier", "a code of which nearly every person has one of their own")
    named = "identifier" in column.hints and share > _SHARED_NAMES
    if named and (column.levels is None or (column.whole and nearly)):
        return Answer("identifier", "few people share a value, and the name says so too")
    if column.levels is None and share > 0.5 and people >= 2 * FEWEST_ROWS:  # noqa: PLR2004
        return Answer("identifier", "texts that hardly any two people share")
    return None


_PLURAL = {
    "e-mail": "e-mail addresses",
    "address on a network": "addresses on a network",
    "hash": "hashes or universal identifiers",
    "phone": "phone or other personal numbers",
    "person name": "names of people",
    "street": "addresses",
}
