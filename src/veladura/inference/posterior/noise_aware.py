"""The noise-aware posterior of many columns: shares, tables, contrasts and odds ratios."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats, Mask
from veladura.base.checks import check_choice
from veladura.base.estimate import Estimate
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior.compare import categories
from veladura.inference.posterior.from_draws import MANY, ends, estimate, half_width, ranked
from veladura.inference.posterior.noise_aware_draws import SEED, Group, NoiseAwareDraws
from veladura.inference.posterior.shares import Interval, check_level
from veladura.methods.private.bins import mean_places, slopes
from veladura.methods.private.noise_aware import NoiseAware

if TYPE_CHECKING:
    import pandas as pd

FARTHEST = 745.0  # a log odds ratio beyond which the ratio is 0 or infinite


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
class NoiseAwarePosterior(NoiseAwareDraws):
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

    def __repr__(self) -> str:
        return (
            f"NoiseAwarePosterior(columns={len(self.domain.names)}, n={self.n},"
            f" tables={len(self.model.tables)}, draws={len(self.protected.draws)},"
            f" method={self.method!r})"
        )

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
        lower, upper = np.array([ends(draws, level, kind) for draws in self._cells.T]).T
        return Interval(lower, upper)

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
        self._caution([*self._places([column]), *self._columns_of(given)])
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
        middle = estimate(smooth, level, edges[0], edges[-1])
        if within == "smooth":
            return middle
        least = estimate(shares @ edges[:-1], level, edges[0], edges[-1])
        most = estimate(shares @ edges[1:], level, edges[0], edges[-1])
        return Estimate(middle.value, least.lower, most.upper, level)

    def share(
        self, event: Mask | Group, given: Mask | Group | None = None, level: float = 0.95
    ) -> Estimate:
        """Return the share of a group, among all or among those given."""
        check_level(level, "hpd")
        self._caution(self._columns_of(event, given))
        return estimate(self._rate(event, given), level, 0.0, 1.0)

    def difference(
        self, event: Mask | Group, one: Mask | Group, other: Mask | Group, level: float = 0.95
    ) -> Estimate:
        """Return the difference of the shares of an event, one group less the other."""
        check_level(level, "hpd")
        self._caution(self._columns_of(event, one, other))
        return estimate(self._rate(event, one) - self._rate(event, other), level, -1.0, 1.0)

    def odds_ratio(
        self, event: Mask | Group, one: Mask | Group, other: Mask | Group, level: float = 0.95
    ) -> Estimate:
        """Return the odds ratio of an event, one group over the other: the posterior median."""
        check_level(level, "equal")
        self._caution(self._columns_of(event, one, other))
        first, second = self._rate(event, one), self._rate(event, other)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(first / (1 - first)) - np.log(second / (1 - second))
        logs = logs[~np.isnan(logs)]
        if not logs.size:
            msg = "nobody, or everybody, in these groups has the event: there is no odds ratio."
            raise PlanError(msg)
        if logs.size >= MANY or not np.isfinite(logs).all():
            logs_at = ranked(np.clip(logs, -FARTHEST, FARTHEST), level)
        else:
            middle, half = float(logs.mean()), half_width(logs, level)
            logs_at = middle - half, middle, middle + half
        with np.errstate(over="ignore"):
            low, middle, high = np.exp(logs_at)
        return Estimate(float(middle), float(low), float(high), level)

    def combine(self, weights: ArrayLike, level: float = 0.95) -> Estimate:
        """Return the posterior mean of a linear combination of the shares, with its interval."""
        check_level(level, "hpd")
        return estimate(self._cells @ np.asarray(weights, dtype=np.float64), level)

    def table(self, level: float = 0.95, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a table of cells, of all columns or of some: values, share, sd and interval."""
        import pandas as pd

        check_level(level, "hpd")
        names = list(self.domain.names if columns is None else columns)
        if columns is not None:
            self._caution(self._places(names))
        draws = self._cells if columns is None else self.table_draws(names)
        sizes = [self.domain.shape[place] for place in self._places(names)]
        labels = [categories(self.domain, name) for name in names]
        grid = np.unravel_index(np.arange(draws.shape[1]), sizes)
        cells = {
            name: [values[int(place)] for place in places]
            for name, values, places in zip(names, labels, grid, strict=True)
        }
        estimates = [estimate(column, level, 0.0, 1.0) for column in draws.T]
        figures = {
            "share": [e.value for e in estimates],
            "sd": draws.std(axis=0, ddof=1),
            "lower": [e.lower for e in estimates],
            "upper": [e.upper for e in estimates],
            "count": self.n * draws.mean(axis=0),
        }
        clash = {name: f"posterior_{name}" if name in names else name for name in figures}
        return pd.DataFrame(cells).assign(**{clash[k]: v for k, v in figures.items()})
