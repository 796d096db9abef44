"""Shares in random rectangles of a map: intervals from the original and from the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Mask
from veladura.core.rules import Partial

FEWEST_ROWS = 10
CHUNK = 64


class Marked(NamedTuple):
    """Places and a yes or no for each."""

    points: Floats
    outcome: Mask


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Overlap of intervals in each rectangle that could be used, and the ends of the rectangles."""

    overlap: Floats = field(repr=False)
    boxes: Floats = field(repr=False)

    @property
    def mean(self) -> float:
        """Mean overlap; nan without a usable rectangle."""
        return float(self.overlap.mean()) if self.overlap.size else float("nan")


def draw_boxes(
    rng: Generator,
    bounds: tuple[float, float, float, float],
    number: int,
    sides: tuple[float, float] = (0.2, 0.4),
) -> Floats:
    """Draw rectangles inside bounds, as rows of west, south, east, north.

    Their sides are uniform shares of those of the bounds.
    """
    west, south, east, north = bounds
    size = rng.uniform(*sides, (number, 2)) * (east - west, north - south)
    start = (west, south) + rng.random((number, 2)) * ((east - west, north - south) - size)
    return np.hstack([start, start + size])


def overlaps(
    original: Marked, datasets: Sequence[Marked], boxes: Floats, level: float = 0.95
) -> Overlaps:
    """Return the overlap of intervals for the share of yes, original against release.

    Intervals of the release are combined over the datasets. The overlap is the geometric mean of
    the two shares of an interval that the other covers, 0 when they are disjoint (Nunes 2018, sec.
    3.3). A rectangle counts when the original has at least ten rows there and both outcomes; one
    in which a dataset has no row has overlap 0.
    """
    rows, share = _shares(original, boxes)
    good = np.flatnonzero((rows >= FEWEST_ROWS) & (share > 0) & (share < 1))
    if not good.size:
        return Overlaps(np.empty(0), boxes[good])
    truth = _interval(share[good], share[good] * (1 - share[good]) / rows[good], level)
    drawn = [_shares(dataset, boxes[good]) for dataset in datasets]
    empty = np.array([rows == 0 for rows, _ in drawn]).any(axis=0)
    _, _, low, high = _combined(drawn, level)
    return Overlaps(np.where(empty, 0.0, overlap(truth, (low, high))), boxes[good])


def share_in(
    datasets: Sequence[Marked], boxes: Floats, level: float = 0.95
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return people, share of yes and the ends of its interval in each rectangle.

    People are the mean over the datasets, and intervals are combined over them.
    """
    return _combined([_shares(dataset, boxes) for dataset in datasets], level)


def _combined(
    drawn: Sequence[tuple[Floats, Floats]], level: float
) -> tuple[Floats, Floats, Floats, Floats]:
    q = np.array([share for _, share in drawn])
    v = np.array([share * (1 - share) / np.maximum(rows, 1) for rows, share in drawn])
    if len(drawn) > 1:
        total, freedom = Partial().total(len(q), q.var(axis=0, ddof=1), v.mean(axis=0))
        ends = _interval(q.mean(axis=0), total, level, freedom)
    else:
        ends = _interval(q[0], v[0], level)
    return np.mean([rows for rows, _ in drawn], axis=0), q.mean(axis=0), *ends


def shares_in(
    original: Marked, datasets: Sequence[Marked], boxes: Floats, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Return the ends of intervals for the share of yes in each rectangle.

    Combined over the datasets of a release; without datasets those of the original (Nunes 2018,
    eqs. 3.3 to 3.5 and Fig. 7).
    """
    drawn = [_shares(one, boxes) for one in datasets] or [_shares(original, boxes)]
    return _combined(drawn, level)[2:]


def overlap(first: tuple[Floats, Floats], second: tuple[Floats, Floats]) -> Floats:
    """Return the geometric mean of the shares that two intervals cover of each other.

    Examples
    --------
    >>> float(overlap((np.array(0.0), np.array(2.0)), (np.array(1.0), np.array(3.0))))
    0.5
    """
    common = np.maximum(np.minimum(first[1], second[1]) - np.maximum(first[0], second[0]), 0.0)
    widths = (first[1] - first[0]) * (second[1] - second[0])
    return np.asarray(
        np.divide(common, np.sqrt(widths), out=np.zeros_like(common), where=widths > 0)
    )


def _interval(
    share: Floats, variance: Floats, level: float, freedom: Floats | None = None
) -> tuple[Floats, Floats]:
    """Return t intervals, normal ones without or with infinite degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    quantile = np.asarray(ndtri((1 + level) / 2))
    if freedom is not None:
        finite = np.isfinite(freedom)
        t = stdtrit(np.where(finite, freedom, 1.0), (1 + level) / 2)
        quantile = np.where(finite, t, quantile)
    half = quantile * np.sqrt(variance)
    return share - half, share + half


def _shares(marked: Marked, boxes: Floats) -> tuple[Floats, Floats]:
    """Return rows and share of yes in each rectangle."""
    rows, yes = np.empty(len(boxes)), np.empty(len(boxes))
    x, y = marked.points.T
    for start in range(0, len(boxes), CHUNK):
        part = boxes[start : start + CHUNK]
        inside = (x >= part[:, :1]) & (y >= part[:, 1:2]) & (x <= part[:, 2:3]) & (y <= part[:, 3:])
        rows[start : start + CHUNK] = inside.sum(axis=1)
        yes[start : start + CHUNK] = (inside & marked.outcome).sum(axis=1)
    return rows, yes / np.maximum(rows, 1)
