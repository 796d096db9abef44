"""The ledger: exact sums, no overspending."""

from __future__ import annotations

import math
from fractions import Fraction

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import BudgetError, PlanError
from veladura.methods.private.events import (
    ADD_REMOVE,
    ADD_REMOVE_PERSON,
    REPLACE_PERSON,
    Event,
    alike,
    epsilon_of,
    rest,
    rho_for,
    rho_of,
    zcdp_epsilon,
)

pytestmark = pytest.mark.quick

TENTH = Event("test", "x", epsilon=Fraction(1, 10))
TABLE = pd.DataFrame({"sex": ["f", "m"] * 50})
RECIPE = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=0.1)


def test_ten_tenths_are_one():
    ledger = vd.Ledger(epsilon=1.0)
    for _ in range(10):
        ledger.charge(TENTH)
    assert (ledger.spent, ledger.left) == (1, 0)
    with pytest.raises(
        BudgetError,
        match=r"epsilon = 0.1 exceeds .* budget: 0 of epsilon = 1 is left. Nothing was drawn",
    ):
        ledger.charge(TENTH)
    assert len(ledger.events) == 10


def test_sampling_twice_spends_twice_and_an_overspent_draw_draws_nothing(monkeypatch):
    ledger = vd.Ledger(epsilon=0.25)
    fitted = RECIPE.fit(TABLE)
    fitted.sample(ledger=ledger)
    fitted.sample(ledger=ledger)
    monkeypatch.setattr(
        "veladura.methods.private.urn.draw",
        lambda *_: pytest.fail("drawn although the budget is spent"),
    )
    with pytest.raises(BudgetError):
        fitted.sample(ledger=ledger)
    with pytest.raises(BudgetError):
        RECIPE.protect(TABLE, ledger=ledger)
    assert ledger.spent == Fraction(1, 5)


@given(st.lists(st.fractions(Fraction(1, 100), 2), min_size=1, max_size=8), st.randoms())
def test_the_order_of_events_does_not_matter(costs, random):
    events = [Event("e", "x", epsilon=cost) for cost in costs] + [
        Event("g", "x", rho=cost / 7) for cost in costs
    ]
    other = events[:]
    random.shuffle(other)
    assert epsilon_of(events, Fraction(1, 10**6)) == epsilon_of(other, Fraction(1, 10**6))
    assert rho_of(events) == rho_of(other)


def test_zero_concentrated_costs_convert_to_what_the_paper_says():
    """Canonne, Kamath and Steinke (2020): at most rho + 2 sqrt(rho log(1/delta)); a > 1 bounds."""
    for rho in (Fraction(1, 1000), Fraction(1, 10), Fraction(2)):
        for delta in (Fraction(1, 10**6), Fraction(1, 10**12)):
            epsilon, r = float(zcdp_epsilon(rho, delta)), float(rho)
            assert r < epsilon < r + 2 * math.sqrt(r * math.log(1 / delta))
            a = 1 + math.sqrt(math.log(1 / delta) / r)
            assert (
                epsilon
                <= a * r
                + (math.log(1 / (a * delta)) + (a - 1) * math.log(1 - 1 / a)) / (a - 1)
                + 1e-9
            )
            assert float(rho_for(zcdp_epsilon(rho, delta), delta)) == pytest.approx(r, rel=1e-6)


def test_mixed_events_add_up_in_a_budget_with_delta():
    ledger = vd.Ledger(epsilon=3, delta=1e-6)
    ledger.charge(Event("pure", "x", epsilon=Fraction(1)))
    ledger.charge(Event("approximate", "x", epsilon=Fraction(1, 2), delta=Fraction(1, 10**7)))
    ledger.charge(Event("gauss", "x", rho=Fraction(1, 50)))
    assert Fraction(3, 2) < ledger.spent < 3
    with pytest.raises(BudgetError):
        ledger.charge(Event("approximate", "x", epsilon=Fraction(1, 100), delta=Fraction(1, 10**6)))


