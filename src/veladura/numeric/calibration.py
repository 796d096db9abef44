"""Calibration: weights as near as possible to given ones that add up to known totals."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.blas import one_thread

ROUNDS = 100
HALVINGS = 30


def rake(
    weights: Floats,
    columns: Floats,
    totals: Floats,
    *,
    lower: float | None = None,
    upper: float | None = None,
    tolerance: float = 1e-10,
) -> Floats | None:
    """Return weights w g with sum w g x = totals; None where there are none within the bounds.

    g = exp(x' lambda) minimises the distance of raking. With bounds, g = (L (U - 1) + U (1 - L)
    exp(A x' lambda)) / (U - 1 + (1 - L) exp(A x' lambda)), A = (U - L) / ((1 - L) (U - 1)), lies
    between L and U (Deville and Sarndal 1992, sec. 2, cases 2 and 6). lambda is found by Newton's
    method with halved steps; collinear columns do no harm.

    Parameters
    ----------
    columns
        One row a person, one column a total.
    lower, upper
        Smallest and largest g, below and above 1; None for no bound on either side.
    tolerance
        Relative error of the totals.

    Examples
    --------
    >>> sexes = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> rake(np.array([10.0, 20.0, 30.0]), sexes, np.array([60.0, 20.0])).round(6).tolist()
    [20.0, 40.0, 20.0]
    """
    with one_thread():  # sums that do not depend on the threads
        return _solved(weights, columns, totals, lower, upper, tolerance)


def _solved(
    weights: Floats,
    columns: Floats,
    totals: Floats,
    lower: float | None,
    upper: float | None,
    tolerance: float,
) -> Floats | None:
    multiplier = np.zeros(columns.shape[1])
    scale = np.maximum(np.abs(totals), 1.0)
    factor, slope = _factors(columns @ multiplier, lower, upper)
    gap = totals - columns.T @ (weights * factor)
    for _ in range(ROUNDS):
        if np.abs(gap / scale).max(initial=0.0) <= tolerance:
            return np.asarray(weights * factor)
        curvature = columns.T @ ((weights * slope)[:, None] * columns)
        step = np.linalg.lstsq(curvature, gap, rcond=1e-12)[0]
        size = 1.0
        for _ in range(HALVINGS):
            with np.errstate(over="ignore", invalid="ignore"):
                tried = _factors(columns @ (multiplier + size * step), lower, upper)
                left = totals - columns.T @ (weights * tried[0])
            if np.linalg.norm(left / scale) < np.linalg.norm(gap / scale):
                break
            size /= 2
        else:
            return None
        multiplier, (factor, slope), gap = multiplier + size * step, tried, left
    return None


def _factors(score: Floats, lower: float | None, upper: float | None) -> tuple[Floats, Floats]:
    """Return g and its derivative at scores x' lambda."""
    if lower is None and upper is None:
        grown = np.exp(score)
        return grown, grown
    low = 0.0 if lower is None else lower
    if upper is None:  # g - L grows as an exponential, with g = 1 and slope 1 at 0
        grown = np.exp(score / (1 - low))
        return low + (1 - low) * grown, grown
    rate = (upper - low) / ((1 - low) * (upper - 1))
    odds = np.exp(np.clip(rate * score, -700.0, 700.0))
    below = (upper - 1) + (1 - low) * odds
    factor = (low * (upper - 1) + upper * (1 - low) * odds) / below
    slope = rate * (factor - low) * (upper - factor) / (upper - low)
    return factor, slope
