"""Many columns at once: a graphical model of noisy marginals that are chosen one by one.

Adaptive, after AIM (McKenna et al. 2022), with the noise of OpenDP and the models of mbi.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.context import Context
from veladura.core.recipe import Recipe, no_codes
from veladura.core.rules import PrivateRows, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact, propose
from veladura.methods.private.events import Event, rho_for, zcdp_epsilon
from veladura.methods.private.libraries import (
    NoisyTable,
    fit_model,
    gaussian,
    mbi,
    noisy_maximum,
    opendp,
)
from veladura.methods.private.private import FittedPrivate, Outcome, PrivateRecipe

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

Pair = tuple[str, ...]
SINGLES = 0.15  # share of rho for the columns by themselves
CHOOSING = 0.1  # share of the rest for choosing pairs
MOST_PAIR = 20_000  # cells of a pair


@dataclass(frozen=True, kw_only=True)
class Marginals(PrivateRecipe):
    """Draw artificial rows of many columns from noisy marginals, with (epsilon, delta)-DP.

    (epsilon, delta)-differential privacy, by zero-concentrated privacy. Gaussian noise is added to
    the table of every column. Then, round by round, the pair of columns that the model fits worst
    is chosen privately, its table gets noise too, and the graphical model is fitted anew. Noise and
    choice come from OpenDP, the model from mbi (``pip install 'veladura[dp]'``).

    Parameters
    ----------
    columns
        The columns of categories to release.
    domain
        By column the values that can occur, from public knowledge; or the path of a JSON file that
        holds them.
    epsilon
        The privacy loss of the release.
    delta
        The probability by which the bound of epsilon may be exceeded.
    size
        Rows of the dataset. As many as the table has, unless given.
    missing
        Columns whose missing values are a category of their own.
    rows_per_person
        With a person column, the most rows of a person that are counted, drawn at random: the rho
        of a person is its square times that of a row, and the ledger is charged with it.
    rounds
        Number of pairs of columns to measure. As many as there are columns, unless given.
    fits
        How often the model is fitted anew before the next pairs are chosen. More often is better
        and takes longer.
    model_size
        The largest model, in megabytes. A larger one fits better and takes longer.

    References
    ----------
    McKenna, R., Mullins, B., Sheldon, D. and Miklau, G. (2022). AIM: an adaptive and iterative
    mechanism for differentially private synthetic data. PVLDB 15(11), algorithms 2 to 4. McKenna,
    R., Sheldon, D. and Miklau, G. (2019). Graphical-model based estimation and inference for
    differential privacy. ICML.
    """

    method = "marginals"
    sentence = (
        "Differential privacy: all rows are artificial, drawn from a model of counts with random"
        " noise, so that the release hardly depends on any one person's row."
    )
    rule: ClassVar[Rule] = PrivateRows()
    seedable: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("opendp", "mbi")
    most_cells: ClassVar[int | None] = None

    delta: float = 1e-9
    rounds: int | None = None
    fits: int = 4
    model_size: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not exact.share(self.delta):
            msg = "delta must be above 0: Gaussian noise has no epsilon without one."
            raise PlanError(msg)
        if self.rounds is not None and (
            isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 0
        ):
            msg = (
                f"rounds ({self.rounds}) must be a whole number of at least 0: the number of pairs"
                " of columns to measure."
            )
            raise PlanError(msg)
        if isinstance(self.fits, bool) or not isinstance(self.fits, int) or self.fits < 1:
            msg = f"fits ({self.fits}) must be a whole number of at least 1."
            raise PlanError(msg)
        if not self.model_size > 0:
            msg = f"model_size ({self.model_size}) must be above 0, in megabytes."
            raise PlanError(msg)

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a row."""
        return exact.positive(self.epsilon), exact.share(self.delta)

    def event(self) -> Event:
        """Return the privacy loss of one release: the rho that keeps epsilon with delta.

        The rho of r rows is r^2 times that of one (Bun and Steinke 2016, proposition 1.9).
        """
        about, rho = ", ".join(self.columns), rho_for(*self.cost()) * self.rows_each**2
        return Event(self.method, about, rho=rho, neighbours=self.neighbours)

    def loss(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release, for a person."""
        epsilon, delta = self.cost()
        if self.rows_each == 1:
            return epsilon, delta
        bound = zcdp_epsilon(self.event().rho, delta)
        return Fraction(math.ceil(bound * 10**6), 10**6), delta

    def apply(self, table: Table, context: Context) -> FittedMarginals:
        """Count the distinct rows."""
        opendp()
        mbi()
        chosen, domain = self.prepare(table, context)
        codes, counts = domain.tuples(self.contributed(chosen, context))
        return FittedMarginals(
            self, chosen, no_codes(), domain, distinct=tuple(codes), counts=counts
        )

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest up to six columns of few values; the holder must confirm the proposed domain."""
        return cls(**propose.settings(table, facts, cells=10**9, columns=6))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMarginals(FittedPrivate[Marginals]):
    """The distinct rows and how often each occurs. Holds original values: never released."""

    distinct: tuple[Ints, ...] = field(repr=False)
    counts: Ints = field(repr=False)

    def mechanism(self, context: Context, event: Event) -> Outcome:
        """Measure, choose and fit; then draw rows from the model."""
        recipe, n = self.recipe, int(self.counts.sum())
        rounds = len(recipe.columns) if recipe.rounds is None else recipe.rounds
        rounds = min(rounds, len(self._pairs()))
        measured, model = self._measure(context, float(event.rho / recipe.rows_each**2), rounds)
        size = recipe.size or n
        synthetic = model.synthetic_data(size).to_dict()
        rows = [np.asarray(synthetic[name], dtype=np.int64) for name in recipe.columns]
        order = np.lexsort(rows[::-1])
        columns = self.domain.columns_of(self.table, [row[order] for row in rows])
        epsilon, delta = map(exact.text, recipe.loss())
        parameters = {
            "epsilon": epsilon,
            "delta": delta,
            "n": n,
            "size": size,
            "m": 1,
            "measured": [
                {"columns": list(noisy.names), "sigma": noisy.sigma} for noisy in measured
            ],
        }
        return Outcome([columns], parameters)

    def _measure(self, context: Context, rho: float, rounds: int) -> tuple[list[NoisyTable], Any]:
        """Measure every column, then pair after pair; spend all of rho and no more."""
        names, n = self.recipe.columns, int(self.counts.sum())
        sigma = (len(names) / (SINGLES * rho)) ** 0.5 if rounds else (len(names) / rho) ** 0.5
        measured = [self._noisy((name,), sigma) for name in names]
        model = fit_model(names, self.domain.shape, measured, n, None)
        each = (1 - SINGLES) * rho / rounds if rounds else 0.0
        batches = np.array_split(np.arange(rounds), min(self.recipe.fits, rounds) or 1)
        with context.progress("choosing and measuring pairs", len(batches)) as advance:
            for batch in batches if rounds else ():
                before = len(measured)
                measured += self._batch(model, measured, batch.size, each)
                if len(measured) > before:
                    model = fit_model(names, self.domain.shape, measured, n, model)
                advance()
        return measured, model

    def _batch(
        self, model: Any, measured: Sequence[NoisyTable], rounds: int, rho: float
    ) -> list[NoisyTable]:
        """Choose and measure some pairs by one model; each costs rho."""
        sigma = (1 / ((1 - CHOOSING) * rho)) ** 0.5
        scores = self._scores(model, sigma)
        batch: list[NoisyTable] = []
        for _ in range(rounds):
            if not (pairs := self._allowed([*measured, *batch])):
                break
            chosen = pairs[noisy_maximum([scores[pair] for pair in pairs], 2.0, CHOOSING * rho)]
            batch.append(self._noisy(chosen, sigma))
        return batch

    def _pairs(self) -> list[Pair]:
        size = dict(zip(self.recipe.columns, self.domain.shape, strict=True))
        return [
            pair
            for pair in combinations(self.recipe.columns, 2)
            if size[pair[0]] * size[pair[1]] <= MOST_PAIR
        ]

    def _allowed(self, measured: Sequence[NoisyTable]) -> list[Pair]:
        """Return the unmeasured pairs that keep the model small; no row decides which they are."""
        library = mbi()
        domain = library.Domain(self.recipe.columns, self.domain.shape)
        names = [table.names for table in measured]
        size = library.junction_tree.hypothetical_model_size
        return [
            pair
            for pair in self._pairs()
            if pair not in names and size(domain, [*names, pair]) <= self.recipe.model_size
        ]

    def _scores(self, model: Any, sigma: float) -> dict[Pair, float]:
        """Return how badly the model fits each pair, less what noise alone would do.

        A replaced row moves the distance of a table to the model by at most 2.
        """
        data = model.synthetic_data(int(self.counts.sum())).to_dict()
        synthetic = [np.asarray(data[name], dtype=np.int64) for name in self.recipe.columns]
        ones = np.ones(synthetic[0].size, dtype=np.int64)
        scores = {}
        for pair in self._pairs():
            true = self._table(pair, self.distinct, self.counts)
            distance = np.abs(true - self._table(pair, synthetic, ones)).sum()
            scores[pair] = float(distance) - (2 / np.pi) ** 0.5 * sigma * self._cells(pair)
        return scores

    def _cells(self, names: Pair) -> int:
        return int(np.prod([self.domain.shape[self.recipe.columns.index(name)] for name in names]))

    def _table(self, names: Pair, codes: Sequence[Ints], counts: Ints) -> Floats:
        """Return the counts of a table of some columns, flat."""
        places = [self.recipe.columns.index(name) for name in names]
        shape = [self.domain.shape[place] for place in places]
        flat = np.ravel_multi_index([codes[place] for place in places], shape)
        table: Floats = np.bincount(
            flat, weights=counts.astype(np.float64), minlength=int(np.prod(shape))
        )  # type: ignore[assignment]
        return table

    def _noisy(self, names: Pair, sigma: float) -> NoisyTable:
        """Return a table with Gaussian noise; a replaced row moves it by at most sqrt(2)."""
        counts = self._table(names, self.distinct, self.counts).astype(np.int64)
        return NoisyTable(names, gaussian(counts, sigma), sigma)
