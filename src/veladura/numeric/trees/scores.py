"""Scores of people: their ranks, how far they are from others, and how moved scores spread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.distinct import places
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.tail import FEWEST
from veladura.table.units import people_per_cell

CELLS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The distinct values of a column, and who holds them. Its repr shows none.

    Attributes
    ----------
    distinct
        The distinct values in order.
    place
        Of each row among them; rows without a value have 0.
    holders
        How many people hold each.
    """

    distinct: Floats
    place: Ints
    holders: Ints

    @classmethod
    def of(cls, values: Floats, present: Mask, people: Ints | None = None) -> Values:
        """Return the distinct values of the rows that have one.

        Parameters
        ----------
        people
            Whose row each is; every row is a person by default.

        Examples
        --------
        >>> numbers, everywhere = np.array([3.0, 3.0, 3.0, 4.0]), np.ones(4, dtype=bool)
        >>> Values.of(numbers, everywhere, np.array([0, 1, 1, 2])).holders.tolist()
        [2, 1]
        """
        distinct, inverse = places(values[present])
        place = np.zeros(values.size, dtype=np.int64)
        place[present] = inverse
        if people is None:
            return cls(distinct, place, np.bincount(inverse, minlength=distinct.size))
        return cls(distinct, place, people_per_cell(inverse, people[present], distinct.size))

    def by_row(self) -> Ints:
        """Return how many people hold the value of each row."""
        if not self.holders.size:
            return np.zeros(self.place.size, dtype=np.int64)
        return self.holders[self.place]

    def in_order(self, numbers: Floats, here: Mask) -> Floats:
        """Return the numbers of some rows in order, without sorting them again.

        Parameters
        ----------
        numbers
            Of all rows: they go up as their values do.

        Examples
        --------
        >>> rows, everywhere = np.array([3.0, 1.0, 3.0, 2.0]), np.ones(4, dtype=bool)
        >>> Values.of(rows, everywhere).in_order(10 * rows, rows != 2.0).tolist()
        [10.0, 30.0, 30.0]
        """
        place, number = self.place[here], np.zeros(self.distinct.size)
        number[place] = numbers[here]
        return np.repeat(number, np.bincount(place, minlength=self.distinct.size))


def most_rows(people: Ints | None) -> int:
    """Return the most rows that a person has."""
    if people is None:
        return 1
    return int(np.unique(people, return_counts=True)[1].max(initial=1))


def scores_of(place: Ints, rows: int = 1) -> tuple[Floats, Floats]:
    """Return normal scores of mid-ranks, and the isolation of each: the way to five people.

    Parameters
    ----------
    place
        The number of each row, as its place among the distinct ones.
    rows
        Most rows of a person: five people are in any five times as many rows.
    """
    size, count = place.size, np.bincount(place)
    middle = (np.cumsum(count) - count / 2) / size
    far, end = FEWEST * rows / size, 0.5 / size
    score, above, below = (
        normal_quantile(np.clip(share, end, 1 - end))
        for share in (middle, middle + far, middle - far)
    )
    up, down = above - score, score - below
    outermost = (middle + far > 1 - end) | (middle - far < end)  # one side only has five others
    isolation = np.where(outermost, np.maximum(up, down), (up + down) / 2)
    return score[place], isolation[place]


def mixture(centre: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return the distribution function of centre + scale U over some people, on a fine grid.

    The density is a sum of boxes: each goes up at its left end and down at its right one. Ends
    between two points of the grid are shared between them.
    """
    wide = np.maximum(scale, 1e-9)
    low, high = float((centre - wide).min()), float((centre + wide).max())
    cell = (high - low) / (CELLS - 3)
    points = np.linspace(low - cell, low + (CELLS - 2) * cell, CELLS)
    rise = np.zeros(CELLS + 1)
    weight = 0.5 / wide
    for ends, sign in ((centre - wide, 1.0), (centre + wide, -1.0)):
        at = (ends - points[0]) / cell
        below = at.astype(np.int64)  # downwards: no end is below the first point
        whole = np.bincount(below, weight, CELLS)
        above = np.bincount(below, (at - below) * weight, CELLS)
        rise[:-1] += sign * (whole - above)
        rise[1:] += sign * above
    rise = rise[:-1]
    density = np.cumsum(rise)
    heights = np.append(0.0, np.cumsum(density[:-1])) * cell / centre.size
    heights = np.maximum.accumulate(np.clip(heights, 0.0, None))
    share: Floats = heights / heights[-1]
    return points, share


def heights_at(scores: Floats, points: Floats, heights: Floats) -> Floats:
    """Return a function that is straight between evenly spaced points.

    Examples
    --------
    >>> points, heights = np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.0])
    >>> heights_at(np.array([0.5, 9.0]), points, heights).tolist()
    [0.25, 1.0]
    """
    last = points.size - 1
    at = np.clip((scores - points[0]) * (last / (points[-1] - points[0])), 0.0, last)
    below = np.minimum(at.astype(np.int64), last - 1)
    low = heights[below]
    found: Floats = low + (heights[below + 1] - low) * (at - below)
    return found
