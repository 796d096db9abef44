"""Noise-aware inference: the posterior of the population given noisy tables of a private release.

After NAPSU-MQ (Räisä, Jälkö, Kaski and Honkela 2023): the noisy tables are the data, a log-linear
model over them is the model, and the noise is part of the likelihood. In two steps here: the counts
of the protected table given the noise, then the population given those counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.blas import one_thread
from veladura.methods.private.domain import Domain
from veladura.methods.private.model import positive_number
from veladura.numeric.graphical.chains import CellModel, Hamiltonian, warmed
from veladura.numeric.graphical.fit import Fit, NoisyTable, fit, merged
from veladura.numeric.graphical.model import Beliefs, LogLinear
from veladura.numeric.mcmc.diagnostics import Diagnostics

MOST_CELLS_CHAINED = 2_000  # cells of a domain whose posterior is drawn by Markov chains
CHAINS, KEPT, LONGEST = 4, 400, 32
REFITS = 50
TRACED = 30
FINE = 0.1  # smoothing of a fit that intervals come from: it moves tables by .03 sigma (rms)
FINE_STEPS = 2_000  # far more than a fit takes; one that is cut short is wrong by several sigma
TIED = 0.3  # noise that a table shared by measured ones is fitted with, over its own


@dataclass(frozen=True, eq=False)
class NoiseAware:
    """Noisy tables of a private release and the number of rows: all of it is public.

    Attributes
    ----------
    domain
        The declared domain.
    n
        The number of rows that were protected: public where neighbouring tables replace a row.
    hidden
        Whether n is an estimate from the noisy tables, because one person decides it. Inference
        then takes it for unknown.
    tables
        The noisy tables, columns by their positions in the domain.
    prior
        People of the prior in every cell of the largest table, for small domains.
    """

    domain: Domain
    n: int
    tables: Sequence[NoisyTable] = field(repr=False)
    prior: float = 0.5
    hidden: bool = False

    @property
    def chained(self) -> bool:
        """Whether the domain is small enough for Markov chains over all of its cells."""
        return self.domain.cells <= MOST_CELLS_CHAINED

    def protected(self, rng: np.random.Generator, draws: int | None = None) -> Protected:
        """Return posterior draws of the shares of the protected table itself.

        Small domains by Markov chains; others by refits to perturbed tables.
        """
        # the matrices are small: threads of BLAS would only wait for each other
        with one_thread():
            return self._chains(rng) if self.chained else self._refits(rng, draws or REFITS)

    def _chains(self, rng: np.random.Generator) -> Protected:
        """Return draws of Hamiltonian Monte Carlo, made longer until the chains have converged."""
        possible = self.domain.possible
        model = CellModel.of(
            self.domain.shape,
            possible,
            merged(self.tables),
            float(self.n),
            self.prior,
            hidden=self.hidden,
        )
        walk = warmed(model, rng, CHAINS)
        draws = walk.run(KEPT, tune=False)
        judged = self._judged(model, walk, draws)
        while judged.poor and draws.shape[1] < LONGEST * KEPT:
            more = walk.run(draws.shape[1], tune=False)
            draws = np.concatenate([draws, more], axis=1)
            judged = self._judged(model, walk, draws)
        draws = draws[:, :: max(1, draws.shape[1] // KEPT)]
        scores = walk.centre + draws.reshape(-1, draws.shape[2]) @ walk.turned.T
        shares = np.zeros((len(scores), self.domain.cells))
        shares[:, possible] = model.shares(scores)
        joint = LogLinear(self.domain.shape, (tuple(range(len(self.domain.shape))),))
        beliefs = [_joint(joint, share.reshape(self.domain.shape)) for share in shares]
        return Protected(self.n, beliefs, judged)

    def _judged(self, model: CellModel, walk: Hamiltonian, draws: Floats) -> Diagnostics:
        """Return R-hat and effective sample sizes of shares of the measured tables."""
        chains, length, size = draws.shape
        shares = model.shares(walk.centre + draws.reshape(-1, size) @ walk.turned.T)
        columns = np.linspace(0, model.noisy.size - 1, min(TRACED, model.noisy.size)).astype(int)
        traces = (shares @ model.indicators[:, columns]).reshape(chains, length, -1)
        return Diagnostics.of({f"share {c}": traces[..., i] for i, c in enumerate(columns)})

    def _refits(self, rng: np.random.Generator, draws: int) -> Protected:
        """Return refits to tables with the noise drawn once more.

        Randomise, then optimise (Bardsley, Solonen, Haario and Laine 2014): exact where the tables
        are linear in the parameters and no cell is near 0, and there an interval is cut off at 0.
        """
        zeros = self.domain.zero_tables()
        start = self.fitted(None, self.tables)
        beliefs = []
        for _ in range(draws):
            moved = [
                NoisyTable(t.columns, t.noisy + rng.normal(0, t.sigma, t.noisy.size), t.sigma)
                for t in merged(self.tables)
            ]
            again = fit(
                self.domain.shape,
                with_shared(self.domain.shape, moved),
                estimated_rows(moved) if self.hidden else float(self.n),
                zeros=zeros,
                start=start,
                steps=FINE_STEPS,
                smoothing=FINE,
            )
            beliefs.append(again.beliefs)
        return Protected(self.n, beliefs, None)

    def fitted(self, start: Fit | None, tables: Sequence[NoisyTable]) -> Fit:
        """Return the model nearest to noisy tables, without visible shrinkage."""
        zeros = self.domain.zero_tables()
        tables = with_shared(self.domain.shape, tables)
        near = start or fit(self.domain.shape, tables, float(self.n), zeros=zeros)
        return fit(
            self.domain.shape,
            tables,
            float(self.n),
            zeros=zeros,
            start=near,
            steps=FINE_STEPS,
            smoothing=FINE,
        )


def with_shared(shape: Sequence[int], tables: Sequence[NoisyTable]) -> list[NoisyTable]:
    """Return noisy tables with those of two or more columns that several of them share.

    No cell of a fit is below 0, so cells that are empty gain people where the noise is above 0 and
    lose none where it is below: what they add up to is too much. Sums of noisy counts have no such
    bias. A shared table is the mean of the sums, by their precision, which is its least-squares
    estimate where no cell is near 0; fitted more closely than its cells, it bounds what they gain
    (consistency before non-negativity: Qardaji, Yang and Li 2014).
    """
    held = merged(tables)
    common = {
        tuple(sorted(set(one.columns) & set(other.columns))) for one, other in combinations(held, 2)
    }
    shared = sorted(columns for columns in common if len(columns) > 1)
    sums = [
        _summed(shape, table, columns)
        for columns in shared
        for table in held
        if set(columns) <= set(table.columns)
    ]
    tied = [NoisyTable(t.columns, t.noisy, TIED * t.sigma) for t in merged(sums)]
    return [table for table in held if table.columns not in shared] + tied


def _summed(shape: Sequence[int], table: NoisyTable, kept: Sequence[int]) -> NoisyTable:
    """Return a noisy table summed over the columns that are not kept, with the noise of sums."""
    axes = tuple(i for i, column in enumerate(table.columns) if column not in kept)
    counts = table.noisy.reshape([shape[column] for column in table.columns]).sum(axis=axes)
    summands = table.noisy.size / counts.size
    return NoisyTable(tuple(kept), counts.ravel(), table.sigma * summands**0.5)


def read_tables(domain: Domain, settings: Mapping[str, Any]) -> list[NoisyTable]:
    """Return the noisy tables of a manifest; a ValueError says that one does not fit the domain."""
    return [
        _read_table(domain, measured, noisy)
        for measured, noisy in zip(settings["measured"], settings["noisy"], strict=True)
    ]


def _read_table(domain: Domain, measured: Mapping[str, Any], noisy: Sequence[int]) -> NoisyTable:
    columns = tuple(domain.names.index(name) for name in measured["columns"])
    counts = np.asarray(noisy, dtype=np.float64)
    cells = math.prod(domain.shape[column] for column in columns)
    fits = counts.shape == (cells,) and np.isfinite(counts).all()
    if not fits or list(columns) != sorted(set(columns)):
        raise ValueError
    return NoisyTable(columns, counts, float(positive_number(measured["sigma"])))


def unmeasured(tables: Iterable[Collection[str]], columns: Sequence[str]) -> list[tuple[str, str]]:
    """Return the pairs of some columns that no measured table holds together."""
    held = [set(table) for table in tables]
    return [
        pair for pair in combinations(columns, 2) if not any(set(pair) <= table for table in held)
    ]


def apart_words(pairs: Sequence[tuple[str, str]]) -> str:
    """Say that a relation between columns rests on the model."""
    listed = "; ".join(f"{one!r} and {other!r}" for one, other in pairs)
    return (
        f"not measured together: {listed}. Their relation comes from other tables and the model,"
        " and intervals may be too narrow for it; the holder can name the table in the workload,"
        " with rounds for as many tables."
    )


def estimated_rows(tables: Sequence[NoisyTable]) -> float:
    """Return the number of rows that noisy tables tell: sums of columns, weighted by precision."""
    singles = [table for table in tables if len(table.columns) == 1]
    precision = np.array([1 / (table.noisy.size * table.sigma**2) for table in singles])
    sums = np.array([table.noisy.sum() for table in singles])
    return max(1.0, float(precision @ sums / precision.sum()))


@dataclass(frozen=True, eq=False)
class Protected:
    """Posterior draws of the shares of the protected table.

    Attributes
    ----------
    diagnostics
        Of the Markov chains; None for refits, which are independent.
    """

    n: int
    draws: Sequence[Beliefs] = field(repr=False)
    diagnostics: Diagnostics | None

    def population(self, rng: np.random.Generator) -> list[Beliefs]:
        """Return a draw of the population for each draw of the protected table.

        Given its counts the population is Dirichlet, clique by clique given the columns shared with
        the clique before (hyper-Dirichlet law: Dawid and Lauritzen 1993, section 3.3).
        """
        return [resampled(beliefs, self.n, rng) for beliefs in self.draws]

    def one_population(self, number: int, rng: np.random.Generator) -> Beliefs:
        """Return a draw of the population for one of the draws."""
        return resampled(self.draws[number % len(self.draws)], self.n, rng)


def resampled(beliefs: Beliefs, n: float, rng: np.random.Generator) -> Beliefs:
    """Return shares of a population, given that a sample of n people has some shares."""
    model, tree = beliefs.model, beliefs.model.tree
    shares: list[Floats] = []
    conditionals: list[Floats] = []
    for place, share in enumerate(beliefs.shares):
        axes = model.residual(place)
        weights = rng.standard_gamma(n * share)
        sums = weights.sum(axis=axes, keepdims=True)
        safe = np.where(
            sums > 0, weights / np.where(sums > 0, sums, 1), beliefs.conditionals[place]
        )
        conditionals.append(safe)
        parent = tree.parents[place]
        if parent < 0:
            shares.append(safe)
        else:
            above = model.summed(shares[parent], tree.cliques[parent], tree.separators[place])
            shares.append(safe * model.spread(above, tree.separators[place], tree.cliques[place]))
    return Beliefs(model, tuple(shares), tuple(conditionals), 0.0)


def _joint(model: LogLinear, share: Floats) -> Beliefs:
    """Return the shares of all cells as those of a model with one clique."""
    return Beliefs(model, (share,), (share,), 0.0)
