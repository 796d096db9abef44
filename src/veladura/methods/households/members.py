"""The order in which the members of a unit are drawn: by what they hold, never by the source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.association import coarse_codes, cramer, evenly_spaced
from veladura.table.roles.reserved import without_reserved

if TYPE_CHECKING:
    from veladura.table.codes import Column

FEW = 20  # values of a column that may say who someone is in a household
NEARLY_ALL = 0.9  # share of the households with exactly one head
OLDEST = 120
SAMPLED = 10_000  # rows that show how many values a column has
FEWEST_AGES = 30
SELDOM = 0.05  # equal pairs, of those by chance
FEWEST_EQUAL = 5.0  # pairs by chance: none of so many is no accident (exp(-5) = .7 %)


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The members of units: their columns, and the unit of each.

    Attributes
    ----------
    of_person
        Whether the units are people: then members are their rows.
    """

    columns: Mapping[str, Column]
    unit: Ints
    of_person: bool


def find_order(members: Members) -> list[str]:
    """Return the columns that put members in an order, found by their contents.

    In a household: the column that says who is its head, then an age. Of a person: a date or a
    number that never repeats within a person, such as a year or a wave; or hardly ever, as two
    visits may be on one day.
    """
    if members.of_person:
        columns, unit = members.columns, members.unit
        times = [n for n, column in columns.items() if is_time(column, unit)]
        sure = [n for n in times if is_surely_time(columns[n], unit)]
        nearly = [n for n, column in columns.items() if _is_nearly_time(column, unit)]
        return (sure or nearly or times)[:1]
    shares = {
        name: share
        for name, column in members.columns.items()
        if (share := _one_each(column, members.unit)) >= NEARLY_ALL
    }
    relation = max(shares, key=lambda name: shares[name], default=None)
    ages = [name for name, column in members.columns.items() if _may_be_age(column)]
    if relation is not None and len(ages) > 1:
        rows = evenly_spaced(members.unit.size)
        codes = coarse_codes(members.columns[relation].key()[rows])
        ages.sort(key=lambda n: -cramer(coarse_codes(members.columns[n].key()[rows]), codes))
    return [name for name in (relation, *ages[:1]) if name is not None]


def sort_keys(members: Members, order: Sequence[str]) -> list[Floats]:
    """Return what the members of a unit are sorted by, the first key first.

    Categories come by the number of units in which they occur exactly once, the most first: the
    head of a household, then partners, then children. Numbers come from the largest in a household
    (the oldest member) and from the smallest among the rows of a person (the earliest).
    """
    keys: list[Floats] = []
    for name in order:
        column = members.columns[name]
        if (codes := level_codes(column)) is not None and not members.of_person:
            keys.append(-units_with_one(codes, members.unit)[codes].astype(np.float64))
            keys.append(codes.astype(np.float64))  # kinds of the same number stay together
        else:
            sign = 1.0 if members.of_person or column.field.kind == "date" else -1.0
            keys.append(np.where(column.missing, np.inf, sign * column.values.astype(np.float64)))
    return keys


def kind_in(members: Members, order: Sequence[str]) -> str | None:
    """Return the column that says what a member is: in a household, or which wave of a person."""
    if not order or level_codes(members.columns[order[0]]) is None:
        return None
    return order[0]


def kinds_in_order(members: Members, kind: str) -> tuple[float, ...]:
    """Return the values of the column of kinds in the order in which members stand."""
    column = members.columns[kind]
    sorted_by = sort_keys(members, [kind])
    rows = np.lexsort(sorted_by[::-1])
    rows = rows[~column.missing[rows]]
    return tuple(dict.fromkeys(column.values[rows].astype(np.float64).tolist()))


def level_codes(column: Column) -> Ints | None:
    """Return the category of every row, missing as one more; None for a column of many numbers."""
    if column.labels is not None:
        return np.where(column.missing, len(column.labels), column.values).astype(np.int64)
    values = column.values[~column.missing]
    if np.unique(values[:SAMPLED]).size > FEW or column.decimals != 0:
        return None
    levels = np.unique(values)
    if levels.size > FEW:
        return None
    place = np.searchsorted(levels, column.values)
    return np.where(column.missing, levels.size, place).astype(np.int64)


def units_with_one(codes: Ints, unit: Ints) -> Ints:
    """Return for every category the number of units in which it occurs exactly once.

    Examples
    --------
    >>> units_with_one(np.array([0, 1, 1, 0]), np.array([0, 0, 0, 1])).tolist()
    [2, 0]
    """
    levels = int(codes.max(initial=-1)) + 1
    count = np.bincount(unit * levels + codes)
    once = np.flatnonzero(count == 1)
    return np.bincount(once % max(levels, 1), minlength=levels).astype(np.int64)


def _one_each(column: Column, unit: Ints) -> float:
    """Return the largest share of units in which one category occurs exactly once."""
    codes = level_codes(column)
    if codes is None or codes.max(initial=0) < 1:
        return 0.0
    return float(units_with_one(codes, unit).max()) / (int(unit.max(initial=-1)) + 1)


def _may_be_age(column: Column) -> bool:
    if column.labels is not None or column.decimals != 0:
        return False
    ages = without_reserved(*np.unique(column.values[~column.missing], return_counts=True))[0]
    return bool(ages.size >= FEWEST_AGES and ages[0] >= 0 and ages[-1] <= OLDEST)


def is_time(column: Column, unit: Ints) -> bool:
    """Whether a date or whole number never repeats within a unit.

    It may be missing in units of one row: a person without rows in a linked table.
    """
    if column.labels is not None or column.decimals != 0:
        return False
    size = np.bincount(unit)
    if np.any(size[unit[column.missing]] > 1) or size.max(initial=0) < 2:  # noqa: PLR2004
        return False
    here = np.flatnonzero(~column.missing)
    if np.unique(column.values[here]).size == here.size and column.field.kind != "date":
        return False  # it numbers rows
    pairs = np.unique(np.column_stack([unit[here], column.values[here].astype(np.int64)]), axis=0)
    return len(pairs) == here.size


def is_surely_time(column: Column, unit: Ints) -> bool:
    """Whether a date, or a number that would repeat within units by chance, never does.

    Wages of a firm differ because they have many values; waves differ though they have few.
    """
    if not is_time(column, unit):
        return False
    return column.field.kind == "date" or _equal_by_chance(column, unit) >= FEWEST_EQUAL


def _is_nearly_time(column: Column, unit: Ints) -> bool:
    """Whether a date, or a number that repeats in units far less than by chance, orders rows."""
    if column.labels is not None or column.decimals != 0:
        return False
    if column.field.kind == "date":
        return True
    here = np.flatnonzero(~column.missing)
    pairs = np.column_stack([unit[here], column.values[here].astype(np.int64)])
    count = np.unique(pairs, axis=0, return_counts=True)[1]
    equal = float((count * (count - 1)).sum()) / 2
    chance = _equal_by_chance(column, unit)
    return chance >= FEWEST_EQUAL and equal < SELDOM * chance


def _equal_by_chance(column: Column, unit: Ints) -> float:
    """Return how many pairs of rows of one unit would have the same value, were they shuffled."""
    values = column.values[~column.missing]
    count = np.unique(values, return_counts=True)[1].astype(np.float64)
    each = np.bincount(unit).astype(np.float64)
    within = float((each * (each - 1)).sum()) / 2
    return within * float((count * (count - 1)).sum()) / max(values.size * (values.size - 1), 1)
