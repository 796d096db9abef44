"""Intervals from few posterior draws, of which some are cut off at 0."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.inference.posterior.from_draws import estimate, half_width, ranked

DRAWS, RUNS = 50, 2_000
FEWEST = 0.93  # 95 % less four standard errors of the Monte Carlo error, .0049


def coverage(truth: float) -> tuple[float, float]:
    """Coverage of our interval and of a plain t interval, of a share seen with noise of 1.

    Draws are the noisy number with the noise drawn once more, cut off at 0.
    """
    rng = np.random.default_rng(int(10 * truth))
    ours, plain = [], []
    for _ in range(RUNS):
        seen = truth + rng.normal()
        draws = 1e-3 * np.maximum(0.0, seen + rng.normal(size=DRAWS))
        found = estimate(draws, 0.95, 0.0, 1.0)
        ours.append(found.lower <= 1e-3 * truth <= found.upper)
        plain.append(abs(draws.mean() - 1e-3 * truth) <= half_width(draws, 0.95))
    return float(np.mean(ours)), float(np.mean(plain))


@pytest.mark.parametrize("truth", [0.0, 0.3, 0.7, 1.0, 1.5, 3.0])
def test_the_interval_of_a_rare_group_covers(truth):
    assert coverage(truth)[0] >= FEWEST


@pytest.mark.parametrize("truth", [0.7, 1.2])
def test_the_spread_of_cut_draws_alone_would_not(truth):
    assert coverage(truth)[1] < FEWEST


def test_draws_away_from_the_bound_give_the_t_interval():
    draws = 0.3 + 0.01 * np.random.default_rng(1).normal(size=DRAWS)
    found, half = estimate(draws, 0.95, 0.0, 1.0), half_width(draws, 0.95)
    assert (found.lower, found.upper) == (draws.mean() - half, draws.mean() + half)


def test_nobody_in_any_draw_is_an_interval_of_0():
    assert estimate(np.zeros(DRAWS), 0.95, 0.0, 1.0).upper == 0


FEW, TIMES = 50, 40_000


def held(interval, law: str) -> float:
    """Share of the truths inside: each is one more draw from the same posterior."""
    rng = np.random.default_rng(17)
    drawn = rng.normal(size=(TIMES, FEW + 1))
    if law == "heavy":
        drawn = rng.standard_t(2, size=(TIMES, FEW + 1))
    elif law == "endless":  # nobody in a cell: the log odds are minus infinity, clipped
        drawn = np.where(rng.random(drawn.shape) < 0.2, -745.0, drawn)
    pairs = ((truth[0], interval(truth[1:])) for truth in drawn)
    return float(np.mean([low <= truth <= high for truth, (low, high) in pairs]))


def by_rank(draws: np.ndarray) -> tuple[float, float]:
    low, _, high = ranked(draws, 0.95)
    return low, high


@pytest.mark.parametrize("law", ["normal", "heavy", "endless"])
def test_ranks_hold_whatever_the_shape_is(law):
    """At least 95 %, less 4.4 standard errors of .0011: a false alarm of 1e-5."""
    assert held(by_rank, law) > 0.95 - 0.005


def test_the_control_of_plain_quantiles_is_too_narrow():
    """The second of fifty draws from either end is a 92 % interval."""
    plain = lambda draws: np.quantile(draws, [0.025, 0.975], method="nearest")  # noqa: E731
    assert held(plain, "normal") < 0.93


def test_a_level_beyond_the_ranks_is_no_narrower_than_a_t_interval():
    draws = np.random.default_rng(3).normal(size=FEW)
    low, _, high = ranked(draws, 0.99)
    half = half_width(draws, 0.99)
    assert low <= draws.mean() - half < draws.mean() + half <= high
