"""Composition of privacy losses beside a second accountant: Google's dp-accounting.

Its accountant of privacy loss distributions composes tightly (up to its grid), its accountant of
Rényi divergences by another bound than ours. What the ledger states must never be less than the
tight loss, and must be no more than the Rényi accountant states where both compose Gaussian noise.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest

from veladura.methods.private.events import Event, epsilon_of
from veladura.methods.private.exact import amplified

REASON = "the extra dev brings dp-accounting: these tests DID NOT RUN"
dp_event = pytest.importorskip("dp_accounting.dp_event", reason=REASON)
common = pytest.importorskip("dp_accounting.pld.common", reason=REASON)
distributions = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason=REASON)
rdp = pytest.importorskip("dp_accounting.rdp", reason=REASON)

DELTA = Fraction(1, 10**6)
ALMOST_NONE = 1e-9  # their distributions leave out tails of less, and know no delta of 0
GRID = 1e-4  # of their losses: each is rounded up by at most this


def multiplier(event: Event) -> float:
    """Standard deviation of Gaussian noise that costs rho, at a sensitivity of 1."""
    return 1 / math.sqrt(2 * event.rho)


def losses(event: Event):
    """The losses of the worst mechanism: randomised response, or Gaussian noise for a rho."""
    if event.rho:
        return distributions.from_gaussian_mechanism(
            multiplier(event), value_discretization_interval=GRID
        )
    cost = common.DifferentialPrivacyParameters(float(event.epsilon), float(event.delta))
    return distributions.from_privacy_parameters(cost, value_discretization_interval=GRID)


def tight(events: list[Event], delta: float = float(DELTA)) -> float:
    together = functools.reduce(lambda left, right: left.compose(right), map(losses, events))
    return together.get_epsilon_for_delta(delta)


def some_events(rng: np.random.Generator) -> list[Event]:
    costs = [
        {"epsilon": Fraction(int(rng.integers(1, 60)), 100)},
        {"rho": Fraction(int(rng.integers(1, 80)), 1000)},
        {"epsilon": Fraction(int(rng.integers(1, 60)), 100), "delta": DELTA / 100},
    ]
    return [
        Event("test", "x", **costs[kind]) for kind in rng.integers(0, 3, int(rng.integers(1, 8)))
    ]


def too_low(stated, events: list[Event]) -> bool:
    """Whether a stated epsilon is below what the mechanisms lose, beyond the grid's rounding."""
    return stated < tight(events) - GRID * (len(events) + 1)


@pytest.mark.parametrize("seed", range(25))
def test_what_the_ledger_states_is_never_below_the_tight_loss(seed):
    events = some_events(np.random.default_rng(seed))
    assert not too_low(float(epsilon_of(events, DELTA)), events)


BROKEN = {
    "the largest loss instead of the sum": lambda events: max(
        float(epsilon_of([event], DELTA)) for event in events
    ),
    "the root of the sum of squares": lambda events: math.sqrt(
        sum(float(epsilon_of([event], DELTA)) ** 2 for event in events)
    ),
    "losses with a delta forgotten": lambda events: float(
        epsilon_of([event for event in events if not event.delta], DELTA)
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_composition_is_seen(name):
    lists = [some_events(np.random.default_rng(seed)) for seed in range(25)]
    assert any(too_low(BROKEN[name](events), events) for events in lists)


@pytest.mark.parametrize("rhos", [(1, 2, 3), (10,) * 20, (500,), (1,) * 100])
def test_gaussian_noise_costs_no_more_than_by_renyi_divergences(rhos):
    """Both convert a Rényi divergence; theirs at listed orders only, ours at the best one."""
    events = [Event("marginals", "x", rho=Fraction(rho, 1000)) for rho in rhos]
    accountant = rdp.RdpAccountant()
    for event in events:
        accountant.compose(dp_event.GaussianDpEvent(multiplier(event)))
    theirs, ours = accountant.get_epsilon(float(DELTA)), float(epsilon_of(events, DELTA))
    assert tight(events) - GRID * (len(events) + 1) <= ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=0.02)


def test_pure_losses_add_up_exactly():
    """Without a delta nothing is better than the sum; the tight accountant agrees to its grid."""
    events = [Event("test", "x", epsilon=Fraction(n, 10)) for n in (1, 2, 3)]
    assert epsilon_of(events) == Fraction(6, 10)
    assert tight(events, ALMOST_NONE) == pytest.approx(0.6, abs=4 * GRID)


@pytest.mark.parametrize("epsilon", [0.5, 1, 3])
@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_a_secret_sample_loses_what_the_tight_accountant_says(epsilon, share):
    """Laplace noise attains the bound of Balle et al. 2018 where a person is added."""
    noise = distributions.from_laplace_mechanism(
        1 / epsilon, value_discretization_interval=GRID, sampling_prob=share
    )
    ours = float(amplified(Fraction(epsilon), Fraction(share)))
    assert noise.get_epsilon_for_delta(ALMOST_NONE) == pytest.approx(ours, abs=3 * GRID)
