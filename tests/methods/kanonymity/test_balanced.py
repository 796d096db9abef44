"""The default choice: no column is given up while there is another way, then the least loss."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity import brute
from tests.methods.kanonymity.test_quality import cost

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity import kanonymity, search
from veladura.methods.kanonymity.coarse import CoarseColumnWarning
from veladura.methods.kanonymity.quality import measure


def given_up(table: brute.Small, node) -> int:
    """Columns with several values in the table that have one at a node, row by row."""
    number = 0
    for c in range(len(table.names)):
        before = {row[c] for row in table.rows}
        after = {table.raised(row, node)[c] for row in table.rows}
        number += len(before) > 1 and len(after) == 1
    return number


@given(table=brute.small_tables(), allowed=st.integers(0, 6), k=st.integers(2, 4))
@settings(max_examples=150, deadline=None)
def test_the_choice_is_the_best_of_every_node(table, allowed, k):
    allowed = min(allowed, len(table.rows) - 1)
    recipe = vd.KAnonymity(
        quasi_identifiers=table.names, k=k, max_suppression=allowed, hierarchies=table.hierarchies
    )
    assert recipe.prefer == ("balanced",)
    every = (tuple(range(len(table.names))),)
    good = [
        node
        for node in table.nodes
        if brute.suppressed(table, node, every, lambda s, _: len(s) >= k) <= allowed
    ]
    fewest = min(given_up(table, node) for node in good)
    fair = [node for node in good if given_up(table, node) == fewest]
    chosen = tuple(recipe.fit(table.frame).chosen.levels.values())
    assert chosen in fair
    least = min(cost("loss", table, node, k) for node in fair)
    assert cost("loss", table, chosen, k) == pytest.approx(least, abs=1e-9)


def register(rows: int = 3000, seed: int = 2) -> pd.DataFrame:
    """Columns with hierarchies of very different heights."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "sex": rng.choice(["f", "m"], rows),
            "zip": [f"{number:05d}" for number in rng.integers(10000, 10400, rows)],
            "job": rng.choice(list("abcdefgh"), rows),
        }
    )


HIERARCHIES = {
    "age": vd.Hierarchy.intervals([5, 10, 20, 40, 80]),
    "sex": vd.Hierarchy.star(),
    "zip": vd.Hierarchy.mask(5),
    "job": vd.Hierarchy.groups({"x": list("abcd"), "y": list("efgh")}),
}


@pytest.mark.parametrize("k", [3, 5, 10])
def test_no_column_is_given_up_where_the_old_default_gave_one_up(k):
    frame = register()
    shared = {"quasi_identifiers": list(frame), "k": k, "hierarchies": HIERARCHIES}
    fitted = vd.KAnonymity(**shared).fit(frame)
    heights = fitted.chosen.heights
    free = [n for n in fitted.minimal if all(n.levels[c] < heights[c] for c in heights)]
    assert free
    assert all(fitted.chosen.levels[name] < heights[name] for name in heights)


def test_a_lattice_too_large_to_search_whole_is_chosen_from_fairly(monkeypatch):
    monkeypatch.setattr(search, "MOST_NODES", 10)
    frame = register()
    recipe = vd.KAnonymity(quasi_identifiers=list(frame), hierarchies=HIERARCHIES)
    with pytest.warns(kanonymity.BestEffortWarning):
        fitted = recipe.fit(frame)
    tops = {
        node: sum(node.levels[c] == node.heights[c] for c in node.levels) for node in fitted.minimal
    }
    quality = measure("loss", fitted.lattice, {})
    losses = {
        tuple(node.levels.values()): quality.value(
            tuple(node.levels.values()), fitted.criteria.at(tuple(node.levels.values()))
        )
        for node, number in tops.items()
        if number == min(tops.values())
    }
    assert losses[fitted.vector] == min(losses.values())


def test_weights_of_columns_move_the_choice():
    frame = pd.DataFrame([(a, b) for a in "pqrs" for b in "wxyz"], columns=["a", "b"])
    halves = {
        "a": vd.Hierarchy.groups({"1": ["p", "q"], "2": ["r", "s"]}),
        "b": vd.Hierarchy.groups({"1": ["w", "x"], "2": ["y", "z"]}),
    }
    settings_ = {"quasi_identifiers": ["a", "b"], "k": 2, "max_suppression": 0}
    for heavy, light in (("a", "b"), ("b", "a")):
        recipe = vd.KAnonymity(**settings_, hierarchies=halves, weights={heavy: 9.0})
        assert recipe.fit(frame).chosen.levels == {heavy: 0, light: 1}


def test_balanced_must_stand_first():
    with pytest.raises(PlanError, match="must stand first"):
        vd.KAnonymity(quasi_identifiers=["a"], prefer=["min-distance", "balanced"])


def flat(frame: pd.DataFrame, **levels: int) -> vd.KAnonymity:
    return vd.KAnonymity(
        quasi_identifiers=list(frame),
        k=2,
        hierarchies={
            "age": vd.Hierarchy.intervals([50]),
            "sex": vd.Hierarchy.star(),
        },
        levels=levels,
    )


def test_a_column_that_says_nothing_any_more_is_told():
    frame = pd.DataFrame({"age": [*range(1, 50)] * 2 + [60, 60], "sex": ["f", "m"] * 50})
    with pytest.warns(CoarseColumnWarning) as caught:
        flat(frame, age=1, sex=1).protect(frame)
    text = str(caught[0].message)
    assert "'age' says little: 98 of 100 rows are in one band" in text
    assert "'sex' is given up: all 100 rows get the same value" in text
    assert "veladura ways" in text


def test_a_column_that_said_nothing_before_is_not_told():
    frame = pd.DataFrame({"age": [*range(1, 51)] * 2, "sex": ["f"] * 98 + ["m"] * 2})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flat(frame, age=0, sex=0).protect(frame.assign(sex="f"))
        half = frame.assign(age=[25, 75] * 50)
        flat(half, age=1, sex=0).protect(half)
