"""Private counts, sums, means, quantiles and histograms of bounded numbers, by groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.checks import check_choice, check_columns
from veladura.base.context import Context
from veladura.core.recipe import Recipe, no_codes
from veladura.core.release import Dataset
from veladura.errors import PlanError
from veladura.methods.private import exact, propose
from veladura.methods.private.bins import RISING, edges_of, rising_edges
from veladura.methods.private.domain import Domain, declare
from veladura.methods.private.events import Event
from veladura.methods.private.expected import Expected, Reading, expected_error, reference
from veladura.methods.private.libraries import opendp
from veladura.methods.private.noisy import nearest
from veladura.methods.private.numbers import as_tuples, bounds_of, check, check_list, listed
from veladura.methods.private.private import FittedPrivate, Outcome, refuse_seed
from veladura.methods.private.queries import Noisy, Query, number_of_queries, queries
from veladura.methods.private.statistics_recipe import StatisticsRecipe
from veladura.methods.private.statistics_table import OWN, STATISTICS, table_of
from veladura.methods.private.summary_rows import Wanted, rows_of
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

USUAL_BINS = 50
MOST_GROUPS = 10_000


@dataclass(frozen=True, kw_only=True)
class PrivateSummary(StatisticsRecipe):
    """Release counts, sums, means, quantiles and histograms with noise, instead of rows.

    Differential privacy for numbers: values are clipped to declared bounds, added up by group, and
    get integer noise from OpenDP (``pip install 'veladura[dp]'``): two-sided geometric with
    epsilon alone, Gaussian with a delta. Every statistic comes with an interval that includes the
    noise; those of means, quantiles and shares include the sampling error too.

    Parameters
    ----------
    columns
        The columns of numbers to summarise.
    bounds
        By column the least and the greatest value that can occur, from public knowledge: values
        beyond are clipped.
    by
        Columns of categories that make the groups.
    domain
        By column of ``by`` the values that can occur, from public knowledge; or the path of a JSON
        file that holds them.
    statistics
        Which of "count", "sum", "mean", "sd", "quantiles", "histogram".
    quantiles
        The shares of "quantiles".
    bins
        Number of bins of equal width between the bounds, for quantiles and histograms; or by column
        that number, or the inner edges of its bins. 50 where nothing is said. "rising": narrow
        bins near zero, for amounts between wide bounds. The interval of a quantile goes from edge
        to edge of bins.
    epsilon
        The privacy loss of the release, all statistics together.
    delta
        Above 0 the noise is Gaussian: the probability by which the bound of epsilon may be
        exceeded.
    level
        Of the intervals.
    missing
        Columns of ``by`` whose missing values are a group of their own.
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random.
    neighbours
        "replace-one" or "add-remove".
    fraction, size
        Not used.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"age": [30, 40, 50] * 400, "sex": ["f", "m"] * 600})
    >>> recipe = vd.PrivateSummary(columns=["age"], bounds={"age": [0, 100]}, by=["sex"],
    ...     domain={"sex": ["f", "m"]}, statistics=["mean"], epsilon=1)
    >>> recipe.protect(table).datasets[0].columns.tolist()
    ['sex', 'column', 'statistic', 'value', 'lower', 'upper', 'about']

    References
    ----------
    Dwork, C. and Roth, A. (2014). The algorithmic foundations of differential privacy, section 3.3.
    Canonne, C., Kamath, G. and Steinke, T. (2020). The discrete Gaussian for differential privacy.
    """

    method = "private-summary"
    sentence = (
        "Differential privacy: no rows are released. Counts, sums, means and quantiles carry random"
        " noise, so that they hardly depend on any one person's row."
    )
    declared_by_holder: ClassVar[tuple[str, ...]] = ("domain", "bounds", "bins")
    proposed: ClassVar[tuple[str, ...]] = ("columns", "by", "missing")
    most_cells: ClassVar[int | None] = MOST_GROUPS

    by: Sequence[str] = ()
    statistics: Sequence[str] = ("count", "mean", "quantiles")
    quantiles: Sequence[float] = (0.25, 0.5, 0.75)
    bins: int | str | Mapping[str, int | str | Sequence[float]] = USUAL_BINS

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", as_tuples(self.bins))
        check_list("by", self.by, "by=['sex']")
        super().__post_init__()
        if self.by:
            check_columns(self.by, "the columns of groups")
        if not listed(self.statistics, str):
            msg = f"statistics must be a list of some of {list(STATISTICS)}."
            raise PlanError(msg)
        if not self.statistics:
            msg = f"statistics is empty: name some of {list(STATISTICS)}."
            raise PlanError(msg)
        for statistic in self.statistics:
            check_choice("statistics", statistic, STATISTICS)
        if both := sorted({*self.by} & {*self.columns}):
            msg = f"{both} cannot be summarised and make groups at once."
            raise PlanError(msg)
        self._check_numbers()

    def _check_numbers(self) -> None:
        for name in self.columns:
            bounds_of(name, self.bounds)
        if beyond := [name for name in self.bounds if name not in self.columns]:
            msg = f"bounds names columns that are not summarised: {beyond}."
            raise PlanError(msg)
        check(self.columns, self.bounds, self.bins, ())
        if not listed(self.quantiles, float) or not all(0 < q < 1 for q in self.quantiles):
            msg = f"quantiles must be numbers above 0 and below 1, got {self.quantiles}."
            raise PlanError(msg)
        for name in self.columns:
            self.edges(name)

    def edges(self, name: str) -> Floats:
        """Return the edges of a column's bins, bounds included."""
        bins: Any = self.bins
        if (bins.get(name) if isinstance(bins, Mapping) else bins) == RISING:
            return np.array(rising_edges(*bounds_of(name, self.bounds)))
        return np.array(edges_of(name, self.bounds, bins, USUAL_BINS))

    def declared(self) -> Domain:
        """Return the domain of the groups: one group where no column makes them."""
        if not self.by:
            return Domain({})
        return declare(self.by, self.domain, self.missing, self.zeros(), self.most_cells)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns that the statistics are of: no row of them is released."""
        return (*self.by, *self.columns)

    def apply(self, table: Table, context: Context) -> FittedSummary:
        """Add up by group."""
        opendp()
        refuse_seed(context, seedable=self.seedable)
        check_kinds(table.schema, self.columns, NUMERIC, "numbers are summarised.")
        chosen, domain = table.select([*self.by, *self.columns]), self.declared()
        counted = self.contributed(chosen, context).fetched()
        groups = groups_of(counted, domain)
        columns = {
            name: (numbers_of(counted, name), bounds_of(name, self.bounds), self.edges(name))
            for name in self.columns
        }
        listed = queries(columns, groups, domain.cells, self.statistics)
        counts = np.array([groups.size], dtype=np.int64)
        return FittedSummary(self, chosen, no_codes(), domain, counts, tuple(listed))

    @property
    def reading(self) -> Reading:
        """How the outlook of a summary is read: it is about groups, not about quantiles."""
        return Reading(
            counted="groups",
            error=f"{Reading().error}\nIt is about the numbers of rows by group. A quantile is"
            " known to its bin at best: declare narrow bins where most numbers are expected.",
        )

    def table_cells(self) -> int:
        """Return the number of groups; two stand for one, which has no shares."""
        return max(2, self.declared().cells)

    def noise_of_rows(self) -> Noisy:
        """Return no rows at all with the noise that their number gets, for its variance."""
        nobody = Query("rows", "", 1, np.zeros((1, 1), dtype=np.int64))
        return self.noise_of(nobody, number_of_queries(len(self.columns), self.statistics))

    def expected(self, n: int) -> Expected:
        """Return the expected error of the numbers of rows by group, from public quantities."""
        noise = self.noise_of_rows()

        def noisy(counts: Ints, rng: np.random.Generator) -> Floats:
            moved = counts - noise.draws(rng, counts.size).ravel()
            return nearest(moved, float(counts.sum()))

        return expected_error(noisy, n, self.table_cells())

    def half_width(self, n: int) -> float:
        """Return half the average width of 95 % intervals of the shares of the groups.

        Sampling and noise: p (1 - p) / n + v / n^2, with p as in the reference table.
        """
        shares = reference(self.table_cells())
        variance = shares * (1 - shares) / n + self.noise_of_rows().variance / n**2
        return float(1.96 * np.sqrt(variance).mean())

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest the numbers of a table by its first column of few categories."""
        return cls(**propose.summary_settings(table, facts))


