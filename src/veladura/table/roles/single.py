"""The role of a column by itself: its shape, how many people share a value, and its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from veladura.table.roles.answer import Answer
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.identifiers import identifying
from veladura.table.roles.keys import numbers_members
from veladura.table.roles.nesting import (
    CONSTANT,
    VARYING,
    constancy,
    determines,
    is_listed,
    never_repeats,
)
from veladura.table.roles.numbers import are_codes, is_heavy, is_scale
from veladura.table.roles.units import Units
from veladura.table.schema import Kind

_MOST_LEVELS = 50  # of a category that people know of each other
_SURNAMES = 0.05  # distinct surnames a row
_MANY_NAMES = 100
_VERY_MANY = 300  # however many people share them
_FEW_NAMES = 0.3  # distinct surnames a person, where they are fewer
_FEW_HINTS = 2  # so many names that say something make silence say something too
_SAME = 0.98  # share of one value from which a column tells nothing


def judge(  # noqa: PLR0911  # one for each sort of column
    column: Evidence, shapes: Mapping[str, str], columns: Sequence[Evidence], units: Units
) -> Answer:
    """Return the role of a column that no other column explains."""
    shape = shapes[column.name]
    if shape == "empty":
        return Answer("dropped", "it has no values")
    if shape == "constant":
        return Answer("undecided", "it has one value only")
    people = _people(column, units)
    if answer := identifying(column, shape, people) or _one_name(column, shape, columns, units):
        return answer
    if shape == "free text":
        return Answer("dropped", "free text may name people", "text")
    if shape in ("date", "birth date"):
        return _date(column, shape)
    if shape in ("binary", "nominal code", "scale") and _are_waves(column, units):
        return Answer("undecided", "numbers that never repeat within a person, as those of waves")
    if _are_numbers_of_members(column, units):
        return Answer("identifier", "numbers the members within each household, as its rows do")
    if column.levels is None or shape == "scale" or are_codes(column, shape):
        return _category(column, shape, columns, units)
    return _number(column, shape, shapes, columns)


def _one_name(
    column: Evidence, shape: str, columns: Sequence[Evidence], units: Units
) -> Answer | None:
    """Return the answer for surnames: many capitalised words that, unlike towns, tell nothing."""
    people = _people(column, units)
    if units.person is not None and people < column.present:  # each person counts once
        first = np.unique(units.person.column.codes, return_index=True)[1]
        column, columns = column.at(first), [c.at(first) for c in columns if c is not column]
    many = min(_SURNAMES * column.present, _VERY_MANY)
    least = many if column.distinct >= _MANY_NAMES else _FEW_NAMES * people
    if shape != "one name" or column.distinct < least or "quasi" in column.hints:
        return None
    named = "identifier" in column.hints
    telling = any(c is not column and c.distinct > 2 and determines(column, c) for c in columns)  # noqa: PLR2004
    if telling and not named:
        return None
    return Answer("identifier", "many capitalised words that tell no place, as surnames are")


def _people(column: Evidence, units: Units) -> int:
    """Return the number of units that a column could tell apart."""
    for key in (units.person, units.household):
        if key is not None and constancy(key.column, column) >= CONSTANT:
            return key.column.distinct
    return column.present


def _date(column: Evidence, shape: str) -> Answer:
    if shape == "birth date" or "birth" in column.hints:
        return Answer("quasi-identifier", "dates over decades, as dates of birth are")
    return Answer("undecided", "dates that an intruder may know of an event")


def _are_numbers_of_members(column: Evidence, units: Units) -> bool:
    """Whether a column tells the members of a household apart, and nothing else of them.

    New households have new members: numbers of the old ones would repeat within them.
    """
    home = None if units.household is None else units.household.column
    if home is None or column.levels is None:
        return False
    if units.person is not None:  # of several rows of a person, one
        first = np.unique(units.person.column.codes, return_index=True)[1]
        home, column = home.at(first), column.at(first)
    return numbers_members(home, column)


def _are_waves(column: Evidence, units: Units) -> bool:
    """Whether few whole numbers put the rows of a person in order: they are no categories."""
    if units.person is None or not column.whole:
        return False
    return never_repeats(units.person.column, column)


def _category(  # noqa: PLR0911  # one for each reason
    column: Evidence, shape: str, columns: Sequence[Evidence], units: Units
) -> Answer:
    """Return the answer for a column of few values or of codes without arithmetic."""
    kind, order, what = _kind(column, shape)
    if column.sizes.max() > _SAME * column.present:
        return Answer("undecided", f"{what}, nearly always the same", kind, order)
    if "sensitive" in column.hints and "quasi" not in column.hints:
        return Answer("sensitive", f"{what}; the name says that it is sensitive", kind, order)
    if column.hints & {"quasi", "age", "birth"}:
        return Answer(
            "quasi-identifier", f"{what}; the name says that others may know it", kind, order
        )
    if column.distinct > _MOST_LEVELS:
        return Answer("undecided", f"{what}, with many values", kind, order)
    if units.person and constancy(units.person.column, column) < VARYING:
        return Answer("undecided", f"{what}, not always the same within a person", kind, order)
    if shape == "scale":
        return Answer("undecided", what, kind, order)
    if shape == "nominal code" and is_scale(column):
        return Answer("undecided", "a scale with codes for no answer", kind, order)
    if shape == "nominal code" and _derived(column, columns):
        return Answer("undecided", f"{what}; another column tells them", kind, order)
    if sum(bool(c.hints & {"quasi", "age", "birth"}) for c in columns) > _FEW_HINTS:
        return Answer("undecided", f"{what}; neither values nor name say more", kind, order)
    return Answer("quasi-identifier", f"{what}, as others may know of a person", kind, order)


def _derived(column: Evidence, columns: Sequence[Evidence]) -> bool:
    """Whether a column with no more values tells whole numbers exactly: a code, or a weight."""
    return any(
        other is not column
        and 1 < other.distinct <= column.distinct + 1
        and determines(other, column)
        for other in columns
    )


def _kind(column: Evidence, shape: str) -> tuple[Kind, tuple[str, ...], str]:
    """Return kind, order and a description of a category."""
    if column.field.kind == "ordered":
        return "ordered", column.field.order, "ordered categories"
    if shape == "scale" and column.levels is not None:
        order = tuple(str(int(level)) for level in column.levels)
        return "ordered", order, "codes of a scale, in order"
    if shape in ("nominal code", "long code", "running number"):
        return "category", (), "codes without arithmetic"
    return "category", (), "a few categories" if column.distinct <= _MOST_LEVELS else "categories"


def _number(  # noqa: PLR0911  # one for each shape
    column: Evidence, shape: str, shapes: Mapping[str, str], columns: Sequence[Evidence]
) -> Answer:
    kind = column.field.kind
    if shape == "long code":
        return Answer("undecided", "long codes that some people share", "category")
    if shape == "age":
        return Answer("quasi-identifier", "whole numbers in the range of ages", kind)
    if shape == "birth year":
        return Answer("quasi-identifier", "years over decades, as years of birth are", kind)
    if shape in ("month", "day"):
        born = "birth year" in shapes.values() or "birth" in column.hints
        return Answer(
            "quasi-identifier" if born else "undecided",
            f"numbers of {shape}s" + (", beside a year of birth" if born else ""),
            kind,
        )
    if shape == "year":
        return Answer("undecided", "years of an event", kind)
    if column.hints & {"quasi", "age", "birth"}:
        return Answer("quasi-identifier", "a number that others may know, by its name", kind)
    if "sensitive" in column.hints:
        return Answer("sensitive", "a number; the name says that it is sensitive", kind)
    if column.whole and is_listed(column, columns):
        why = "numbers in the order of another column, as codes of places are"
        return Answer("undecided", why, kind)
    if shape == "amount" and is_heavy(column.numbers):
        return Answer("sensitive", "amounts of which a few are far larger than the rest", kind)
    return Answer("undecided", "numbers; neither values nor name say what they are", kind)
