"""Posterior draws: exact in one dimension, the same for any threads, equal to a fit by NUTS."""

from __future__ import annotations

import json
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy import integrate, stats

from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.methods.geography import icar_kernels as kernels
from veladura.methods.geography.icar import sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign
from veladura.methods.geography.icar_priors import Priors
from veladura.numeric.mcmc.diagnostics import ChainWarning

sys.path.insert(0, str(Path(__file__).parent))
from tests.methods.geography.icar_world import BROKEN, CODES, lattice

LEVEL = 1e-5
REFERENCE = json.loads(Path(__file__).with_name("reference_icar.json").read_text(encoding="utf-8"))


@njit
def draw_many(rng, count, rate, precision, size):
    """Draw so many pairs; the kernel has no way in from Python."""
    drawn = np.empty((size, 2))
    for at in range(size):
        drawn[at, 0], drawn[at, 1] = kernels.log_concave(rng, count, rate, precision)
    return drawn


def log_density(t, count, rate, precision):
    return count * t - rate * np.exp(t) - precision * t * t / 2


@pytest.mark.parametrize(
    ("count", "rate", "precision"),
    [
        (0, 0.1, 1),
        (1, 0.1, 1),
        (0, 5, 0.25),
        (0, 5, 0.01),
        (3, 2, 0.5),
        (30, 2, 0.5),
        (500, 2, 0.01),
        (100, 90, 3),
        (2, 1e-4, 0.1),
        (1, 40, 20),
    ],
)
def test_one_dimensional_draws_follow_their_law(count, rate, precision):
    """Kolmogorov's test against numerical integration; both kinds of proposal occur."""
    drawn = draw_many(Streams(0)("law"), float(count), float(rate), float(precision), 20_000)
    assert drawn[:, 1] == pytest.approx(np.exp(drawn[:, 0]))
    low, high = drawn[:, 0].min() - 3, drawn[:, 0].max() + 3
    at = np.linspace(low, high, 200_001)
    log = log_density(at, count, rate, precision)
    mass = integrate.cumulative_trapezoid(np.exp(log - log.max()), at, initial=0)
    p = stats.kstest(drawn[:, 0], lambda x: np.interp(x, at, mass / mass[-1])).pvalue
    assert p > LEVEL
    shifted = stats.kstest(
        drawn[:, 0] + 0.1 * drawn[:, 0].std(), lambda x: np.interp(x, at, mass / mass[-1])
    ).pvalue
    assert shifted < LEVEL  # the test would see a law that is a tenth of its spread aside


