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
    """Leaves of five to ten rows keep their variance.

    The control: leaves of a hundred, without the calibration that mends them.
    """
    found = covers(vd.Cart(columns=["y"], m=5), 1000)
    assert (found > 0.92).all()
    assert (found < 0.98).all()
    large = vd.Cart(columns=["y"], m=5, min_leaf=100, calibrated=False)
    assert covers(large, 200).min() < 0.85


def rounded(rng, n=1000):
    """A population of rounded numbers: x normal, y log-normal given x."""
    x = np.round(rng.normal(50, 10, n))
    y = np.round(np.exp(7 + 0.03 * (x - 50) + 0.6 * rng.normal(size=n)))
    return pd.DataFrame({"x": x, "y": y, "g": rng.choice(list("abc"), n)})


def figures_of_rounded(data):
    """Mean, median and 90 % point of y (Woodruff's variances), slope of log y on x."""
    y, n = data["y"].to_numpy(float), len(data)
    values, variances = [y.mean()], [y.var(ddof=1) / n]
    for share in (0.5, 0.9):
        half = 1.96 * np.sqrt(share * (1 - share) / n)
        low, high = np.quantile(y, [share - half, share + half])
        values.append(np.quantile(y, share))
        variances.append(((high - low) / 3.92) ** 2)
    x = np.column_stack([np.ones(n), data["x"]])
    log = np.log(np.maximum(y, 1))
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ log
    left = log - x @ slopes
    values.append(slopes[1])
    variances.append(left @ left / (n - 2) * inverse[1, 1])
    return np.array(values), np.array(variances)


@pytest.mark.slow
def test_intervals_cover_on_rounded_populations():
    """Every column replaced; of 600 populations 93 to 97 % within one standard error (.9 %).

    Version 0.1.0 covered 78, 90, 85 and 91 % here: it drew numbers of one person again.
    """
    truth = figures_of_rounded(rounded(np.random.default_rng(12), 2_000_000))[0]
    hits = np.zeros(4)
    for i in range(600):
        data = rounded(np.random.default_rng([21, i]))
        made = vd.Cart(m=5).protect(data, seed=i, threads=1).estimate(figures_of_rounded)
        hits += (made.lower <= truth) & (made.upper >= truth)
    assert (hits / 600 > 0.93 - 0.01).all()
    assert (hits / 600 < 0.97 + 0.01).all()


def pulled_in(data, rng):
    """Slip: numbers that one person holds are drawn from the others."""
    made = data.copy()
    for name in ("x", "y"):
        shared = data[name][data[name].duplicated(keep=False)]
        made[name] = rng.choice(shared, len(data))
    return made


def test_rounded_columns_keep_their_spread_and_their_quantiles():
    """20 tables: sd of x within 1.5 %, and mean, 5, 50 and 95 % points of y within .25 SE each."""

    def gaps(make):
        found = []
        for seed in range(20):
            rng = np.random.default_rng([5, seed])
            data = rounded(rng)
            made = make(data, rng)
            y, n = data["y"], len(data)
            parts = [made["x"].std() / data["x"].std() - 1]
            parts.append((made["y"].mean() - y.mean()) / (y.std() / np.sqrt(n)))
            for share in (0.05, 0.5, 0.95):
                half = 1.96 * np.sqrt(share * (1 - share) / n)
                low, high = np.quantile(y, [share - half, share + half])
                error = (high - low) / 3.92
                parts.append((made["y"].quantile(share) - y.quantile(share)) / error)
            found.append(parts)
        return np.abs(np.mean(found, axis=0))

    def ours(data, rng):
        seed = int(rng.integers(1000))
        return pd.concat(vd.Cart(m=5).protect(data, seed=seed).datasets)

    limits = np.array([0.015, 0.35, 0.35, 0.35, 0.35])
    assert (gaps(ours) < limits).all()
    assert (gaps(pulled_in) > limits).any()
