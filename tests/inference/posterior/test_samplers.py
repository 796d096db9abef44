"""The public samplers: agreement with the exact posterior, acceptance, effective sizes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import PlanError
from veladura.inference import (
    acceptance_by_step,
    adaptive_metropolis,
    chain_model,
    gibbs,
    metropolis,
)

ALPHA = 100 / np.expm1(2.0)
MODEL = chain_model([31, 69], 100, alpha=ALPHA, prior=1.0)


def exact_mean(released, n, alpha, gamma):
    """The posterior mean of the first of two shares: one sum over x, by SciPy's laws."""
    x = np.arange(n + 1)
    size = sum(released)
    weight = stats.betabinom.pmf(x, n, gamma, gamma) * stats.betabinom.pmf(
        released[0], size, alpha + x, alpha + n - x
    )
    return float(np.sum(weight * (gamma + x) / (2 * gamma + n)) / weight.sum())


@pytest.mark.parametrize("sampler", [gibbs, metropolis, adaptive_metropolis])
def test_means_of_many_chains_are_exact(sampler):
    """Claim: the mean of chains is the posterior mean. Level 1e-5."""
    chain = sampler(MODEL, sweeps=400, burn=500, chains=60, seed=3)
    truth = exact_mean((31, 69), 100, ALPHA, 1.0)
    assert stats.ttest_1samp(chain.mean[:, 0], truth).pvalue > 1e-5
    assert stats.ttest_1samp(chain.mean[:, 0], truth + 0.05).pvalue < 1e-5  # the test can see


def test_acceptance_falls_with_the_width_and_is_that_of_the_source():
    """Marcolin (2018), Fig. 3.1: a line that falls to .464 at L = 11."""
    rates = acceptance_by_step(MODEL, chains=100, sweeps=300, burn=200, seed=1)
    assert list(rates) == [6, 7, 8, 9, 10, 11, 12]
    assert sorted(rates.values(), reverse=True) == list(rates.values())
    assert rates[11] == pytest.approx(0.464, abs=0.06)


def test_effective_sizes_fall_when_fewer_proposals_are_accepted():
    sizes = [
        metropolis(MODEL, step=step, sweeps=2000, burn=200, chains=4, seed=2).effective.mean()
        for step in (1, 11)
    ]
    assert sizes[0] < sizes[1] < gibbs(MODEL, sweeps=2000, chains=4, seed=2).effective.mean()


def test_a_release_is_read_and_impossible_cells_are_left_out():
    table = pd.DataFrame({"a": ["x", "y"] * 30, "b": ["u"] * 30 + ["v"] * 30})
    recipe = vd.DirichletMultinomial(
        columns=["a", "b"],
        domain={"a": ["x", "y"], "b": ["u", "v"]},
        structural_zeros=[{"a": ["x"], "b": ["v"]}],
        epsilon=2,
    )
    release = recipe.protect(table[~((table.a == "x") & (table.b == "v"))])
    chain = gibbs(release, sweeps=50, burn=10, thin=3, chains=2, seed=1)
    assert chain.draws.shape == (50, 2, 3)
    assert chain.draws.sum(axis=2) == pytest.approx(1)
    again = gibbs(release, sweeps=50, burn=10, thin=3, chains=2, seed=1)
    assert (again.draws == chain.draws).all()


@pytest.mark.parametrize(
    "asked",
    [
        lambda: gibbs(MODEL, sweeps=0),
        lambda: gibbs(MODEL, burn=-1),
        lambda: metropolis(MODEL, step=0),
        lambda: chain_model([3], 3, alpha=1.0),
        lambda: chain_model([3, 4], 7, alpha=0.0),
        lambda: gibbs(vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}), seed=1)),
    ],
)
def test_what_cannot_be_sampled_is_refused(asked):
    with pytest.raises(PlanError):
        asked()
