"""Markov chain samplers of the posterior: independent checks of the exact computation.

Model: p ~ Dirichlet(gamma), x ~ Multinomial(n, p), q_m ~ Dirichlet(alpha + x), r_m ~
Multinomial(size, q_m). They are the samplers of Marcolin (2018), algorithms 3 to 6, with these
corrections: q_m given the rest is Dirichlet(alpha + x + r_m); a proposal is accepted when u <= tau;
tau holds the ratio of the proposals; the product runs over all m sets; adaptation stops.

Many chains advance together, each with a release of its own: arrays begin with the chains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from veladura.base.arrays import Floats, Ints, Mask

TINY = 1e-300
EVERY = 500  # sweeps between adaptations


@dataclass(frozen=True, eq=False)
class ChainModel:
    """Everything that stays fixed while the chains run.

    Attributes
    ----------
    released
        Released counts: chains, datasets, cells.
    alpha, gamma
        The Dirichlet parameters of the release and of the prior, over the cells.
    n
        Number of rows of the original.
    """

    released: Floats
    alpha: Floats
    gamma: Floats
    n: int
    log_gamma: Floats = field(init=False, repr=False)
    log_factorial: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        values = np.arange(self.n + 1)
        object.__setattr__(self, "log_gamma", gammaln(self.alpha[:, None] + values))
        object.__setattr__(self, "log_factorial", gammaln(values + 1))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of chains, datasets and cells."""
        chains, sets, cells = self.released.shape
        return chains, sets, cells


class ChainState(NamedTuple):
    """Where the chains are: counts, shares, released shares, and the shares proposed from."""

    x: Ints
    p: Floats
    q: Floats
    proposal: Floats


class ChainInfo(NamedTuple):
    """What happened in one sweep: whether each chain accepted its proposal."""

    accepted: Mask


Step = Callable[[Generator, ChainState, ChainModel], tuple[ChainState, ChainInfo]]


def start(rng: Generator, model: ChainModel) -> ChainState:
    """Return first positions: counts drawn from the released shares."""
    shares = model.released.sum(axis=1) + model.gamma
    shares /= shares.sum(axis=1, keepdims=True)
    x = rng.multinomial(model.n, shares)
    return _refresh(rng, ChainState(x, shares, np.zeros_like(model.released), shares), model)


def _refresh(rng: Generator, state: ChainState, model: ChainModel) -> ChainState:
    """Draw p ~ Dirichlet(gamma + x) and each q_m ~ Dirichlet(alpha + x + r_m)."""
    p = _dirichlet(rng, model.gamma + state.x)
    q = _dirichlet(rng, model.alpha + state.x[:, None, :] + model.released)
    return state._replace(p=p, q=q)


def _dirichlet(rng: Generator, parameters: Floats) -> Floats:
    """Draw from Dirichlet laws, one for each row, as gamma variables over their sum."""
    drawn = np.maximum(rng.standard_gamma(parameters), TINY)
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _slopes(state: ChainState) -> Floats:
    """Return log p_i + sum_m log q_mi: what one more row in a cell adds to the log target."""
    logs = np.log(np.maximum(state.q, TINY)).sum(axis=1)
    return np.asarray(np.log(np.maximum(state.p, TINY)) + logs)


def log_target(x: Ints, state: ChainState, model: ChainModel) -> Floats:
    """Return log P(x | p, q) up to a constant, for each chain.

    P is proportional to prod_i p_i^x_i / x_i! prod_m q_mi^x_i / Gamma(alpha_i + x_i).
    """
    _, sets, cells = model.shape
    laws = model.log_gamma[np.arange(cells), x]
    return np.asarray(np.sum(x * _slopes(state) - model.log_factorial[x] - sets * laws, axis=1))


