"""Composition by OpenDP's accountant, which every charge of Gaussian noise is held beside."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import veladura as vd
from veladura.errors import BudgetError
from veladura.methods.private import events as ours
from veladura.methods.private.accountant import composed_epsilon, composed_rho
from veladura.methods.private.events import Event, epsilon_of, rho_for, rho_of, zcdp_epsilon

pytest.importorskip("opendp")
DELTA = Fraction(1, 10**6)


def some_events(rng: np.random.Generator) -> list[Event]:
    """Pure, approximate and Gaussian draws; one Gaussian at least."""
    costs = [
        {"epsilon": Fraction(int(rng.integers(1, 60)), 100)},
        {"rho": Fraction(int(rng.integers(1, 80)), 1000)},
        {"epsilon": Fraction(int(rng.integers(1, 60)), 100), "delta": DELTA / 100},
    ]
    kinds = [1, *rng.integers(0, 3, int(rng.integers(0, 8)))]
    return [Event("test", "x", **costs[kind]) for kind in kinds]


def test_mixed_events_cost_what_opendp_says() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        events = some_events(rng)
        theirs = composed_epsilon(events, DELTA)
        assert float(epsilon_of(events, DELTA)) == pytest.approx(float(theirs), rel=1e-9)
        pure = [event for event in events if not event.delta]
        assert float(rho_of(pure)) == pytest.approx(float(composed_rho(pure)), rel=1e-9)


@pytest.mark.parametrize("budget", [{"rho": "0.3"}, {"rho": "0.7"}])
def test_exact_fractions_are_not_spoiled_by_rounding(budget: dict[str, str]) -> None:
    """OpenDP adds ten Gaussians of rho = .03 to a little more than .3; all ten are drawn."""
    ledger = vd.Ledger(**budget)
    each = Fraction(budget["rho"]) / 10
    for _ in range(10):
        ledger.charge(Event("marginals", "a", rho=each))
    assert ledger.left == 0
    with pytest.raises(BudgetError, match="exceeds"):
        ledger.charge(Event("marginals", "a", rho=Fraction(1, 10**6)))


def test_a_release_fits_the_budget_made_for_it() -> None:
    for epsilon in (Fraction(1, 1000), Fraction(1), Fraction(20)):
        ledger = vd.Ledger(epsilon=epsilon, delta=DELTA)
        ledger.charge(Event("marginals", "a", rho=rho_for(epsilon, DELTA)))


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_conversion_of_ours_that_says_too_little_is_overruled(
    monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    """The control: with half of what Gaussian noise costs, OpenDP's figure refuses the draw."""
    event = Event("marginals", "a", rho=Fraction(1, 10))
    true = zcdp_epsilon(event.rho, DELTA)
    monkeypatch.setattr(ours, "zcdp_epsilon", lambda *_: true / 2)
    monkeypatch.setattr(ours, "rho_of", lambda _: event.rho / 2)
    limit = {"epsilon": true * 3 / 4, "delta": DELTA} if unit == "epsilon" else {"rho": "0.075"}
    ledger = vd.Ledger(**limit)
    with pytest.raises(BudgetError, match="exceeds"):
        ledger.charge(event)
    assert not ledger.events


def test_pure_draws_need_no_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    from veladura.methods.private import accountant

    monkeypatch.setattr(accountant, "opendp", lambda: pytest.fail("not asked"))
    ledger = vd.Ledger(epsilon="0.3")
    for _ in range(3):
        ledger.charge(Event("noisy-counts", "a", epsilon=Fraction(1, 10)))
    assert ledger.left == 0
