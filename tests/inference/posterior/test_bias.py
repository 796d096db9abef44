"""Bias of estimates from private releases: against a sum over every release and every table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from veladura.errors import PlanError
from veladura.inference import bias_table


def summed_bias(count, n, alpha, gamma):
    """The bias of the first of two shares: all releases, all tables, by SciPy's laws."""
    x, released = np.arange(n + 1), np.arange(n + 1)
    prior = stats.betabinom.pmf(x, n, gamma, gamma)
    law = stats.betabinom.pmf(released[:, None], n, alpha + x, alpha + n - x)  # releases, tables
    mean = (law * prior) @ ((gamma + x) / (2 * gamma + n)) / (law @ prior)
    return float(law[:, count] @ mean - count / n)


@pytest.mark.parametrize(("count", "epsilon", "gamma"), [(2, 1.0, 0.5), (8, 2.0, 1.0)])
def test_bias_is_that_of_all_releases(count, epsilon, gamma):
    """Claim: the simulated bias is the exact one. Level 1e-5; control: half of the bias."""
    n = 20
    truth = summed_bias(count, n, n / np.expm1(epsilon), gamma)
    found = bias_table([count, n - count], epsilon=epsilon, prior=gamma, releases=800, seed=4)
    draws = found.means[:, 0] - count / n
    assert stats.ttest_1samp(draws, truth).pvalue > 1e-5
    assert found.bias == pytest.approx([draws.mean(), -draws.mean()])
    if count == 2:
        assert stats.ttest_1samp(draws, truth / 2).pvalue < 1e-5


def test_bias_is_told_by_cell_with_its_error():
    found = bias_table([30, 8, 2, 0], epsilon=1, m=2, size=25, releases=50, seed=2)
    frame = found.to_frame()
    assert frame["share"].tolist() == [0.75, 0.2, 0.05, 0.0]
    assert np.allclose(frame["estimate"] - frame["share"], frame["bias"])
    assert np.allclose(frame["relative_bias"][:3], frame["bias"][:3] / frame["share"][:3])
    assert np.isnan(frame["relative_bias"][3])
    assert abs(frame["bias"].sum()) < 1e-9
    assert (frame["error"] > 0).all()
    assert found.alpha == pytest.approx(25 / np.expm1(0.5), rel=1e-6)
    assert "relative_bias" in str(found)


@pytest.mark.parametrize("counts", [[5], [3, -1], [2.5, 1.5], [[1, 2], [3, 4]]])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises(PlanError, match="whole numbers of people"):
        bias_table(counts, epsilon=1)


@pytest.mark.parametrize("wrong", [{"epsilon": 0}, {"epsilon": 1, "m": 0}, {"releases": 1}])
def test_settings_that_simulate_nothing_are_refused(wrong):
    with pytest.raises(PlanError, match="epsilon above 0"):
        bias_table([3, 4], **({"epsilon": 1} | wrong))
