"""The posterior of a share: a mixture of Beta laws over a window of counts.

Given x, the share of a cell is Beta(gamma + x, total - gamma - x). Neighbouring Beta distribution
functions differ by one term, I(a, b) - I(a + 1, b - 1) = p^a (1 - p)^(b - 1) Gamma(a + b) /
(Gamma(a + 1) Gamma(b)), so the mixture is a sum of positive terms that falls off like a binomial
around total * p.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import betainc
from scipy.stats import beta

from veladura.base.arrays import Floats
from veladura.base.jit import compiled
from veladura.inference.posterior.convolve import Law

POINTS = 240
EDGE = 1e-13


@compiled(
    "void(float64[::1], int64, float64[::1], float64[::1], float64, float64, float64[:, ::1])"
)
def _sums(
    points: Floats,
    low: int,
    chances: Floats,
    below: Floats,
    gamma: float,
    total: float,
    out: Floats,
) -> None:
    """Put into ``out`` the sums of term * below and of term * chances * (gamma + x) by point."""
    last = chances.size - 1
    for i in range(points.size):
        p = points[i]
        odds = p / (1.0 - p)
        start = int(min(max(total * p - gamma - low, 0.0), float(last)))
        a = gamma + low + start
        top = exp(
            a * log(p)
            + (total - a - 1.0) * log1p(-p)
            + lgamma(total)
            - lgamma(a + 1.0)
            - lgamma(total - a)
        )
        cumulative = 0.0
        density = 0.0
        term = top
        for j in range(start, last + 1):  # upwards
            x = gamma + low + j
            if j < last:
                cumulative += term * below[j]
            density += term * chances[j] * x
            term *= odds * (total - x - 1.0) / (x + 1.0)
            if term < top * 1e-20 or term == 0.0:
                break
        term = top
        for j in range(start - 1, -1, -1):  # downwards
            x = gamma + low + j
            term *= (x + 1.0) / (odds * (total - x - 1.0))
            cumulative += term * below[j]
            density += term * chances[j] * x
            if term < top * 1e-20 or term == 0.0:
                break
        out[i, 0] = cumulative
        out[i, 1] = density / p


@dataclass(frozen=True, eq=False)
class Share:
    """The posterior law of a share.

    Attributes
    ----------
    law
        The law of the count behind it.
    gamma, total
        The prior's weight of the cell, and that of all cells plus n.
    """

    law: Law
    gamma: float
    total: float

    @property
    def mean(self) -> float:
        """E p = (gamma + E x) / total."""
        return (self.gamma + self.law.mean) / self.total

    @property
    def variance(self) -> float:
        """Var p = (Var x + total E p (1 - E p)) / (total (total + 1)), by total variance."""
        mean = self.mean
        return (self.law.variance / self.total + mean * (1 - mean)) / (self.total + 1)

    def cdf(self, points: ArrayLike) -> Floats:
        """Return the probability that the share is at most each point."""
        return self._both(np.atleast_1d(np.asarray(points, dtype=np.float64)))[0]

    def pdf(self, points: ArrayLike) -> Floats:
        """Return the density at each point."""
        return self._both(np.atleast_1d(np.asarray(points, dtype=np.float64)))[1]

    def _both(self, points: Floats) -> tuple[Floats, Floats]:
        inside = np.clip(points, 1e-300, 1 - 1e-16)
        out = np.empty((inside.size, 2))
        _sums(inside, self.law.low, self.law.chances, self._below, self.gamma, self.total, out)
        last = self.gamma + self.law.low + self.law.chances.size - 1
        return out[:, 0] + betainc(last, self.total - last, inside), out[:, 1]

    @cached_property
    def _below(self) -> Floats:
        return np.cumsum(self.law.chances)

    @cached_property
    def _inverse(self) -> PchipInterpolator:
        """The angle arcsin(sqrt(share)) by probability: smooth where a density is unbounded."""
        ends = self._support()
        first, last = np.arcsin(np.sqrt(ends)).tolist()
        angles = np.linspace(first, last, POINTS)
        chances = self.cdf(np.sin(angles) ** 2)
        rising = np.concatenate([[True], np.diff(np.maximum.accumulate(chances)) > 0])
        return PchipInterpolator(chances[rising], angles[rising], extrapolate=False)

    def _support(self) -> Floats:
        """Return ends beyond which the probability is negligible."""
        low = self.gamma + self.law.low + int(np.searchsorted(self._below, EDGE))
        high = self.gamma + self.law.low + int(np.searchsorted(self._below, 1 - EDGE))
        high = min(high, self.gamma + self.law.low + self.law.chances.size - 1)
        with warnings.catch_warnings():  # of a root that is hardly above 0 or below 1
            warnings.simplefilter("ignore", RuntimeWarning)
            least = beta.ppf(EDGE, low, self.total - low)
            most = beta.isf(EDGE, high, self.total - high)
        inside: Floats = np.clip(
            [least if least >= 0 else 0.0, most if most <= 1 else 1.0], 0.0, 1.0
        )
        return inside

    def quantile(self, chances: ArrayLike) -> Floats:
        """Return the quantiles, by interpolation and Newton steps on the exact function."""
        wanted = np.atleast_1d(np.asarray(chances, dtype=np.float64))
        grid = self._inverse.x
        points = np.sin(self._inverse(np.clip(wanted, grid[0], grid[-1]))) ** 2
        for _ in range(3):
            reached, density = self._both(points)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(density > 0, (reached - wanted) / density, 0.0)
            points = np.clip(points - np.clip(step, -0.5 * points, 0.5 * (1 - points)), 0.0, 1.0)
        return np.where(wanted <= grid[0], 0.0, np.where(wanted >= grid[-1], 1.0, points))

    def interval(self, level: float = 0.95, kind: str = "hpd") -> tuple[float, float]:
        """Return the shortest interval of a level ("hpd"), or the one with equal tails ("equal").

        For a density with one top the shortest interval is the region of highest density.
        """
        if kind == "equal":
            low, high = self.quantile([(1 - level) / 2, (1 + level) / 2])
            return float(low), float(high)
        tail = self._shortest(level)
        low, high = self.quantile([tail, tail + level])
        return 0.0 if tail == 0 else float(low), 1.0 if tail >= 1 - level else float(high)

    def _shortest(self, level: float) -> float:
        """Return the probability below the shortest interval, on a grid that is refined twice."""
        grid = self._inverse.x

        def lengths(tails: Floats) -> Floats:
            low = np.where(
                tails <= grid[0],
                0.0,
                np.sin(self._inverse(np.clip(tails, grid[0], grid[-1]))) ** 2,
            )
            ends = np.clip(tails + level, grid[0], grid[-1])
            high = np.where(tails + level >= grid[-1], 1.0, np.sin(self._inverse(ends)) ** 2)
            return np.asarray(high - low)

        first, last = 0.0, 1 - level
        for _ in range(3):
            tails = np.linspace(first, last, 101)
            best = int(np.argmin(lengths(tails)))
            first, last = tails[max(best - 1, 0)], tails[min(best + 1, 100)]
        return float(tails[best])
