"""Numbers that move among others that stay: their variance is kept in the units of the column.

Where most people of a pool hold mass points, those who move are in the tails. They move inwards
among the mass points, but no mass point moves outwards for them. Without a correction the column
loses up to one percent of its standard deviation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.numeric.trees.tail import Quantiles

MOST = 1.1  # one person's number among mass points is not worth more
POINTS = 256
STEPS = (-0.75, -0.25, 0.25, 0.75)  # the middle points of quarters of (-1, 1)


@dataclass(frozen=True, eq=False, repr=False)
class Stretch:
    """A factor on the distance from the middle of the column. Its repr shows nothing."""

    centre: float
    factor: float
    ends: tuple[float, float]

    @classmethod
    def of(cls, quantiles: Quantiles, own: Floats, moved: Floats) -> Stretch:
        """Return the factor by which moved numbers have the mean square of those not yet moved.

        Both are numbers of the quantile function: nobody's own number decides.

        Parameters
        ----------
        own
            Those at the ranks of the people who move.
        moved
            Numbers that they may move to.

        Examples
        --------
        >>> straight = Quantiles(np.array([0.0, 1.0]), np.array([-100.0, 100.0]))
        >>> stretch = Stretch.of(straight, np.array([-90.0, 90.0]), np.array([-88.0, 88.0]))
        >>> stretch.at(np.array([-88.0, 99.0])).tolist()
        [-90.0, 100.0]
        """
        centre = float(quantiles.at((np.arange(POINTS) + 0.5) / POINTS).mean())
        before, after = (float(np.mean((numbers - centre) ** 2)) for numbers in (own, moved))
        factor = float(np.clip(np.sqrt(before / max(after, 1e-300)), 1.0, MOST))
        low, high = quantiles.at(np.array([0.0, 1.0])).tolist()
        return cls(centre, factor, (low, high))

    def at(self, numbers: Floats) -> Floats:
        """Return numbers farther from the middle, within those of the quantile function."""
        return np.clip(self.centre + self.factor * (numbers - self.centre), *self.ends)
