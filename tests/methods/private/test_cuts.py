"""Private cuts of numbers: where they can be, what they cost, and the draft that asks for them."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.methods.private import cuts
from veladura.methods.private.proof import noise_too_small
from veladura.table.inspect import inspect_table

pytestmark = pytest.mark.quick
pytest.importorskip(
    "opendp",
    reason="the extra dp is not installed: pip install 'veladura[dp]'; these tests DID NOT RUN",
)
RNG = np.random.default_rng(32)
ROWS = 4000
PAY = np.where(RNG.random(ROWS) < 0.2, 0.0, np.round(np.exp(RNG.normal(7.5, 0.7, ROWS)), -1))
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(0, 95, ROWS),
        "pay": np.where(RNG.random(ROWS) < 0.1, np.nan, PAY),
        "sex": RNG.choice(["f", "m"], ROWS),
    }
)


@pytest.mark.parametrize(("low", "high"), [(0, 60), (-3, 2000), (0, 10**6), (-500, 10**5)])
def test_whole_numbers_are_cut_at_whole_numbers_only(low, high):
    places = np.array(cuts.grid_edges(low, high, whole=True))
    assert (places[0], places[-1]) == (low, high)
    assert (np.diff(places) > 0).all()
    assert (places == np.round(places)).all()
    if high - low <= cuts.GRID:
        assert places.size == high - low + 1


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e6), (-1e6, 1e6), (50.0, 1e5), (-100.0, 0.0)])
def test_places_are_dense_where_amounts_are_small(low, high):
    """Any amount has a place within a few per cent of it, or within 1/2000 of the range."""
    places = np.array(cuts.grid_edges(low, high, whole=False))
    assert (np.diff(places) > 0).all()
    sizes = np.geomspace(1e-5 * max(-low, high), max(-low, high), 300)
    for amount in [*sizes[sizes < high], *-sizes[sizes < -low]]:
        if amount > low:
            away = np.abs(places - amount).min()
            assert away <= max(0.03 * abs(amount), 1e-12)


def test_private_cuts_are_quantiles_of_those_who_have_something():
    """At epsilon 50: the noise is the system's, and too small to decide what is asserted."""
    recipe = vd.Marginals(
        columns=["age", "pay", "sex"],
        domain={"sex": ["f", "m"]},
        bounds={"age": [0, 100], "pay": [0, 20_000]},
        missing=["pay"],
        epsilon=50.0,
        bins=9,
        private_cuts=["pay"],
    )
    release = recipe.protect(FRAME)
    settings = release.manifest["steps"][0]["settings"]
    zero, first, *inner, last = settings["edges"]["pay"]
    assert (zero, last) == (0, 20_000)
    assert 0 < first < 0.1  # a bin of those who have nothing, by the bounds alone
    paid = FRAME["pay"][FRAME["pay"] > 0].to_numpy()
    reached = [(paid < cut).mean() for cut in inner]
    np.testing.assert_allclose(reached, np.arange(1, 8) / 8, atol=0.03)
    released = release.datasets[0]["pay"]
    assert (released == 0).mean() == pytest.approx((FRAME["pay"] == 0).mean(), abs=0.02)
    assert Fraction(settings["cutting"]) > 0
    assert noise_too_small(None, settings) == 0
    dearer = {**settings, "cutting": str(Fraction(settings["cutting"]) * 3)}
    assert noise_too_small(None, dearer) == 1
    assert "cuts of pay" in settings["events"][0]["about"]


def exact_choice(scores, rho):
    """Return the chances of the exponential mechanism that costs rho (epsilon^2 / 8)."""
    weights = np.exp(0.5 * math.sqrt(8 * rho) * (np.asarray(scores) - max(scores)))
    return weights / weights.sum()


def law(counts, number, rho, zero):
    """Return the chance of every outcome of all cuts, by walking through all choices."""
    chances = {}

    def walk(script, chance):
        left = list(script)

        def choose(scores, sensitivity, each):
            assert sensitivity == 1
            if left:
                return left.pop(0)
            raise _Ask(scores, each)

        try:
            chosen = tuple(cuts.quantile_cuts(np.array(counts), number, rho, choose, zero=zero))
        except _Ask as open_choice:
            for i, p in enumerate(exact_choice(*open_choice.args)):
                walk([*script, i], chance * p)
        else:
            chances[chosen] = chances.get(chosen, 0.0) + chance

    walk([], 1.0)
    return chances


