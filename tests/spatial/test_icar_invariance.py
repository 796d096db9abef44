"""The sweep leaves the joint law of parameters and counts alone (Geweke 2004), and the check sees sweeps that do not."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from veladura.spatial import icar_kernels as kernels
from veladura.spatial.icar_chain import scalars
from veladura.spatial.icar_model import Priors
from veladura.streams import Streams

sys.path.insert(0, str(Path(__file__).parent))
from icar_world import BROKEN, CODES, World

REPLICATES, SWEEPS, LEVEL = 3000, 8, 1e-5
COVARIATES = np.random.default_rng(5).normal(size=(2, 3, 9)) * (np.random.default_rng(6).random((2, 3, 9)) < 0.6)
TIGHT = {"intercept_variance": 0.5, "spatial_shape": 4, "spatial_rate": 4, "extra_shape": 4, "extra_rate": 2}
WORLDS = {
    "levels only": World(BROKEN, CODES, COVARIATES[:0], Priors(**TIGHT)),
    "normal slopes": World(BROKEN, CODES, COVARIATES, Priors(**TIGHT, slope="normal", slope_variance=0.3)),
    "smooth slopes": World(BROKEN, CODES, COVARIATES, Priors(**TIGHT, slope="icar", slope_variance=0.3)),
    "smooth slopes around 0": World(BROKEN, CODES, COVARIATES[:1], Priors(**TIGHT, slope="icar", slope_variance=0)),
}


def summaries(model, state):
    """What the chains trace, single effects of every kind of cell, and what ties parameters to counts."""
    trace = np.zeros(scalars(model))
    kernels.summarise(model, state, trace)
    single = [*state.effect[:, [0, 3, 6, 8]].ravel(), state.eps[0, 0], state.eps[8, 2], (state.eps**2).sum()]
    ties = [(state.effect * model.totals).sum(), (state.eps * model.counts).sum(), (np.log(state.rate) * model.counts).sum()]
    return np.array([*trace, *single, *ties])


def sweep(rng, model, state):
    """The sweep as it is."""
    kernels.sweep(rng, model, state, 0.0)


def full_rank(rng, model, state):
    """Slip: cells instead of cells less parts in the law of the precisions."""
    parts = state.mean.shape[1]
    kernels.sweep(rng, model._replace(gamma=model.gamma + np.array([parts / 2, 0, 0, 0])), state, 0.0)


def blind(rng, model, state):
    """Slip: the counts never looked at, only their number."""
    counts = np.full_like(model.counts, model.counts.mean())
    totals = np.repeat(model.totals.mean(axis=1, keepdims=True), model.totals.shape[1], axis=1)
    kernels.sweep(rng, model._replace(counts=counts, totals=totals), state, 0.0)


def flat(rng, model, state):
    """Slip: the prior of the intercepts left out, as recentring after a sweep does."""
    kernels.sweep(rng, model._replace(mean_precision=model.mean_precision * 1e-3), state, 0.0)


def adrift(rng, model, state):
    """Slip: a cell that moves its part's mean forgets the cells that hang on it."""
    kernels.sweep(rng, model._replace(size=model.size * np.array([1, 1, 0])), state, 0.0)


def lossy(rng, model, state):
    """Slip: the common effect recentred, its mean moved nowhere."""
    kernels.sweep(rng, model, state, 0.0)
    state.effect[0] -= state.effect[0].mean()


def invariance_pvalue(world, step, rng):
    """Sweep the parameters given the counts: both must look like a fresh draw from their joint law. Bonferroni over summaries."""
    fresh, swept = [], []
    for _ in range(REPLICATES):
        fresh.append(summaries(*world.draw(rng)))
        model, state = world.draw(rng)
        state.step[:] = 1.0
        for _ in range(SWEEPS):
            step(rng, model, state)
        swept.append(summaries(model, state))
    pairs = [(a, b) for a, b in zip(np.array(fresh).T, np.array(swept).T, strict=True) if np.ptp(a) > 1e-9]
    return min(1.0, len(pairs) * min(stats.ks_2samp(a, b).pvalue for a, b in pairs))


@pytest.mark.parametrize("name", WORLDS)
def test_a_sweep_leaves_the_joint_law_alone(name):
    assert invariance_pvalue(WORLDS[name], sweep, Streams(0)("invariance")) > LEVEL


@pytest.mark.parametrize("broken", [full_rank, blind, flat, adrift, lossy])
def test_the_check_sees(broken):
    assert invariance_pvalue(WORLDS["levels only"], broken, Streams(0)("invariance")) < LEVEL
