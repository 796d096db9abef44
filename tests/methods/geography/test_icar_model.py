"""The model's arrays: parts, ranks, levels, standardised covariates, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veladura.errors import PlanError
from veladura.methods.geography.icar_chain import lay_out, settle
from veladura.methods.geography.icar_model import (
    CellCounts,
    EffectDesign,
    Graph,
    standardise,
)
from veladura.methods.geography.icar_priors import Priors, unit_spread

sys.path.insert(0, str(Path(__file__).parent))
from tests.methods.geography.icar_world import BROKEN, CODES, World, lattice, precision_matrix


def test_a_lattice_has_corners_of_three_and_inner_cells_of_eight():
    degree = np.diff(lattice(4, 5).start).reshape(4, 5)
    assert degree[0, 0] == 3
    assert degree[0, 1] == 5
    assert np.all(degree[1:-1, 1:-1] == 8)


def test_parts_come_largest_first_and_lone_cells_are_none():
    assert BROKEN.part.tolist() == [0, 0, 0, -1, -1, -1, 1, 1, -1]
    assert (BROKEN.cells, BROKEN.parts, BROKEN.rank) == (9, 2, 7)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] != pair[1]),
        max_size=20,
    )
)
def test_the_rank_is_that_of_the_precision_with_lone_cells_proper(pairs):
    graph = Graph.of_pairs(10, pairs)
    matrix = precision_matrix(graph) + np.diag((graph.part < 0).astype(float))
    assert np.linalg.matrix_rank(matrix) == graph.rank
    assert {tuple(pair) for pair in graph.pairs.tolist()} == {
        (min(pair), max(pair)) for pair in pairs
    }


def test_a_world_observes_as_the_model_is_laid_out():
    """The shortcut of the invariance test gives the arrays that a user's counts give."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(1.0, (9, 3))
    world = World(BROKEN, CODES, rng.normal(size=(2, 3, 9)), Priors())
    for ours, laid in zip(
        world.observe(counts),
        lay_out(CellCounts(counts.T, world.offset), BROKEN, world.design, Priors()),
        strict=True,
    ):
        assert np.asarray(ours) == pytest.approx(np.asarray(laid))


def test_dummies_name_the_levels_above_the_first():
    design = EffectDesign(np.array([[0, 0], [0, 2], [1, 1]]))
    assert design.dummies.tolist() == [[1, 1, 1], [0, 0, 1], [0, 0, 1], [0, 1, 0]]
    assert design.names == (
        "common",
        "attribute 0 level 1",
        "attribute 1 level 1",
        "attribute 1 level 2",
    )
    assert design.levels == (2, 3)


def test_standardising_runs_over_the_cells_that_hold_rows():
    counts = np.array([[1, 0, 2, 5], [0, 0, 1, 0], [1, 1, 0, 0]])
    means = np.array(
        [[1.0, np.nan, 3.0, 5.0], [np.nan, np.nan, 7.0, np.nan], [4.0, 4.0, np.nan, np.nan]]
    )
    assert standardise(means, counts) == pytest.approx(
        np.array([[-1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
    )


def test_the_first_rates_are_the_formula():
    """log lambda = mu + alpha + theta + phi + beta Zbar + eps + log area, in every cell."""
    rng = np.random.default_rng(0)
    counts = CellCounts(rng.poisson(1.0, (3, 9)), rng.normal(size=9))
    z = rng.normal(size=(2, 3, 9)) * (counts.values > 0)
    model = lay_out(counts, BROKEN, EffectDesign(CODES, z), Priors())
    effect, eps = rng.normal(size=(5, 9)), rng.normal(size=(9, 3))
    state = settle(model, counts.offset, effect, eps, np.ones(6))
    for b, (first, second) in enumerate(CODES):
        for i in range(9):
            linear = counts.offset[i] + effect[0, i] + first * effect[1, i] + second * effect[2, i]
            linear += z[0, b, i] * effect[3, i] + z[1, b, i] * effect[4, i]
            assert state.rate[i, b] * state.boost[i, b] == pytest.approx(np.exp(linear + eps[i, b]))


COUNTS = np.ones((3, 9), dtype=np.int64)
REFUSED = {
    "pairs of two different cells": lambda: Graph.of_pairs(3, [(0, 3)]),
    "whole numbers of at least 0": lambda: CellCounts(COUNTS - 2, np.zeros(9)),
    "one finite log area": lambda: CellCounts(COUNTS, np.full(9, -np.inf)),
    "by combination and attribute": lambda: EffectDesign(CODES + 0.5),
    "from 0 to the largest": lambda: EffectDesign(CODES * 2),
    "must be finite": lambda: EffectDesign(CODES, np.full((1, 3, 9), np.nan)),
    "spatial_rate must be a number above 0": lambda: Priors(spatial_rate=0),
    "spatial_sd must be a number above 0": lambda: Priors(spatial_sd=0),
    "tail must be a probability": lambda: Priors(tail=1),
    "slope_variance must be": lambda: Priors(slope_variance=-1),
    "did you mean 'icar'": lambda: Priors(slope="icra"),
    "the design 3, the neighbours 4": lambda: lay_out(
        CellCounts(COUNTS, np.zeros(9)), lattice(2, 2), EffectDesign(CODES), Priors()
    ),
    "covariates must have the shape": lambda: lay_out(
        CellCounts(COUNTS, np.zeros(9)), BROKEN, EffectDesign(CODES, np.ones((1, 3, 8))), Priors()
    ),
    "no two of the 9 usable cells are neighbours": lambda: lay_out(
        CellCounts(COUNTS, np.zeros(9)), Graph.of_pairs(9, []), EffectDesign(CODES), Priors()
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_does_not_fit_is_refused(words):
    with pytest.raises(PlanError, match=words):
        REFUSED[words]()


@pytest.mark.parametrize("graph", [lattice(5, 7), BROKEN], ids=["lattice", "parts and lone cells"])
def test_the_unit_spread_is_that_of_the_generalised_inverse(graph):
    variance = np.diag(np.linalg.pinv(precision_matrix(graph))).copy()
    variance[graph.part < 0] = 1.0
    assert unit_spread(graph) ** 2 == pytest.approx(np.exp(np.log(variance).mean()))


def test_a_limit_is_exceeded_with_the_tail_probability_on_any_graph():
    rng = np.random.default_rng(3)
    for graph in (lattice(3, 3), lattice(9, 9)):
        prior = Priors(spatial_sd=2.0, contrast_sd=0.5, extra_sd=0.1, tail=0.05)
        rows = prior.of_scales(graph, 2)
        spread = np.array([unit_spread(graph), unit_spread(graph), 1.0])
        sd = spread * rng.exponential(1 / rows[:, 2], (40_000, 3))
        assert np.mean(sd > [2.0, 0.5, 0.1], axis=0) == pytest.approx([0.05] * 3, abs=0.005)


def test_gamma_priors_are_those_that_are_given():
    rows = Priors(
        spatial_shape=2, spatial_rate=5, contrast_shape=3, contrast_rate=6, extra_rate=7
    ).of_scales(lattice(2, 2), 3)
    assert rows.tolist() == [[2, 5, 0], [3, 6, 0], [3, 6, 0], [1, 7, 0]]
