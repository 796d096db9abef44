"""All people of a column of which some rows are at hand: their ranks, quantiles and isolation.

Held as the distinct numbers and how many people have each, so that what the law of the leaf asks of
the column is that of everybody, and not of the rows that a method was fitted to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.transforms import Transform
from veladura.numeric.trees.scores import scores_of_shares
from veladura.numeric.trees.tail import Quantiles


@dataclass(frozen=True, eq=False)
class Crowd:
    """People in the order of their numbers. Its repr shows none.

    Attributes
    ----------
    places
        The distinct numbers in order, as places on the grid of the column.
    holders
        How many people hold each.
    """

    places: Floats = field(repr=False)
    holders: Ints = field(repr=False)

    @property
    def size(self) -> int:
        """Number of people."""
        return int(self.holders.sum())

    def only(self, kept: Mask) -> Crowd:
        """Return the people with some of the numbers."""
        return self if kept.all() else Crowd(self.places[kept], self.holders[kept])

    @cached_property
    def shares(self) -> Floats:
        """The mid-rank share of the people who hold each number."""
        middle: Floats = (np.cumsum(self.holders) - self.holders / 2) / self.size
        return middle

    def shares_of(self, places: Floats) -> Floats:
        """Return the mid-rank shares of some people of the crowd."""
        return self.shares[np.minimum(np.searchsorted(self.places, places), self.places.size - 1)]

    def scores_of(self, places: Floats) -> tuple[Floats, Floats]:
        """Return scores and isolation of some people of the crowd, among all of it.

        Examples
        --------
        >>> crowd = Crowd(np.arange(100.0), np.ones(100, dtype=np.int64))
        >>> score, isolation = crowd.scores_of(np.array([49.0, 99.0]))
        >>> score.round(2).tolist(), isolation.round(2).tolist()
        ([-0.01, 2.58], [0.13, 0.98])
        """
        return scores_of_shares(self.shares_of(places), self.size)

    def quantiles(self, numbers: Floats, scale: Transform | None = None) -> Quantiles:
        """Return the quantile function of the crowd.

        Parameters
        ----------
        numbers
            The distinct numbers as they are to be read.
        """
        return Quantiles.of(np.repeat(numbers, self.holders), scale=scale)
