"""Spatial regression: draws follow the posterior, and posteriors of datasets are stacked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from veladura.errors import DataError, PlanError
from veladura.measures.utility import spatial_regression as regression
from veladura.measures.utility.spatial_regression import fit_spatial
from veladura.measures.utility.vecchia import accumulate, nearest_before


def world(seed, rows=120, sigma2=2.0, tau2=0.5, phi=1.0):
    rng = np.random.default_rng(seed)
    points = rng.random((rows, 2)) * 10
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    covariance = sigma2 * np.exp(-phi * distance) + tau2 * np.eye(rows)
    group = rng.random(rows) < 0.5
    y = 1 + 2 * group + np.linalg.cholesky(covariance) @ rng.standard_normal(rows)
    return (
        pd.DataFrame(
            {"x": points[:, 0], "y": points[:, 1], "group": np.where(group, "b", "a"), "z": y}
        ),
        distance,
    )


def test_weights_are_the_marginal_likelihood_by_quadrature(monkeypatch):
    """Beta and sigma2 integrated numerically give the ratio of two hypotheses in closed form."""
    frame, distance = world(1, rows=12)
    monkeypatch.setattr(regression, "RATIOS", np.array([0.2, 2.0]))
    y, design = frame["z"].to_numpy(), np.ones((12, 1))
    table = regression._tables(distance, y, design, np.array([0.5]))
    logs = []
    for ratio in (0.2, 2.0):
        inner = np.exp(-0.5 * distance) + ratio * np.eye(12)
        sigma2 = np.geomspace(0.02, 400, 1500)
        beta = np.linspace(-30, 30, 3001)
        inverse, (_, log) = np.linalg.inv(inner), np.linalg.slogdet(inner)
        one = np.ones(12)
        squares = y @ inverse @ y - 2 * beta * (one @ inverse @ y) + beta**2 * (one @ inverse @ one)
        density = (
            -0.5 * (12 * np.log(sigma2)[:, None] + log + squares[None] / sigma2[:, None])
            - np.log(sigma2)[:, None]
        )
        top = density.max()
        logs.append(
            top + np.log(np.trapezoid(np.trapezoid(np.exp(density - top), beta, axis=1), sigma2))
        )
    assert np.log(table.weight[1] / table.weight[0]) == pytest.approx(logs[1] - logs[0], abs=1e-3)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Claim: 95 % intervals cover at their level; fewer than 48 of 60 has chance below 1e-5."""
    hits = 0
    for seed in range(60):
        frame, _ = world(seed, rows=60)
        low, high = regression.spatial_regression(
            frame, "z", ["group"], x="x", y="y", draws=600
        ).interval()
        hits += bool(low[1] <= 2 <= high[1])
    assert stats.binom.cdf(hits, 60, 0.95) > 1e-5
    assert stats.binom.cdf(hits - 25, 60, 0.95) < 1e-5  # the check would see intervals half as wide


def test_draws_of_datasets_are_stacked():
    class Release:
        datasets = (world(1)[0], world(2)[0])

    both = regression.spatial_regression(Release(), "z", ["group"], x="x", y="y", draws=500)
    assert both.draws.shape == (1000, 5)
    assert both.names == ("intercept", "group_b", "sigma2", "tau2", "phi")
    alone = regression.spatial_regression(
        Release.datasets[0], "z", ["group"], x="x", y="y", draws=500
    )
    assert np.array_equal(both.draws[:500], alone.draws)
    assert "sigma2" in str(both)
    assert all(0 < share <= 1 for share in regression.posterior_overlap(both, alone).values())


def test_too_many_rows_or_too_few_are_refused():
    rng = np.random.default_rng(0)
    many = 100_001
    with pytest.raises(PlanError, match="at most 100000 are possible"):
        regression.fit_spatial(np.zeros((many, 2)), np.zeros(many), np.ones((many, 1)), rng)
    with pytest.raises(DataError, match="linearly independent"):
        regression.fit_spatial(rng.random((9, 2)), np.zeros(9), np.ones((9, 2)), rng)


def field(rows, seed=5):
    """Responses of a Gaussian process with nugget, by the definition of its covariance."""
    rng = np.random.default_rng(seed)
    points = rng.random((rows, 2)).round(3)
    x = rng.standard_normal(rows)
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    root = np.linalg.cholesky(1.5 * np.exp(-8 * distance) + 1e-8 * np.eye(rows))
    y = 1 + 0.5 * x + root @ rng.standard_normal(rows) + 0.7 * rng.standard_normal(rows)
    return points, y, np.column_stack([np.ones(rows), x])


def test_neighbours_are_those_of_brute_force():
    points = np.random.default_rng(1).random((60, 2))
    near = np.empty((60, 5), dtype=np.int64)
    nearest_before(points, near)
    for i in range(60):
        way = np.hypot(*(points[:i] - points[i]).T)
        assert near[i][near[i] >= 0].tolist() == np.argsort(way)[:5].tolist()


def test_with_all_neighbours_the_likelihood_is_the_dense_one():
    points, y, design = field(18)
    near = np.empty((18, 20), dtype=np.int64)
    nearest_before(points, near)
    rows = np.ascontiguousarray(np.column_stack([y, design]))
    ratios = np.array([0.3, 2.0])
    products, logs = np.zeros((2, 3, 3)), np.zeros(2)
    accumulate(points, near, rows, 4.0, ratios, products, logs)
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    for r, ratio in enumerate(ratios):
        matrix = np.exp(-4.0 * distance) + ratio * np.eye(18)
        assert products[r] == pytest.approx(rows.T @ np.linalg.solve(matrix, rows))
        assert logs[r] == pytest.approx(np.linalg.slogdet(matrix)[1])


def test_nearest_neighbours_give_the_posterior_of_the_whole_matrix():
    """At 600 rows, posterior means differ by a fraction of a posterior standard deviation."""
    data = field(600)
    dense, sparse = (
        fit_spatial(*data, np.random.default_rng(1), 4000, dense=which) for which in (True, False)
    )
    apart = np.abs(dense.mean(axis=0) - sparse.mean(axis=0)) / dense.std(axis=0)
    assert apart.max() < 0.3
    assert sparse.std(axis=0) == pytest.approx(dense.std(axis=0), rel=0.25)


@pytest.mark.slow
def test_ten_thousand_rows_find_the_slope():
    rng = np.random.default_rng(3)
    points, x = rng.random((10_000, 2)), rng.standard_normal(10_000)
    y = 1 + 0.5 * x + np.sin(6 * points[:, 0]) + 0.7 * rng.standard_normal(10_000)
    draws = fit_spatial(points, y, np.column_stack([np.ones(10_000), x]), rng, 2000)
    assert abs(draws[:, 1].mean() - 0.5) < 5 * draws[:, 1].std()
    assert draws[:, 1].std() < 0.01
