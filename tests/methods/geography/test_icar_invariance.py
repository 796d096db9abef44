"""The sweep keeps the joint law of parameters and counts (Geweke 2004); broken ones are seen."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy import stats

from veladura.base.streams import Streams
from veladura.methods.geography import icar_kernels as kernels
from veladura.methods.geography.icar_arrays import FLOATS, MODEL, NONE, STATE
from veladura.methods.geography.icar_chain import scalars, sweep
from veladura.methods.geography.icar_model import Graph
from veladura.methods.geography.icar_priors import Priors

sys.path.insert(0, str(Path(__file__).parent))
from tests.methods.geography.icar_world import BROKEN, CODES, World

REPLICATES, SWEEPS, LEVEL = 3000, 8, 1e-5
COVARIATES = np.random.default_rng(5).normal(size=(2, 3, 9)) * (
    np.random.default_rng(6).random((2, 3, 9)) < 0.6
)
TIGHT = {
    "intercept_variance": 0.5,
    "spatial_shape": 4,
    "spatial_rate": 4,
    "contrast_shape": 4,
    "contrast_rate": 4,
    "slope_shape": 4,
    "slope_rate": 4,
    "extra_shape": 4,
    "extra_rate": 2,
}
LONE = Graph.of_pairs(9, [(0, 1)])
WORLDS = {
    "lone cells": World(LONE, CODES, COVARIATES[:0], Priors(**TIGHT)),
    "levels only": World(BROKEN, CODES, COVARIATES[:0], Priors(**TIGHT)),
    "penalised": World(
        BROKEN,
        CODES,
        COVARIATES[:0],
        Priors(intercept_variance=0.5, spatial_sd=2, contrast_sd=1, extra_sd=2),
    ),
    "normal slopes": World(
        BROKEN, CODES, COVARIATES, Priors(**TIGHT, slope="normal", slope_variance=0.3)
    ),
    "smooth slopes": World(
        BROKEN, CODES, COVARIATES, Priors(**TIGHT, slope="icar", slope_variance=0.3)
    ),
    "smooth slopes around 0": World(
        BROKEN, CODES, COVARIATES[:1], Priors(**TIGHT, slope="icar", slope_variance=0)
    ),
}


@njit(NONE(MODEL, STATE, FLOATS))
def note(model, state, trace):
    """Summarise; the kernel has no way in from Python."""
    kernels.summarise(model, state, trace)


def summaries(model, state):
    """The traced scalars, single effects of every kind of cell, and functions of the counts."""
    trace = np.zeros(scalars(model))
    note(model, state, trace)
    single = [
        *state.effect[:, [0, 3, 6, 8]].ravel(),
        state.eps[0, 0],
        state.eps[8, 2],
        (state.eps**2).sum(),
    ]
    lone = state.effect[:, model.part < 0].sum(axis=1) - model.size[-1] * state.mean[:, 0]
    single += [
        *(lone * np.sqrt(state.precision[:-1])) ** 2
    ]  # a chi-squared variable each, times the number of lone cells
    ties = [
        (state.effect * model.totals).sum(),
        (state.eps * model.counts).sum(),
        (np.log(state.rate) * model.counts).sum(),
    ]
    return np.array([*trace, *single, *ties])


def right(model):
    """The model as it is."""
    return model


def full_rank(model):
    """Slip: cells instead of cells less parts in the law of the precisions."""
    return _more_shape(model, 1.0)


def lone_parts(model):
    """Slip: cells without neighbours counted as parts."""
    return _more_shape(model, -model.size[-1] / 2)


def _more_shape(model, more):
    prior = model.scale_prior.copy()
    prior[:-1, 0] += more
    return model._replace(scale_prior=prior)


def unpenalised(model):
    """Slip: the exponential law of a standard deviation is half as steep."""
    return model._replace(scale_prior=model.scale_prior * np.array([1.0, 1.0, 0.5]))


def blind(model):
    """Slip: the counts never looked at, only their number."""
    totals = np.repeat(model.totals.mean(axis=1, keepdims=True), model.totals.shape[1], axis=1)
    return model._replace(counts=np.full_like(model.counts, model.counts.mean()), totals=totals)


def flat(model):
    """Slip: the prior of the intercepts left out, as recentring after a sweep does."""
    return model._replace(mean_precision=model.mean_precision * 1e-3)


def adrift(model):
    """Slip: a cell that moves its part's mean forgets how many lone cells hang on it."""
    return model._replace(size=np.array([*model.size[:-1], 0.0]))


def misplaced(model):
    """Slip: lone cells move with the last part instead of the first."""
    group = np.where(model.part < 0, model.part.max(), model.part)
    return model._replace(
        group=group, group_totals=model.totals @ np.eye(model.part.max() + 1)[group]
    )


def careless(model):
    """Slip: the counts enter the slopes at half their covariate."""
    return model._replace(totals=model.totals * np.array([[1.0], [1.0], [1.0], [0.5], [0.5]]))


@cache
def fresh(name):
    """Summaries of draws from the joint law."""
    rng = Streams(0)("fresh", name)
    return np.array([summaries(*WORLDS[name].draw(rng)) for _ in range(REPLICATES)])


def swept(name, slip):
    """Summaries of other such draws, after sweeps of the parameters given the counts."""
    world, rng = WORLDS[name], Streams(0)("swept", name)
    trace, total = np.zeros((1, scalars(world.model))), np.zeros_like(world.model.counts)
    rows = []
    for _ in range(REPLICATES):
        model, state = world.draw(rng)
        state.step[:] = 1.0
        sweep(rng, slip(model), state, 0, SWEEPS, trace, total)
        rows.append(summaries(model, state))
    return np.array(rows)


def invariance_pvalue(name, slip):
    """Both samples come from one law: Kolmogorov's test of each summary, with Bonferroni."""
    pairs = [
        (a, b) for a, b in zip(fresh(name).T, swept(name, slip).T, strict=True) if np.ptp(a) > 1e-9
    ]
    return min(1.0, len(pairs) * min(stats.ks_2samp(a, b).pvalue for a, b in pairs))


@pytest.mark.parametrize("name", WORLDS)
def test_a_sweep_leaves_the_joint_law_alone(name):
    assert invariance_pvalue(name, right) > LEVEL


@pytest.mark.parametrize(
    ("slip", "name"),
    [
        (full_rank, "levels only"),
        (lone_parts, "levels only"),
        (blind, "levels only"),
        (flat, "levels only"),
        (misplaced, "levels only"),
        (adrift, "lone cells"),
        pytest.param(unpenalised, "penalised", marks=pytest.mark.slow),  # twenty seconds
        (careless, "normal slopes"),
    ],
)
def test_the_check_sees(slip, name):
    assert invariance_pvalue(name, slip) < LEVEL
