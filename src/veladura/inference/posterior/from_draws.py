"""Estimates and intervals from posterior draws: quantiles of many, t intervals or ranks of few."""

from __future__ import annotations

import math

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.inference.posterior.shares import shortest

MANY = 400  # draws from which quantiles are taken; below, a t interval
AT_BOUND = 0.02  # draws of less, as a share of the largest, are at the bound of 0


def half_width(draws: Floats, level: float) -> float:
    """Return half the width of a t interval: few draws tell the variance, not the tails."""
    from scipy.special import stdtrit

    wide = float(stdtrit(draws.size - 1, (1 + level) / 2))
    return wide * float(draws.std(ddof=1)) * math.sqrt(1 + 1 / draws.size)


def ranked(draws: Floats, level: float) -> tuple[float, float, float]:
    """Return lower end, median and upper end of an interval by the ranks of draws.

    The truth is to the analyst one more draw from the posterior, so that it falls between the j-th
    of m draws from below and from above with probability 1 - 2 j / (m + 1), whatever the shape of
    the posterior, infinite draws included; between ranks the ends are interpolated. Of fifty
    normal draws a t interval is shorter by a twentieth. A level beyond (m - 1) / (m + 1) is more
    than the ranks can tell: there the interval is the wider one of both.

    Examples
    --------
    >>> [round(end, 6) for end in ranked(np.arange(1.0, 40.0), 0.95)]
    [1.0, 20.0, 39.0]
    """
    tail = (1 - level) / 2
    low, middle, high = map(
        float, np.quantile(draws, [tail, 0.5, 1 - tail], method="weibull").tolist()
    )
    if level > (draws.size - 1) / (draws.size + 1):
        mean, half = float(draws.mean()), half_width(draws, level)
        low, high = min(low, mean - half), max(high, mean + half)
    return low, middle, high


def highest(draws: Floats, level: float) -> float:
    """Return the upper end of an interval of a share of which some draws are cut off at 0.

    Draws that would be normal without the bound: its share of draws above 0 and their mean give
    location and spread (the moments of a rectified normal distribution). The spread of the draws
    themselves is too small, by what was cut off.
    """
    from scipy.special import ndtri, stdtrit

    middle, half = float(draws.mean()), half_width(draws, level)
    above = float(np.mean(draws > AT_BOUND * draws.max()))
    if not 0 < above < 1:
        return middle + half
    place = float(ndtri(above))
    density = math.exp(-(place**2) / 2) / math.sqrt(2 * math.pi)
    spread = middle / (density + place * above)
    wide = float(stdtrit(draws.size - 1, (1 + level) / 2)) * math.sqrt(1 + 1 / draws.size)
    return max(middle + half, spread * (place + wide))


def ends(draws: Floats, level: float, kind: str) -> tuple[float, float]:
    """Return a credible interval of a share: shortest ("hpd"), or with equal tails."""
    if draws.size < MANY:
        middle, half = float(draws.mean()), half_width(draws, level)
        return max(0.0, middle - half), min(1.0, highest(draws, level))
    if kind == "hpd":
        return shortest(draws, level)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def estimate(draws: Floats, level: float, least: float = -np.inf, most: float = np.inf) -> Estimate:
    """Return the mean of draws and the interval with equal tails, cut off at what is possible."""
    mean = float(draws.mean())
    if draws.size < MANY:
        half = half_width(draws, level)
        high = highest(draws, level) if least == 0 else mean + half
        low, high = max(least, mean - half), min(most, high)
    else:
        tail = (1 - level) / 2
        low, high = map(float, np.quantile(draws, [tail, 1 - tail]))
    return Estimate(mean, min(mean, low), max(mean, high), level)
