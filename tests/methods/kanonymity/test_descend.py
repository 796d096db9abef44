"""Lattices too large to be decided whole: some of the k-minimal nodes, and the release says so."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.kanonymity import search
from veladura.methods.kanonymity.kanonymity import BestEffortWarning
from veladura.methods.kanonymity.search import descend, walk_lattice


@pytest.mark.parametrize("seed", range(8))
def test_every_node_found_is_one_of_the_minimal_ones(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{i}": (16 * rng.random(300) ** 2).astype(int) for i in range(4)})
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=4,
        max_suppression=0,
        hierarchies={name: vd.Hierarchy.intervals((2, 4, 8)) for name in frame},
    )
    lattice = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer"))).lattice
    for allowed in (0, 10, 60):
        whole, complete = walk_lattice(lattice, 4, allowed)
        some = descend(lattice, 4, allowed)
        assert complete
        assert some
        assert set(some) <= set(whole)


def test_a_huge_lattice_gets_a_good_answer_that_says_it_is_not_the_whole(monkeypatch):
    monkeypatch.setattr(search, "MOST_NODES", 50)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"q{i}": (16 * rng.random(300) ** 2).astype(int) for i in range(4)})
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=4,
        hierarchies={name: vd.Hierarchy.intervals((2, 4, 8)) for name in frame},
    )
    with pytest.warns(BestEffortWarning, match="there may be better ones"):
        release = recipe.protect(vd.open(frame, dict.fromkeys(frame, "integer")))
    assert release.manifest["steps"][0]["settings"]["search_complete"] is False
    assert release.datasets[0].groupby(list(frame), observed=True).size().min() >= 4


def test_half_a_billion_nodes_are_no_obstacle():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({f"q{i}": (32 * rng.random(500) ** 3).astype(int) for i in range(11)})
    recipe = vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=5,
        hierarchies={name: vd.Hierarchy.intervals((2, 4, 8, 16)) for name in frame},
    )
    with pytest.warns(BestEffortWarning):
        fitted = recipe.fit(vd.open(frame, dict.fromkeys(frame, "integer")))
    assert fitted.lattice.nodes > 300_000_000
    assert fitted.chosen.suppressed <= 10
