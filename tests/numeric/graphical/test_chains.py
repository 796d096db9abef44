"""Hamiltonian Monte Carlo against numerical integration of the same posterior."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.graphical.chains import CellModel, warmed
from veladura.numeric.graphical.fit import NoisyTable


def integrated(noisy, sigma, n, prior):
    """Return mean and variance of the share of two cells, on a fine grid of their log odds."""
    z = np.linspace(-14, 14, 40_001)
    p = 1 / (1 + np.exp(-z))
    shares = np.column_stack([1 - p, p])
    log = -0.5 * (((noisy - n * shares) / sigma) ** 2).sum(axis=1)
    log += 2 * prior * np.log(shares).mean(axis=1)
    weight = np.exp(log - log.max())
    mean = (weight * p).sum() / weight.sum()
    return mean, (weight * (p - mean) ** 2).sum() / weight.sum()


@pytest.mark.parametrize("noisy", [(260.0, 150.0), (410.0, -20.0)], ids=["inside", "near 0"])
def test_the_chains_have_the_moments_of_the_integral(noisy):
    counts = np.array(noisy)
    model = CellModel.of((2,), np.ones(2, bool), [NoisyTable((0,), counts, 30.0)], 400.0, 0.5)
    walk = warmed(model, np.random.default_rng(6))
    z = walk.run(1500, tune=False).reshape(-1, 1)
    drawn = model.shares(walk.centre + z @ walk.turned.T)[:, 1]
    mean, variance = integrated(counts, 30.0, 400.0, 0.5)
    # 6,000 draws, of which at least 1,000 are worth an independent one
    assert drawn.mean() == pytest.approx(mean, abs=5 * (variance / 1000) ** 0.5)
    assert drawn.var() == pytest.approx(variance, rel=0.3)


def test_the_integral_tells_a_prior_twice_as_heavy():
    """A control: the comparison above sees a wrong prior near 0."""
    right, variance = integrated(np.array([410.0, -20.0]), 30.0, 400.0, 0.5)
    wrong, _ = integrated(np.array([410.0, -20.0]), 30.0, 400.0, 2.0)
    assert abs(wrong - right) > 5 * (variance / 1000) ** 0.5
