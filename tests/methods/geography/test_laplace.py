"""The approximate fit: its mode is the mode, and its maps are close to those of the chains."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize

from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.methods.geography import laplace
from veladura.methods.geography.icar import sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign
from veladura.methods.geography.icar_priors import Priors

sys.path.insert(0, str(Path(__file__).parent))
from tests.methods.geography.icar_world import BROKEN, lattice, precision_matrix


def hills(side, rows, seed=0):
    """Four combinations, each with a hill of its own."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(*[np.linspace(0, 1, side)] * 2)
    centres = [(0.2, 0.3), (0.7, 0.2), (0.3, 0.8), (0.8, 0.8)]
    lam = np.array([np.exp(-((x - a) ** 2 + (y - b) ** 2) / 0.1).ravel() for a, b in centres])
    codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    return (
        CellCounts(rng.poisson(rows * lam / lam.sum()), np.full(side**2, -2 * np.log(side))),
        lattice(side, side),
        EffectDesign(codes),
    )


def test_the_mode_maximises_the_log_posterior():
    """Against a general optimiser on the log posterior written out, precisions fixed."""
    rng = np.random.default_rng(1)
    graph, codes = lattice(3, 2), np.array([[0], [1]])
    counts, precision = (
        CellCounts(rng.poisson(2.0, (2, 6)), rng.normal(size=6)),
        np.array([2.0, 3.0, 1.5]),
    )
    system = laplace._system(counts, graph, EffectDesign(codes), Priors(intercept_variance=2.0))
    q, values = precision_matrix(graph), counts.values

    def minus_log_posterior(unknown):
        effect, eps = unknown[:12].reshape(2, 6), unknown[12:].reshape(2, 6)
        linear = counts.offset + effect[0] + codes * effect[1] + eps
        log = (values * linear - np.exp(linear)).sum() - precision[2] * (eps**2).sum() / 2
        return -log + sum(
            tau * u @ q @ u / 2 + (u**2).sum() / (2 * 2.0 * 6)
            for tau, u in zip(precision, effect, strict=False)
        )

    wanted = optimize.minimize(
        minus_log_posterior, np.zeros(24), method="BFGS", options={"gtol": 1e-6}
    ).x
    effect, eps = np.zeros(12), np.zeros(12)
    for _ in range(5):
        effect, eps, *_ = laplace._mode(
            system, values.ravel().astype(float), np.tile(counts.offset, 2), precision, effect, eps
        )
    assert np.concatenate([effect, eps]) == pytest.approx(wanted, abs=1e-4)


def test_draws_have_the_covariance_of_the_normal_law():
    """Perturbed solutions have the inverse precision as covariance, within six standard errors."""
    rng, m = np.random.default_rng(2), 20_000
    counts = CellCounts(rng.poisson(2.0, (2, 6)), np.zeros(6))
    system = laplace._system(
        counts, lattice(3, 2), EffectDesign(np.array([[0], [1]])), Priors(intercept_variance=2.0)
    )
    precision = np.array([2.0, 3.0, 1.5])
    *_, solve, weight, _ = laplace._mode(
        system,
        counts.values.ravel().astype(float),
        np.zeros(12),
        precision,
        np.zeros(12),
        np.zeros(12),
    )
    noise = [
        rng.standard_normal((rows.shape[0], m))
        for rows in (system.matrix, *system.rows, np.zeros((12, 1)), np.zeros((12, 1)))
    ]
    spread = laplace._perturb(system, solve, weight, precision, noise)
    wanted = np.asarray(solve(np.eye(12)))
    error = np.sqrt((wanted**2 + np.outer(np.diag(wanted), np.diag(wanted))) / m)
    assert np.abs((spread @ spread.T / m - wanted) / error).max() < 6


@pytest.mark.parametrize(("rate", "times"), [(1.0, 3.0), (10.0, 2.5)])
def test_maps_are_close_to_those_of_the_chains(rate, times):
    """Cell shares are several times as close to the chains' as raw counts are; spreads agree.

    Less close under the default prior of contrasts, which lets surfaces be rougher.
    """
    model, priors = hills(8, 150), Priors(contrast_rate=rate)
    quick = laplace.approximate(*model, priors, m=50, rng=Streams(0)("laplace"))
    slow = sample(*model, priors, m=2, context=Context(Streams(0)), sweeps=4000, burn=1000)
    share = [x / x.sum(axis=1, keepdims=True) for x in (quick.mean, slow.mean, model[0].values)]
    apart = [np.abs(x - share[1]).sum(axis=1).mean() / 2 for x in (share[0], share[2])]
    assert apart[0] < apart[1] / times
    spreads = [slow.traces[name].mean() for name in slow.traces if name.startswith("log sd")]
    assert -0.5 * np.log(quick.precision) == pytest.approx(spreads, abs=0.3)


@pytest.mark.parametrize("slope", ["normal", "icar"])
@pytest.mark.parametrize("variance", [0.0, 1.0])
def test_parts_lone_cells_and_covariates_are_taken(slope, variance):
    rng = np.random.default_rng(0)
    counts = CellCounts(rng.poisson(2.0, (3, 9)), np.zeros(9))
    design = EffectDesign(
        np.array([[0, 0], [0, 1], [1, 0]]), rng.normal(size=(2, 3, 9)) * (counts.values > 0)
    )
    priors = Priors(slope=slope, slope_variance=variance)
    fit = laplace.approximate(counts, BROKEN, design, priors, m=20, rng=Streams(0)("laplace"))
    assert fit.intensity.shape == (20, 3, 9)
    assert np.all(np.isfinite(fit.intensity))
    assert np.corrcoef(fit.mean.ravel(), counts.values.ravel())[0, 1] > 0.5
