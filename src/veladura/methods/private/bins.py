"""Numbers as categories: bins between declared bounds, and numbers drawn inside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.private.numbers import bounds_of

Edges = tuple[float, ...]
MOST_BINS = 1000
RISING = "rising"  # bins of a summary that are narrow near zero
EVEN = 40  # of these, of equal width
STEPS = 30  # edges below the first even one, each some per cent beyond the last
DECADES = 5  # that these reach towards zero, from the bound that is farthest from it
FINE = 1000  # numbers that a bin can be drawn as, about: decimals follow from it
STEEPEST = 12.0  # most that the logarithm of a density changes over a bin
THINNEST = 1e5  # the same over an outer bin that reaches far beyond its people
WIDE = 2.0  # times as wide as its neighbour
FAR = 10.0  # times as wide: an end bin that reaches far beyond its people
NARROW = 20.0  # times as narrow: a value of its own, such as zero, whatever the others do
MOST_TELLING = 3  # columns that say where numbers are within their bins
LARGE = 20  # rows a bin of a group whose own bins say where numbers are within them
TILT = 0.5  # sd of the logarithm of the tilt within bins, where their shape is not known


def edges_of(
    name: str,
    bounds: Mapping[str, Sequence[float]],
    bins: int | Mapping[str, int | Sequence[float]],
    usual: int,
) -> Edges:
    """Return the edges of a column's bins, bounds included.

    Parameters
    ----------
    bins
        The number of bins of equal width for every column; or by column that number, or the inner
        edges.
    usual
        The number of bins of a column that ``bins`` does not name.

    Examples
    --------
    >>> edges_of("age", {"age": [0, 80]}, 4, 10)
    (0.0, 20.0, 40.0, 60.0, 80.0)
    >>> edges_of("age", {"age": [0, 80]}, {"age": [18, 65]}, 10)
    (0.0, 18.0, 65.0, 80.0)
    """
    low, high = bounds_of(name, bounds)
    asked = bins.get(name, usual) if isinstance(bins, Mapping) else bins
    edges: Edges = ()
    if isinstance(asked, (list, tuple)):
        if all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in asked):
            edges = (low, *map(float, asked), high)
    elif isinstance(asked, int) and not isinstance(asked, bool) and 1 <= asked <= MOST_BINS:
        edges = tuple(np.linspace(low, high, asked + 1).tolist())
    if not check_edges(edges):
        msg = (
            f"bins of {name!r} must be a whole number from 1 to {MOST_BINS}, or rising inner edges"
            f" between its bounds.\n\nHint: bins={{{name!r}: 10}}, or bins={{{name!r}: [18, 65]}}."
        )
        raise PlanError(msg)
    return edges


def rising_edges(low: float, high: float) -> Edges:
    """Return the edges of bins that are narrow near zero, from the bounds alone.

    Even steps, and below the first of them steps that grow with the distance from zero: most
    amounts are far below the greatest that can occur, and a quantile is known to its bin only.

    Examples
    --------
    >>> [edge for edge in rising_edges(0, 1e7) if 1e4 < edge < 5e4]
    [13000.0, 17000.0, 22000.0, 29000.0, 38000.0]
    """
    reach = max(abs(low), abs(high))
    first = max((high - low) / EVEN, reach / 10**DECADES)
    sizes = [float(f"{size:.2g}") for size in np.geomspace(first, reach / 10**DECADES, STEPS)]
    every = np.concatenate([np.linspace(low, high, EVEN + 1), np.negative(sizes), [0.0], sizes])
    inner = np.unique(every[(every > low) & (every < high)])
    return low, *inner.tolist(), high


def check_edges(edges: Sequence[float]) -> bool:
    """Return whether edges make bins: at least two, rising, finite."""
    return (
        2 <= len(edges) <= MOST_BINS * FINE  # noqa: PLR2004
        and all(map(math.isfinite, edges))
        and all(a < b for a, b in pairwise(edges))
    )


def labels(edges: Sequence[float]) -> tuple[str, ...]:
    """Return the bins in words; the greatest value is in the last one.

    Examples
    --------
    >>> labels((0.0, 18.0, 65.0))
    ('0 to under 18', '18 to 65')
    """
    words = [f"{edge:.15g}" for edge in edges]
    pairs = list(pairwise(words))
    return (*(f"{a} to under {b}" for a, b in pairs[:-1]), f"{pairs[-1][0]} to {pairs[-1][1]}")


def codes_of(values: Floats, edges: Sequence[float], *, clip: bool) -> Ints:
    """Return the bin of each number; beyond the bounds the nearest one, or -1 without ``clip``."""
    ends = np.asarray(edges)
    codes = np.searchsorted(ends[1:-1], values, side="right").astype(np.int64)
    if clip:
        return codes
    return np.where((values >= ends[0]) & (values <= ends[-1]), codes, -1)


def check_whole(name: str, edges: Sequence[float]) -> None:
    """Refuse bins of a column of whole numbers that hold none."""
    low, high = _whole_ends(edges)
    if empty := int((low > high).sum()):
        msg = (
            f"{empty} bins of {name!r} hold no whole number, and the column has only whole"
            f" ones.\n\nHint: fewer bins, or give their inner edges: bins={{{name!r}: [...]}}."
        )
        raise PlanError(msg)


def _whole_ends(edges: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the least and the greatest whole number of every bin."""
    ends = np.asarray(edges)
    high = np.ceil(ends[1:]) - 1
    high[-1] = math.floor(ends[-1])
    return np.ceil(ends[:-1]), high