def gibbs(rng: Generator, state: ChainState, model: ChainModel) -> tuple[ChainState, ChainInfo]:
    """Advance by one Gibbs sweep: pairs of cells in random order given their sum; then p and q.

    With two cells this is the full conditional of x (Marcolin 2018, eq. 2.7 and algorithm 3).
    """
    x, slope = state.x.copy(), _slopes(state)
    chains, sets, cells = model.shape
    order = rng.permutation(cells)
    pairs = [order] if cells == 2 else list(zip(order, np.roll(order, 1), strict=True))  # noqa: PLR2004
    for i, j in pairs:
        total = x[:, i] + x[:, j]
        values = np.arange(int(total.max()) + 1)
        rest = np.maximum(total[:, None] - values, 0)
        logs = values * (slope[:, i] - slope[:, j])[:, None]
        logs = logs - model.log_factorial[values] - model.log_factorial[rest]
        logs -= sets * (model.log_gamma[i, values] + model.log_gamma[j, rest])
        logs[values > total[:, None]] = -np.inf
        chances = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
        uniforms = rng.random(chains) * chances[:, -1]
        x[:, i] = np.minimum((chances <= uniforms[:, None]).sum(axis=1), total)
        x[:, j] = total - x[:, i]
    info = ChainInfo(np.ones(chains, dtype=bool))
    return _refresh(rng, state._replace(x=x), model), info


def metropolis(
    rng: Generator, state: ChainState, model: ChainModel
) -> tuple[ChainState, ChainInfo]:
    """Advance by one step with the independent proposal x ~ Multinomial(n, proposal).

    Algorithms 5 and 6 of Marcolin (2018); `run` adapts the proposal.
    """
    x = rng.multinomial(model.n, state.proposal)
    gain = log_target(x, state, model) - log_target(state.x, state, model)
    gain -= _log_proposal(x, state, model) - _log_proposal(state.x, state, model)
    return _judged(rng, state, model, x, gain)


def uniform_step(width: int) -> Step:
    """Return the Metropolis step that moves up to ``width`` rows between two cells at random.

    The proposal is uniform on the counts within ``width`` that are possible, from 0 to the sum of
    the two cells; where it is cut at an end, tau needs the ratio of the numbers of possible counts
    (Marcolin 2018, algorithm 4, which has two cells).
    """

    def step(rng: Generator, state: ChainState, model: ChainModel) -> tuple[ChainState, ChainInfo]:
        i, j = rng.choice(model.shape[2], 2, replace=False)
        here, total = state.x[:, i], state.x[:, i] + state.x[:, j]
        low, high = np.maximum(here - width, 0), np.minimum(here + width, total)
        there = rng.integers(low, high + 1)
        back = np.minimum(there + width, total) - np.maximum(there - width, 0) + 1
        x = state.x.copy()
        x[:, i], x[:, j] = there, total - there
        gain = log_target(x, state, model) - log_target(state.x, state, model)
        return _judged(rng, state, model, x, gain + np.log((high - low + 1) / back))

    return step


def _judged(
    rng: Generator, state: ChainState, model: ChainModel, x: Ints, gain: Floats
) -> tuple[ChainState, ChainInfo]:
    """Accept proposals where log u <= gain; then draw p and q."""
    accepted = np.log(rng.random(gain.size)) <= gain
    x = np.where(accepted[:, None], x, state.x)
    return _refresh(rng, state._replace(x=x), model), ChainInfo(accepted)


def _log_proposal(x: Ints, state: ChainState, model: ChainModel) -> Floats:
    return np.asarray(np.sum(x * np.log(state.proposal) - model.log_factorial[x], axis=1))


def run(
    rng: Generator, step: Step, model: ChainModel, sweeps: int, burn_in: int
) -> tuple[Floats, Floats]:
    """Return p after each sweep and the acceptance rates; adaptation ends with the burn-in."""
    state = start(rng, model)
    total = np.zeros_like(state.p)
    for sweep in range(1, burn_in + 1):
        state, _ = step(rng, state, model)
        total += state.p
        if sweep % EVERY == 0:
            mean = np.maximum(total / EVERY, TINY)
            state = state._replace(proposal=mean / mean.sum(axis=1, keepdims=True))
            total = np.zeros_like(total)
    kept = np.empty((sweeps, *state.p.shape))
    accepted = np.zeros(len(state.x))
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
