"""Stacked posteriors: moments and ends of a mixture, coverage, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats
from tests.inference.worlds import half_replaced, replaced

import veladura as vd
from veladura.errors import PlanError

SCORES = stats.norm.ppf((np.arange(2000) + 0.5) / 2000)  # a normal law as evenly spread draws


def test_the_mixture_has_the_moments_and_ends_of_its_parts():
    found = vd.stack([SCORES, SCORES * 2 + 3])
    assert found.value == pytest.approx(1.5)
    assert found.variance == pytest.approx(2.5 + 1.5**2, rel=1e-2)

    def mixed(x):
        return (stats.norm.cdf(x) + stats.norm.cdf(x, 3, 2)) / 2

    for end, share in ((found.lower, 0.025), (found.upper, 0.975)):
        assert end == pytest.approx(
            optimize.brentq(lambda x, share=share: mixed(x) - share, -20, 20), abs=0.02
        )


def test_every_dataset_weighs_the_same_however_many_draws_it_has():
    few = vd.stack([SCORES[::10], SCORES + 4])
    assert few.value == pytest.approx(2.0, abs=0.01)
    assert few.weights.sum() == pytest.approx(1)
    assert float(few) == few.value
    assert "to" in str(few)


def test_the_shortest_interval_of_a_skewed_law_is_its_highest_density():
    draws = stats.expon.ppf((np.arange(20_000) + 0.5) / 20_000)
    found = vd.stack([draws, draws], interval="shortest", level=0.9)
    assert (found.lower, found.upper) == pytest.approx((0.0, stats.expon.ppf(0.9)), abs=0.01)
    assert vd.stack([draws], level=0.9).lower == pytest.approx(stats.expon.ppf(0.05), abs=0.01)


def test_with_a_rule_the_variance_is_that_of_the_rule():
    sets = [np.column_stack([SCORES + i, SCORES * 2 - i]) for i in (0.0, 0.5, 1.0)]
    found = vd.stack(sets, rule="partial")
    means, spread = (
        np.array([s.mean(axis=0) for s in sets]),
        np.array([s.var(axis=0, ddof=1) for s in sets]),
    )
    assert found.variance == pytest.approx(vd.combine(means, spread, rule="partial").variance)
    assert np.allclose(found.weights @ found.draws, found.value)
    assert found.draws.shape == (6000, 2)


def covered(sets, rule=None, runs=2000, m=5):
    """Return the coverage of stacked posteriors N(q, v) of a mean that is 0."""
    q, v = sets(np.random.default_rng(3), m, 200, runs)
    scores = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    found = [
        vd.stack(
            [a + scores * np.sqrt(b) for a, b in zip(q[:, i], v[:, i], strict=True)], rule=rule
        )
        for i in range(runs)
    ]
    return np.mean([one.lower <= 0 <= one.upper for one in found])


def test_intervals_by_the_rule_cover_and_the_plain_mixture_does_not():
    """2,000 runs: standard error 0.5 points at 95 %, so 0.925 to 0.97 is four of them and more."""
    assert 0.925 < covered(half_replaced, "partial") < 0.97
    assert 0.925 < covered(replaced, "single") < 0.97
    assert 0.925 < covered(replaced, "single", m=1) < 0.97
    assert (
        covered(replaced) > covered(replaced, "single") + 0.01
    )  # the same replicates; variance v + 2 v (m - 1)/m where v (1 + 2/m) is right
    assert covered(replaced, m=1) < 0.9  # and v where 3 v is right


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"draws": []}, "for each dataset"),
        ({"draws": [[1.0, 2.0], [[1.0], [2.0]]]}, "for each dataset"),
        ({"draws": [[1.0, np.inf]]}, "finite"),
        ({"draws": [SCORES], "level": 1.0}, "between 0 and 1"),
        ({"draws": [SCORES], "interval": "hdi"}, "is not known"),
        ({"draws": [SCORES], "rule": "partial"}, "at least 2"),
    ],
)
def test_what_cannot_be_stacked_is_refused(settings, why):
    with pytest.raises(PlanError, match=why):
        vd.stack(**settings)