def slopes(shares: Floats, edges: Sequence[float]) -> Floats:
    """Return how the density changes over each bin: the logarithm of its ends' ratio.

    Of a bin between others, as if the logarithm of the density were a line through the middles of
    both neighbours; a wide last bin tells nothing of the one beside it. The first and the last bin
    start at their inner edge with the density that the two bins before them lead to, so that a
    wide last bin thins out. An end bin that is far narrower than the one beside it holds a value
    of its own, and is left out.

    Examples
    --------
    >>> slopes(np.array([0.4, 0.3, 0.2, 0.1]), (0.0, 1.0, 2.0, 3.0, 4.0)).round(2).tolist()
    [-0.17, -0.35, -0.55, -1.08]
    """
    ends = np.asarray(edges)
    width, middle = np.diff(ends), (ends[:-1] + ends[1:]) / 2
    logs, last = np.log(np.maximum(shares, 1e-6) / width), width.size - 1
    if not last:
        return np.zeros(1)
    if _alone(ends):
        return np.append(0.0, slopes(shares[1:], edges[1:]))
    if _alone(-ends[::-1]):
        return np.append(slopes(shares[:-1], edges[:-1]), 0.0)

    def line(a: int, b: int) -> float:
        return float((logs[b] - logs[a]) / (middle[b] - middle[a]))

    rise = np.zeros(width.size)
    if last == 1:
        rise[:] = line(0, 1) * width
        return np.clip(rise, -STEEPEST, STEEPEST)
    for place in range(1, last):
        before = place if place == 1 and width[0] > WIDE * width[place] else place - 1
        after = place if place + 1 == last and width[last] > WIDE * width[place] else place + 1
        rise[place] = line(before, after) * width[place] if before < after else 0.0
    inner = logs[last - 1] + line(last - 2, last - 1) * (ends[-2] - middle[last - 1])
    rise[last] = -_fall(float(np.exp(np.clip(inner - logs[last], -STEEPEST, STEEPEST))))
    inner = logs[1] + line(1, 2) * (ends[1] - middle[1])
    rise[0] = _fall(float(np.exp(np.clip(inner - logs[0], -STEEPEST, STEEPEST))))
    rise[1:last] = np.clip(rise[1:last], -STEEPEST, STEEPEST)
    return rise


def _alone(ends: Floats) -> bool:
    """Return whether the first bin holds a value of its own: it is far narrower than the next."""
    width = np.diff(ends)
    return bool(width.size > 1 and NARROW * width[0] < width[1])


def _fall(ratio: float) -> float:
    """Return b for which exp(-b x) on 0 to 1 starts at so many times its mean: b / (1 - exp(-b)).

    Examples
    --------
    >>> round(_fall(2.0), 3)
    1.594
    """
    low, high = -STEEPEST, THINNEST
    for _ in range(60):
        b = (low + high) / 2
        start = b / -math.expm1(-b) if abs(b) > 1e-9 else 1.0  # noqa: PLR2004
        low, high = (b, high) if start < ratio else (low, b)
    return (low + high) / 2


def _slopes_at(codes: Ints, edges: Sequence[float]) -> Floats:
    """Return how the density changes over the bin of each row."""
    shares = (np.bincount(codes, minlength=len(edges) - 1) + 1) / (codes.size + 1)
    found: Floats = slopes(shares, edges)[codes]
    return found


def _far(edges: Sequence[float]) -> Mask:
    """Return which end bins reach far beyond their people.

    Where in them a group is follows from the noise of its few people in the bin beside: a group
    that seems to have none there would be spread over the whole bin, up to the declared bound.
    """
    width = np.diff(np.asarray(edges))
    far = np.zeros(width.size, dtype=bool)
    if width.size > 1:
        far[0], far[-1] = width[0] > FAR * width[1], width[-1] > FAR * width[-2]
    return far


