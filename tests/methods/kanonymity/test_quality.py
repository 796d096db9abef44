"""Quality models: their definitions on a small table, and the best of all good nodes."""

from __future__ import annotations

import math
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity import brute

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity.quality import BALANCED, QUALITIES, measure


def cost(name: str, table: brute.Small, node, k: int) -> float:
    """A quality model as it is defined, row by row."""
    rows, width = [table.raised(row, node) for row in table.rows], len(table.names)
    sizes, n = Counter(rows), len(rows)
    gone = [row for row in rows if sizes[row] < k]
    if name == "average-class-size":
        return n / (sum(size >= k for size in sizes.values()) + bool(gone))
    if name == "discernibility":
        return sum(size**2 if size >= k else n * size for size in sizes.values())
    if name == "discernibility-before-suppression":
        return sum(size**2 for size in sizes.values())
    if name == "loss":
        product = 1.0
        for c in range(width):
            domain = len(table.ladders[c])
            share = Counter(step[node[c]] for step in table.ladders[c])
            total = sum(1.0 if sizes[row] < k else share[row[c]] / domain for row in rows)
            product *= 1 + (
                max((total / n - 1 / domain) / (1 - 1 / domain), 0.0) if domain > 1 else 0.0
            )
        return product ** (1 / width) - 1
    bits = 0.0
    for c in range(width):
        before, after, left = (
            Counter(row[c] for row in table.rows),
            Counter(row[c] for row in rows),
            Counter(row[c] for row in gone),
        )
        bits += sum(
            math.log2(after[row[c]] / before[original[c]])
            for row, original in zip(rows, table.rows, strict=True)
        )
        if name == "non-uniform-entropy":
            bits += sum(math.log2(len(gone) / left[row[c]]) for row in gone)
    return bits


@pytest.mark.parametrize("name", [name for name in QUALITIES if name != BALANCED])
@given(table=brute.small_tables(), allowed=st.integers(0, 6), k=st.integers(2, 4))
@settings(max_examples=40, deadline=None)
def test_the_best_node_is_the_best_of_all_that_satisfy(name, table, allowed, k):
    allowed = min(allowed, len(table.rows) - 1)
    recipe = vd.KAnonymity(
        quasi_identifiers=table.names,
        k=k,
        max_suppression=allowed,
        hierarchies=table.hierarchies,
        prefer=name,
    )
    fitted = recipe.fit(table.frame)
    every = (tuple(range(len(table.names))),)
    good = [
        node
        for node in table.nodes
        if brute.suppressed(table, node, every, lambda s, _: len(s) >= k) <= allowed
    ]
    quality = measure(name, fitted.lattice, {})
    for node in good:
        assert quality.value(node, fitted.criteria.at(node)) == pytest.approx(
            cost(name, table, node, k), abs=1e-9
        )
    chosen = tuple(fitted.chosen.levels.values())
    assert chosen in good
    assert cost(name, table, chosen, k) == pytest.approx(
        min(cost(name, table, node, k) for node in good), abs=1e-9
    )


def test_the_best_node_need_not_be_minimal():
    """Suppressing twelve rows is allowed, but merging two values keeps them all."""
    frame = pd.DataFrame({"x": ["a"] * 20 + [f"b{i}" for i in range(12)]})
    ladder = [("a", "A", "*"), *((f"b{i}", "B", "*") for i in range(12))]
    settings_ = {
        "quasi_identifiers": ["x"],
        "k": 5,
        "max_suppression": 12,
        "hierarchies": {"x": vd.Hierarchy.explicit(ladder)},
    }
    fitted = vd.KAnonymity(**settings_, prefer="discernibility").fit(frame)
    assert [node.levels["x"] for node in fitted.minimal] == [0]
    assert fitted.chosen.levels["x"] == 1
    assert len(fitted.sample().datasets[0]) == 32


def test_weights_move_the_choice_of_a_quality_model():
    frame = pd.DataFrame(
        [(a, b) for a in "pqrs" for b in "wxyz" for _ in range(1)], columns=["a", "b"]
    )
    stars = {name: vd.Hierarchy.star() for name in "ab"}
    chosen = {
        heavy: (
            vd.KAnonymity(
                quasi_identifiers=["a", "b"],
                k=2,
                max_suppression=0,
                hierarchies=stars,
                prefer="non-uniform-entropy",
                weights={heavy: 9.0},
            )
            .fit(frame)
            .chosen.levels
        )
        for heavy in "ab"
    }
    assert chosen == {"a": {"a": 0, "b": 1}, "b": {"a": 1, "b": 0}}


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"prefer": "lossy"}, "prefer 'lossy' is not known"),
        ({"prefer": ["min-distance", "loss"]}, "must stand first"),
        ({"prefer": "average-class-size", "weights": {"a": 2.0}}, "weights do not go with"),
        ({"weights": {"a": -1.0}}, "at least 0"),
        ({"weights": {"a": 0.0}}, "at least one must be above 0"),
        ({"weights": {"z": 1.0}}, "not quasi-identifiers"),
    ],
)
def test_preferences_that_cannot_be_meant(given_, match):
    with pytest.raises(PlanError, match=match):
        vd.KAnonymity(quasi_identifiers=["a"], **given_)
