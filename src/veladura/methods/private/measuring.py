"""Choose, measure and fit: which tables of a workload get noise, and how much, round by round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.context import Advance
from veladura.methods.private.noise_aware import estimated_rows
from veladura.numeric.graphical.fit import Fit, NoisyTable, fit
from veladura.numeric.graphical.junction import Columns, model_megabytes

SINGLES = 0.3  # share of rho for the columns by themselves, where the number of rounds is given
ADAPTIVE_SINGLES = 0.4  # the same where noise falls from round to round
FALL = 2**0.5  # of the noise, when a round told no more than noise
CHOOSING = 0.1  # share of the rho of a round that chooses the table
DISCOUNT = 0.7  # of the error that noise adds: the fit takes some of it out
PATIENCE = 6  # rounds a column that the first noise would last for; it falls as rounds go by
ROUND_STEPS = 40  # of the fit between rounds
LAST_STEPS = 300


@dataclass(frozen=True)
class Change:
    """By how much one row changes a table of counts.

    Attributes
    ----------
    table
        Root of squares.
    score
        Sum of amounts, and so the distance of the table to the model.
    """

    table: float
    score: float


REPLACED = Change(2**0.5, 2.0)  # takes one from a cell and adds one to another
ADDED = Change(1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Noise:
    """Where the noise comes from: counts with Gaussian noise, and a private choice of the best."""

    gaussian: Callable[[Floats, float], Floats]
    choose: Callable[[Sequence[float], float, float], int]


@dataclass(eq=False)
class Spending:
    """The rho of one release: what each measurement and each choice costs, and what is left."""

    total: float
    measuring: float = 0.0
    choosing: float = 0.0

    @property
    def left(self) -> float:
        """The rho that is not spent yet."""
        return max(0.0, self.total - self.measuring - self.choosing)


def measure_cost(sigma: float, change: Change) -> float:
    """Return the rho of a table with Gaussian noise: the squared sensitivity over 2 sigma^2."""
    return change.table**2 / (2 * sigma**2)


def sigma_for(rho: float, change: Change) -> float:
    """Return the noise of a table that costs rho."""
    return change.table / math.sqrt(2 * rho)


@dataclass(frozen=True, eq=False)
class Design:
    """What may be measured: all of it is public.

    Attributes
    ----------
    shape
        The number of categories of each column.
    weights
        The tables that may be measured, with the weight of each.
    n
        The number of rows; None where it is not public, and is estimated from the noisy columns.
    zeros
        Structural zeros: columns, and which cells of their table are possible.
    megabytes
        The largest model.
    rounds
        How many tables are chosen; None to spend the budget in falling noise.
    fits
        How often the model is fitted before the last time; None for every round.
    change
        By how much one row changes a table: replaced, or added or removed.
    """

    shape: tuple[int, ...]
    weights: Mapping[Columns, float]
    n: int | None
    zeros: tuple[tuple[Columns, Floats], ...] = ()
    megabytes: float = 8.0
    rounds: int | None = None
    fits: int | None = None
    change: Change = REPLACED

    def cells(self, columns: Columns) -> int:
        """Return the number of cells of a table."""
        return math.prod(self.shape[column] for column in columns)


@dataclass(eq=False)
class Measurements:
    """The noisy tables so far, and the model that was fitted to them."""

    design: Design
    count: Callable[[Columns], Floats] = field(repr=False)
    noise: Noise
    spending: Spending
    tables: list[NoisyTable] = field(default_factory=list)
    fitted: Fit | None = None

    def add(self, columns: Columns, sigma: float) -> None:
        """Measure a table with noise."""
        noisy = self.noise.gaussian(self.count(columns), sigma)
        self.spending.measuring += measure_cost(sigma, self.design.change)
        self.tables.append(NoisyTable(columns, noisy, sigma))

    @property
    def n(self) -> float:
        """The number of rows, or its estimate: sums of noisy columns, averaged by precision."""
        if self.design.n is not None:
            return float(self.design.n)
        return estimated_rows(self.tables)

    def refit(self, steps: int) -> Fit:
        """Fit the model to all tables, starting from the last one."""
        design = self.design
        self.fitted = fit(
            design.shape,
            self.tables,
            self.n,
            zeros=design.zeros,
            start=self.fitted,
            steps=steps,
        )
        return self.fitted

    def allowed(self, share: float) -> list[Columns]:
        """Return the tables that keep the model within a share of its size; no row decides it."""
        design = self.design
        measured = [
            *dict.fromkeys(table.columns for table in self.tables),
            *(columns for columns, _ in design.zeros),
        ]
        held = [set(clique) for clique in self.fitted.model.tree.cliques] if self.fitted else []
        return [
            columns
            for columns in design.weights
            if any(set(columns) <= clique for clique in held)
            or model_megabytes(design.shape, [*measured, columns]) <= share * design.megabytes
        ]

    def choose(self, candidates: Sequence[Columns], sigma: float, rho: float) -> Columns:
        """Return the table that the model fits worst, chosen privately at a cost of rho.

        The score of a table is its weight times its L1 distance to the model, less what the noise
        would do (McKenna et al. 2022, algorithm 2); discounted, since the fit smooths it.
        """
        fitted, n = self.fitted, self.n
        assert fitted is not None  # noqa: S101  # columns are measured and fitted first
        scores, most = [], 0.0
        for columns in candidates:
            weight = self.design.weights[columns]
            expected = n * fitted.beliefs.table(columns).ravel()
            distance = float(np.abs(self.count(columns) - expected).sum())
            bias = DISCOUNT * (2 / math.pi) ** 0.5 * sigma * expected.size
            scores.append(weight * (distance - bias))
            most = max(most, weight)
        self.spending.choosing += rho
        return candidates[self.noise.choose(scores, self.design.change.score * most, rho)]


def measure(
    design: Design,
    count: Callable[[Columns], Floats],
    rho: float,
    noise: Noise,
    advance: Advance = lambda: None,
) -> Measurements:
    """Measure every column, then table after table; spend all of rho and no more.

    Without a number of rounds, the noise falls as rounds go by (McKenna et al. 2022, algorithm 4):
    when a new table tells the model no more than noise would, the next ones get half of it.
    """
    spending = Spending(rho)
    state = Measurements(design, count, noise, spending)
    columns = [(column,) for column in range(len(design.shape))]
    tables = [table for table in design.weights if len(table) > 1]
    rounds = design.rounds
    if not tables or rounds == 0:
        for column, share in zip(columns, column_shares(design.shape), strict=True):
            state.add(column, sigma_for(share * rho, design.change))
        state.refit(LAST_STEPS)
        return state
    even = [SINGLES / len(columns)] * len(columns)
    shares = even if rounds is not None else ADAPTIVE_SINGLES * column_shares(design.shape)
    for column, share in zip(columns, shares, strict=True):
        state.add(column, sigma_for(float(share) * rho, design.change))
    state.refit(ROUND_STEPS)
    if rounds is None:
        each = spending.left / (PATIENCE * len(columns))
        _annealed(state, sigma_for((1 - CHOOSING) * each, design.change), advance)
    else:
        _fixed(state, rounds, advance)
    state.refit(LAST_STEPS)
    return state


def column_shares(shape: Sequence[int]) -> Floats:
    """Return the shares of rho that make the error of all columns least: k^(2/3) of k values.

    The L1 error of a column is about k sigma, and its cost is proportional to 1 / sigma^2: their
    sum is least, for a given cost, where sigma is proportional to k^(-1/3).
    """
    sizes = np.asarray(shape, dtype=np.float64) ** (2 / 3)
    shares: Floats = sizes / sizes.sum()
    return shares


def _annealed(state: Measurements, sigma: float, advance: Advance) -> None:
    """Choose and measure with falling noise until the budget is spent."""
    spending, change, last = state.spending, state.design.change, False
    while not last:
        each = measure_cost(sigma, change) / (1 - CHOOSING)
        last = spending.left < 2 * each
        if last:
            each = spending.left
            sigma = sigma_for((1 - CHOOSING) * each, change)
        share = 1 - (spending.left - each) / spending.total
        chosen = state.choose(state.allowed(share), sigma, CHOOSING * each)
        before = state.fitted
        state.add(chosen, sigma)
        after = state.refit(ROUND_STEPS)
        assert before is not None  # noqa: S101
        moved = state.n * np.abs(before.beliefs.table(chosen) - after.beliefs.table(chosen)).sum()
        if moved <= (2 / math.pi) ** 0.5 * sigma * state.design.cells(chosen):
            sigma /= FALL
        advance()


def _fixed(state: Measurements, rounds: int, advance: Advance) -> None:
    """Choose and measure a given number of tables, each at the same cost."""
    each = state.spending.left / rounds
    sigma = sigma_for((1 - CHOOSING) * each, state.design.change)
    batches = rounds if state.design.fits is None else min(rounds, state.design.fits)
    for batch in np.array_split(np.arange(rounds), batches):
        for _ in batch:
            known = {table.columns for table in state.tables}
            fresh = [table for table in state.allowed(1.0) if table not in known]
            if candidates := fresh or state.allowed(1.0):
                state.add(state.choose(candidates, sigma, CHOOSING * each), sigma)
            advance()
        state.refit(ROUND_STEPS)


def closure(workload: Mapping[Columns, float]) -> dict[Columns, float]:
    """Return every table within the workload, weighted by what it shares with its tables.

    The weight of a table is the sum over the workload of the columns in common, times the weight
    there (McKenna et al. 2022, section 4.3).
    """
    parts = sorted(
        {
            part
            for columns in workload
            for size in range(1, len(columns) + 1)
            for part in combinations(columns, size)
        },
        key=lambda part: (len(part), part),
    )
    return {
        part: sum(weight * len(set(part) & set(columns)) for columns, weight in workload.items())
        for part in parts
    }
