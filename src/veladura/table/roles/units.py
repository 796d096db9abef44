"""Numbers of people and households: repeated codes within which other columns stay constant."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.table.roles.evidence import Evidence
from veladura.table.roles.keys import (
    Key,
    counts_rows,
    distinct_within,
    is_dense,
    key_of,
    may_be_key,
)
from veladura.table.roles.nesting import (
    CONSTANT,
    are_aliases,
    constancy,
    determines,
    is_listed,
    pairs,
    repeats_less,
)

_FEWEST_UNITS = 15
_LARGEST_HOUSEHOLD = 8.0  # rows a household, on average, with one row a person
_LARGEST_SIZE = 30
_ENOUGH = 3  # points of evidence
_BALANCED = (0.3, 0.7)
_DISPERSED = 2.0  # variance of people a household over their mean; towns have far more
_LONG_CODE = 6  # characters
_AS_MANY = 0.99  # distinct values of another name of the same units
_MOST_TIMES = 60
_WAVES = 2  # times the rows of the longest unit: more different times are events, not waves
_FEWEST_AGES = 30
_OLDEST = 115
_OF_PEOPLE = ("person name", "e-mail")


@dataclass(frozen=True, eq=False)
class Units:
    """The numbers of people and households of a table, and other names of the same units."""

    person: Key | None = None
    household: Key | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)  # column: the unit it tells


def find_units(
    columns: Sequence[Evidence], shapes: Mapping[str, str], places: Collection[str] = ()
) -> Units:
    """Return the units of a table; columns that are coordinates number none."""
    every = [
        key_of(column, columns, shapes)
        for column in columns
        if column.name not in places and may_be_key(column, shapes[column.name])
    ]
    keys = [key for key in every if key.points >= _ENOUGH]
    groups = _same_units(sorted(keys, key=lambda key: -key.column.distinct), shapes)
    person, household = _choose([group[0] for group in groups], columns, shapes)
    if household is None:
        household = _around(person, every, shapes) if person else _by_name(every)
    aliases = {
        other.column.name: unit.column.name
        for unit in (person, household)
        if unit is not None
        for group in groups
        if group[0] is unit
        for other in group[1:]
        if _is_name(other.column, shapes[other.column.name])
        and other.column.distinct >= _AS_MANY * unit.column.distinct
    }
    return Units(person, household, aliases)


def _around(person: Key, keys: Sequence[Key], shapes: Mapping[str, str]) -> Key | None:
    """Return the number of a household of which only its people tell.

    In a panel people move and earn apart: each has one household, of a few people.
    """
    coded = [
        key
        for key in keys
        if key is not person
        and (
            "household" in key.column.hints
            or (key.constant and _is_code(key.column, shapes[key.column.name]))
        )
        and not key.column.hints & {"quasi", "sensitive", "age", "birth"}
        and (is_dense(key.column) or not is_listed(key.column, key.constant))
        and _is_household(key, person)
    ]
    return max(coded, key=lambda k: ("household" in k.column.hints, k.points), default=None)


def _by_name(keys: Sequence[Key]) -> Key | None:
    """Return running numbers that are called a household and have a few rows each.

    With one row a person, and no column that members share, only the name can tell.
    """
    called = [
        key
        for key in keys
        if "household" in key.column.hints and is_dense(key.column) and _is_household(key, None)
    ]
    return called[0] if called else None


def _is_code(column: Evidence, shape: str) -> bool:
    """Whether values look like numbers of units: running, or long enough for every one."""
    long = shape == "code" and max(map(len, column.texts)) >= _LONG_CODE
    dense = is_dense(column) and shape not in ("day", "month", "count", "scale")
    if shape == "age":  # a list from one without a gap is no list of ages
        dense = dense and column.numbers[0] == 1 and column.distinct == column.numbers[-1]
    return shape in ("long code", "running number", "hash", "phone") or dense or long


def _same_units(keys: Sequence[Key], shapes: Mapping[str, str]) -> list[list[Key]]:
    """Return keys that tell each other in groups, the best number of each first."""
    groups: list[list[Key]] = []
    for key in keys:
        home = next((g for g in groups if are_aliases(g[0].column, key.column)), None)
        if home is None:
            groups.append([key])
        else:
            home.append(key)
    return [sorted(group, key=lambda key: _as_number(key, shapes)) for group in groups]


def _as_number(key: Key, shapes: Mapping[str, str]) -> tuple[Any, ...]:
    """Order names of the same units: numbers before names, e-mails and social numbers."""
    column, shape = key.column, shapes[key.column.name]
    telling = column.levels is None and shape not in ("code", "hash")
    width = len(column.texts[0]) if column.texts else len(str(int(column.numbers[-1])))
    return telling, not _is_name(column, shape), -column.distinct, shape != "hash", width


def _is_name(column: Evidence, shape: str) -> bool:
    """Whether values can name units; a weight differs by household too, but names none."""
    running = shape in ("long code", "running number")
    return column.levels is None or running or is_dense(column)


def _choose(
    keys: Sequence[Key], columns: Sequence[Evidence], shapes: Mapping[str, str]
) -> tuple[Key | None, Key | None]:
    """Return the numbers of persons and of households among the keys, finest first."""
    person = household = None
    for key in keys:
        if _is_person(key, columns, shapes) and household is None:
            if person is None:
                person = key
        elif (
            household is None
            and key.constant
            and shapes[key.column.name] not in _OF_PEOPLE
            and _is_household(key, person)
        ):
            household = key
    return person, household


def _is_household(key: Key, person: Key | None) -> bool:
    """Whether units have a few people each, and numbers of people that do not differ much."""
    if person is not None and not determines(person.column, key.column):
        return False
    people = (
        key.column.sizes
        if person is None
        else np.bincount(pairs(key.column.codes, person.column.codes)[0])
    )
    mean = float(people.mean())
    if not 1.05 < mean <= _LARGEST_HOUSEHOLD or int(people.max()) > _LARGEST_SIZE:  # noqa: PLR2004
        return False
    # a few shared homes of 25 people make sizes differ as those of towns do: the name decides
    return "household" in key.column.hints or float(people.var()) < _DISPERSED * mean


def _is_person(key: Key, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether the rows of a key are of one person: what people are born with does not change."""
    times = [c for c in key.varying if c.whole and c.distinct <= _MOST_TIMES]
    ages = _ages(key, columns, shapes)
    if any(c in key.constant or any(_ages_with(key, c, time) for time in times) for c in ages):
        votes = 3
    else:
        votes = -2 * any(c in key.varying for c in ages)
    votes += sum(_is_balanced(c) for c in key.constant) > 0
    votes -= sum(_is_balanced(c) for c in key.varying) > 0
    votes += any(shapes[c.name] in ("person name", "e-mail") for c in key.constant)
    votes -= 2 * any(shapes[c.name] in ("person name", "e-mail") for c in key.varying)
    times_of = [c for c in key.varying if _is_time_of(key, c, shapes)]
    # a row for nearly every wave: members of a household have no year each to themselves
    waves = any(c.distinct <= _WAVES * int(key.column.sizes.max()) for c in times_of)
    votes += 3 if waves else bool(times_of)
    votes += 2 * ("person" in key.column.hints) - 2 * ("household" in key.column.hints)
    votes -= any(counts_rows(key.column, c) for c in key.constant)
    votes -= 2 * any(c.nearly_unique and shapes[c.name] in _OF_PEOPLE for c in columns)
    votes += 2 * (key.rows_each > _LARGEST_HOUSEHOLD)
    return votes >= 0


