"""The samplers of Marcolin (2018) as functions: Gibbs, Metropolis and adaptive Metropolis.

`veladura.posterior` gives the same posterior exactly and in less time. These are for those who want
to see a sampler beside it: acceptance rates, effective sample sizes, traces.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior import chains as sampling
from veladura.inference.posterior.chains import ChainModel, Step


@dataclass(frozen=True, eq=False)
class Chain:
    """What a sampler drew.

    Attributes
    ----------
    draws
        Shares of the cells: kept draws, chains, cells.
    acceptance
        Share of proposals that were accepted, by chain; 1 for the Gibbs sampler.
    seconds
        Processor time.
    """

    draws: Floats = field(repr=False)
    acceptance: Floats = field(repr=False)
    seconds: float

    @property
    def mean(self) -> Floats:
        """Posterior means of the shares: chains, cells."""
        return np.asarray(self.draws.mean(axis=0))

    @property
    def variance(self) -> Floats:
        """Posterior variances of the shares: chains, cells."""
        return np.asarray(self.draws.var(axis=0, ddof=1))

    @property
    def effective(self) -> Floats:
        """Effective sample sizes: chains, cells (Geyer 1992)."""
        _, number, cells = self.draws.shape
        sizes = [
            [sampling.effective(self.draws[:, chain, cell]) for cell in range(cells)]
            for chain in range(number)
        ]
        return np.array(sizes)


def chain_model(
    released: ArrayLike, n: int, *, alpha: ArrayLike, prior: ArrayLike = 0.5
) -> ChainModel:
    """Return the model of released counts, for a sampler.

    Parameters
    ----------
    released
        Counts of the cells; datasets in rows; or, for one chain to each of several releases,
        releases, datasets, cells.
    n
        Number of rows of the original.
    alpha
        The Dirichlet parameter of the release: one number, or one for each cell.
    prior
        The Dirichlet parameter of the prior: one number, or one for each cell.
    """
    counts = np.atleast_2d(np.asarray(released, dtype=np.float64))
    counts = counts[None] if counts.ndim == 2 else counts  # noqa: PLR2004  # datasets, cells
    cells = counts.shape[-1]
    laws = {
        name: np.broadcast_to(np.asarray(law, np.float64), cells)
        for name, law in (("alpha", alpha), ("gamma", prior))
    }
    if cells < 2 or any((law <= 0).any() for law in laws.values()) or n < 1:  # noqa: PLR2004
        msg = "a sampler needs at least two cells, a row, and numbers above 0 for alpha and prior."
        raise PlanError(msg)
    return ChainModel(released=counts, n=int(n), **laws)


def gibbs(
    release: Any,
    prior: ArrayLike = 0.5,
    *,
    sweeps: int = 1000,
    burn: int = 1000,
    thin: int = 1,
    chains: int = 1,
    seed: int | None = None,
) -> Chain:
    """Draw from the posterior by Gibbs sampling (Marcolin 2018, algorithm 3).

    Parameters
    ----------
    release
        A release by `DirichletMultinomial` or `BinomialBeta`, or a `chain_model`.
    prior
        The Dirichlet parameter of the prior, for a release.
    sweeps, burn, thin
        Draws to keep, sweeps that are dropped first, and sweeps between two kept draws.
    chains
        Number of chains, which start apart.
    seed
        For draws that can be repeated.

    Examples
    --------
    >>> from veladura.inference import chain_model, gibbs
    >>> model = chain_model([30, 70], 100, alpha=15.65, prior=1.0)
    >>> chain = gibbs(model, sweeps=200, burn=50, seed=1)
    >>> chain.draws.shape, float(chain.acceptance[0])
    ((200, 1, 2), 1.0)

    References
    ----------
    Charest, A.-S. (2011); Marcolin (2018), sec. 2.6, with the errors of its conditionals corrected.
    """
    return _drawn(
        release,
        prior,
        sampling.gibbs,
        sweeps=sweeps,
        burn=burn,
        thin=thin,
        chains=chains,
        seed=seed,
    )


def metropolis(
    release: Any,
    prior: ArrayLike = 0.5,
    *,
    step: int = 11,
    sweeps: int = 1000,
    burn: int = 1000,
    thin: int = 1,
    chains: int = 1,
    seed: int | None = None,
) -> Chain:
    """Draw by Gibbs sampling with a Metropolis step, uniform within ``step`` rows (algorithm 4).

    With more than two cells rows move between two cells at random.

    Parameters
    ----------
    release, prior, sweeps, burn, thin, chains, seed
        As for `gibbs`.
    step
        L: at most so many rows move. 11 accepts 46 % at n = 100 (Marcolin 2018, Fig. 3.1).
    """
    if step < 1:
        msg = f"step ({step}) must be at least 1: the number of rows that may move."
        raise PlanError(msg)
    return _drawn(
        release,
        prior,
        sampling.uniform_step(int(step)),
        sweeps=sweeps,
        burn=burn,
        thin=thin,
        chains=chains,
        seed=seed,
    )


def adaptive_metropolis(
    release: Any,
    prior: ArrayLike = 0.5,
    *,
    sweeps: int = 1000,
    burn: int = 1000,
    thin: int = 1,
    chains: int = 1,
    seed: int | None = None,
) -> Chain:
    """Draw with independent proposals x ~ Multinomial(n, beta) (algorithm 6).

    Every 500 sweeps of the burn-in beta becomes the mean of the last 500 shares; adaptation ends
    with it, so that the kept draws are those of a Markov chain.

    Parameters
    ----------
    release, prior, sweeps, burn, thin, chains, seed
        As for `gibbs`.
    """
    return _drawn(
        release,
        prior,
        sampling.metropolis,
        sweeps=sweeps,
        burn=burn,
        thin=thin,
        chains=chains,
        seed=seed,
    )


def acceptance_by_step(
    release: Any,
    prior: ArrayLike = 0.5,
    *,
    steps: Iterable[int] = range(6, 13),
    sweeps: int = 1000,
    burn: int = 1000,
    chains: int = 20,
    seed: int | None = None,
) -> dict[int, float]:
    """Return the mean acceptance rate of `metropolis` by its width L (Marcolin 2018, Fig. 3.1)."""
    rates = {}
    for step in steps:
        chain = metropolis(
            release, prior, step=step, sweeps=sweeps, burn=burn, chains=chains, seed=seed
        )
        rates[step] = float(chain.acceptance.mean())
    return rates


def _drawn(
    release: Any,
    prior: ArrayLike,
    step: Step,
    *,
    sweeps: int,
    burn: int,
    thin: int,
    chains: int,
    seed: int | None,
) -> Chain:
    """Run chains from a release or a model."""
    if min(sweeps, thin, chains) < 1 or burn < 0:
        msg = "sweeps, thin and chains must be at least 1, and burn at least 0."
        raise PlanError(msg)
    model = release if isinstance(release, ChainModel) else _model_of(release, prior)
    if chains > 1:
        model = replace(model, released=np.repeat(model.released, chains, axis=0))
    rng = Streams.of(seed)("posterior", "chain")
    began = process_time()
    kept, accepted = sampling.run(rng, step, model, sweeps * thin, burn)
    return Chain(kept[thin - 1 :: thin], accepted, process_time() - began)


def _model_of(release: Any, prior: ArrayLike) -> ChainModel:
    """Return the model of a release, without the cells that were declared impossible."""
    from veladura.inference.posterior.reading import model_of
    from veladura.methods.private.model import ReleaseModel

    model = model_of(release)
    if not isinstance(model, ReleaseModel) or model.alpha is None:
        msg = (
            "these samplers are for Dirichlet-multinomial releases.\n\nHint: veladura.posterior"
            " has the exact posterior of every private release of counts."
        )
        raise PlanError(msg)
    possible = model.domain.possible
    gamma = np.broadcast_to(np.asarray(prior, np.float64), possible.shape)[possible]
    alpha = np.broadcast_to(np.asarray(model.alpha, np.float64), possible.shape)[possible]
    released = np.atleast_2d(np.asarray(model.released, np.float64))[:, possible]
    return chain_model(released, model.n, alpha=alpha, prior=gamma)
