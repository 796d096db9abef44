"""Interval overlap and coverage of synthetic data, with the controls that do worse."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import veladura as vd

sys.path.insert(0, str(Path(__file__).parent))
from tests.methods.cart import scenarios

WANTED = 0.84


@pytest.mark.parametrize("errors", scenarios.ERRORS)
def test_intervals_overlap_in_every_scenario(errors):
    assert (
        scenarios.mean_overlap(errors, scenarios.ours, 8) > WANTED - 0.04
    )  # eight repetitions: a rougher figure


def test_shuffled_columns_are_seen():
    assert scenarios.mean_overlap("t2", scenarios.shuffled, 4) < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("errors", scenarios.ERRORS)
def test_forty_repetitions_of_every_scenario(errors):
    found = scenarios.mean_overlap(errors, scenarios.ours, 40)
    assert found >= WANTED
    assert scenarios.mean_overlap(errors, scenarios.shuffled, 40) < 0.5
    assert scenarios.mean_overlap(errors, scenarios.silverman, 40) < found


def covers(recipe, runs, seed=0, n=500):
    """Return the coverage of combined intervals of a mean and two slopes, over populations."""
    hits = np.zeros(3)
    for i in range(runs):
        rng = np.random.default_rng([seed, i])
        x = rng.normal(size=n)
        z = rng.integers(0, 2, n)
        data = pd.DataFrame({"x": x, "z": z.astype(str), "y": 1 + x + z + rng.normal(size=n)})
        combined = recipe.protect(data, seed=i, threads=1).estimate(mean_and_slopes)
        hits += (combined.lower <= [1.5, 1.0, 1.0]) & (combined.upper >= [1.5, 1.0, 1.0])
    return hits / runs


def mean_and_slopes(data):
    y = data["y"].to_numpy(float)
    x = np.column_stack([np.ones(len(y)), data["x"], (data["z"] == "1").astype(float)])
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ y
    left = y - x @ slopes
    variances = left @ left / (len(y) - 3) * np.diag(inverse)
    return np.append(y.mean(), slopes[1:]), np.append(y.var(ddof=1) / len(y), variances[1:])


def scenario_coverage(recipe, runs):
    """Return the coverage of intervals of the mean and the four coefficients, normal errors."""
    population = scenarios.draw(np.random.default_rng(99), "normal", 400_000)["y"].mean()
    truth, hits = np.append(population, scenarios.TRUTH), np.zeros(5)
    for i in range(runs):
        data = scenarios.draw(np.random.default_rng([3, i]), "normal")
        combined = recipe.protect(data, seed=i, threads=1).estimate(mean_and_regression)
        hits += (combined.lower <= truth) & (combined.upper >= truth)
    return hits / runs


def mean_and_regression(data):
    slopes, variances = scenarios.regression(data)
    return np.append(data["y"].mean(), slopes), np.append(data["y"].var() / len(data), variances)


@pytest.mark.slow
def test_intervals_cover_over_a_thousand_populations():
    found = scenario_coverage(vd.Cart(columns=["y"], m=5), 1000)
    assert (found > 0.92).all()
    assert (found < 0.98).all()


@pytest.mark.slow
def test_the_check_of_coverage_sees_a_lost_relation():
    assert scenario_coverage(vd.Cart(columns=["y"], m=5, model="sample"), 100)[1:].min() < 0.5


@pytest.mark.slow
def test_intervals_cover_with_a_continuous_predictor():
    """In leaves of five to ten rows the truncated kernel loses a quarter of the variance."""
    found = covers(vd.Cart(columns=["y"], m=5), 1000)
    assert (found > 0.92).all()
    assert (found < 0.98).all()
    assert covers(vd.Cart(columns=["y"], m=5, smoothing="kernel"), 1000).mean() < found.mean()