def small(seed=0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(2.0, (3, 9))
    return (
        CellCounts(counts, np.zeros(9)),
        BROKEN,
        EffectDesign(CODES, rng.normal(size=(1, 3, 9)) * (counts > 0)),
        Priors(slope="icar"),
    )


SHORT = {"sweeps": 900, "burn": 300, "thin": 2, "chains": 3}


@pytest.mark.filterwarnings("ignore::veladura.numeric.mcmc.diagnostics.ChainWarning")
def test_the_same_bytes_for_any_number_of_threads():
    single, three = (
        sample(*small(), m=4, context=Context(Streams(5), threads=threads), **SHORT)
        for threads in (1, 3)
    )
    assert single.intensity.tobytes() == three.intensity.tobytes()
    assert single.mean.tobytes() == three.mean.tobytes()
    assert all(
        single.traces[name].tobytes() == three.traces[name].tobytes() for name in single.traces
    )
    assert single.intensity.shape == (4, 3, 9)
    assert len({draw.tobytes() for draw in single.intensity}) == 4


def test_chains_too_short_to_trust_are_told():
    # the lines to paste: the same chains, at least twice as long
    with pytest.warns(
        ChainWarning,
        match=r"have not converged[\s\S]*Hint: [\s\S]*\n  sweeps = \d+\n  burn = \d+\n",
    ) as caught:
        sample(
            *small(),
            m=2,
            context=Context(Streams(5), threads=1),
            sweeps=40,
            burn=10,
            thin=1,
            chains=2,
        )
    text = str(caught[0].message)
    sweeps, burn = (int(re.search(rf"{name} = (\d+)", text)[1]) for name in ("sweeps", "burn"))
    assert sweeps % 40 == burn % 10 == 0
    assert sweeps // 40 == burn // 10
    assert 2 <= sweeps // 40 <= 10


@pytest.mark.filterwarnings("ignore::veladura.numeric.mcmc.diagnostics.ChainWarning")
def test_a_level_without_rows_in_a_part_does_no_harm():
    """Its intercept follows the prior alone; all intensities stay finite."""
    counts, graph, design, _ = small()
    values = counts.values.copy()
    values[2, 6:8] = 0
    draws = sample(
        CellCounts(values, counts.offset),
        graph,
        EffectDesign(design.codes),
        Priors(),
        m=2,
        context=Context(Streams(1)),
        sweeps=4000,
        burn=1000,
    )
    assert np.all(np.isfinite(draws.intensity))
    assert np.all(draws.intensity >= 0)


def standard_error(name, theirs, trace):
    """Of the difference of two posterior means, by effective sample sizes."""
    from arviz_stats.base import array_stats

    ours = trace.var() / array_stats.ess(trace, method="mean")
    return np.sqrt(ours + theirs["sd"] ** 2 / theirs["ess"])


@pytest.mark.parametrize("name", REFERENCE["cases"])
def test_posterior_means_are_those_of_nuts(name):
    """Posterior means against NumPyro's, within Monte Carlo error at 1e-5 over all figures."""
    stored = REFERENCE["cases"][name]
    case, figures = stored["case"], stored["figures"]
    counts = CellCounts(np.array(case["counts"]), np.full(36, -np.log(36)))
    design = EffectDesign(np.array(case["codes"]), np.array(case["covariates"]).reshape(-1, 6, 36))
    draws = sample(
        counts,
        lattice(6, 6),
        design,
        Priors(
            **case["priors"],
            contrast_shape=case["priors"]["spatial_shape"],
            contrast_rate=case["priors"]["spatial_rate"],
            slope_shape=case["priors"]["spatial_shape"],
            slope_rate=case["priors"]["spatial_rate"],
        ),
        m=400,
        context=Context(Streams(2)),
        sweeps=9000,
        burn=1000,
    )
    scores = []
    for j, effect in enumerate(design.names):
        for ours, theirs in (
            (f"mean of {effect}, part 0", f"mean {j}"),
            (f"log sd of {effect}", f"log sd {j}"),
        ):
            if theirs in figures:
                trace = draws.traces[ours]
                scores.append(
                    (trace.mean() - figures[theirs]["mean"])
                    / standard_error(ours, figures[theirs], trace)
                )
    trace = draws.traces["log sd of eps"]
    scores.append(
        (trace.mean() - figures["log sd eps"]["mean"])
        / standard_error("eps", figures["log sd eps"], trace)
    )
    theirs = {key: np.array(value) for key, value in figures["intensity"].items()}
    error = np.sqrt(
        theirs["sd"] ** 2 / theirs["ess"] + draws.intensity.var(axis=0) / 400
    )  # 400 draws, all but independent
    scores += list(((draws.mean - theirs["mean"]) / error).ravel())
    limit = stats.norm.isf(LEVEL / 2 / len(scores))
    assert np.abs(scores).max() < limit
    # the comparison would see a sampler that is a quarter of a posterior standard deviation aside
    moved = (draws.mean + theirs["sd"] / 4 - theirs["mean"]) / error
    assert np.abs(moved).max() > limit


def test_chains_go_on_until_they_have_settled():
    """Short chains are extended; the last stretch alone counts, and threads change nothing."""
    short = {"sweeps": 60, "burn": 20, "thin": 1, "chains": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # settled: nothing to warn of
        runs = [
            sample(
                *small(),
                m=2,
                context=Context(Streams(5), threads=threads),
                most_sweeps=20_000,
                **short,
            )
            for threads in (1, 2)
        ]
    assert runs[0].intensity.tobytes() == runs[1].intensity.tobytes()
    assert not runs[0].diagnostics.poor
    kept = runs[0].traces["log likelihood"].shape[1]
    rounds = int(np.log2(kept // 40))
    assert kept == 40 * 2**rounds
    assert rounds > 0
    assert runs[0].sweeps == 60 + sum(40 * 2**r for r in range(1, rounds + 1)) <= 20_000


@pytest.mark.filterwarnings("ignore::veladura.numeric.mcmc.diagnostics.ChainWarning")
def test_settled_chains_stay_as_they_are():
    """What may follow does not change what was drawn."""
    one, two = (
        sample(*small(), m=2, context=Context(Streams(5)), sweeps=4000, burn=1000, **more)
        for more in ({}, {"most_sweeps": 50_000})
    )
    assert not one.diagnostics.poor
    assert one.intensity.tobytes() == two.intensity.tobytes()


def test_a_maximum_that_is_not_enough_is_told():
    with pytest.warns(ChainWarning, match=r"each took 80 sweeps"):
        sample(
            *small(),
            m=2,
            context=Context(Streams(5)),
            sweeps=40,
            burn=20,
            thin=1,
            chains=2,
            most_sweeps=130,
        )
