"""Two Markov chain samplers of the posterior: independent checks of the exact computation.

Model: p ~ Dirichlet(gamma), x ~ Multinomial(n, p), q_m ~ Dirichlet(alpha + x), r_m ~
Multinomial(size, q_m). They are the samplers of Marcolin (2018), section 3.1, with these
corrections: q_m given the rest is Dirichlet(alpha + x + r_m); a proposal is accepted when u <= tau;
tau holds the ratio of the proposals; the product runs over all m sets; adaptation stops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from veladura.base.arrays import Floats, Ints

TINY = 1e-300
EVERY = 500  # sweeps between adaptations


@dataclass(frozen=True, eq=False)
class ChainModel:
    """Everything that stays fixed: released counts (datasets in rows), alpha, prior and n."""

    released: Floats
    alpha: Floats
    gamma: Floats
    n: int


class ChainState(NamedTuple):
    """Position of a chain: counts, shares, released shares (datasets in rows), and proposal."""

    x: Ints
    p: Floats
    q: Floats
    proposal: Floats


class ChainInfo(NamedTuple):
    """What happened in one sweep."""

    accepted: bool


Step = Callable[[Generator, ChainState, ChainModel], tuple[ChainState, ChainInfo]]


def start(rng: Generator, model: ChainModel) -> ChainState:
    """Return a first position: counts drawn from the released shares."""
    shares = model.released.sum(axis=0) + model.gamma
    x = rng.multinomial(model.n, shares / shares.sum())
    return _refresh(
        rng, ChainState(x, shares, np.zeros_like(model.released), shares / shares.sum()), model
    )


def _refresh(rng: Generator, state: ChainState, model: ChainModel) -> ChainState:
    """Draw p ~ Dirichlet(gamma + x) and each q_m ~ Dirichlet(alpha + x + r_m)."""
    p = rng.dirichlet(model.gamma + state.x)
    q = np.array([rng.dirichlet(model.alpha + state.x + r) for r in model.released])
    return state._replace(p=np.maximum(p, TINY), q=np.maximum(q, TINY))


def log_target(x: Ints, state: ChainState, model: ChainModel) -> float:
    """Return log P(x | p, q) up to a constant.

    P is proportional to prod_i p_i^x_i / x_i! prod_m q_mi^x_i / Gamma(alpha_i + x_i).
    """
    sets = len(model.released)
    slope = np.log(state.p) + np.log(state.q).sum(axis=0)
    return float(np.sum(x * slope - gammaln(x + 1) - sets * gammaln(model.alpha + x)))


def gibbs(rng: Generator, state: ChainState, model: ChainModel) -> tuple[ChainState, ChainInfo]:
    """Advance by one Gibbs sweep: pairs of cells in random order given their sum; then p and q."""
    x = state.x.copy()
    slope = np.log(state.p) + np.log(state.q).sum(axis=0)
    order = rng.permutation(x.size)
    for i, j in zip(order, np.roll(order, 1), strict=True):
        total = int(x[i] + x[j])
        values = np.arange(total + 1)
        logs = values * (slope[i] - slope[j]) - gammaln(values + 1) - gammaln(total - values + 1)
        logs -= len(model.released) * (
            gammaln(model.alpha[i] + values) + gammaln(model.alpha[j] + total - values)
        )
        chances = np.cumsum(np.exp(logs - logs.max()))
        x[i] = int(np.searchsorted(chances, rng.random() * chances[-1]))
        x[j] = total - x[i]
    return _refresh(rng, state._replace(x=x), model), ChainInfo(accepted=True)


def metropolis(
    rng: Generator, state: ChainState, model: ChainModel
) -> tuple[ChainState, ChainInfo]:
    """Advance by one Metropolis-Hastings step with the proposal x ~ Multinomial(n, proposal)."""
    x = rng.multinomial(model.n, state.proposal)
    gain = log_target(x, state, model) - log_target(state.x, state, model)
    gain -= _log_proposal(x, state.proposal) - _log_proposal(state.x, state.proposal)
    accepted = bool(np.log(rng.random()) <= gain)
    return _refresh(rng, state._replace(x=x) if accepted else state, model), ChainInfo(accepted)


def _log_proposal(x: Ints, shares: Floats) -> float:
    return float(np.sum(x * np.log(shares) - gammaln(x + 1)))


def run(
    rng: Generator, step: Step, model: ChainModel, sweeps: int, burn_in: int
) -> tuple[Floats, float]:
    """Return p after each sweep and the acceptance rate; adaptation ends with the burn-in."""
    state = start(rng, model)
    recent = [state.p]
    for sweep in range(1, burn_in + 1):
        state, _ = step(rng, state, model)
        recent.append(state.p)
        if sweep % EVERY == 0:
            mean = np.mean(recent[-EVERY:], axis=0)
            state = state._replace(proposal=np.maximum(mean / mean.sum(), TINY))
    kept = np.empty((sweeps, model.gamma.size))
    accepted = 0
    for sweep in range(sweeps):
        state, info = step(rng, state, model)
        kept[sweep] = state.p
        accepted += info.accepted
    return kept, accepted / sweeps


def effective(draws: Floats) -> float:
    """Return the effective sample size of one series (Geyer 1992, initial positive sequence)."""
    away = draws - draws.mean()
    spectrum = np.fft.rfft(away, 2 * away.size)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum))[: away.size]
    if covariance[0] <= 0:
        return 1.0
    pairs = (covariance[: away.size // 2 * 2] / covariance[0]).reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else pairs.size
    return float(away.size / max(2 * pairs[:stop].sum() - 1, 1.0))
