"""Means and slopes from Cart that passed in chunks: unbiased, and inside their intervals.

Samples of 4,000 people of one population, trees of 1,000 of them, m = 5. Over 120 samples (bias in
standard errors of the Monte Carlo mean, coverage of 95 % intervals):

=====================  ======  =========
                       bias    coverage
=====================  ======  =========
Cart of y, mean        -0.03   99.2 %
Cart of y, slope       2.13    98.3 %
all columns, mean      0.02    100 %
all columns, slope     1.05    100 %
=====================  ======  =========

Standard errors are 17 to 55 per cent above the spread of the estimates: the rule counts the 1,000
people as all that is known.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.table import chunks

LEVEL = 1e-5
SAMPLES, ROWS, HELD = 120, 4_000, 1_000
INTERCEPT, SLOPE = 20.0, 3.0
METHODS: dict[str, dict[str, list[str]]] = {"partial": {"columns": ["y"]}, "full": {}}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 1_500)


def people(seed: int) -> pd.DataFrame:
    """A straight line with noise, in cents, within two groups."""
    rng = np.random.default_rng([17, seed])
    x = rng.normal(10, 2, ROWS).round(1)
    group = rng.choice(["a", "b"], ROWS)
    y = INTERCEPT + SLOPE * x + 4 * (group == "b") + rng.normal(0, 6, ROWS)
    return pd.DataFrame({"group": group, "x": x, "y": y.round(2)})


@cache
def estimates(method: str) -> dict[str, np.ndarray]:
    """By estimate, for each sample: it, and the ends of its interval."""
    found: dict[str, list[list[float]]] = {"mean": [], "slope": []}
    for seed in range(SAMPLES):
        recipe = vd.Cart(m=5, fit_rows=HELD, **METHODS[method])
        release = recipe.protect(people(seed), seed=seed)
        assert release.manifest["steps"][0]["settings"]["fit_rows"] == HELD
        for name, formula, term in (
            ("mean", "y ~ 1", "Intercept"),
            ("slope", "y ~ x + group", "x"),
        ):
            line = release.analyze(formula).table().loc[term]
            found[name].append([line["estimate"], line["lower"], line["upper"]])
    return {name: np.array(lines) for name, lines in found.items()}


TRUTH = {"mean": INTERCEPT + 10 * SLOPE + 2, "slope": SLOPE}


def judged(found: np.ndarray, truth: float) -> tuple[float, float]:
    """Bias in its own standard errors, and the share of intervals that hold the truth."""
    error = found[:, 0] - truth
    bias = error.mean() / (error.std(ddof=1) / np.sqrt(len(error)))
    return float(bias), float(np.mean((found[:, 1] <= truth) & (found[:, 2] >= truth)))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_means_and_slopes_are_unbiased_and_covered(method):
    """Bias within chance, and not fewer than 95 % covered: the rule counts the sample only."""
    for name, found in estimates(method).items():
        bias, covered = judged(found, TRUTH[name])
        assert abs(bias) < stats.norm.isf(LEVEL / 2), name
        assert stats.binom.cdf(covered * SAMPLES, SAMPLES, 0.95) > LEVEL, name


@pytest.mark.slow
def test_the_check_sees_intervals_that_take_all_rows_for_known():
    """The control: half as wide, as if the trees had seen every person."""
    found = estimates("full")["slope"]
    narrow = found[:, :1] + (found - found[:, :1]) / 2
    _, covered = judged(narrow, SLOPE)
    assert stats.binom.cdf(covered * SAMPLES, SAMPLES, 0.95) < LEVEL
