"""Whether a release holds people's own numbers as often as chance gives: neither hole nor spike."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, gcd, log
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.numeric.distinct import distinct
from veladura.table.units import people_per_cell

if TYPE_CHECKING:
    from veladura.table.codes import Column

REACH = 12  # steps to either side that say what chance gives
SPREAD = 2.0  # variance of a count over its mean: draws of one donor are alike
EXACT = 2.0**53
ALIKE = 5  # a number that so many people hold is no neighbour of one that a single person holds
MOST = 5000  # numbers of one person that are looked up; evenly spaced among more


@dataclass(frozen=True)
class OwnNumbers:
    """Released rows that hold a number of one person, and how many chance gives.

    Attributes
    ----------
    numbers
        Numbers of the original column that one person holds.
    hits
        Released rows that hold one of them.
    expected
        The same if each were released as often as the numbers around it.
    """

    numbers: int
    hits: int
    expected: float

    @property
    def pvalue(self) -> float:
        """Two-sided p-value of the hits, from above: Chernoff's bound of a Poisson count.

        exp(-(h log(h/e) - h + e)) for h hits and e expected, with twice the variance of a Poisson
        count, because draws of one donor are alike.
        """
        if not self.numbers:
            return 1.0
        if self.expected <= 0:
            return 1.0 if not self.hits else 0.0
        ratio = self.hits / self.expected
        apart = self.expected * ((ratio * log(ratio) if ratio else 0.0) - ratio + 1)
        return min(1.0, 2 * exp(-apart / SPREAD))


def own_numbers(
    before: Column, released: list[Column], people: Ints | None, shared: int
) -> OwnNumbers:
    """Compare how often numbers of one person are released with the numbers around them.

    Parameters
    ----------
    before
        The original column.
    released
        The released columns.
    people
        Whose row each of the original is; None if every row is a person.
    shared
        A number that so many people share is released as it is: it says nothing of chance.
    """
    present = ~before.missing
    steps = step_of([before, *released])
    if steps is None:
        return _continuous(before, released)
    scale, unit = steps
    values, holders = _held(
        points_of(before, scale, unit), None if people is None else people[present]
    )
    # in a tail whole numbers of 40 people lie a few steps from one: they say nothing of chance
    single, mass = values[holders == 1], values[holders >= min(shared, ALIKE)]
    single = single[:: max(1, single.size // MOST)]
    points = np.concatenate([points_of(column, scale, unit) for column in released])
    key, count = distinct(points)
    if not key.size:
        return OwnNumbers(single.size, 0, 0.0)
    hits = counted(single, key, count)
    expected, around = hits.astype(np.float64), np.ones(single.size)  # itself is one of them
    for offset in [*range(-REACH, 0), *range(1, REACH + 1)]:
        there = single + offset
        alike = (roundness(there) == roundness(single)) & ~listed(there, mass)
        expected += np.where(alike, counted(there, key, count), 0)
        around += alike
    usable = around > 1
    return OwnNumbers(
        int(usable.sum()),
        int(hits[usable].sum()),
        float((expected[usable] / around[usable]).sum()),
    )


def _held(points: Ints, people: Ints | None) -> tuple[Ints, Ints]:
    """Return the distinct points, and how many people hold each."""
    if people is None:
        return distinct(points)
    values, place = np.unique(points, return_inverse=True)
    return values, people_per_cell(place.reshape(-1), people, values.size)


def _continuous(before: Column, released: list[Column]) -> OwnNumbers:
    """Return the same for numbers without a grid: chance gives none of them."""
    values, count = distinct(before.values[~before.missing])
    single, hits = values[count == 1], 0
    for column in released:
        there, number = distinct(column.values[~column.missing])
        hits += int(number[listed(there, single)].sum())
    return OwnNumbers(single.size, hits, 0.0)


def step_of(columns: list[Column]) -> tuple[float, int] | None:
    """Return the decimals as a power of ten, and the common divisor; None without a grid."""
    if columns[0].decimals is None:
        return None
    scale, divisor = 10.0 ** columns[0].decimals, 0
    for column in columns:
        numbers = column.values[~column.missing].astype(np.float64) * scale
        if numbers.size and np.abs(numbers).max() > EXACT:
            return None
        divisor = gcd(divisor, int(np.gcd.reduce(np.rint(numbers).astype(np.int64), initial=0)))
    return scale, max(divisor, 1)


def points_of(column: Column, scale: float, unit: int) -> Ints:
    """Return the numbers of a column in steps of its grid."""
    numbers = column.values[~column.missing].astype(np.float64) * scale
    points: Ints = np.rint(numbers).astype(np.int64) // unit
    return points


def counted(points: Ints, key: Ints, count: Ints) -> Ints:
    """Return how often each point occurs, given sorted points and their counts."""
    place = np.minimum(np.searchsorted(key, points), key.size - 1)
    return np.asarray(np.where(key[place] == points, count[place], 0))


def listed(points: Ints, key: Ints) -> Mask:
    """Return which points are in a sorted list."""
    if not key.size:
        return np.zeros(points.size, dtype=bool)
    return np.asarray(key[np.minimum(np.searchsorted(key, points), key.size - 1)] == points)


def roundness(points: Ints) -> Ints:
    """Return how round whole numbers are: people round to 5, 10, 50, 100 and 1000."""
    found: Ints = _ROUNDNESS[points % _ROUNDNESS.size]
    return found


_ROUNDNESS = sum((np.arange(1000) % unit == 0).astype(np.int64) for unit in (5, 10, 50, 100, 1000))
