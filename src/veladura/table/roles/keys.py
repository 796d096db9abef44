"""Columns that could number units, with the columns that stay the same within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.nesting import (
    CONSTANT,
    VARYING,
    are_aliases,
    constancy,
)

_FEWEST_UNITS = 15
_ROWS_EACH = (1.12, 150.0)  # rows a unit, on average
_LARGEST_SIZE = 30
_LARGE = 4  # members
_MUCH = 4  # columns
_LONG = 8  # characters
_MANY_LEVELS = 15
_FOLLOWS = 0.97  # rank correlation of a column that only follows the order of the codes
_MOST_MISSING = 0.1
_APART = -0.2  # constancy of a column that tells the rows of a unit apart, as a wave does
_PENALTY = {"age": 2, "scale": 2, "count": 2, "measure": 1}  # shapes that number no units


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


def may_be_key(column: Evidence, shape: str) -> bool:
    """Whether values could number units: whole numbers or words, repeated, hardly any missing."""
    if column.field.kind == "date" or (column.levels is not None and not column.whole):
        return False
    if shape in ("free text", "amount", "year", "birth year", "binary", "month", "day", "date"):
        return False
    each = column.present / max(column.distinct, 1)
    return (
        column.distinct >= _FEWEST_UNITS
        and _ROWS_EACH[0] <= each <= _ROWS_EACH[1]
        and column.present >= (1 - _MOST_MISSING) * column.rows
    )


def key_of(column: Evidence, columns: Sequence[Evidence], shapes: Mapping[str, str]) -> Key:
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
    points += is_dense(column) or (column.levels is None and _is_long(column, shapes))
    points += _is_contiguous(column)
    points += 2 * any(counts_rows(column, other) for other in constant)
    points += any(_numbers_rows(column, other) for other in varying)
    points += 3 * any(constancy(column, other) < _APART for other in varying)
    # a few with very many rows are towns, not people, unless much stays the same within them
    points -= 2 * bool(sizes.max() > 12 * sizes.mean() and len(constant) < _MUCH)
    points += 2 * (shapes[column.name] == "hash")  # nobody hashes a category
    points += any(other.levels is None for other in aliases)
    points -= _PENALTY.get(shapes[column.name], 0)
    return int(points)


def _is_long(column: Evidence, shapes: Mapping[str, str]) -> bool:
    """Whether codes are longer than those of categories are."""
    return shapes[column.name] == "code" and min(map(len, column.texts)) >= _LONG


def is_dense(column: Evidence) -> bool:
    """Whether codes are 1, 2, 3, ... or 10, 20, 30, ... with hardly a gap."""
    if not column.whole or column.levels is None:
        return False
    steps = np.diff(column.levels).astype(np.int64)
    return bool(steps.sum() / max(gcd(*steps.tolist()), 1) < 1.3 * column.distinct)


def _is_contiguous(column: Evidence) -> bool:
    """Whether the rows of each unit stand together in the source."""
    changes = int(np.count_nonzero(np.diff(column.codes)))
    return changes < 1.05 * column.distinct and column.distinct < 0.9 * column.rows


def counts_rows(key: Evidence, other: Evidence) -> bool:
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
    return bool(np.mean(place < key.sizes[groups]) > 0.98 and distinct_within(groups, place))  # noqa: PLR2004


def numbers_members(key: Evidence, other: Evidence) -> bool:
    """Whether a column numbers the members of each household from one.

    Head, partner and child may have the codes 1, 2 and 3: those of a large household, with two
    children, are not all different.
    """
    large = (key.codes >= 0) & (key.sizes[key.codes] >= _LARGE) & (other.codes >= 0)
    groups: Ints = key.codes[large]
    enough = np.unique(groups).size >= _FEWEST_UNITS
    return enough and _numbers_rows(key, other) and distinct_within(groups, other.by_row[large])


def distinct_within(groups: Ints, place: Floats) -> bool:
    """Whether nearly all rows of a group have places of their own."""
    number = groups * (int(place.max()) + 1) + place.astype(np.int64)
    return bool(np.unique(number).size > 0.98 * number.size)