@dataclass(frozen=True, eq=False, repr=False)
class FittedSummary(FittedPrivate[PrivateSummary]):
    """The sums by group. Holds original sums."""

    queries: tuple[Query, ...] = field(repr=False)

    def mechanism(self, context: Context, event: Event) -> Outcome:  # noqa: ARG002
        """Add the noise, and compute every statistic from the noisy sums alone."""
        recipe = self.recipe
        noisy = recipe.measured(self.queries)
        bounds = {name: bounds_of(name, recipe.bounds) for name in recipe.columns}
        edges = {name: recipe.edges(name) for name in recipe.columns}
        wanted = Wanted(recipe.statistics, recipe.quantiles, bounds, edges, recipe.level)
        epsilon, delta = map(exact.text, recipe.loss())
        parameters = {
            "epsilon": epsilon,
            "delta": delta,
            "columns": [*recipe.by, *OWN],
            "summarised": list(recipe.columns),
            "by": list(recipe.by),
            "bounds": {name: list(pair) for name, pair in bounds.items()},
            "bins": {name: edges[name].tolist() for name in edges},
            "statistics": list(recipe.statistics),
            "quantiles": list(recipe.quantiles),
            "level": recipe.level,
            "noisy": [query.to_json() for query in noisy],
            "m": 1,
        }
        released = table_of(self.domain, self.table, rows_of(noisy, wanted))
        return Outcome([Dataset(released)], parameters)


def groups_of(table: Table, domain: Domain) -> Ints:
    """Return the group of each row; values outside the declared domain are an error."""
    if not domain.names:
        return np.zeros(table.rows, dtype=np.int64)
    return domain.of_rows(table)


def numbers_of(table: Table, name: str) -> Floats:
    """Return a column of numbers in the order of the table, NaN where missing."""
    column = table.column(name)
    return np.where(column.missing, np.nan, column.values.astype(np.float64))
