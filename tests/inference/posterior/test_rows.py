"""The exact posterior where the number of rows is known with noise only, against brute force."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

import veladura as vd
from veladura.inference.posterior import rows
from veladura.inference.posterior.posterior import from_counts
from veladura.methods.private.domain import Domain
from veladura.numeric.graphical.chains import scaled_likelihood

DOMAIN = Domain({"cell": ("x", "y", "z")})
TOP = 52


def brute_force(released, stated, gamma, n_scale, *, alpha=None, scale=None):
    """Mean and variance of the shares over all tables of up to 51 rows a cell, of any total."""
    x = np.array(list(product(range(TOP), repeat=3)))[1:].astype(float)
    n, weight = x.sum(axis=1), 3 * gamma
    logs = (gammaln(gamma + x) - gammaln(x + 1)).sum(axis=1) + gammaln(n + 1) - gammaln(weight + n)
    if scale is not None:
        logs -= np.abs(released[0] - x).sum(axis=1) / scale
    else:
        for r in released:
            logs += (gammaln(alpha + x + r) - gammaln(alpha + x)).sum(axis=1)
            logs += gammaln(3 * alpha + n) - gammaln(3 * alpha + n + r.sum())
    if np.isfinite(n_scale):
        logs -= np.abs(stated - n) / n_scale
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    p = (gamma + x) / (weight + n)[:, None]
    mean = chances @ p
    second = chances @ (p * (p + (1 - p) / (weight + n + 1)[:, None]))
    return mean, second - mean**2, float(chances @ n)


@pytest.mark.parametrize(
    ("released", "stated", "n_scale", "noise"),
    [
        ([[9.0, 4.0, -1.0]], 12, np.inf, {"scale": 2.0}),
        ([[6.0, 3.0, 1.0]], 10, 2.0, {"alpha": 4.0}),
        ([[6.0, 3.0, 1.0], [5.0, 1.0, 4.0]], 8, 1.0, {"alpha": 9.0}),
    ],
    ids=["noisy counts", "dirichlet", "two datasets"],
)
def test_moments_equal_brute_force(released, stated, n_scale, noise):
    posterior = from_counts(DOMAIN, released, stated, 0.5, n_scale=n_scale, **noise)
    mean, variance, n = brute_force(np.array(released), stated, 0.5, n_scale, **noise)
    np.testing.assert_allclose(posterior.mean, mean, rtol=1e-5)
    np.testing.assert_allclose(posterior.variance, variance, rtol=1e-4)
    assert posterior.rows.mean == pytest.approx(n, rel=1e-5)
    known = from_counts(DOMAIN, released, stated, 0.5, **noise)
    assert np.abs(known.variance / variance - 1).max() > 1e-3  # a control: n taken as known
    drawn = posterior.draw(20_000, seed=3)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * 0.3 / 20_000**0.5)
    low, high = posterior.interval(0.9, "equal")
    inside = ((drawn >= low) & (drawn <= high)).mean(axis=0)
    np.testing.assert_allclose(inside, 0.9, atol=5 * (0.09 / 20_000) ** 0.5)
    grouped = posterior.grouped([posterior.where(cell="x"), ~posterior.where(cell="x")])
    assert grouped.mean[0] == pytest.approx(mean[0], rel=1e-5)
    assert grouped.variance[0] == pytest.approx(variance[0], rel=1e-4)


def test_groups_of_numbers_of_rows_stand_for_all(monkeypatch):
    """Beyond 64 possible numbers 32 groups are taken: their error beside all numbers."""
    settings = {"alpha": 300.0, "n_scale": 40.0}
    released = [[110.0, 60.0, 30.0]]
    few = from_counts(DOMAIN, released, 400, 0.5, **settings)
    grouped = few.mean, few.variance
    monkeypatch.setattr(rows, "EACH", 10**6)
    every = from_counts(DOMAIN, released, 400, 0.5, **settings)
    np.testing.assert_allclose(grouped[0], every.mean, rtol=1e-3)
    np.testing.assert_allclose(grouped[1], every.variance, rtol=1e-2)


@pytest.mark.parametrize("method", [vd.NoisyCounts, vd.DirichletMultinomial])
def test_a_folder_with_a_noisy_number_of_rows_says_so_to_the_posterior(method):
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    table = pd.DataFrame({"sex": ["f"] * 300 + ["m"] * 700})
    common = {"columns": ["sex"], "domain": {"sex": ["f", "m"]}, "epsilon": 1}
    private = vd.posterior(method(**common, neighbours="add-remove").protect(table))
    assert private.rows is not None
    assert private.rows.variance > 0
    assert vd.posterior(method(**common).protect(table)).rows is None


def test_the_likelihood_without_the_number_of_rows_is_an_integral():
    """The closed form beside numerical integration over the factor, and its gradient."""
    rng = np.random.default_rng(4)
    noisy, expected = rng.normal(5, 2, 4), rng.uniform(1, 5, (3, 4))
    factor = np.linspace(-10, 10, 200_001)
    step = factor[1] - factor[0]

    def integral(e):
        logs = -0.5 * ((noisy[:, None] - factor * e[:, None]) ** 2).sum(axis=0)
        return np.log(np.exp(logs).sum() * step)

    value, slope = scaled_likelihood(noisy, expected)
    exact = np.array([integral(e) for e in expected])
    np.testing.assert_allclose(value - value[0], exact - exact[0], atol=1e-8)
    for i in range(4):
        moved = expected.copy()
        moved[:, i] += 1e-6
        numeric = (scaled_likelihood(noisy, moved)[0] - value) / 1e-6
        np.testing.assert_allclose(slope[:, i], numeric, rtol=1e-4, atol=1e-5)