def _large_groups(group: Ints, fewest: int) -> list[Ints]:
    """Return the rows of each group that has enough of them."""
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(np.diff(group[order])) + 1
    return [rows for rows in np.split(order, ends) if rows.size >= fewest]


def told_apart(codes: Ints, group: Ints) -> float:
    """Return the share of the variance of the bins of rows that lies between groups.

    Examples
    --------
    >>> told_apart(np.array([0, 0, 2, 2]), np.array([1, 1, 0, 0]))
    1.0
    """
    count = np.bincount(group)
    mean = np.bincount(group, codes) / np.maximum(count, 1)
    whole = float(codes.var()) if codes.size else 0.0
    return float(count @ (mean - codes.mean()) ** 2) / codes.size / whole if whole > 0 else 0.0


def telling(codes: Ints, others: Sequence[Ints]) -> list[Ints]:
    """Return groups of rows by the column that tells their bins apart best, by two and by three.

    Examples
    --------
    >>> alike, best, more = np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> [group.tolist() for group in telling(np.arange(4), [alike, more, best])]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 2, 3]]
    """
    groups: list[Ints] = []
    for _ in range(min(MOST_TELLING, len(others))):
        each = [o if not groups else groups[-1] * (o.max(initial=0) + 1) + o for o in others]
        groups.append(max(each, key=lambda group: told_apart(codes, group)))
    return groups


def mean_places(slope: Floats) -> Floats:
    """Return the mean place in a bin, from 0 to 1, of a density proportional to exp(slope x).

    Examples
    --------
    >>> mean_places(np.array([0.0, -2.0])).round(3).tolist()
    [0.5, 0.343]
    """
    flat = np.abs(slope) < 1e-4  # noqa: PLR2004
    steep = np.where(flat, 1.0, np.abs(slope))
    rising = -1 / np.expm1(-steep) - 1 / steep
    exact = np.where(slope < 0, 1 - rising, rising)
    return np.asarray(np.where(flat, 0.5 + slope / 12, exact))


@dataclass(frozen=True, eq=False)
class Within:
    """Where in their bins numbers are put: as the bins on both sides suggest (see `slopes`).

    Attributes
    ----------
    rng
        Without one, in the middle.
    tilted
        Whether the shape within bins is drawn too, for an analysis that must not take it for
        known: u is uniform and taken to the power k, log k ~ N(0, 1/4), one k for all bins of a
        column. The mean of a bin then moves by up to a quarter of its width with probability 95 %,
        and all bins lean to the same side.
    """

    rng: np.random.Generator | None = None
    tilted: bool = False

    def numbers(
        self, codes: Ints, edges: Sequence[float], *, whole: bool, groups: Sequence[Ints] = ()
    ) -> Floats:
        """Return a number in the bin of each row.

        Parameters
        ----------
        groups
            Groups of rows, coarse ones first, whose own bins say where their numbers are: those who
            earn less in all earn less within a bin too. A small group is as the one it is part of,
            and in an end bin that reaches far beyond its people all are as everybody.
        """
        place = self._places(codes, edges, groups)
        if whole:
            low, high = _whole_ends(edges)
            result: Floats = low[codes] + np.floor(place * (high - low + 1)[codes])
            return np.minimum(result, high[codes])
        ends = np.asarray(edges)
        width = np.diff(ends)
        zero = _alone(ends) and ends[0] == 0  # its people have nothing, not a little each
        drawn = ends[codes] + place * width[codes] * (codes > 0 if zero else 1)
        steps = 10.0 ** max(0, math.ceil(math.log10(FINE / float(width[int(zero) :].min()))))
        below = np.nextafter(ends[1:], -np.inf)
        below[-1] = ends[-1]
        inside: Floats = np.clip(np.floor(drawn * steps) / steps, ends[codes], below[codes])
        return inside

    def _places(self, codes: Ints, edges: Sequence[float], groups: Sequence[Ints]) -> Floats:
        """Return where in its bin each number is, from 0 to 1."""
        if self.rng is None:
            return np.full(codes.size, 0.5)
        tilt = float(np.exp(self.rng.normal(0.0, TILT))) if self.tilted else 1.0
        u = self.rng.random(codes.size) ** tilt
        slope, near = _slopes_at(codes, edges), ~_far(edges)[codes]
        for group in groups:
            for rows in _large_groups(group, LARGE * (len(edges) - 1)):
                slope[rows] = np.where(near[rows], _slopes_at(codes[rows], edges), slope[rows])
        flat = np.abs(slope) < 1e-4  # noqa: PLR2004
        steep = np.where(flat, 1.0, np.abs(slope))
        falling = -np.log1p(np.where(slope > 0, 1 - u, u) * np.expm1(-steep)) / steep
        return np.where(flat, u, np.where(slope > 0, 1 - falling, falling))
