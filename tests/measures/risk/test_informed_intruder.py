"""The strongest intruder: beside brute force on a small world, and releases that disclose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.base.context import Context
from veladura.base.streams import Streams
from veladura.errors import NotApplicable
from veladura.measures.measure import Subject
from veladura.measures.risk.informed_intruder import MEASURE
from veladura.methods.geography.icar import sample
from veladura.methods.geography.icar_model import CellCounts, EffectDesign, Graph
from veladura.methods.geography.icar_priors import Priors
from veladura.methods.geography.informed import Intruded

pytestmark = pytest.mark.filterwarnings("ignore::veladura.errors.VeladuraWarning")
LINE = Graph.of_pairs(4, [(0, 1), (1, 2), (2, 3)])
ONE = EffectDesign(np.zeros((1, 0), dtype=np.int64))
PRIORS = Priors(spatial_shape=2, spatial_rate=2, extra_shape=3, extra_rate=1)
COUNTS = np.array([[4, 1, 2, 3]])
RELEASED = [np.array([[2, 0, 3, 2]]), np.array([[3, 1, 2, 1]])]
OFFSET = np.zeros(4)


def shares(counts, number):
    """Posterior draws of the shares of cells."""
    draws = sample(
        CellCounts(counts, OFFSET),
        LINE,
        ONE,
        PRIORS,
        m=1500,
        context=Context(Streams(3)).within("brute force", number),
        sweeps=7000,
        burn=1000,
        chains=2,
    )
    return draws.intensity[:, 0] / draws.intensity[:, 0].sum(axis=1, keepdims=True)


def by_definition(target):
    """p(g | others) p(S_1 | g) p(S_2 | g), each by its own chains and the multinomial law."""
    others = COUNTS.copy()
    others[0, target] -= 1
    belief = shares(others, "others").mean(axis=0)
    for g in range(4):
        with_target = others.copy()
        with_target[0, g] += 1
        p = shares(with_target, g)
        for drawn in RELEASED:
            belief[g] *= np.exp(stats.multinomial.logpmf(drawn[0], drawn.sum(), p)).mean()
    return belief / belief.sum()


@pytest.mark.parametrize("target", [0, 2])
def test_beliefs_are_those_of_brute_force(target):
    world = Intruded(CellCounts(COUNTS, OFFSET), RELEASED, LINE, ONE, PRIORS)
    group, cell = np.zeros(1, dtype=np.int64), np.array([target])
    found = world.beliefs(group, cell, 8000, Streams(5))
    truth = by_definition(target)
    assert found.after[0] == pytest.approx(truth[target], abs=0.025)


def test_releases_of_the_counts_themselves_are_noticed():
    """Named control: datasets that repeat the true cells tell more than draws from the model."""
    rng = np.random.default_rng(1)
    counts = rng.poisson([[6, 1, 1, 6, 0, 0, 3, 1, 9]])
    graph = Graph.of_pairs(9, [(i, i + 1) for i in range(8)])
    priors = Priors(extra_shape=4, extra_rate=20)
    cell = np.repeat(np.arange(9), counts[0])
    group = np.zeros(cell.size, dtype=np.int64)
    drawn = sample(
        CellCounts(counts, np.zeros(9)), graph, ONE, priors, m=5, context=Context(Streams(1))
    ).intensity
    model = [
        rng.multinomial(cell.size, each[0] / each[0].sum())[None].astype(np.int64) for each in drawn
    ]
    honest, naive = (
        Intruded(CellCounts(counts, np.zeros(9)), released, graph, ONE, priors)
        .beliefs(group, cell, 3000, Streams(2))
        .after.mean()
        for released in (model, [counts] * 5)
    )
    assert naive > honest + 0.02


def people(rows=120):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.random((rows, 2)).round(3), columns=["x", "y"])
    return frame.assign(ill=rng.choice(["yes", "no"], rows))


def test_a_release_of_the_model_has_figures_and_a_mask_has_none():
    frame = people()
    places = {"x": "x", "y": "y", "region": [0, 0, 1, 1], "grid": (4, 4)}
    release = vd.Geography(**places, attributes=["ill"], m=2, sweeps=400, burn=100).protect(
        frame, seed=1
    )
    risk = vd.risk.informed_intruder(frame, release, targets=60)
    assert 0.05 < risk.prior.value < 0.1  # one in sixteen, nearly uniform
    assert abs(risk.posterior.value - risk.prior.value) < 0.05
    masked = vd.NaiveGeography(**places).protect(frame, seed=1)
    with pytest.raises(NotApplicable, match="not drawn from a model"):
        vd.risk.informed_intruder(frame, masked)


def test_large_maps_ask_for_sweeps():
    frame = people(300).assign(job=[str(i % 30) for i in range(300)])
    release = vd.Geography(
        x="x",
        y="y",
        attributes=["job"],
        region=[0, 0, 1, 1],
        grid=(30, 30),
        m=2,
        sweeps=60,
        burn=20,
        chains=1,
        most_sweeps=60,
    ).protect(frame, seed=1)
    figures, _ = MEASURE.apply(Subject(vd.open(frame), release))
    assert all("sweeps=2000" in figure.why for figure in figures)
