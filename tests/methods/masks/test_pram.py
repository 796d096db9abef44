"""PRAM changes categories by the chances it tells, and tells of none that did not come out."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import veladura as vd
from veladura.base.streams import Streams
from veladura.core.promise import Evidence
from veladura.errors import DataError, PlanError
from veladura.methods.masks.pram_matrix import (
    Transition,
    drawn,
    from_table,
    improbable_changes,
    invariant,
    matrix_faults,
)
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick

LEVEL = 1e-5
RARE = "canary-rare"
CHANCES = np.array([[0.7, 0.2, 0.1], [0.0, 0.6, 0.4], [0.5, 0.0, 0.5]])


@given(st.lists(st.integers(10, 5000), min_size=2, max_size=12), st.floats(0, 0.999))
@settings(max_examples=60, deadline=None)
def test_the_matrix_leaves_the_frequencies_alone_and_keeps_the_share_asked_for(counts, retain):
    share = np.array(counts) / sum(counts)
    matrix = invariant(np.array(counts), retain)
    assert np.allclose(matrix.sum(axis=1), 1)
    assert (matrix >= 0).all()
    assert np.allclose(share @ matrix, share)
    assert share @ np.diag(matrix) == pytest.approx(max(retain, float(share @ share)), abs=1e-6)


def test_two_categories_have_a_closed_form():
    """For two equal categories R is P squared: 2 p^2 - 2 p + 1 on the diagonal."""
    p = 0.5 + np.sqrt(0.8 / 2 - 0.25)
    assert 2 * p * p - 2 * p + 1 == pytest.approx(0.8)
    assert np.allclose(invariant(np.array([50, 50]), 0.8), [[0.8, 0.2], [0.2, 0.8]])


def test_a_count_below_ten_cannot_be_read_off_the_matrix():
    assert np.array_equal(invariant(np.array([1, 500]), 0.8), invariant(np.array([9, 500]), 0.8))
    assert not np.array_equal(
        invariant(np.array([10, 500]), 0.8), invariant(np.array([11, 500]), 0.8)
    )


def transition_pvalue(draw) -> float:
    """Chi-squared test of the changes out of each category against the chances claimed."""
    old = np.repeat([0, 1, 2], 4000)
    new = draw(Streams(6)("draw").random(old.size), old, CHANCES)
    ps = []
    for category in range(3):
        counts, possible = np.bincount(new[old == category], minlength=3), CHANCES[category] > 0
        if counts[~possible].any():
            return 0.0
        ps.append(stats.chisquare(counts[possible], 4000 * CHANCES[category][possible]).pvalue)
    return min(1.0, 3 * min(ps))


def transposed(uniforms, old, matrix):
    """Slip: chances read down the columns."""
    return drawn(uniforms, old, matrix.T / matrix.T.sum(axis=1, keepdims=True))


def lazier(uniforms, old, matrix):
    """Slip: a tenth of the changes left out."""
    return drawn(uniforms, old, 0.9 * matrix + 0.1 * np.eye(3))


def too_wild(uniforms, old, matrix):
    """Slip: a twentieth of the rows drawn from all categories alike."""
    return drawn(uniforms, old, 0.95 * matrix + 0.05 / 3)


def test_categories_change_with_the_chances_claimed():
    assert transition_pvalue(drawn) > LEVEL


@pytest.mark.parametrize("broken", [transposed, lazier, too_wild])
def test_the_chance_test_sees(broken):
    assert transition_pvalue(broken) < LEVEL


def test_a_chance_of_zero_is_never_drawn():
    edges = np.array([0.0, np.nextafter(0.7, 0), 0.7, np.nextafter(1, 0)])
    assert drawn(edges, np.zeros(4, dtype=int), np.array([[0.0, 0.7, 0.0, 0.3, 0.0]])).tolist() == [
        1,
        1,
        3,
        3,
    ]


def test_frequencies_of_the_release_are_those_of_the_source_but_for_chance():
    frame = pd.DataFrame({"c": ["a"] * 6000 + ["b"] * 3000 + ["c"] * 1000})
    release = vd.Pram(columns=["c"], retain=0.6).protect(frame, seed=2)
    changed = (release.datasets[0]["c"] != frame["c"]).sum()
    assert stats.binomtest(int(changed), 10_000, 0.4).pvalue > LEVEL
    told = release.steps[0].settings["matrix"]["c"]
    spread = np.sqrt(
        sum(
            n * told[o].get("c", 0) * (1 - told[o].get("c", 0))
            for o, n in (("a", 6000), ("b", 3000), ("c", 1000))
        )
    )
    assert abs((release.datasets[0]["c"] == "c").sum() - 1000) < stats.norm.isf(LEVEL / 2) * spread


def with_a_rare_one(rows: int = 60) -> pd.DataFrame:
    return pd.DataFrame({"c": [*(["a", "b"] * (rows // 2)), RARE], "n": range(rows + 1)})


def test_a_category_that_did_not_come_out_is_told_nowhere():
    """Its chance is divided among the others: the exact law, given that it did not come out."""
    outcomes = set()
    for seed in range(20):
        release = vd.Pram(columns=["c"], retain=0.97).protect(with_a_rare_one(), seed=seed)
        came_out = set(release.datasets[0]["c"])
        told = json.dumps([release.steps[0].settings, release.manifest["promises"]]) + repr(release)
        assert (RARE in told) == (RARE in came_out)
        for row in release.steps[0].settings["matrix"]["c"].values():
            assert sum(row.values()) == pytest.approx(1, abs=1e-9)
            assert set(row) <= came_out
        outcomes.add(RARE in came_out)
    assert outcomes == {True, False}


def test_the_chances_among_some_are_those_given_that_no_other_came_out():
    """Against all outcomes of two rows, counted."""
    matrix = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    chance = {(i, j): matrix[0, i] * matrix[1, j] for i in range(3) for j in range(3)}
    left = {pair: p for pair, p in chance.items() if 2 not in pair}
    told = Transition(["a", "b", "c"], matrix).among({"a", "b"})
    for (i, j), chance_left in left.items():
        assert chance_left / sum(left.values()) == pytest.approx(
            told.matrix[0, i] * told.matrix[1, j]
        )


def test_a_declared_matrix_is_used_and_may_empty_a_category():
    frame = pd.DataFrame({"c": ["a", "b", None] * 10})
    release = vd.Pram(columns=["c"], matrix={"c": {"a": {"b": 1}, "b": {"b": 1}}}).protect(
        frame, seed=1
    )
    assert release.datasets[0]["c"].fillna("-").tolist() == ["b", "b", "-"] * 10
    assert release.steps[0].settings["matrix"] == {"c": {"b": {"b": 1.0}}}
    assert "matrix" not in release.recipe.settings()
    new = vd.Pram(
        columns=["c"], matrix={"c": {"a": {"x": 1}, "b": {"b": 1}, "x": {"x": 1}}}
    ).protect(frame, seed=1)
    assert new.datasets[0]["c"].dropna().unique().tolist() == ["x", "b"]


def test_missing_stays_missing_and_other_types_come_back():
    grades = pd.Categorical(
        ["low", "high", None] * 30, categories=["low", "mid", "high"], ordered=True
    )
    frame = pd.DataFrame({"b": pd.array([True, False, None] * 30, dtype="boolean"), "g": grades})
    released = vd.Pram(columns=["b", "g"], retain=0.5).protect(frame, seed=1).datasets[0]
    assert (released.isna() == frame.isna()).all().all()
    assert released["b"].dtype == "boolean"
    assert list(released["g"].cat.categories) == ["low", "high"]
    assert released["g"].cat.ordered


def test_adding_a_column_moves_no_draw_of_an_equal_table():
    frame = pd.DataFrame({"c": sorted(["a", "b"] * 50), "d": sorted(["x", "y"] * 50)})
    one = vd.Pram(columns=["c"]).protect(frame, seed=1).datasets[0]
    two = vd.Pram(columns=["c", "d"]).protect(frame, seed=1).datasets[0]
    assert one["c"].equals(two["c"])


def test_the_checks_count_what_is_wrong():
    table = open_table(pd.DataFrame({"c": ["a", "b"] * 200}))
    same = Evidence(table, table, np.arange(400))
    fair = {"a": {"a": 0.5, "b": 0.5}, "b": {"a": 0.5, "b": 0.5}}
    assert matrix_faults(same, {"columns": {"c": fair}}) == 0
    assert matrix_faults(same, {"columns": {"c": {"a": {"a": 1.0}}}}) == 200
    assert (
        matrix_faults(same, {"columns": {"c": {"a": {"a": 0.7}, "b": {"b": 1.5, "a": -0.5}}}}) == 2
    )
    assert improbable_changes(same, {"columns": {"c": fair}}) == 1  # nothing changed at all
    assert improbable_changes(same, {"columns": {"c": {"a": {"b": 1.0}, "b": {"a": 1.0}}}}) == 401


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"columns": []}, "columns is empty"),
        ({"columns": ["c"], "retain": 1.0}, "retain"),
        ({"columns": ["c"], "retain": -0.1}, "retain"),
        ({"columns": ["c"], "matrix": {"d": {"a": {"a": 1}}}}, "columns does not name"),
        ({"columns": ["c"], "matrix": {"c": {}}}, "must give each category"),
        ({"columns": ["c"], "matrix": {"c": {"a": {}}}}, "must give each category"),
        (
            {"columns": ["c"], "matrix": {"c": {"a": {"a": 1.5, "b": -0.5}, "b": {"b": 1}}}},
            "between 0 and 1",
        ),
        (
            {"columns": ["c"], "matrix": {"c": {"a": {"a": 0.9}}}},
            "1 rows whose probabilities do not add up to 1",
        ),
        ({"columns": ["c"], "matrix": {"c": {"a": {"b": 1}}}}, "1 categories that have no row"),
    ],
)
def test_settings_are_checked(given_, match):
    with pytest.raises(PlanError, match=match):
        vd.Pram(**given_)


def test_the_data_must_fit_without_being_shown():
    frame = with_a_rare_one()
    with pytest.raises(DataError, match="lacks 1 categories") as refused:
        vd.Pram(columns=["c"], matrix={"c": {"a": {"a": 1}, "b": {"b": 1}}}).protect(frame)
    assert RARE not in str(refused.value)
    with pytest.raises(DataError, match="no other category"):
        vd.Pram(columns=["c"]).protect(frame.head(1))
    with pytest.raises(PlanError, match="Noise or Swap"):
        vd.Pram(columns=["n"]).protect(frame)
    with pytest.raises(DataError, match="has 1001 categories"):
        vd.Pram(columns=["c"]).protect(
            open_table(pd.DataFrame({"c": [f"v{i}" for i in range(1001)]}), {"c": "category"})
        )


def test_a_suggestion_runs_or_says_why_not():
    frame = pd.DataFrame(
        {"c": ["a", "b"] * 40, "many": [f"v{i}" for i in range(80)], "n": range(80)}
    )
    for names, expected in ((["c", "many", "n"], ("c",)), (["many", "n"], ("many",))):
        table = open_table(frame[names], {"n": "integer"})
        suggested = vd.Pram.suggest(table.schema, inspect_table(table))
        assert suggested.columns == expected
        suggested.protect(table, seed=1)
    numbers = open_table(frame[["n"]], {"n": "integer"})
    with pytest.raises(PlanError, match="nothing to change"):
        vd.Pram.suggest(numbers.schema, inspect_table(numbers))


def test_declared_chances_are_read_in_any_order():
    assert from_table({"a": {"b": 0.25, "a": 0.75}, "b": {"b": 1}}).matrix.tolist() == [
        [0.75, 0.25],
        [0.0, 1.0],
    ]