def _ages(key: Key, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> Sequence[Evidence]:
    """Return the columns that are ages or births of the people in a table.

    Codes of places from 0 to 39 look like ages, and members of a household share them. Where a
    column is called an age, only such ones and births are; where none is, one that differs within
    units as ages of several people do speaks against those that all rows of a unit share.
    """
    likely = [c for c in columns if _may_be_age(c, shapes[c.name], key)]
    births = [c for c in likely if shapes[c.name] in ("birth year", "birth date")]
    if called := [c for c in likely if "age" in c.hints]:
        return [*called, *(c for c in births if c not in called)]
    if any(c in key.varying and shapes[c.name] == "age" for c in likely):
        return [c for c in likely if c not in key.constant or c in births]
    return likely


def _may_be_age(column: Evidence, shape: str, key: Key) -> bool:
    """Whether values could be ages or births, also where repeated people make them uneven.

    Numbers of places look like ages too, but tell other columns.
    """
    if shape in ("birth year", "birth date"):
        return True
    if not column.whole or column.levels is None or column.distinct < _FEWEST_AGES:
        return False
    if column.levels[0] < 0 or column.levels[-1] > _OLDEST or column.present < column.rows / 2:
        return False
    others = [c for c in key.constant if c is not column and 2 < c.distinct < column.distinct]  # noqa: PLR2004
    return column not in key.constant or not any(constancy(column, c) > CONSTANT for c in others)


def _is_balanced(column: Evidence) -> bool:
    """Whether a column could be the sex of people; a weight of two values could not."""
    return (
        column.distinct == 2  # noqa: PLR2004
        and (column.levels is None or column.whole)
        and _BALANCED[0] < column.sizes[0] / column.present < _BALANCED[1]
    )


def _ages_with(key: Key, age: Evidence, time: Evidence) -> bool:
    """Whether an age grows with a year or wave, so that their difference does not change."""
    if age.levels is None or age not in key.varying or time is age:
        return False
    difference = age.by_row - time.by_row
    groups = key.column.codes
    usable = (groups >= 0) & ~np.isnan(difference)
    if usable.sum() < _FEWEST_UNITS:
        return False
    sizes = np.bincount(groups[usable])
    means = np.bincount(groups[usable], weights=difference[usable]) / np.maximum(sizes, 1)
    within = float(np.mean((difference[usable] - means[groups[usable]]) ** 2))
    return within < 0.02 * float(np.var(difference[usable]))


def _is_time_of(key: Key, column: Evidence, shapes: Mapping[str, str]) -> bool:
    """Whether a column tells the rows of a unit apart in time, more than chance does."""
    if column.field.kind != "date" and shapes[column.name] != "year":
        return False
    both = (key.column.codes >= 0) & (column.codes >= 0)
    apart = distinct_within(key.column.codes[both], column.codes[both].astype(np.float64))
    return apart and repeats_less(key.column, column)
