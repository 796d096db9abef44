"""The posterior of the shares of all cells: moments, intervals, draws, and sums of cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior import split
from veladura.inference.posterior.convolve import Convolution, Law
from veladura.inference.posterior.edgeworth import approximate_marginals
from veladura.inference.posterior.mixture import Share
from veladura.inference.posterior.rows import MixedShare, nodes
from veladura.methods.private.domain import Domain

if TYPE_CHECKING:
    import pandas as pd


class Interval(NamedTuple):
    """Lower and upper ends of credible intervals: arrays over the cells."""

    lower: Floats
    upper: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """The posterior of the shares of all cells, given a private release.

    Arrays are over the cells in the order of the declared domain: product order, last column
    fastest.
    Cells that cannot occur have share 0.

    Attributes
    ----------
    domain
        The declared domain.
    n
        The number of rows that were protected, or an estimate of it.
    rows
        Where n is not public, the posterior of the number of rows; all answers are mixed over it.
    gamma
        The Dirichlet parameter of the prior by cell; 0 where a cell cannot occur.
    kind
        For each possible cell, the one of ``tilted`` that it follows before the sum is given.
    error
        The numerical error of the exact results; for an approximation, its stated error.
    """

    domain: Domain
    n: int
    gamma: Floats
    kind: Ints
    tilted: Sequence[Law] = field(repr=False)
    weights: Floats = field(repr=False)  # the prior's weight of each kind
    method: str = "exact"
    rows: Law | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        return f"Posterior(cells={self.domain.cells}, n={self.n}, method={self.method!r})"

    @property
    def total(self) -> float:
        """The prior's weight of all cells plus n."""
        return float(self.gamma.sum()) + self.n

    @cached_property
    def _marginals(self) -> tuple[list[Law], float]:
        whole = Convolution(self.tilted, np.bincount(self.kind, minlength=len(self.tilted)), self.n)
        return whole.marginals() if self.method == "exact" else approximate_marginals(whole)

    @property
    def error(self) -> float:
        """The largest relative error in adding up, or that stated by the approximation."""
        if self.rows is not None:
            return max(given.error for _, given in self._given_rows)
        return self._marginals[1]

    @cached_property
    def _given_rows(self) -> list[tuple[float, Posterior]]:
        """The posteriors given numbers of rows, with their probabilities."""
        if self.rows is None:
            return [(1.0, self)]
        return [(chance, replace(self, n=n, rows=None)) for n, chance in nodes(self.rows)]

    @cached_property
    def _shares(self) -> list[Share]:
        if self.rows is not None:
            each = [(chance, given._shares) for chance, given in self._given_rows]  # noqa: SLF001
            return [
                MixedShare.of([(chance, shares[kind]) for chance, shares in each])
                for kind in range(len(self.tilted))
            ]
        return [
            Share(law, float(weight), self.total)
            for law, weight in zip(self._marginals[0], self.weights, strict=True)
        ]

    def _spread(self, values: Sequence[float]) -> Floats:
        """Return values by kind as values by cell."""
        result = np.zeros(self.domain.cells)
        result[self.domain.possible] = np.asarray(values, dtype=np.float64)[self.kind]
        return result

    @cached_property
    def mean(self) -> Floats:
        """The posterior mean of each share."""
        return self._spread([share.mean for share in self._shares])

    @cached_property
    def variance(self) -> Floats:
        """The posterior variance of each share."""
        return self._spread([share.variance for share in self._shares])

    @cached_property
    def counts(self) -> Floats:
        """The posterior mean of the count of each cell in the original table."""
        return self._spread([share.law.mean for share in self._shares])

    def interval(self, level: float = 0.95, kind: str = "hpd") -> Interval:
        """Return credible intervals: shortest ("hpd"), or with equal tails ("equal").

        Parameters
        ----------
        level
            The posterior probability of each interval, between 0 and 1.
        """
        check_level(level, kind)
        ends = [share.interval(level, kind) for share in self._shares]
        return Interval(
            self._spread([low for low, _ in ends]), self._spread([high for _, high in ends])
        )

    def cdf(self, points: ArrayLike) -> Floats:
        """Return the distribution function of each share: cells in rows, points in columns."""
        wanted = np.atleast_1d(np.asarray(points, dtype=np.float64))
        result = np.ones((self.domain.cells, wanted.size))
        result[self.domain.possible] = np.array([share.cdf(wanted) for share in self._shares])[
            self.kind
        ]
        return result

    def pdf(self, points: ArrayLike) -> Floats:
        """Return the density of each share at each point: cells in rows, points in columns."""
        wanted = np.atleast_1d(np.asarray(points, dtype=np.float64))
        result = np.zeros((self.domain.cells, wanted.size))
        result[self.domain.possible] = np.array([share.pdf(wanted) for share in self._shares])[
            self.kind
        ]
        return result

    @cached_property
    def _tree(self) -> split.SumNode:
        return split.build([self.tilted[kind] for kind in self.kind.tolist()])

    def draw_counts(self, n: int, seed: int | Streams | None = None) -> Ints:
        """Return n independent draws of the counts of the protected table, one row each."""
        counts = np.zeros((n, self.domain.cells), dtype=np.int64)
        streams = Streams.of(seed)
        totals: int | Ints = self.n
        if self.rows is not None:
            chosen = streams("posterior", "rows").choice(self.rows.values, n, p=self.rows.chances)
            totals = chosen.astype(np.int64)
        counts[:, self.domain.possible] = split.draw(
            streams("posterior", "counts"), self._tree, totals, n
        )
        return counts

    def draw(self, n: int, seed: int | Streams | None = None) -> Floats:
        """Return n independent draws of the shares, one row each: no chain, nothing to converge."""
        streams = Streams.of(seed)
        shapes = (self.draw_counts(n, streams) + self.gamma)[:, self.domain.possible]
        gammas = streams("posterior", "shares").standard_gamma(shapes)
        shares = np.zeros((n, self.domain.cells))
        shares[:, self.domain.possible] = gammas / gammas.sum(axis=1, keepdims=True)
        return shares

    def predict(self, rows: int, n: int, seed: int | Streams | None = None) -> Ints:
        """Return n posterior predictive draws: the counts of a new sample of ``rows`` people."""
        streams = Streams.of(seed)
        drawn: Ints = streams("posterior", "predict").multinomial(rows, self.draw(n, streams))
        return drawn

    def grouped(self, masks: Sequence[ArrayLike]) -> Posterior:
        """Return the exact posterior of sums of cells.

        Parameters
        ----------
        masks
            The cells of each group. Every possible cell is in exactly one of them.
        """
        cells = [np.asarray(mask, dtype=bool)[self.domain.possible] for mask in masks]
        if not np.array_equal(np.sum(cells, axis=0), np.ones(self.kind.size)):
            msg = "groups must contain every possible cell exactly once."
            raise PlanError(msg)
        kept = [mask for mask in cells if mask.any()]
        most = self.n if self.rows is None else int(self.rows.values[-1])
        whole = Convolution(self.tilted, np.bincount(self.kind, minlength=len(self.tilted)), most)
        laws = whole.sums(
            [np.bincount(self.kind[mask], minlength=len(self.tilted)) for mask in kept]
        )
        gamma = np.array([float(self.gamma[self.domain.possible][mask].sum()) for mask in kept])
        names = Domain({"group": tuple(i for i, mask in enumerate(cells) if mask.any())})
        return replace(
            self,
            domain=names,
            gamma=gamma,
            kind=np.arange(len(kept)),
            tilted=laws,
            weights=gamma,
            method="exact",
        )

    def combine(
        self,
        weights: ArrayLike,
        level: float = 0.95,
        *,
        draws: int = 20_000,
        seed: int | None = None,
    ) -> Estimate:
        """Return the posterior mean of a linear combination of the shares, with its interval.

        Mean and, for a sum of cells, the interval are exact. Other intervals come from exact draws
        of the sums of cells with equal weights.

        Parameters
        ----------
        weights
            One number a cell.
        """
        check_level(level, "hpd")
        given = np.where(self.domain.possible, np.asarray(weights, dtype=np.float64), 0.0)
        values = np.unique(given[self.domain.possible])
        sums = self.grouped([(given == value) & self.domain.possible for value in values])
        mean = float(values @ sums.mean)
        if values.size == 1:
            return Estimate(mean, mean, mean, level)
        if values.size == 2:  # noqa: PLR2004  # one sum and the rest: a mixture of Betas
            ends = np.sort(
                values[0] + (values[1] - values[0]) * np.array(sums._shares[1].interval(level))  # noqa: SLF001
            )
            return Estimate(mean, min(mean, ends[0]), max(mean, ends[1]), level)
        low, high = shortest(sums.draw(draws, seed) @ values, level)
        return Estimate(mean, min(mean, low), max(mean, high), level)

    def combination_variance(self, weights: ArrayLike) -> float:
        """Return the exact posterior variance of a linear combination of the shares."""
        given = np.asarray(weights, dtype=np.float64)
        values = np.unique(given[self.domain.possible])
        masks = [(given == value) & self.domain.possible for value in values]
        single = [self._variance_of(mask) for mask in masks]
        result = float(values**2 @ single)
        for i, j in zip(*np.triu_indices(len(masks), 1), strict=True):
            covariance = (self._variance_of(masks[i] | masks[j]) - single[i] - single[j]) / 2
            result += 2 * float(values[i] * values[j]) * covariance
        return result

    def _variance_of(self, mask: Mask) -> float:
        if np.array_equal(mask, self.domain.possible):
            return 0.0
        return float(self.grouped([mask, self.domain.possible & ~mask]).variance[0])

    def where(self, **values: Any) -> Mask:
        """Return which cells have the given values; a list means any of them, None means missing.

        For example ``posterior.where(sex="f", age=["18-25", "26-35"])``.
        """
        from veladura.inference.posterior.compare import cells_where

        return cells_where(self.domain, values)

    def share(self, event: Mask, given: Mask | None = None, level: float = 0.95) -> Estimate:
        """Return the share of some cells, among all or among those given."""
        from veladura.inference.posterior import compare

        return (
            compare.share(self, event, level)
            if given is None
            else compare.conditional_share(self, event, given, level)
        )

    def difference(
        self,
        event: Mask,
        one: Mask,
        other: Mask,
        level: float = 0.95,
    ) -> Estimate:
        """Return the difference of the shares of an event, one group less the other."""
        from veladura.inference.posterior import compare

        return compare.difference(self, event, one, other, level)

    def odds_ratio(
        self,
        event: Mask,
        one: Mask,
        other: Mask,
        level: float = 0.95,
    ) -> Estimate:
        """Return the odds ratio of an event, one group over the other: the posterior median."""
        from veladura.inference.posterior import compare

        return compare.odds_ratio(self, event, one, other, level)

    def table(self, level: float = 0.95) -> pd.DataFrame:
        """Return a table of cells: values, posterior mean, sd and interval, mean count."""
        from veladura.inference.posterior import compare

        return compare.table(self, level)


def shortest(draws: Floats, level: float) -> tuple[float, float]:
    """Return the shortest interval that holds a share of the draws."""
    ordered = np.sort(draws)
    inside = min(ordered.size - 1, int(np.ceil(level * ordered.size)))
    first = int(np.argmin(ordered[inside:] - ordered[: ordered.size - inside]))
    return float(ordered[first]), float(ordered[first + inside])


def check_level(level: float, kind: str) -> None:
    """Refuse a level outside (0, 1), and an unknown kind of interval."""
    if not 0 < level < 1:
        msg = f"level ({level}) must be between 0 and 1."
        raise PlanError(msg)
    if kind not in ("hpd", "equal"):
        raise PlanError.unknown("kind of interval", kind, ("hpd", "equal"))
