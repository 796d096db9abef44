"""Nesting of columns: which are constant within the values of another, against chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veladura.base.arrays import Ints
from veladura.table.roles.evidence import Evidence

CONSTANT = 0.9  # of the changes that chance would bring, those that do not happen
VARYING = 0.5
_MOST_CHANGES = 0.25  # in a group, for errors of those who typed
ONE_TO_ONE = 0.97
_FEWEST_CHANGES = 12  # chance must bring so many for constancy to mean anything
_SELDOM = 0.3  # of the repeats that chance would bring
_CELLS_PER_ROW = 4  # so many cells are counted faster than rows are sorted


def pairs(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs of two columns of codes, rows with a missing one left out."""
    both = (first >= 0) & (second >= 0)
    if not both.any():
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    width = int(second.max()) + 1
    number = first[both] * width + second[both]
    cells = (int(first.max()) + 1) * width
    distinct = (
        np.flatnonzero(np.bincount(number, minlength=1))
        if cells <= _CELLS_PER_ROW * first.size
        else _distinct(number)
    )
    return distinct // width, distinct % width


def _distinct(numbers: Ints) -> Ints:
    """Return the distinct numbers; sorting is faster than NumPy's table of hashes."""
    ordered = np.sort(numbers)
    first = np.ones(ordered.size, dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def constancy(key: Evidence, column: Evidence) -> float:
    """Return how constant a column is within the values of a key; NaN if chance would do it.

    One minus the distinct pairs beyond one a value of the key, over those that independent columns
    with the same frequencies would have: a group of ``s`` rows then holds
    ``sum_j 1 - (1 - p_j)^s`` distinct values.
    """
    both = (key.codes >= 0) & (column.codes >= 0)
    if not both.any():
        return float("nan")
    groups = np.bincount(key.codes[both])
    groups = groups[groups > 0]
    changes = pairs(key.codes, column.codes)[0].size - groups.size
    chance = _expected(groups, column.sizes) - groups.size
    if chance < _FEWEST_CHANGES:
        return float("nan")
    share = 1 - changes / chance
    # a column that repeats by itself changes rarely, and yet in most groups
    return share if changes <= _MOST_CHANGES * groups.size else min(share, VARYING)


def never_repeats(key: Evidence, column: Evidence) -> bool:
    """Whether no value occurs twice within a value of the key, though many have several rows."""
    both = (key.codes >= 0) & (column.codes >= 0)
    once = pairs(key.codes, column.codes)[0].size == both.sum()
    return bool(once) and repeats_less(key, column)


def repeats_less(key: Evidence, column: Evidence) -> bool:
    """Whether values repeat within the values of a key far less often than chance would have it."""
    both = (key.codes >= 0) & (column.codes >= 0)
    groups = np.bincount(key.codes[both])
    chance = both.sum() - _expected(groups[groups > 0], column.sizes)
    repeats = both.sum() - pairs(key.codes, column.codes)[0].size
    return bool(chance >= _FEWEST_CHANGES and repeats < _SELDOM * chance)


def _expected(groups: Ints, sizes: Ints) -> float:
    """Return the distinct pairs that independence brings, by group sizes and value sizes."""
    group, often = np.unique(groups, return_counts=True)
    size, values = np.unique(sizes, return_counts=True)
    share = size / sizes.sum()
    absent = (1 - share[None, :]) ** group[:, None]
    return float((often[:, None] * values[None, :] * (1 - absent)).sum())


def determines(key: Evidence, column: Evidence) -> bool:
    """Whether the value of a key tells that of a column in nearly every row."""
    return constancy(key, column) >= ONE_TO_ONE


def is_listed(column: Evidence, columns: Sequence[Evidence]) -> bool:
    """Whether codes of places stand in the order of their regions: those of one come together."""
    if not column.whole:
        return False
    places, row = np.unique(column.codes, return_index=True)
    for other in columns:
        if 2 < other.distinct <= places.size / 2 and determines(column, other):  # noqa: PLR2004
            region = other.codes[row]
            if np.count_nonzero(np.diff(region)) < 1.1 * other.distinct:
                return True
    return False


def are_aliases(first: Evidence, second: Evidence) -> bool:
    """Whether two columns tell each other: two names of the same thing."""
    if not 0.9 < first.distinct / max(second.distinct, 1) < 1.1:  # noqa: PLR2004
        return False
    seen = pairs(first.codes, second.codes)[0].size
    most = max(first.distinct, second.distinct)
    # nearly unique columns have few pairs more than values: what repeats must repeat together
    return seen <= 1.03 * most and seen - most <= 0.3 * (first.present - most)


def unique_people(column: Evidence, person: Evidence | None) -> int:
    """Return how many people have a value of the column that nobody else has."""
    if person is None or person is column:
        return int(np.count_nonzero(column.sizes == 1)) if person is None else column.distinct
    values, people = pairs(column.codes, person.codes)
    holders = np.bincount(values, minlength=column.distinct)
    return int(np.count_nonzero(np.bincount(people[holders[values] == 1])))


def explained(category: Evidence, number: Evidence) -> float:
    """Return the share of variance between categories (the correlation ratio)."""
    both = (category.codes >= 0) & (number.codes >= 0)
    values, group = number.by_row[both], category.codes[both]
    if values.size == 0 or values.std() == 0:
        return 0.0
    sizes = np.bincount(group)
    means = np.bincount(group, weights=values) / np.maximum(sizes, 1)
    between = float((sizes * (means - values.mean()) ** 2).sum())
    return between / float(((values - values.mean()) ** 2).sum())
