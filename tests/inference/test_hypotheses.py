"""Tests of several quantities: values worked by hand, their size, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import veladura as vd
from veladura.core.rules import AsReleased
from veladura.errors import PlanError
from veladura.inference import Pooling, likelihood_ratio, wald

# Two quantities, three datasets, within covariance the identity: everything can be done by hand.
Q = np.array([[1.0, 0.0], [3.0, 2.0], [2.0, 4.0]])
I2 = np.repeat(np.eye(2)[None], 3, axis=0)
TRACE = 1.0 + 4.0  # variances of 1, 3, 2 and of 0, 2, 4
FORM = 2.0**2 + 2.0**2  # squared length of the mean (2, 2)


def test_the_partial_rule_by_hand():
    r = TRACE / (3 * 2)
    found = wald(Q, I2, "partial")
    assert (found.statistic, found.df, found.r) == pytest.approx((FORM / (2 * (1 + r)), 2, r))
    assert found.residual == pytest.approx((2 + 1) * 2 * (1 + 1 / r) ** 2 / 2)  # t = 4
    assert found.p == pytest.approx(stats.f.sf(found.statistic, 2, found.residual))


def test_the_imputed_and_the_full_rule_by_hand():
    r = (1 + 1 / 3) * TRACE / 2
    imputed, full = wald(Q, I2, "imputed"), wald(Q, I2, "full")
    assert imputed.statistic == pytest.approx(FORM / (2 * (1 + r)))
    assert full.statistic == pytest.approx(FORM / (2 * (r - 1)))
    assert full.residual == pytest.approx(max(1, 3 * 2 * (1 - 1 / r) ** 2 / 2))
    many = np.vstack([Q, Q + 0.5])  # t = 10: the other approximation
    trace = np.trace(np.cov(many.T))
    r = trace / (6 * 2)
    assert wald(many, np.repeat(np.eye(2)[None], 6, axis=0), "partial").residual == pytest.approx(
        4 + 6 * (1 + 0.8 / r) ** 2
    )


def test_rules_that_do_not_look_between_datasets():
    assert wald(Q, I2, "single").statistic == pytest.approx(FORM / (2 * (1 + 2 / 3)))
    simple = Pooling("single", 3, rows=200, original_rows=100, proper=False)
    assert wald(Q, I2, simple).statistic == pytest.approx(FORM / (2 * (2 + 1 / 3)))
    plain = wald(Q[:1], I2[:1], "none", residual=20)
    assert plain.p == pytest.approx(stats.f.sf(0.5, 2, 20))
    assert wald(Q, I2, "single", residual=20).residual == np.inf
    assert wald(Q, I2, "single", null=[2.0, 2.0]).p == 1.0


def test_likelihood_ratios_by_hand():
    own, pooled = np.array([9.0, 11.0, 10.0]), np.array([7.0, 8.0, 9.0])
    r = (10 - 8) / (2 * (3 - 1))
    found = likelihood_ratio(own, pooled, 2, "partial")
    assert (found.statistic, found.r) == pytest.approx((8 / (2 * (1 + r)), r))
    r = 4 / (2 * 2) * (10 - 8)  # (m + 1) / (d (m - 1)), Meng and Rubin (1992)
    assert likelihood_ratio(own, pooled, 2, "imputed").statistic == pytest.approx(8 / (2 * (1 + r)))
    assert likelihood_ratio(own, pooled, 2, "single").p == pytest.approx(
        stats.chi2.sf(8 / (1 + 2 / 3), 2)
    )
    assert likelihood_ratio(pooled, pooled, 2, "partial").residual == np.inf  # nothing differs
    assert "likelihood ratio test of x: F(2, inf)" in str(
        likelihood_ratio(pooled, pooled, 2, "partial", what="x")
    )


@given(st.integers(2, 6), st.integers(0, 2**31), st.sampled_from(["partial", "imputed", "single"]))
def test_one_quantity_is_the_square_of_its_t(m, seed, rule):
    rng = np.random.default_rng(seed)
    q, v = rng.normal(1, 1, m), rng.uniform(0.5, 2, m)
    one = vd.combine(q, v, rule=rule)
    assert wald(q[:, None], v[:, None, None], rule).statistic == pytest.approx(
        one.value**2 / one.variance
    )


@given(st.integers(0, 2**31))
def test_the_test_does_not_depend_on_the_scale_of_the_quantities(seed):
    rng = np.random.default_rng(seed)
    q, turn = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)) + 3 * np.eye(3)
    covariances = np.array([np.cov(rng.normal(size=(3, 12))) for _ in range(4)])
    turned = turn @ covariances @ turn.T
    assert wald(q @ turn.T, turned, "partial").p == pytest.approx(
        wald(q, covariances, "partial").p, rel=1e-6
    )


SETS, D, RUNS = 5, 3, 2000
SQUARE = np.array([[1.0, 0.4, 0.1], [0.4, 1.0, 0.3], [0.1, 0.3, 1.0]])


def size(between, rule, m=SETS, seed=1):
    """Return how often a true hypothesis is rejected at 5 %; ``between`` is b over v."""
    rng = np.random.default_rng(seed)
    factor = np.linalg.cholesky(SQUARE)
    rejected = 0
    covariances = np.repeat(SQUARE[None], m, axis=0)
    truth = rng.normal(size=(RUNS, D)) @ factor.T  # the original estimate around the truth
    spread = rng.normal(size=(RUNS, m, D)) @ factor.T * np.sqrt(between)
    for i in range(RUNS):
        rejected += wald(truth[i] + spread[i], covariances, rule).p < 0.05
    return rejected / RUNS


class WithoutBetween(AsReleased):
    """Slip: m datasets taken as one table."""

    def check(self, m):
        assert m > 1


# 2,000 runs: standard error 0.5 points; the F laws are approximations that simulation put at 4.5 to
# 5.7 %.
HELD = {"partial": (0.8, "partial", 5), "full": (2.0, "full", 40), "single": (2.0, "single", 5)}
MISSED = {
    "Rubin's r on partial synthesis": (0.8, "imputed", 5),
    "no between variance": (2.0, WithoutBetween(), 5),
    "a spread that the rule does not expect": (4.0, "single", 1),
}


@pytest.mark.parametrize("case", HELD)
def test_a_true_hypothesis_is_rejected_as_often_as_it_says(case):
    assert 0.028 < size(*HELD[case]) < 0.076


@pytest.mark.parametrize("case", MISSED)
def test_the_check_sees(case):
    assert not 0.028 < size(*MISSED[case]) < 0.076


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: wald(Q[:1], I2[:1], "partial"), "at least 2 datasets"),
        (lambda: likelihood_ratio([1.0], [1.0], 1, "imputed"), "at least 2 datasets"),
        (lambda: likelihood_ratio([1.0, 2.0], [1.0], 1, "partial"), "one finite statistic"),
        (lambda: wald(Q, I2[:, :1], "partial"), "shapes"),
        (lambda: wald(Q * np.nan, I2, "partial"), "finite"),
        (lambda: wald(Q, I2 * 0, "partial"), "cannot be inverted"),
        (lambda: wald(Q, I2 * 100, "full"), "above 1 is needed"),
        (lambda: wald(Q, I2, "parcial"), "did you mean 'partial'"),
    ],
)
def test_what_cannot_be_tested_is_refused(call, why):
    with pytest.raises(PlanError, match=why):
        call()
