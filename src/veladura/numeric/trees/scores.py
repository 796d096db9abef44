"""Scores of people: their ranks, how far they are from others, and how moved scores spread."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled
from veladura.numeric.normal import normal_quantile
from veladura.numeric.trees.tail import FEWEST

CELLS = 4096


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
    score, isolation = scores_of_shares((np.cumsum(count) - count / 2) / size, size, rows)
    return score.take(place), isolation.take(place)


def scores_of_shares(middle: Floats, size: int, rows: int = 1) -> tuple[Floats, Floats]:
    """Return the same of mid-ranks, as shares of so many rows."""
    far, end = FEWEST * rows / size, 0.5 / size
    score, above, below = (
        normal_quantile(np.clip(share, end, 1 - end))
        for share in (middle, middle + far, middle - far)
    )
    up, down = above - score, score - below
    outermost = (middle + far > 1 - end) | (middle - far < end)  # one side only has five others
    isolation: Floats = np.where(outermost, np.maximum(up, down), (up + down) / 2)
    return score, isolation


def mixture(centre: Floats, scale: Floats, people: Ints | None = None) -> tuple[Floats, Floats]:
    """Return the distribution function of centre + scale U over some people, on a fine grid.

    The density is a sum of boxes: each goes up at its left end and down at its right one. Ends
    between two points of the grid are shared between them.

    Parameters
    ----------
    people
        How many have each centre; one by default.
    """
    wide = np.maximum(scale, 1e-9)
    low, high = float((centre - wide).min()), float((centre + wide).max())
    cell = (high - low) / (CELLS - 3)
    points = np.linspace(low - cell, low + (CELLS - 2) * cell, CELLS)
    rise = np.zeros(CELLS + 1)
    weight = 0.5 / wide if people is None else 0.5 * people / wide
    centre, wide, weight = (np.ascontiguousarray(each) for each in (centre, wide, weight))
    raise_boxes(centre, wide, weight, float(points[0]), cell, rise)
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
    low = heights.take(below)
    at -= below
    below += 1
    found: Floats = heights.take(below)
    found -= low
    found *= at
    found += low
    return found


@compiled(
    "void(float64[::1], float64[::1], float64[::1], float64, float64, float64[::1])",
    wraparound=False,
)
def raise_boxes(
    centre: Floats, wide: Floats, weight: Floats, first: float, cell: float, rise: Floats
) -> None:
    """Add by how much a sum of boxes goes up and down at the points of a grid."""
    for i in range(centre.size):
        low, high = (centre[i] - wide[i] - first) / cell, (centre[i] + wide[i] - first) / cell
        left, right = int(low), int(high)  # downwards: no end is below the first point
        rise[left] += (1 - (low - left)) * weight[i]
        rise[left + 1] += (low - left) * weight[i]
        rise[right] -= (1 - (high - right)) * weight[i]
        rise[right + 1] -= (high - right) * weight[i]
