"""Many columns at once: noisy marginals chosen one by one, and a graphical model that fits them (AIM-style, on mbi)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Recipe, no_codes
from veladura.core.rules import PrivateRows, Rule
from veladura.errors import PlanError
from veladura.methods.private import exact, propose
from veladura.methods.private.events import Event, rho_for
from veladura.methods.private.libraries import Measured, fit_model, mbi, noisy_maximum, opendp
from veladura.methods.private.noisy import spending
from veladura.methods.private.private import FittedPrivate, PrivateRecipe

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

Codes = Sequence[NDArray[np.int64]]
SINGLES = 0.15  # share of rho for the columns by themselves
CHOOSING = 0.1  # share of the rest for choosing pairs
MOST_PAIR = 20_000  # cells of a pair


@dataclass(frozen=True, kw_only=True)
class Marginals(PrivateRecipe):
    """Draw artificial rows of many columns from a model of noisy tables of pairs: private with epsilon and delta.

    Every column is measured once. Then, round by round, the pair of columns that the model fits
    worst is chosen privately and measured, and the model is fitted anew. Noise and choice come from
    OpenDP, the model from mbi (``pip install 'veladura[dp]'``).

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
        The chance with which epsilon may fail.
    size
        Rows of the dataset. As many as the table has, unless given.
    missing
        Columns whose missing values are a category of their own.
    rounds
        Pairs to measure. As many as there are columns, unless given.
    fits
        How often the model is fitted anew to choose the next pairs by. More often is better and
        takes longer.
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
        "The rows are artificial. They were drawn from a model of noisy counts, so that the "
        "release hardly depends on any one person."
    )
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
            msg = "delta must be above 0: Gaussian noise keeps no epsilon without one."
            raise PlanError(msg)
        if self.rounds is not None and (
            isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or self.rounds < 0
        ):
            msg = (
                f"rounds ({self.rounds}) must be a whole number of at least 0: the pairs to"
                " measure."
            )
            raise PlanError(msg)
        if isinstance(self.fits, bool) or not isinstance(self.fits, int) or self.fits < 1:
            msg = f"fits ({self.fits}) must be a whole number of at least 1."
            raise PlanError(msg)
        if not self.model_size > 0:
            msg = f"model_size ({self.model_size}) must be above 0: megabytes."
            raise PlanError(msg)

    def cost(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and delta of one release."""
        return exact.positive(self.epsilon), exact.share(self.delta)

    def apply(self, table: Table, context: Context) -> FittedMarginals:
        """Count the distinct rows."""
        opendp()
        mbi()
        chosen, space = self.prepare(table, context)
        codes, counts = space.tuples(chosen)
        return FittedMarginals(
            self, chosen, no_codes(), space, distinct=tuple(codes), counts=counts
        )

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Suggest up to six columns of few values, with the values seen as a domain that the holder must confirm."""
        return cls(**propose.settings(table, facts, cells=10**9, columns=6))


@dataclass(frozen=True, eq=False, repr=False)
class FittedMarginals(FittedPrivate[Marginals]):
    """The distinct rows, and once drawn the categories of the artificial ones."""

    distinct: tuple[NDArray[np.int64], ...] = ()
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rows: tuple[NDArray[np.int64], ...] = ()
    measured: tuple[Measured, ...] = ()

    def drawn(self, context: Context) -> FittedMarginals:
        """Charge the whole cost, then measure, choose and fit."""
        epsilon, delta = self.recipe.cost()
        rho = rho_for(epsilon, delta)
        event = self.charge(context, Event(self.recipe.method, self.about(), rho=rho))
        rounds = len(self.recipe.columns) if self.recipe.rounds is None else self.recipe.rounds
        measured, model = self._measure(context, float(rho), min(rounds, len(self._pairs())))
        size = self.recipe.size or int(self.counts.sum())
        data = model.synthetic_data(size)
        rows = tuple(
            np.asarray(data.to_dict()[name], dtype=np.int64) for name in self.recipe.columns
        )
        return replace(self, noted=(event,), rows=rows, measured=tuple(measured))

    def _measure(self, context: Context, rho: float, rounds: int) -> tuple[list[Measured], Any]:
        """Measure every column, then pair after pair; spend all of rho and no more."""
        names, n = self.recipe.columns, int(self.counts.sum())
        sigma = (len(names) / (SINGLES * rho)) ** 0.5 if rounds else (len(names) / rho) ** 0.5
        measured = [self._noisy((name,), sigma) for name in names]
        model = fit_model(self.recipe.columns, self.space.shape, measured, n, None)
        each = (1 - SINGLES) * rho / rounds if rounds else 0.0
        batches = np.array_split(np.arange(rounds), min(self.recipe.fits, rounds) or 1)
        with context.progress("choosing and measuring pairs", len(batches)) as advance:
            for batch in batches if rounds else ():
                before = len(measured)
                measured += self._batch(model, measured, batch.size, each)
                if len(measured) > before:
                    model = fit_model(self.recipe.columns, self.space.shape, measured, n, model)
                advance()
        return measured, model

    def _batch(
        self, model: Any, known: Sequence[Measured], rounds: int, rho: float
    ) -> list[Measured]:
        """Choose and measure some pairs by one model; each costs rho."""
        sigma = (1 / ((1 - CHOOSING) * rho)) ** 0.5
        scores = self._scores(model, sigma)
        found: list[Measured] = []
        for _ in range(rounds):
            if not (pairs := self._allowed([*known, *found])):
                break
            chosen = pairs[noisy_maximum([scores[pair] for pair in pairs], 2.0, CHOOSING * rho)]
            found.append(self._noisy(chosen, sigma))
        return found

    def _pairs(self) -> list[tuple[str, ...]]:
        size = dict(zip(self.recipe.columns, self.space.shape, strict=True))
        return [
            pair
            for pair in combinations(self.recipe.columns, 2)
            if size[pair[0]] * size[pair[1]] <= MOST_PAIR
        ]

    def _allowed(self, measured: Sequence[Measured]) -> list[tuple[str, ...]]:
        """Return the pairs not measured yet that keep the model small; which they are depends on no row."""
        library = mbi()
        domain = library.Domain(self.recipe.columns, self.space.shape)
        known = [one.names for one in measured]
        size = library.junction_tree.hypothetical_model_size
        return [
            pair
            for pair in self._pairs()
            if pair not in known and size(domain, [*known, pair]) <= self.recipe.model_size
        ]

    def _scores(self, model: Any, sigma: float) -> dict[tuple[str, ...], float]:
        """Return how badly the model fits each pair, less what noise alone would do.

        A replaced row moves the distance of a table to the model by at most 2.
        """
        data = model.synthetic_data(int(self.counts.sum())).to_dict()
        synthetic = [np.asarray(data[name], dtype=np.int64) for name in self.recipe.columns]
        ones = np.ones(synthetic[0].size, dtype=np.int64)
        scores = {}
        for pair in self._pairs():
            away = np.abs(
                self._table(pair, self.distinct, self.counts) - self._table(pair, synthetic, ones)
            ).sum()
            scores[pair] = float(away) - (2 / np.pi) ** 0.5 * sigma * self._cells(pair)
        return scores

    def _cells(self, names: tuple[str, ...]) -> int:
        return int(np.prod([self.space.shape[self.recipe.columns.index(name)] for name in names]))

    def _table(
        self, names: tuple[str, ...], codes: Codes, counts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the counts of a table of some columns, flat."""
        places = [self.recipe.columns.index(name) for name in names]
        shape = [self.space.shape[place] for place in places]
        flat = np.ravel_multi_index([codes[place] for place in places], shape)
        table: NDArray[np.float64] = np.bincount(
            flat, weights=counts.astype(np.float64), minlength=int(np.prod(shape))
        )  # type: ignore[assignment]
        return table

    def _noisy(self, names: tuple[str, ...], sigma: float) -> Measured:
        """Return a table with integer Gaussian noise from OpenDP; a replaced row moves it by at most sqrt(2)."""
        dp = opendp()
        noise = dp.m.make_gaussian(
            dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=sigma
        )
        counts = self._table(names, self.distinct, self.counts)
        return Measured(
            names, np.array(noise(counts.astype(np.int64).tolist()), dtype=np.float64), sigma
        )

    def new_rows(self) -> Sequence[Draw]:
        """Return new rows, linked to none of the old ones, in an order of their own."""
        order = np.lexsort(self.rows[::-1])
        return [
            Draw(self.space.columns_of(self.table, [row[order] for row in self.rows]), linked=False)
        ]

    def told(self) -> dict[str, Any]:
        """Return what was measured and with how much noise."""
        epsilon, delta = self.recipe.cost()
        n = int(self.counts.sum())
        law = {
            "epsilon": exact.text(epsilon),
            "delta": exact.text(delta),
            "n": n,
            "size": self.recipe.size or n,
            "m": 1,
        }
        return {
            **self.common(),
            **law,
            "measured": [{"columns": list(one.names), "sigma": one.sigma} for one in self.measured],
        }

    def promises(self) -> tuple[Promise, ...]:
        """Promise what the events cost together, and the declared domain."""
        return spending(self), self.in_domain()

    def rule(self) -> Rule:
        """Return the rule: analyse as it is, no interval knows of the noise."""
        return PrivateRows()
