"""Private quantile cuts: where the bins of a number end, chosen under the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from veladura.base.arrays import Floats, Ints

GRID = 2000  # places between the bounds where a cut can be, evenly
RISING = 500  # further places on either side of zero, each some per cent beyond the last
DECADES = 6  # that these reach towards zero, from the bound that is farthest from it
DIGITS = 3  # of these places
SHARE = 0.1  # of rho, for the cuts of all columns that ask for them
SENSITIVITY = 1.0

Choose = Callable[[Sequence[float], float, float], int]


def grid_edges(low: float, high: float, *, whole: bool) -> tuple[float, ...]:
    """Return the places where a cut can be, bounds included: from the declared bounds alone.

    Even steps, and steps that grow with the distance from zero: amounts between wide bounds are
    mostly small. A column of whole numbers is cut at whole numbers, at all of them where these are
    few enough.

    Examples
    --------
    >>> grid_edges(0, 4, whole=True)
    (0.0, 1.0, 2.0, 3.0, 4.0)
    """
    if whole and high - low <= GRID:
        inner = np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
    else:
        inner = np.concatenate([np.linspace(low, high, GRID + 1), _rising(low, high)])
        inner = np.ceil(inner) if whole else inner
    inside = np.unique(inner[(inner > low) & (inner < high)])
    return float(low), *inside.tolist(), float(high)


def _rising(low: float, high: float) -> Floats:
    """Return places on both sides of zero whose distance to it grows by the same factor."""
    reach = max(abs(low), abs(high))
    away = [f"{reach * 10.0**-power:.{DIGITS}g}" for power in np.linspace(0, DECADES, RISING)]
    sizes = np.array(away, dtype=np.float64)
    return np.concatenate([-sizes, [0.0], sizes])


def quantile_cuts(
    counts: Ints, bins: int, rho: float, choose: Choose, *, zero: bool = False
) -> list[int]:
    """Return places that cut fine cells into bins of about as many rows, at a cost of rho.

    The range is cut near its middle, then both parts likewise (Kaplan, Schnapp and Stemmer 2022,
    algorithm 1). A cut is chosen among the cells' ends by its distance, in rows, from the share of
    the part that belongs below it. A replaced row that stays in a part moves these scores by at
    most 1. One that leaves a part for another moves the scores of two parts by at most 2/3 each
    (the larger share), and a cost goes with the square: 2 (2/3)^2 < 1. So all choices of one depth
    cost together what one of sensitivity 1 does, and rho is shared by the depths.

    Parameters
    ----------
    counts
        The rows of each fine cell.
    bins
        The number of bins; fewer come out where no place is left for a cut.
    choose
        Returns the place of a high score, given scores, sensitivity and rho.
    zero
        Whether the first cell is a bin of its own: that of zero, where bounds say that it can
        occur. Many who have nothing would be spread over a bin else. A row that moves between this
        bin and the others is for them one more or less, which moves scores by at most 2/3.
    """
    if zero and bins > 2 and counts.size > 2:  # noqa: PLR2004
        return [1, *(1 + cut for cut in quantile_cuts(counts[1:], bins - 1, rho, choose))]
    depths = math.ceil(math.log2(bins)) if bins > 1 else 0
    below = np.concatenate([[0], np.cumsum(counts)]).astype(np.float64)
    each = rho / depths if depths else 0.0

    def cut(first: int, last: int, parts: int) -> list[int]:
        if parts == 1 or last - first < 2:  # noqa: PLR2004
            return []
        left = parts // 2
        inside = below[first : last + 1] - below[first]
        scores = -np.abs(inside[1:-1] - inside[-1] * left / parts)
        place = first + 1 + choose(scores.tolist(), SENSITIVITY, each)
        return [*cut(first, place, left), place, *cut(place, last, parts - left)]

    return cut(0, counts.size, bins)
