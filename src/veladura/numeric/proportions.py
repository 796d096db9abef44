"""Intervals of shares and means that were taken on a sample of rows."""

from __future__ import annotations

import math

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams

LEVEL = 0.95
PAIRS = 50_000_000  # pairs of rows that one search of an assessment compares
FEWEST, MOST = 100, 1_000


def affordable(rows: int) -> int:
    """Return how many rows an assessment compares with all rows of a table.

    A thousand, or fewer where the table is large.

    Examples
    --------
    >>> affordable(10_000), affordable(100_000), affordable(10_000_000)
    (1000, 500, 100)
    """
    return max(FEWEST, min(MOST, PAIRS // max(rows, 1)))


def sample_rows(rows: int, most: int | None, *path: str | int) -> Ints:
    """Return all rows, or a number of them drawn from a fixed stream.

    The stream is fixed so that a figure does not change when it is computed again.
    """
    if most is None or most >= rows:
        return np.arange(rows)
    return np.sort(Streams(0)("risk", *path).choice(rows, most, replace=False))


def share(successes: float, trials: int, level: float = LEVEL) -> Estimate:
    """Return a share with the interval of Wilson (1927); from 0 to 1 without trials.

    Examples
    --------
    >>> share(5, 100)
    Estimate(value=0.05, lower=0.0215436..., upper=0.1117504..., level=0.95)

    References
    ----------
    Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference.
    Journal of the American Statistical Association 22(158), 209-212.
    """
    if trials == 0:
        return Estimate(0.0, 0.0, 1.0, level)
    z = _normal_quantile(level)
    p = successes / trials
    scale = 1 + z * z / trials
    centre = (p + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(p * (1 - p) / trials + z * z / (4 * trials * trials))
    return Estimate(p, min(max(centre - half, 0.0), p), max(min(centre + half, 1.0), p), level)


def mean_share(values: Floats, rows: int, level: float = LEVEL) -> Estimate:
    """Return the mean of shares over sampled rows; exact when all rows were taken.

    The interval is the normal one with the correction for a finite population. Where all sampled
    rows are equal it is that of Wilson.
    """
    taken = values.size
    mean = float(values.mean()) if taken else 0.0
    if taken == rows:
        return Estimate.exact(mean)
    half = (
        _normal_quantile(level) * float(values.std(ddof=1)) * math.sqrt((1 - taken / rows) / taken)
        if taken > 1
        else 1.0
    )
    ends = share(mean * taken, taken, level) if half == 0 else None
    lower, upper = (mean - half, mean + half) if ends is None else (ends.lower, ends.upper)
    return Estimate(mean, min(max(lower, 0.0), mean), max(min(upper, 1.0), mean), level)


def _normal_quantile(level: float) -> float:
    """Return how many standard deviations an interval of this level reaches from its centre."""
    from scipy.special import ndtri  # loading it takes longer than many a protect

    return float(ndtri((1 + level) / 2))
