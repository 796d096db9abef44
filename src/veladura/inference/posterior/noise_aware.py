"""The noise-aware posterior of many columns: shares, tables, contrasts and odds ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.checks import check_choice
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior.compare import categories, cells_where
from veladura.inference.posterior.shares import Interval, check_level, shortest
from veladura.methods.private.bins import mean_places, slopes
from veladura.methods.private.noise_aware import NoiseAware, Protected, resampled
from veladura.numeric.graphical.rows import draw_rows

if TYPE_CHECKING:
    import pandas as pd

    from veladura.methods.private.domain import Domain
    from veladura.numeric.graphical.model import Beliefs

SEED = 1  # an analyst gets the same answers from the same folder
MOST_LISTED = 20_000  # cells of a domain that can be asked for one by one
MANY = 400  # draws from which quantiles are taken; below, a t interval


@dataclass(frozen=True)
class Group:
    """People with some values: by column, which categories."""

    chosen: tuple[tuple[int, tuple[int, ...]], ...]

    def __and__(self, other: Group) -> Group:
        """Return the people in both groups."""
        mine = dict(self.chosen)
        for column, places in other.chosen:
            both = set(mine.get(column, places)) & set(places)
            mine[column] = tuple(sorted(both))
        return Group(tuple(sorted(mine.items())))

    @property
    def empty(self) -> bool:
        """Whether nobody can be in the group."""
        return any(not places for _, places in self.chosen)


def noise_aware(model: NoiseAware, prior: ArrayLike = 0.5) -> NoiseAwarePosterior:
    """Return the posterior of the population given noisy tables."""
    weight = np.asarray(prior, dtype=np.float64)
    if weight.ndim or not np.isfinite(weight) or weight <= 0:
        msg = "prior must be one number above 0 for this release.\n\nHint: prior=0.5."
        raise PlanError(msg)
    streams = Streams.of(SEED)
    asked = replace(model, prior=float(weight))
    protected = asked.protected(streams("noise-aware", "protected"))
    if protected.diagnostics is not None:
        protected.diagnostics.warn("use a larger prior, such as prior=1.")
    return NoiseAwarePosterior(asked, protected)


@dataclass(frozen=True, eq=False, repr=False)
class NoiseAwarePosterior:
    """The posterior of the shares in the population, given the noisy tables of a release.

    It has the questions of the exact posterior. Arrays over the cells are in the order of the
    declared domain (product order, last column fastest), for domains of up to 20,000 cells; larger
    ones answer questions about groups and about tables of some columns.

    Attributes
    ----------
    model
        The declared domain, the number of rows n, the noisy tables and the prior.
    protected
        Draws of the shares of the protected table.
    """

    model: NoiseAware
    protected: Protected = field(repr=False)

    def __repr__(self) -> str:
        return (
            f"NoiseAwarePosterior(columns={len(self.domain.names)}, n={self.n},"
            f" tables={len(self.model.tables)}, draws={len(self.protected.draws)},"
            f" method={self.method!r})"
        )

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self.model.domain

    @property
    def n(self) -> int:
        """The number of rows that were protected."""
        return self.model.n

    @property
    def method(self) -> str:
        """How the draws were made."""
        return "Markov chains" if self.model.chained else "perturbed refits"

    @cached_property
    def _population(self) -> list[Beliefs]:
        return self.protected.population(Streams.of(SEED)("noise-aware", "population"))

    @property
    def error(self) -> float:
        """The largest Monte Carlo error of the share of a value of a column."""
        shares = [self.table_draws([name]) for name in self.domain.names]
        return float(max(s.std(axis=0).max() for s in shares) / len(self.protected.draws) ** 0.5)

    def table_draws(self, columns: Sequence[str]) -> Floats:
        """Return posterior draws of the shares of a table of some columns, one row each.

        Cells are in product order of the columns as they are given, the last fastest.
        """
        places = self._places(columns)
        axes = np.argsort(np.argsort(places))
        return np.array([np.transpose(b.table(places), axes).ravel() for b in self._population])

    def _places(self, columns: Sequence[str]) -> list[int]:
        names = self.domain.names
        for name in columns:
            if name not in names:
                what = "column"
                raise PlanError.unknown(what, name, names)
        if len(set(columns)) < len(columns) or not columns:
            msg = "name each column of the table once."
            raise PlanError(msg)
        return [names.index(name) for name in columns]

    @cached_property
    def _cells(self) -> Floats:
        """Draws of the shares of all cells."""
        if self.domain.cells > MOST_LISTED:
            msg = (
                f"the domain has {self.domain.cells:,} cells, too many to list.\n\nHint: ask for"
                " share(where(...)), or for table(columns=[...]) of some columns."
            )
            raise PlanError(msg)
        return self.table_draws(self.domain.names)

    @property
    def mean(self) -> Floats:
        """The posterior mean of each share."""
        mean: Floats = self._cells.mean(axis=0)
        return mean

    @property
    def variance(self) -> Floats:
        """The posterior variance of each share."""
        variance: Floats = self._cells.var(axis=0, ddof=1)
        return variance

    @property
    def counts(self) -> Floats:
        """The posterior mean of the count of each cell in the original table."""
        self._cells  # noqa: B018  # refuses a domain that is too large
        every = list(range(len(self.domain.names)))
        counts: Floats = self.n * np.mean(
            [b.table(every).ravel() for b in self.protected.draws], axis=0
        )
        return counts

    def interval(self, level: float = 0.95, kind: str = "hpd") -> Interval:
        """Return credible intervals: shortest ("hpd"), or with equal tails ("equal")."""
        check_level(level, kind)
        ends = [_ends(draws, level, kind) for draws in self._cells.T]
        return Interval(np.array([low for low, _ in ends]), np.array([high for _, high in ends]))

    def draw(self, n: int, seed: int | Streams | None = None) -> Floats:
        """Return n posterior draws of the shares of all cells, one row each."""
        self._cells  # noqa: B018  # refuses a domain that is too large
        rng = Streams.of(seed)("posterior", "shares")
        chosen = rng.permutation(np.arange(n) % len(self.protected.draws))
        every = list(range(len(self.domain.names)))
        return np.array(
            [
                resampled(self.protected.draws[i], self.n, rng).table(every).ravel()
                for i in chosen.tolist()
            ]
        )

    def where(self, **values: Any) -> Mask | Group:
        """Return the people with the given values; a list means any of them, None means missing.

        Cells of the domain as a mask, or a group where the domain has too many.
        """
        if self.domain.cells <= MOST_LISTED:
            return cells_where(self.domain, values)
        chosen = []
        for name, wanted in values.items():
            [place] = self._places([name])
            alone = cells_where(self._alone(name), {name: wanted})
            chosen.append((place, tuple(np.flatnonzero(alone).tolist())))
        return Group(tuple(sorted(chosen)))

    def _alone(self, name: str) -> Domain:
        """Return the domain of one column."""
        missing = (name,) if name in self.domain.missing else ()
        return type(self.domain)({name: self.domain.values[name]}, missing)

    def between(self, column: str, low: float, high: float) -> Mask | Group:
        """Return the people whose number is from low to under high (to high, at the upper bound).

        Numbers are known by their bins: both limits must be edges of bins.
        """
        edges = self._edges(column)
        if low not in edges or high not in edges or not low < high:
            msg = (
                f"{column!r} is known by bins: both limits must be among their edges, the lower one"
                f" first.\n\nHint: the edges are {[float(f'{edge:.12g}') for edge in edges]}."
            )
            raise PlanError(msg)
        words = self.domain.texts(column)[edges.index(low) : edges.index(high)]
        return self.where(**{column: words})

    def _edges(self, column: str) -> list[float]:
        self._places([column])
        if column not in self.domain.edges:
            msg = f"{column!r} is a column of categories: use where(...)."
            raise PlanError(msg)
        return list(self.domain.edges[column])

    def mean_of(
        self,
        column: str,
        given: Mask | Group | None = None,
        level: float = 0.95,
        within: str = "anywhere",
    ) -> Estimate:
        """Return the mean of a number in the population, among all who have one or a group.

        Parameters
        ----------
        within
            "anywhere": the interval covers the mean wherever in their bins the numbers are.
            "smooth": it takes them as spread as the bins on both sides suggest, which the estimate
            does in either case.
        """
        check_level(level, "hpd")
        check_choice("within", within, ("anywhere", "smooth"))
        edges = np.asarray(self._edges(column))
        words = self.domain.texts(column)
        groups = [self.where(**{column: word}) for word in words]
        if given is not None:
            groups = [group & given for group in groups]  # type: ignore[operator]
        shares = np.column_stack([self._share_draws(group) for group in groups])
        total = shares.sum(axis=1, keepdims=True)
        if not (total > 0).all():
            msg = "nobody can be in the group that the mean is among."
            raise PlanError(msg)
        shares = shares / total
        places = mean_places(slopes(shares.mean(axis=0), edges.tolist()))
        smooth = shares @ (edges[:-1] + places * np.diff(edges))
        middle = _estimate(smooth, level, edges[0], edges[-1])
        if within == "smooth":
            return middle
        least = _estimate(shares @ edges[:-1], level, edges[0], edges[-1])
        most = _estimate(shares @ edges[1:], level, edges[0], edges[-1])
        return Estimate(middle.value, least.lower, most.upper, level)

    def _share_draws(self, group: Mask | Group) -> Floats:
        """Return draws of the share of a group in the population."""
        if not isinstance(group, Group):
            mask = np.asarray(group, dtype=bool)
            if mask.shape != (self.domain.cells,):
                msg = (
                    "a group must be what where(...) returns, or one truth value for each of"
                    f" {self.domain.cells} cells."
                )
                raise PlanError(msg)
            shares: Floats = self._cells @ mask
            return shares
        if group.empty:
            return np.zeros(len(self._population))
        if not group.chosen:
            return np.ones(len(self._population))
        columns = [column for column, _ in group.chosen]
        picked = np.ix_(*(places for _, places in group.chosen))
        return np.array([beliefs.table(columns)[picked].sum() for beliefs in self._population])

    def share(
        self, event: Mask | Group, given: Mask | Group | None = None, level: float = 0.95
    ) -> Estimate:
        """Return the share of a group, among all or among those given."""
        check_level(level, "hpd")
        return _estimate(self._rate(event, given), level, 0.0, 1.0)

    def _rate(self, event: Mask | Group, given: Mask | Group | None) -> Floats:
        if given is None:
            return self._share_draws(event)
        below = self._share_draws(given)
        if not (below > 0).any():
            msg = "nobody can be in the group that the share is among."
            raise PlanError(msg)
        both = self._share_draws(event & given)  # type: ignore[operator]
        return both / np.where(below > 0, below, np.inf)

    def difference(
        self, event: Mask | Group, one: Mask | Group, other: Mask | Group, level: float = 0.95
    ) -> Estimate:
        """Return the difference of the shares of an event, one group less the other."""
        check_level(level, "hpd")
        return _estimate(self._rate(event, one) - self._rate(event, other), level, -1.0, 1.0)

    def odds_ratio(
        self, event: Mask | Group, one: Mask | Group, other: Mask | Group, level: float = 0.95
    ) -> Estimate:
        """Return the odds ratio of an event, one group over the other: the posterior median."""
        check_level(level, "equal")
        first, second = self._rate(event, one), self._rate(event, other)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(first / (1 - first)) - np.log(second / (1 - second))
        logs = logs[~np.isnan(logs)]
        if not logs.size:
            msg = "nobody, or everybody, in these groups has the event: there is no odds ratio."
            raise PlanError(msg)
        if logs.size >= MANY or not np.isfinite(logs).all():
            ends = np.quantile(logs, [(1 - level) / 2, 0.5, (1 + level) / 2], method="nearest")
        else:
            half = _half(logs, level)
            ends = np.array([logs.mean() - half, logs.mean(), logs.mean() + half])
        low, middle, high = np.exp(ends)
        return Estimate(float(middle), float(low), float(high), level)

    def combine(self, weights: ArrayLike, level: float = 0.95) -> Estimate:
        """Return the posterior mean of a linear combination of the shares, with its interval."""
        check_level(level, "hpd")
        return _estimate(self._cells @ np.asarray(weights, dtype=np.float64), level)

    def table(self, level: float = 0.95, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a table of cells, of all columns or of some: values, share, sd and interval."""
        import pandas as pd

        check_level(level, "hpd")
        names = list(self.domain.names if columns is None else columns)
        draws = self._cells if columns is None else self.table_draws(names)
        sizes = [self.domain.shape[place] for place in self._places(names)]
        labels = [categories(self.domain, name) for name in names]
        grid = np.unravel_index(np.arange(draws.shape[1]), sizes)
        cells = {
            name: [values[int(place)] for place in places]
            for name, values, places in zip(names, labels, grid, strict=True)
        }
        estimates = [_estimate(column, level, 0.0, 1.0) for column in draws.T]
        figures = {
            "share": [e.value for e in estimates],
            "sd": draws.std(axis=0, ddof=1),
            "lower": [e.lower for e in estimates],
            "upper": [e.upper for e in estimates],
            "count": self.n * draws.mean(axis=0),
        }
        clash = {name: f"posterior_{name}" if name in names else name for name in figures}
        return pd.DataFrame(cells).assign(**{clash[k]: v for k, v in figures.items()})

    def rows(self, m: int, size: int) -> list[list[Ints]]:
        """Return m tables of artificial rows as categories, each from a draw of the population."""
        streams = Streams.of(SEED)
        apart = np.linspace(0, len(self._population) - 1, m).astype(int).tolist()
        return [
            draw_rows(self._population[place], size, streams("noise-aware", "rows", number))
            for number, place in enumerate(apart)
        ]


def _half(draws: Floats, level: float) -> float:
    """Return half the width of a t interval: few draws tell the variance, not the tails."""
    from scipy.special import stdtrit

    wide = float(stdtrit(draws.size - 1, (1 + level) / 2))
    return wide * float(draws.std(ddof=1)) * math.sqrt(1 + 1 / draws.size)


def _ends(draws: Floats, level: float, kind: str) -> tuple[float, float]:
    if draws.size < MANY:
        middle, half = float(draws.mean()), _half(draws, level)
        return max(0.0, middle - half), min(1.0, middle + half)
    if kind == "hpd":
        return shortest(draws, level)
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _estimate(
    draws: Floats, level: float, least: float = -np.inf, most: float = np.inf
) -> Estimate:
    mean = float(draws.mean())
    if draws.size < MANY:
        half = _half(draws, level)
        low, high = max(least, mean - half), min(most, mean + half)
    else:
        tail = (1 - level) / 2
        low, high = map(float, np.quantile(draws, [tail, 1 - tail]))
    return Estimate(mean, min(mean, low), max(mean, high), level)
