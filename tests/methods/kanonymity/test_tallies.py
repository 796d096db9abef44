"""What a search counts on its way: the counts of the classes, and bounds that are never too high.

The counts are held to classes that are merged anew at each node.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.methods.kanonymity import quality
from veladura.methods.kanonymity.search import find_minimal
from veladura.methods.kanonymity.tallies import CLASS_SIZE, DISCERNIBILITY, Tallies

MODELS = (CLASS_SIZE, DISCERNIBILITY)


def searched(seed, columns, k, allowed, *, wide=False):
    """A fit of random whole numbers and what its search found; ``wide``: keys of several words."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{c}": rng.integers(0, 24, 120) for c in range(columns)})
    if wide:
        many = pd.DataFrame({name: np.arange(5_000) + 100 for name in frame})
        frame = pd.concat([frame, many], ignore_index=True)
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=k,
        max_suppression=len(frame) - 1,
        hierarchies={name: vd.Hierarchy.intervals((4, 12)) for name in frame},
    )
    fitted = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer")))
    return fitted, find_minimal(fitted.lattice, fitted.criteria, allowed)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 4),
    k=st.integers(2, 9),
    allowed=st.integers(0, 60),
)
def test_bounds_never_exceed_the_cost_of_a_good_node(seed, columns, k, allowed):
    fitted, found = searched(seed, columns, k, allowed)
    rows = fitted.lattice.rows
    for name in MODELS:
        model = quality.measure(name, fitted.lattice, {})
        bounds = found.tallies.bounds(name, rows, fitted.lattice.heights)
        costs = {
            node: model.value(node, fitted.criteria.at(node))
            for node in map(tuple, np.argwhere(found.good).tolist())
        }
        assert all(bounds[node] <= cost * (1 + 1e-12) for node, cost in costs.items())
        assert found.tallies.best(name, rows, found.good) >= min(costs.values())


@pytest.mark.parametrize(("columns", "wide"), [(3, False), (6, True)])
def test_counts_are_those_of_the_classes(columns, wide):
    k = 3
    fitted, found = searched(3, columns, k, 5_010 if wide else 20, wide=wide)
    tallies, words = found.tallies, fitted.lattice.keys.shape[1]
    assert words == (2 if wide else 1)
    assert {tuple(node) for node in tallies.nodes.tolist()} >= set(found.minimal)
    for node, *counts in zip(
        tallies.nodes[:200].tolist(), tallies.squares, tallies.kept, tallies.small, strict=False
    ):
        sizes = fitted.lattice.groups(node)[1]
        large = sizes[sizes >= k]
        assert counts == [np.sum(large**2), large.size, sizes[sizes < k].sum()]


def test_bounds_go_up_from_the_nodes_that_were_counted():
    tallies = Tallies(5, np.array([[0, 1], [1, 0]]), *np.array([[50, 90], [2, 1], [0, 10.0]]))
    bounds = tallies.bounds(DISCERNIBILITY, 100, [1, 1])
    assert bounds.tolist() == [[0, 50], [140, 140]]
    assert tallies.costs(DISCERNIBILITY, 100).tolist() == [50, 1090]
    assert tallies.costs(CLASS_SIZE, 100).tolist() == [50, 50]
    assert tallies.least(CLASS_SIZE, 100).tolist() == [50, 25]


def test_the_best_is_of_nodes_that_are_still_allowed():
    tallies = Tallies(5, np.array([[0], [1]]), *np.array([[50, 90], [2, 1], [0, 0.0]]))
    assert tallies.best(DISCERNIBILITY, 100, np.array([True, True])) == 50
    assert tallies.best(DISCERNIBILITY, 100, np.array([False, True])) == 90
    assert tallies.best(DISCERNIBILITY, 100, np.array([False, False])) == np.inf


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("allowed", [0, 5, 40])
def test_the_choice_is_the_same_without_them(name, allowed):
    fitted, found = searched(8, 4, 3, allowed)
    arguments = (fitted.criteria, name, {}, fitted.lattice)
    with_counts = quality.best_nodes(*arguments, found)
    assert with_counts == quality.best_nodes(*arguments, replace(found, tallies=None))
    assert all(found.good[node] for node in with_counts)
    assert set(with_counts) <= set(product(*(range(h + 1) for h in fitted.lattice.heights)))
