"""Numbers of people and households: repeated codes within which other columns stay constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import (
    CONSTANT,
    VARYING,
    are_aliases,
    constancy,
    determines,
    pairs,
)

_FEWEST_UNITS = 15
_ROWS_EACH = (1.12, 150.0)  # rows a unit, on average
_LARGEST_HOUSEHOLD = 8.0  # rows a household, on average, with one row a person
_LARGEST_SIZE = 30
_ENOUGH = 3  # points of evidence
_MANY_LEVELS = 15
_FOLLOWS = 0.97  # rank correlation of a column that only follows the order of the codes
_MOST_MISSING = 0.1
_FEWEST_CONSTANT = 2
_BALANCED = (0.3, 0.7)
_APART = -0.2  # constancy of a column that tells the rows of a unit apart, as a wave does
_DISPERSED = 2.0  # variance of people a household over their mean; towns have far more
_LONG_CODE = 6  # characters
_PENALTY = {"age": 2, "scale": 2, "count": 2, "measure": 1}  # shapes that number no units
_AS_MANY = 0.99  # distinct values of another name of the same units
_MOST_TIMES = 60
_FEWEST_AGES = 30
_OLDEST = 115


@dataclass(frozen=True, eq=False)
class Key:
    """A column that could number units, with the columns that are constant within it."""

    column: Evidence
    constant: tuple[Evidence, ...]
    varying: tuple[Evidence, ...]
    points: int

    @property
    def rows_each(self) -> float:
        """Rows of a unit, on average."""
        return self.column.present / max(self.column.distinct, 1)


@dataclass(frozen=True, eq=False)
class Units:
    """The numbers of people and households of a table, and other names of the same units."""

    person: Key | None = None
    household: Key | None = None
    aliases: Mapping[str, str] = field(default_factory=dict)  # column: the unit it tells


def find_units(columns: Sequence[Evidence], shapes: Mapping[str, str]) -> Units:
    """Return the units of a table among columns that are no coordinates."""
    every = [
        _key(column, columns, shapes) for column in columns if _may_be(column, shapes[column.name])
    ]
    keys = [key for key in every if key.points >= _ENOUGH]
    groups = _same_units(sorted(keys, key=lambda key: -key.column.distinct), shapes)
    person, household = _choose([group[0] for group in groups], columns, shapes)
    if person is not None and household is None:
        household = _around(person, every, shapes)
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


def _may_be(column: Evidence, shape: str) -> bool:
    """Whether values could number units: whole numbers or words, repeated, hardly any missing."""
    if column.field.kind == "date" or (column.levels is not None and not column.whole):
        return False
    if shape in ("free text", "amount", "year", "birth year", "binary", "month", "day"):
        return False
    each = column.present / max(column.distinct, 1)
    return (
        column.distinct >= _FEWEST_UNITS
        and _ROWS_EACH[0] <= each <= _ROWS_EACH[1]
        and column.present >= (1 - _MOST_MISSING) * column.rows
    )


def _key(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> Key:
    """Return a possible key with the columns constant within it, and its points of evidence."""
    constant, varying, aliases = [], [], []
    for other in columns:
        if other is column or other.distinct < 2:  # noqa: PLR2004
            continue
        if are_aliases(column, other):
            aliases.append(other)
            continue
        share = constancy(column, other)
        if share >= CONSTANT and not _follows(column, other):
            constant.append(other)
        elif share < VARYING:
            varying.append(other)
    points = _points(column, constant, varying, aliases, shapes)
    return Key(column, tuple(constant), tuple(varying), points)


def _follows(key: Evidence, other: Evidence) -> bool:
    """Whether a column only follows the order of the key, as a birth year follows the age."""
    if key.levels is None or other.levels is None:
        return False
    both = (key.codes >= 0) & (other.codes >= 0)
    first, second = key.codes[both].astype(float), other.codes[both].astype(float)
    if first.std() == 0 or second.std() == 0:
        return True
    return bool(abs(np.corrcoef(first, second)[0, 1]) > _FOLLOWS)


def _points(
    column: Evidence,
    constant: Sequence[Evidence],
    varying: Sequence[Evidence],
    aliases: Sequence[Evidence],
    shapes: Mapping[str, str],
) -> int:
    if not (constant or aliases) or not varying:
        return 0
    detailed = [
        other
        for other in (*constant, *aliases)
        if (other.levels is not None and other.distinct >= _MANY_LEVELS and other in constant)
        or (other.levels is not None and not other.whole)
        or shapes[other.name] in ("e-mail", "person name", "phone", "hash", "street")
    ]
    named = bool(column.hints & {"person", "household", "identifier"})
    sizes = column.sizes
    points = max(min(len(constant), 3) - 1, 0)
    points += 2 * bool(detailed) + named
    points += shapes[column.name] in ("long code", "running number", "hash", "code", "e-mail")
    points += _is_dense(column)
    points += _is_contiguous(column)
    points += 2 * any(_counts_rows(column, other) for other in constant)
    points += any(_numbers_rows(column, other) for other in varying)
    points += 3 * any(constancy(column, other) < _APART for other in varying)
    points -= 2 * bool(sizes.max() > 12 * sizes.mean())  # towns, not people
    points += any(other.levels is None for other in aliases)
    points -= _PENALTY.get(shapes[column.name], 0)
    return int(points)


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
        and _is_household(key, person)
    ]
    return max(coded, key=lambda k: ("household" in k.column.hints, k.points), default=None)


def _is_code(column: Evidence, shape: str) -> bool:
    """Whether values look like numbers of units: running, or long enough for every one."""
    long = shape == "code" and len(column.texts[0]) >= _LONG_CODE
    dense = _is_dense(column) and shape not in ("day", "month", "age", "count", "scale")
    return shape in ("long code", "running number", "hash") or dense or long


def _is_dense(column: Evidence) -> bool:
    """Whether codes are 1, 2, 3, ... or 10, 20, 30, ... with hardly a gap."""
    if not column.whole or column.levels is None:
        return False
    steps = np.diff(column.levels).astype(np.int64)
    return bool(steps.sum() / max(gcd(*steps.tolist()), 1) < 1.3 * column.distinct)


def _is_contiguous(column: Evidence) -> bool:
    """Whether the rows of each unit stand together in the source."""
    changes = int(np.count_nonzero(np.diff(column.codes)))
    return changes < 1.05 * column.distinct and column.distinct < 0.9 * column.rows


def _counts_rows(key: Evidence, other: Evidence) -> bool:
    """Whether a column says how many rows its unit has."""
    if not other.whole or other.distinct > _LARGEST_SIZE:
        return False
    both = (key.codes >= 0) & (other.codes >= 0)
    return bool(both.any() and np.mean(key.sizes[key.codes[both]] == other.by_row[both]) > 0.9)  # noqa: PLR2004


def _numbers_rows(key: Evidence, other: Evidence) -> bool:
    """Whether a column numbers the rows of each unit from one."""
    if not other.whole or other.levels is None or other.levels[0] not in (0, 1):
        return False
    both = (key.codes >= 0) & (other.codes >= 0)
    if not both.any():
        return False
    groups: Ints = key.codes[both]
    place = other.by_row[both] - other.levels[0]
    return bool(np.mean(place < key.sizes[groups]) > 0.98 and _distinct_within(groups, place))  # noqa: PLR2004


def _distinct_within(groups: Ints, place: np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
    number = groups * (int(place.max()) + 1) + place.astype(np.int64)
    return bool(np.unique(number).size > 0.98 * number.size)


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
    return column.levels is None or running or _is_dense(column)


def _choose(
    keys: Sequence[Key], columns: Sequence[Evidence], shapes: Mapping[str, str]
) -> tuple[Key | None, Key | None]:
    """Return the numbers of persons and of households among the keys, finest first."""
    person = household = None
    for key in keys:
        if _is_person(key, columns, shapes) and household is None:
            if person is None:
                person = key
        elif household is None and _is_household(key, person):
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
    return (
        1.05 < mean <= _LARGEST_HOUSEHOLD  # noqa: PLR2004
        and int(people.max()) <= _LARGEST_SIZE
        and float(people.var()) < _DISPERSED * mean
    )


def _is_person(key: Key, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> bool:
    """Whether the rows of a key are of one person: what people are born with does not change."""
    ages = [c for c in columns if _may_be_age(c, shapes[c.name], key)]
    times = [c for c in key.varying if c.whole and c.distinct <= _MOST_TIMES]
    if any(c in key.constant or any(_ages_with(key, c, time) for time in times) for c in ages):
        votes = 3
    else:
        votes = -2 * any(c in key.varying for c in ages)
    votes += sum(_is_balanced(c) for c in key.constant) > 0
    votes -= sum(_is_balanced(c) for c in key.varying) > 0
    votes += any(shapes[c.name] in ("person name", "e-mail") for c in key.constant)
    votes -= 2 * any(shapes[c.name] in ("person name", "e-mail") for c in key.varying)
    votes += any(_is_time_of(key, c, shapes) for c in key.varying)
    votes += 2 * ("person" in key.column.hints) - 2 * ("household" in key.column.hints)
    votes -= any(_counts_rows(key.column, c) for c in key.constant)
    votes -= 2 * any(c.nearly_unique and shapes[c.name] in _OF_PEOPLE for c in columns)
    votes += 2 * (key.rows_each > _LARGEST_HOUSEHOLD)
    return votes >= 0


_OF_PEOPLE = ("person name", "e-mail")


def _may_be_age(column: Evidence, shape: str, key: Key) -> bool:
    """Whether values could be ages or births, also where repeated people make them uneven.

    Numbers of places look like ages too, but tell other columns.
    """
    if shape in ("birth year", "birth date"):
        return True
    if not column.whole or column.levels is None or column.distinct < _FEWEST_AGES:
        return False
    if column.levels[0] < 0 or column.levels[-1] > _OLDEST:
        return False
    others = [c for c in key.constant if c is not column and 2 < c.distinct < column.distinct]  # noqa: PLR2004
    return column not in key.constant or not any(constancy(column, c) > CONSTANT for c in others)


def _is_balanced(column: Evidence) -> bool:
    return (
        column.distinct == 2  # noqa: PLR2004
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
    """Whether a column tells the rows of a unit apart in time."""
    if column.field.kind != "date" and shapes[column.name] != "year":
        return False
    both = (key.column.codes >= 0) & (column.codes >= 0)
    return _distinct_within(key.column.codes[both], column.codes[both].astype(np.float64))