def test_a_budget_in_the_wrong_terms_is_refused():
    with pytest.raises(BudgetError, match="needs a budget with a delta"):
        vd.Ledger(epsilon=1).charge(Event("gauss", "x", rho=Fraction(1, 50)))
    with pytest.raises(BudgetError, match="a budget of rho cannot be charged with a delta"):
        vd.Ledger(rho=1).charge(
            Event("approximate", "x", epsilon=Fraction(1, 2), delta=Fraction(1, 10**7))
        )
    ledger = vd.Ledger(rho=0.5)
    ledger.charge(Event("pure", "x", epsilon=Fraction(1)))
    assert ledger.left == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 0}, "epsilon .0. must be above 0"),
        ({"epsilon": math.inf}, "must be a finite number"),
        ({"epsilon": math.nan}, "must be a finite number"),
        ({"epsilon": True}, "must be a number, got bool"),
        ({"epsilon": 1, "delta": 1}, "at least 0 and below 1"),
        ({"epsilon": 1, "delta": -0.1}, "at least 0 and below 1"),
        ({"epsilon": 1, "rho": 1}, "both were given"),
    ],
)
def test_a_bad_budget_is_refused(settings, message):
    with pytest.raises(PlanError, match=message):
        vd.Ledger(**settings)


def test_without_a_limit_draws_are_noted():
    ledger = vd.Ledger()
    RECIPE.protect(TABLE, ledger=ledger)
    assert (ledger.left, len(ledger.events), repr(ledger)) == (
        None,
        1,
        "Ledger(epsilon=none, spent=0.1, events=1)",
    )


@pytest.mark.parametrize("cost", [{"epsilon": -1}, {"rho": -1}, {"delta": -1}, {"delta": 1}])
def test_a_draw_that_would_give_budget_back_is_refused(cost):
    with pytest.raises(BudgetError, match="cannot cost less than nothing"):
        Event("test", "x", **{name: Fraction(value) for name, value in cost.items()})


@pytest.mark.parametrize("rho", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(3)])
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 10**5)])
def test_conversions_agree_with_the_accountant_of_opendp(rho, delta):
    """OpenDP's own conversion of zero-concentrated privacy, for a Gaussian of the same rho."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    noise = dp.m.make_gaussian(*space, scale=float(2 * rho) ** -0.5)
    theirs = dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(float(delta))
    assert float(zcdp_epsilon(rho, delta)) == pytest.approx(theirs, rel=1e-6)
    assert float(noise.map(1.0)) == pytest.approx(float(rho), rel=1e-6)
    half = Event("marginals", "a", rho=rho / 2)
    composed = dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(float(delta))
    assert float(epsilon_of([half, half], delta)) == pytest.approx(composed, rel=1e-6)


def test_what_only_rounding_leaves_is_nothing():
    """A Gaussian draw that takes all of epsilon leaves 3e-14 of it: people read 0."""
    ledger = vd.Ledger(epsilon=1, delta=Fraction(1, 10**9))
    draw = Event("marginals", "a", rho=rho_for(Fraction(1), Fraction(1, 10**9)))
    ledger.charge(draw)
    assert 0 < ledger.left < 1e-9
    with pytest.raises(BudgetError, match="budget: 0 of epsilon = 1 is left"):
        ledger.charge(draw)
    assert rest(Fraction(1), Fraction(1, 3)) == Fraction(2, 3)


def test_draws_about_unlike_neighbours_are_counted_for_one_replaced():
    half = Fraction(1, 2)
    added = Event("a", "x", epsilon=half, neighbours=ADD_REMOVE)
    replaced = Event("b", "x", epsilon=half)
    for first, second in ((added, replaced), (replaced, added)):
        ledger = vd.Ledger(epsilon=1.0)
        ledger.charge(first)
        assert ledger.spent == half  # of one relation alone, as it is
        with pytest.raises(BudgetError, match="added or removed count twice"):
            ledger.charge(second)
    ledger = vd.Ledger(epsilon=1.5)
    ledger.charge(added)
    ledger.charge(replaced)
    assert ledger.spent == Fraction(3, 2)
    rhos = vd.Ledger(rho=1.0)
    rhos.charge(Event("a", "x", rho=Fraction(1, 8), neighbours=ADD_REMOVE_PERSON))
    rhos.charge(Event("b", "x", rho=Fraction(1, 8), neighbours=REPLACE_PERSON))
    assert rhos.spent == Fraction(4, 8) + Fraction(1, 8)
    one = Event("a", "x", epsilon=half, delta=Fraction(1, 1000), neighbours=ADD_REMOVE)
    delta = alike((one, replaced))[0].delta
    assert float(delta) == pytest.approx((1 + math.exp(0.5)) / 1000)


def test_what_was_drawn_says_which_tables_count_as_neighbouring():
    assert str(TENTH) == "test of x (one row replaced): epsilon = 0.1"
    said = str(Event("test", "x", rho=Fraction(1, 10), neighbours=ADD_REMOVE_PERSON))
    assert said == "test of x (one person added or removed): rho = 0.1"
