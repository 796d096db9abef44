"""Combining rules: closed forms, coverage with named controls, and refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import PlanError

pytestmark = pytest.mark.quick

Q, V = np.array([1.0, 1.3, 0.9, 1.2, 1.0]), np.array([0.04, 0.05, 0.045, 0.05, 0.04])
B, W = Q.var(ddof=1), V.mean()


@pytest.mark.parametrize(
    ("rule", "total", "df"),
    [
        ("partial", B / 5 + W, 4 * (1 + 5 * W / B) ** 2),
        ("imputed", 1.2 * B + W, 4 * (1 + 5 * W / (6 * B)) ** 2),
        ("full", W, 4),  # 1.2 b - v is negative here: the replacement and its degrees of freedom
        ("single", W * (1 + 2 / 5), np.inf),
    ],
)
def test_rules_are_the_published_ones(rule, total, df):
    found = vd.combine(Q, V, rule=rule)
    assert (found.value, found.variance, found.df) == pytest.approx((Q.mean(), total, df))
    half = (stats.t.ppf(0.975, df) if np.isfinite(df) else stats.norm.ppf(0.975)) * np.sqrt(total)
    assert (found.lower, found.upper) == pytest.approx((Q.mean() - half, Q.mean() + half))


def test_the_full_rule_where_its_variance_is_positive():
    q = Q * 10
    b = q.var(ddof=1)
    found = vd.combine(q, V, rule="full")
    assert found.variance == pytest.approx(1.2 * b - W)
    assert found.df == pytest.approx(max(1.0, 4 * (1 - 5 * W / (6 * b)) ** 2))


def test_several_quantities_and_one_dataset():
    found = vd.combine(np.column_stack([Q, Q]), np.column_stack([V, V]))
    assert found.value.shape == (2,)
    assert vd.combine([2.0], [0.1], rule="single").variance == pytest.approx(0.3)
    assert vd.combine([2.0], [0.1], rule="single", proper=False).variance == pytest.approx(0.2)
    assert vd.combine([1.0, 1.0], [0.1, 0.1]).df == np.inf  # normal when nothing differs
    assert vd.combine(Q, V, rows=200, original_rows=100).variance == pytest.approx(B / 5 + 2 * W)


@pytest.mark.parametrize(
    ("q", "v", "rule", "why"),
    [
        ([1.0], [1.0], "partial", "at least 2"),
        ([1.0, 2.0], [1.0], "partial", "shape"),
        ([1.0, np.nan], [1.0, 1.0], "partial", "finite"),
        ([1.0, 2.0], [1.0, -1.0], "partial", "not be negative"),
        ([1.0, 2.0], [1.0, 1.0], "partiall", "did you mean"),
    ],
)
def test_what_cannot_be_combined_is_refused(q, v, rule, why):
    with pytest.raises(PlanError, match=why):
        vd.combine(q, v, rule=rule)


def partially_synthetic(rng, m=5, n=200):
    """Simulate estimates of a mean of 0; half of the rows are redrawn from their posterior."""
    data = rng.normal(size=n)
    half = n // 2
    q, v = [], []
    for _ in range(m):
        weights = rng.dirichlet(np.ones(half))
        made = np.concatenate([data[:half], rng.choice(data[half:], half, p=weights)])
        q.append(made.mean())
        v.append(made.var(ddof=1) / n)
    return q, v


def coverage(combine, seed, runs=1500):
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(runs):
        found = combine(*partially_synthetic(rng))
        hits += found.lower <= 0 <= found.upper
    return hits / runs


def within_only(q, v):
    """Slip: the variance of one dataset, as if it were the original."""
    found = vd.combine(q[:2], v[:2])
    half = 1.96 * np.sqrt(v[0])
    return type(found)(q[0], v[0], np.inf, q[0] - half, q[0] + half, 0.95, "none")


def test_intervals_of_the_partial_rule_cover():
    assert 0.93 < coverage(lambda q, v: vd.combine(q, v, rule="partial"), 0) < 0.97


@pytest.mark.parametrize(
    "broken",
    [within_only, lambda q, v: vd.combine(q, v, rule="imputed")],
    ids=["within only", "imputed"],
)
def test_the_check_sees(broken):
    assert not 0.93 < coverage(broken, 0) < 0.97


def test_a_release_chooses_its_own_rule():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 400), "y": rng.normal(10, 2, 400)})

    def mean(data):
        return data["y"].mean(), data["y"].var() / len(data)

    partial = vd.Cart(columns=["y"], m=3).protect(frame, seed=1).estimate(mean)
    whole = vd.Cart(m=3, rows=800).protect(frame, seed=1)
    found = whole.estimate(mean)
    assert partial.rule == "partial"
    assert found.rule == "single"
    assert found.variance == pytest.approx(
        np.mean([mean(d)[1] for d in whole.datasets]) * (2 + 3 / 3)
    )
    assert partial.lower < 10 < partial.upper
    named = whole.estimate(lambda d: {"mean": mean(d)})
    assert "mean" in str(named)
    noisy = vd.Noise(columns=["y"]).protect(frame, seed=1)
    with pytest.warns(UserWarning, match="additive noise"):
        plain = noisy.estimate(mean)
    assert (plain.rule, plain.value, plain.variance) == (
        "none",
        *map(pytest.approx, mean(noisy.datasets[0])),
    )
    with pytest.raises(PlanError, match="must return"):
        whole.estimate(lambda d: 3)
