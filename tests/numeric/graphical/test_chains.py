"""Hamiltonian Monte Carlo against numerical integration of the same posterior."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.graphical.chains import DEEP, START, CellModel, near_mode, warmed
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


def nearly_empty() -> CellModel:
    """Return three columns in which four cells of a table are known to be empty, within a count."""
    measured = [
        NoisyTable((0, 1), np.array([848, 0, -0.5, 0.2, 778, 811, -0.8, 293.2, 270.3]), 0.42),
        NoisyTable((0, 2), np.array([775.0, 71, 1432, 155, 279, 284]), 1.47),
        NoisyTable((1, 2), np.array([778.2, 69.4, 846.8, 223, 864.2, 217.2]), 0.66),
    ]
    return CellModel.of((3, 3, 2), np.ones(18, bool), measured, 3000.0, 0.5)


def test_chains_start_where_the_posterior_has_people():
    """The logarithm of an empty cell is hardly known: a normal start has thousands too many."""
    model = nearly_empty()
    mode = model.mode()
    centre, lower = model.basis @ mode, np.linalg.cholesky(model.curvature(mode))
    turned = np.linalg.solve(lower, model.basis.T).T
    peak = model.density(centre[None, :])[0][0]
    naive = START * np.random.default_rng(2).standard_normal((200, mode.size))
    starts = near_mode(model, centre, turned, naive)
    below = peak - model.density(centre + starts @ turned.T)[0]
    assert (below <= DEEP * mode.size).all()
    # the control: what a chain never comes back from
    assert (peak - model.density(centre + naive @ turned.T)[0]).max() > 1e5
    near = peak - model.density(centre + naive @ turned.T)[0] <= DEEP * mode.size
    np.testing.assert_array_equal(starts[near], naive[near])


@pytest.mark.parametrize("seed", range(4))
def test_no_chain_is_left_behind_where_cells_are_empty(seed):
    walk = warmed(nearly_empty(), np.random.default_rng(seed))
    values = [(walk.advance(tune=False), walk.value)[1] for _ in range(50)]
    # a log density of 17 parameters falls that far below its mean about once in 1e9 draws
    assert np.ptp(np.mean(values, axis=0)) < 17 + 6 * (2 * 17) ** 0.5
