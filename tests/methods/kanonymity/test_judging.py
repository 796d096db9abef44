"""The best nodes by a quality model: the compiled walk beside every good node judged by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.methods.kanonymity import quality
from veladura.methods.kanonymity.quality import BALANCED, BY_COLUMN, QUALITIES, TIE, measure
from veladura.methods.kanonymity.search import find_minimal


def one_by_one(criteria, name, weights, lattice, found):
    """The nodes of least cost, each good node judged in Python from its own equivalence classes."""
    kept = quality.least_given_up(lattice, found) if name == BALANCED else found
    model = measure("loss" if name == BALANCED else name, lattice, weights)
    values = {
        node: model.value(node, criteria.at(node))
        for node in map(tuple, np.argwhere(kept.good).tolist())
    }
    best = min(values.values())
    return sorted(node for node, value in values.items() if value <= best + TIE * abs(best))


def searched(frame, k, allowed):
    """The lattice of a table of whole numbers, and which of its nodes are good."""
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=k,
        max_suppression=len(frame) - 1,
        hierarchies={name: vd.Hierarchy.intervals((4, 12)) for name in frame},
    )
    fitted = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer")))
    found = find_minimal(fitted.lattice, fitted.criteria, allowed)
    return fitted.lattice, fitted.criteria, found


def compiled_and_python(frame, k, allowed, name, weights):
    lattice, criteria, found = searched(frame, k, allowed)
    told = quality.best_nodes(criteria, name, weights, lattice, found)
    return told, one_by_one(criteria, name, weights, lattice, found)


@pytest.fixture
def _always_compiled(monkeypatch):
    monkeypatch.setattr(quality, "FEW", -1)


def random_rows(seed, columns, rows):
    """Columns of which some tell much and some hardly anything, with values that occur often."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            f"q{c}": np.minimum(rng.geometric(rng.uniform(0.05, 0.6), rows), 30)
            for c in range(columns)
        }
    )


@pytest.mark.usefixtures("_always_compiled")
@pytest.mark.parametrize("name", QUALITIES)
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    columns=st.integers(1, 4),
    k=st.integers(2, 9),
    share=st.sampled_from([0.0, 0.02, 0.1, 0.5, 0.99]),
    heavy=st.sampled_from([{}, {"q0": 5.0}, {"q0": 0.5}]),
)
def test_the_compiled_walk_chooses_what_judging_every_node_chooses(
    name, seed, columns, k, share, heavy
):
    frame = random_rows(seed, columns, 150)
    weights = heavy if name in BY_COLUMN else {}
    told, expected = compiled_and_python(frame, k, int(share * len(frame)), name, weights)
    assert told == expected


@pytest.mark.usefixtures("_always_compiled")
@pytest.mark.parametrize("name", QUALITIES)
def test_keys_of_several_words_are_judged_alike(name):
    frame = random_rows(3, 6, 300)
    wide = pd.DataFrame({column: np.arange(3_000) + 100 for column in frame})
    frame = pd.concat([frame, wide], ignore_index=True)
    lattice, criteria, found = searched(frame, 4, 3_100)
    assert lattice.keys.shape[1] > 1
    # Every node is judged in Python here, so that some of them must do.
    some = np.zeros_like(found.good)
    some[1:, 2:, ::3, :1, 3:, ::2] = True
    open_nodes = found.good & some
    minimal = tuple(map(tuple, np.argwhere(open_nodes).tolist()))
    part = type(found)(minimal, open_nodes)
    assert quality.best_nodes(criteria, name, {}, lattice, part) == one_by_one(
        criteria, name, {}, lattice, part
    )


def test_a_table_without_a_cost_ties_at_all_its_nodes():
    """Levels that change nothing cost nothing: all nodes are equally good, and all are told."""
    frame = pd.DataFrame({"q0": [100] * 20, "q1": [200] * 20})
    for name in ("loss", "non-uniform-entropy", "discernibility"):
        told, expected = compiled_and_python(frame, 3, 0, name, {})
        assert told == expected
        assert len(told) == 16