def divergence(one, other, order):
    """Return the Renyi divergence of some order."""
    total = sum(one[o] ** order * other[o] ** (1 - order) for o in one)
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("zero", [False, True])
def test_the_cost_of_cuts_is_at_most_rho_by_enumeration(zero):
    """Renyi divergences of all outcomes of all cuts between all neighbouring tables of five cells.

    The exponential mechanism stands for the noisy maximum: both cost epsilon^2 / 8 at a
    sensitivity of 1. rho-zCDP: the divergence of order a is at most rho a.
    """
    rho = 0.4

    worst = 0.0
    for number in (2, 3, 4):
        for before, after in (
            ([2, 0, 1, 0, 2], [1, 0, 1, 0, 3]),
            ([3, 0, 0, 0, 3], [2, 0, 0, 1, 3]),
            ([1, 1, 1, 1, 1], [0, 1, 1, 1, 2]),
            ([4, 0, 0, 0, 0], [3, 0, 0, 0, 1]),
            ([0, 2, 0, 2, 0], [0, 2, 0, 1, 0]),  # a row less
        ):
            p, q = law(before, number, rho, zero), law(after, number, rho, zero)
            orders = (1.5, 2.0, 4.0)
            worst = max(
                worst,
                *(divergence(p, q, order) / (rho * order) for order in orders),
                *(divergence(q, p, order) / (rho * order) for order in orders),
            )
    assert worst <= 1
    assert worst > 0.05  # the tables do differ


class _Ask(Exception):  # noqa: N818
    pass


def test_all_cuts_of_a_depth_share_one_cost():
    spent = []

    def choose(scores, sensitivity, each):
        spent.append(each)
        return int(np.argmax(scores))

    found = cuts.quantile_cuts(np.full(64, 10), 8, 0.3, choose)
    assert found == [8, 16, 24, 32, 40, 48, 56]
    assert spent == [pytest.approx(0.1)] * 7  # three depths, each at its cost once
    assert cuts.quantile_cuts(np.array([5]), 4, 0.3, choose) == []
    assert cuts.quantile_cuts(np.array([5, 5]), 1, 0.3, choose) == []


def test_zero_is_a_bin_of_its_own_and_costs_nothing():
    spent = []

    def choose(scores, sensitivity, each):
        spent.append(each)
        return int(np.argmax(scores))

    counts = np.array([900, *[10] * 64])
    found = cuts.quantile_cuts(counts, 9, 0.3, choose, zero=True)
    assert found == [1, 9, 17, 25, 33, 41, 49, 57]
    assert spent == [pytest.approx(0.1)] * 7
    # a control: the heap holds several of nine quantiles, and takes their cuts from the others
    assert len(cuts.quantile_cuts(counts, 9, 0.3, choose)) < len(found)


def drawn(shape: str) -> np.ndarray:
    """Return amounts of 4,000 people, of a shape that wide bounds do not tell."""
    rng = np.random.default_rng(33)
    return {
        "skewed": np.round(rng.gamma(0.8, 300, ROWS)),
        "nothing or something": np.where(
            rng.random(ROWS) < 0.3, 0, np.round(rng.lognormal(6, 1.2, ROWS), 2)
        ),
        "far from zero": np.round(rng.normal(170, 9, ROWS), 1),
        "debts": np.round(rng.standard_t(3, ROWS) * 900, 2),
    }[shape]


@pytest.mark.parametrize("shape", ["skewed", "nothing or something", "far from zero", "debts"])
def test_a_draft_keeps_the_shape_of_numbers_between_wide_bounds(shape):
    """Largest distance of the distribution functions (Kolmogorov-Smirnov); even bins fail it."""
    amount = drawn(shape)
    frame = pd.DataFrame({"amount": amount, "sex": np.where(np.arange(ROWS) % 2, "f", "m")})
    table = vd.open(frame)
    drafted = vd.Marginals.suggest_for(table, inspect_table(table))
    assert drafted.private_cuts == ("amount",)
    assert {"bounds", "domain"} <= {*drafted.declared_by_holder}  # a holder must confirm them

    def distance(recipe: vd.Marginals) -> float:
        released = recipe.protect(frame).datasets[0]["amount"]
        return float(stats.ks_2samp(released, amount).statistic)

    low, high = drafted.bounds["amount"]
    wide = {"amount": (10 * low, 10 * high)}  # a careful holder's, far from the numbers
    large = replace(drafted, epsilon=20.0, bounds=wide)  # noise is the system's: too small
    assert distance(large) < 0.05
    assert distance(replace(large, private_cuts=())) > 0.08
