"""The rows of a private summary: every statistic with an interval that includes the noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.methods.private.queries import STEPS, Noisy

DRAWS = 4000
TABLE, POPULATION = "table", "population"


@dataclass(frozen=True)
class Row:
    """One statistic of one group.

    Attributes
    ----------
    about
        What the interval covers: the number in the table (noise only), or in the population that
        the rows are a random sample of (noise and sampling).
    """

    group: int
    column: str
    statistic: str
    value: float
    lower: float
    upper: float
    about: str


@dataclass(frozen=True, eq=False)
class Wanted:
    """Which statistics, of which columns: the declared settings of a summary."""

    statistics: Sequence[str]
    quantiles: Sequence[float]
    bounds: Mapping[str, tuple[float, float]]
    edges: Mapping[str, Floats]
    level: float


def rows_of(noisy: Sequence[Noisy], wanted: Wanted) -> list[Row]:
    """Return every wanted statistic of every group, from the noisy numbers alone.

    The numbers without noise are drawn from their distribution given the noisy ones (flat prior),
    and the population's mean, standard deviation or shares given those; the ends of the interval
    are quantiles of the draws.
    """
    rng = Streams(0)("private summary", "intervals")
    by = {(query.kind, query.column): query for query in noisy}
    drawn = {key: query.draws(rng, DRAWS) for key, query in by.items()}
    listed: list[Row] = []
    for group in range(by["rows", ""].values.shape[0]):
        listed += _Group(group, by, drawn, wanted, rng).rows()
    return listed


@dataclass(frozen=True, eq=False)
class _Group:
    group: int
    noisy: Mapping[tuple[str, str], Noisy]
    drawn: Mapping[tuple[str, str], Floats]
    wanted: Wanted
    rng: np.random.Generator

    def rows(self) -> Iterator[Row]:
        value, draws = self._one("rows", "")
        yield self._row("", "rows", max(0.0, value), np.maximum(draws, 0.0), TABLE)
        for column in self.wanted.bounds:
            yield from self._moments(column)
            yield from self._bins(column)

    def _one(self, kind: str, column: str) -> tuple[float, Floats]:
        """Return a noisy number of the group, and what it may have been without noise."""
        key = kind, column
        return float(self.noisy[key].values[self.group, 0]), self.drawn[key][:, self.group, 0]

    def _row(self, column: str, statistic: str, value: float, draws: Floats, about: str) -> Row:
        tail = (1 - self.wanted.level) / 2
        lower, upper = np.quantile(draws, [tail, 1 - tail])
        value = min(max(value, float(lower)), float(upper))
        return Row(self.group, column, statistic, value, float(lower), float(upper), about)

    def _moments(self, column: str) -> Iterator[Row]:
        wanted = self.wanted.statistics
        if ("count", column) not in self.noisy:
            return
        count, counts = self._one("count", column)
        if "count" in wanted:
            yield self._row(column, "count", max(0.0, count), np.maximum(counts, 0.0), TABLE)
        if ("sum", column) not in self.noisy:
            return
        low, high = self.wanted.bounds[column]
        middle, half = (low + high) / 2, (high - low) / 2
        added, sums = self._one("sum", column)
        if "sum" in wanted:
            total = middle * count + half * added / STEPS
            totals = middle * counts + half * sums / STEPS
            yield self._row(column, "sum", total, totals, TABLE)
        if ("squares", column) not in self.noisy:
            return
        _, squares = self._one("squares", column)
        people = np.maximum(counts, 1.0)
        centre = np.clip(sums / STEPS / people, -1.0, 1.0)
        spread = np.sqrt(np.clip(squares / STEPS / people - centre**2, 1 / people**2, 1.0))
        if "mean" in wanted:
            means = np.clip(centre + spread / np.sqrt(people) * self.rng.normal(size=DRAWS), -1, 1)
            value = added / STEPS / max(count, 1.0)
            yield self._row(
                column, "mean", middle + half * value, middle + half * means, POPULATION
            )
        if "sd" in wanted:  # its sampling error depends on the kurtosis, which is not measured
            yield self._row(column, "sd", half * float(np.median(spread)), half * spread, TABLE)

    def _bins(self, column: str) -> Iterator[Row]:
        if ("histogram", column) not in self.noisy:
            return
        query, edges = self.noisy["histogram", column], self.wanted.edges[column]
        counts = query.values[self.group]
        people = max(1.0, float(counts.sum()))
        if "histogram" in self.wanted.statistics:
            draws = self.drawn["histogram", column][:, self.group] / people
            for i in range(edges.size - 1):
                share = float(np.clip(counts[i] / people, 0.0, 1.0))
                spread = np.sqrt(share * (1 - share) / people)
                moved = np.clip(draws[:, i] + spread * self.rng.normal(size=DRAWS), 0.0, 1.0)
                name = f"share from {edges[i]:g} to {edges[i + 1]:g}"
                yield self._row(column, name, share, moved, POPULATION)
        if "quantiles" in self.wanted.statistics:
            below = Below(edges, counts, query.variance)
            for q in self.wanted.quantiles:
                value, lower, upper = below.quantile(q, self.wanted.level)
                yield Row(self.group, column, f"quantile {q:g}", value, lower, upper, POPULATION)


@dataclass(frozen=True, eq=False)
class Below:
    """The share of the rows below each edge, from noisy counts of bins.

    Attributes
    ----------
    variance
        Of the noise of one bin.
    """

    edges: Floats
    counts: Floats
    variance: float

    def quantile(self, q: float, level: float) -> tuple[float, float, float]:
        """Return a quantile and its interval: where the share below can be q (Woodruff 1952).

        The interval goes from edge to edge: where numbers are within their bins was not counted, so
        it is right wherever they are. The quantile itself takes them to be spread evenly.
        """
        from scipy.optimize import isotonic_regression

        share, away = self.shares(level)
        rising = np.clip(isotonic_regression(share).x, 0.0, 1.0)
        value = float(np.interp(q, rising, self.edges))
        lower = float(self.edges[_last_below(share + away, q)])
        upper = float(self.edges[-1 - _last_below(1 - (share - away)[::-1], 1 - q)])
        return min(max(value, lower), upper), lower, upper

    def shares(self, level: float) -> tuple[Floats, Floats]:
        """Return the share below each edge, and how far from it the population's can be.

        The share below an edge, F = L / (L + R), has the variance F (1 - F) / N of sampling and
        ((1 - F)^2 k + F^2 (K - k)) v / N^2 of the noise, for k bins to the left of K.
        """
        from scipy.stats import norm

        bins, people = self.counts.size, max(1.0, float(self.counts.sum()))
        share = np.concatenate([[0.0], np.cumsum(self.counts)]) / people
        share[-1] = 1.0
        left, inside = np.arange(bins + 1), np.clip(share, 0.0, 1.0)
        noise = ((1 - inside) ** 2 * left + inside**2 * (bins - left)) * self.variance
        spread = np.sqrt(inside * (1 - inside) / people + noise / people**2)
        spread[[0, -1]] = 0.0
        return share, norm.ppf((1 + level) / 2) * spread


def _last_below(heights: Floats, q: float) -> int:
    """Return the last edge before heights first reach q.

    Examples
    --------
    >>> _last_below(np.array([0.0, 0.2, 0.5, 1.0]), 0.25)
    1
    """
    return max(0, int(np.argmax(heights >= q)) - 1)
