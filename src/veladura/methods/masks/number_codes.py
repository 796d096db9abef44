"""Codes written as numbers: a mean of codes, or a code with noise, means nothing."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import PlanError, VeladuraWarning
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.numbers import are_codes
from veladura.table.roles.reserved import no_answer
from veladura.table.roles.shapes import shape_of
from veladura.table.schema import NUMERIC, Schema

if TYPE_CHECKING:
    from veladura.table.codes import Codes, Column
    from veladura.table.table import Table

LONGEST = 1e15
FIRST_DATE, LAST_DATE, MONTHS = 18_000_101, 20_991_231, 12
FEWEST_DATES = 5  # of so many different numbers not all are dates by chance
FEWEST_ROWS = 100  # in fewer rows numbers may look like codes by chance


def refuse_codes(table: Table, codes: Codes, names: Sequence[str]) -> None:
    """Refuse number columns that have labels, or look like codes and were not declared."""
    if coded := find_codes(table, codes, names):
        msg = (
            f"columns {coded} hold codes, not amounts: few whole numbers without an order, or"
            " numbers with labels. Arithmetic with codes means nothing.\n\nHint: declare kind ="
            ' "category" and use Pram or Recode; if it is a number after all, declare kind ='
            ' "integer" and no labels.'
        )
        raise PlanError(msg)


def warn_of_reserved(codes: Codes, names: Sequence[str]) -> None:
    """Warn of amounts among which some values are kept for "no answer", as -9 or 99999 are."""
    if reserved := [name for name in names if holds_reserved(codes[name])]:
        warnings.warn(
            f"columns {reserved} seem to hold codes for no answer, such as -9: noise makes amounts"
            ' of them.\n\nHint: declare them as missing (missing = ["-9"] in [columns] of each), or'
            " leave numbers that many people share as they are (keep_shared = true).",
            VeladuraWarning,
            stacklevel=4,
        )


def warn_of_dates(table: Table, codes: Codes, names: Sequence[str]) -> None:
    """Warn of dates that are written as whole numbers: most numbers between two of them are none.

    The holder's word counts: a column that is declared as a number is one.
    """
    dated = [
        name
        for name in names
        if table.schema[name].kind in NUMERIC
        and not _is_declared(table, name)
        and holds_dates(codes[name])
    ]
    if dated:
        warnings.warn(
            f"columns {dated} seem to hold dates written as whole numbers, such as 20240131:"
            " numbers that few people share are moved, and most between two are no dates.\n\nHint:"
            ' declare kind = "date" with format = "%Y%m%d"; if it is a number after all, declare'
            ' kind = "integer".',
            VeladuraWarning,
            stacklevel=5,
        )


def holds_dates(column: Column) -> bool:
    """Whether all numbers are dates of the years 1800 to 2099, as year, month and day."""
    if column.labels is not None or column.field.kind not in NUMERIC or column.decimals != 0:
        return False
    given = np.unique(column.numbers()[~column.missing])
    if given.size < FEWEST_DATES or given[0] < FIRST_DATE or given[-1] > LAST_DATE:
        return False
    whole = given.astype(np.int64)
    month, day = whole // 100 % 100, whole % 100
    if month.min() < 1 or month.max() > MONTHS or day.min() < 1:
        return False
    months = ((whole // 10_000 - 1970) * MONTHS + month - 1).astype("datetime64[M]")
    after = months + np.timedelta64(1, "M")
    days = after.astype("datetime64[D]") - months.astype("datetime64[D]")
    return bool((day <= days.astype(np.int64)).all())


def holds_reserved(column: Column) -> bool:
    """Whether numbers have values of many rows that are kept for "no answer"."""
    return bool(no_answer(_evidence(column)))


def find_codes(table: Table, codes: Codes, names: Sequence[str]) -> list[str]:
    """Return the number columns that hold codes.

    The holder's word counts: a column that is declared as a number, without labels, is one.
    """
    fields = {name: table.schema[name] for name in names if table.schema[name].kind in NUMERIC}
    return [
        name
        for name, field in fields.items()
        if field.labels or (not _is_declared(table, name) and looks_like_codes(codes[name]))
    ]


def without_codes(table: Table) -> Schema:
    """Return the schema of a table without the number columns that hold codes."""
    numbers = table.schema.of_kind(*NUMERIC)
    coded = find_codes(table, table.codes(numbers), numbers)
    return Schema(tuple(field for field in table.schema if field.name not in coded))


def looks_like_codes(column: Column) -> bool:
    """Whether a column of numbers has two values, or whole numbers without an order."""
    evidence = _evidence(column)
    few = evidence.present < FEWEST_ROWS or evidence.distinct <= 1
    if few or np.abs(evidence.numbers).max() > LONGEST:
        return False
    return are_codes(evidence, shape_of(evidence))


def _evidence(column: Column) -> Evidence:
    """Return the distinct numbers of a column, as guesses of roles look at them."""
    numbers = column.numbers()
    levels, sizes = np.unique(numbers[~np.isnan(numbers)], return_counts=True)
    return Evidence(column.field, np.empty(0, int), sizes, levels, (), frozenset())


def _is_declared(table: Table, name: str) -> bool:
    """Whether the holder gave the kind of a column, rather than a guess from its values."""
    declared = table.source.columns.get(name)
    return declared is not None and declared.kind is not None and name not in table.guessed
