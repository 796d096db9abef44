"""Generalisation of one table by another: the paper's tables, and the definition by matching."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from tests.methods.kanonymity.test_search import EIGHT, HIERARCHIES, TWELVE, ZIPS

import veladura as vd
from veladura.errors import PlanError

LADDERS = {
    "ethnicity": {e: (e, "*") for e in ("asian", "black", "white")},
    "zip": {row[0]: (row[0], row[1], "*") for row in ZIPS},
}


def raised(frame: pd.DataFrame, vector: tuple[int, ...]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            name: [LADDERS[name][value][level] for value in frame[name]]
            for name, level in zip(LADDERS, vector, strict=True)
        }
    )


VECTORS = list(itertools.product(range(2), range(3)))


def by_definition(original: pd.DataFrame, table: pd.DataFrame) -> tuple[int, ...] | None:
    """The lowest levels with an injective map from the rows of the table to rows that become it."""
    for vector in sorted(VECTORS, key=sum):
        up = raised(original, vector).to_numpy()
        edges = (table.to_numpy()[:, None, :] == up[None]).all(axis=2)
        matched = maximum_bipartite_matching(csr_array(edges), perm_type="column")
        if len(table) == 0 or (matched >= 0).all():
            return vector
    return None


def smallest(frame: pd.DataFrame) -> int:
    return int(frame.value_counts().min()) if len(frame) else 0


def minimal_by_definition(original, k, allowed) -> dict[tuple[int, ...], pd.DataFrame]:
    """Every k-minimal generalisation: outliers removed, none with a smaller vector."""
    good = {}
    for vector in VECTORS:
        up = raised(original, vector)
        sizes = up.groupby(list(up))["zip"].transform("size")
        if (sizes < k).sum() <= allowed and (sizes >= k).any():
            good[vector] = up[sizes >= k]
    return {
        v: table
        for v, table in good.items()
        if not any(o != v and all(np.array(o) <= v) for o in good)
    }


@pytest.mark.parametrize("frame", [TWELVE, EIGHT], ids=["twelve", "eight"])
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_the_minimal_tables_are_those_of_the_definition(frame, k, allowed):
    minimal = minimal_by_definition(frame, k, allowed)
    for vector in VECTORS:
        table = raised(frame, vector)
        sizes = table.groupby(list(table))["zip"].transform("size")
        table = table[sizes >= k]
        if not len(table):
            continue
        found = vd.generalisation_of(frame, table, HIERARCHIES, k=k, max_suppression=allowed)
        assert found.holds
        assert tuple(found.distance.values()) == vector
        assert found.suppressed == len(frame) - len(table)
        assert found.k == smallest(table)
        assert found.minimal == (vector in minimal), (vector, found.why)


def test_random_tables_by_matching():
    """200 tables: rows taken out, doubled, or raised to mixed levels."""
    rng = np.random.default_rng(13)
    yes = 0
    for _ in range(200):
        frame = TWELVE.sample(8, replace=True, random_state=int(rng.integers(1 << 30)))
        table = raised(frame, VECTORS[rng.integers(6)]).sample(frac=rng.choice([0.5, 1.0]))
        damage = rng.integers(4)
        if damage == 0:
            table = pd.concat([table, table.iloc[:1]])
        elif damage == 1:
            table.iloc[0, 1] = raised(frame, VECTORS[rng.integers(6)]).iloc[0, 1]
        expected = by_definition(frame, table[(table != "*").any(axis=1)])
        if not (table != "*").any(axis=None):
            expected = by_definition(frame, table)
        found = vd.generalisation_of(frame, table, HIERARCHIES)
        assert bool(found) == (expected is not None)
        yes += bool(found)
        if expected is not None:
            assert tuple(found.distance.values()) == expected
    assert 60 < yes < 190  # both answers occur


def test_why_it_is_none_and_why_it_is_not_minimal():
    def why(table, **more):
        return vd.generalisation_of(TWELVE, table, HIERARCHIES, **more).why

    mixed = TWELVE.assign(zip=TWELVE["zip"].where(TWELVE.index > 3, "0213*"))
    assert "no single level" in why(mixed)
    assert "more rows" in why(pd.concat([TWELVE, TWELVE]))
    assert "not k-anonymous" in why(TWELVE, k=2)
    assert "smaller distance vector" in why(raised(TWELVE, (1, 1)), k=2)
    assert "more than allowed" in why(raised(TWELVE, (0, 1)).iloc[2:], k=2)
    assert "would do" in why(raised(TWELVE, (0, 1)).iloc[2:], k=2, max_suppression=2)


def test_a_release_is_a_minimal_generalisation_of_its_source():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"zip": rng.choice([z[0] for z in ZIPS], 300), "age": rng.integers(0, 90, 300)}
    )
    hierarchies = {"zip": vd.Hierarchy.mask(5), "age": vd.Hierarchy.intervals([5, 10, 20])}
    recipe = vd.KAnonymity(
        quasi_identifiers=["zip", "age"],
        k=5,
        max_suppression=0.05,
        hierarchies=hierarchies,
        prefer="min-distance",
    )
    release = recipe.protect(frame)
    found = vd.generalisation_of(frame, release.datasets[0], hierarchies, k=5, max_suppression=0.05)
    assert found.minimal
    assert found.distance == release.manifest["steps"][0]["settings"]["levels"]


def test_settings_that_ask_nothing_are_refused():
    with pytest.raises(PlanError, match="hierarchies is empty"):
        vd.generalisation_of(TWELVE, TWELVE, {})
    with pytest.raises(PlanError, match="at least 1"):
        vd.generalisation_of(TWELVE, TWELVE, HIERARCHIES, k=0)
