"""Missing values under both readings: a value of its own, and matching anything."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity.recount import COLUMNS, people, recipe

import veladura as vd
from veladura.core.promise import Evidence, Promise, prove
from veladura.errors import PromiseError
from veladura.methods.kanonymity.tuples import matched, matching_rows

tables = st.integers(1, 12).flatmap(
    lambda rows: st.tuples(
        st.lists(
            st.lists(st.integers(-1, 2), min_size=3, max_size=3), min_size=rows, max_size=rows
        ),
        st.lists(st.integers(1, 4), min_size=rows, max_size=rows),
    )
)


def by_pairs(codes, sizes):
    """Compare every row with every other."""
    return [
        sum(
            n
            for there, n in zip(codes, sizes, strict=True)
            if all(a < 0 or b < 0 or a == b for a, b in zip(one, there, strict=True))
        )
        for one in codes
    ]


@given(tables)
def test_matches_are_those_of_all_pairs(table):
    codes, sizes = table
    assert matching_rows(np.array(codes), np.array(sizes)).tolist() == by_pairs(codes, sizes)


@given(tables, st.integers(2, 8))
def test_what_stays_is_the_largest_set_that_matches_itself(table, k):
    codes, sizes = table
    kept = matched(np.array(codes), np.array(sizes), k)
    best = [i for i in range(len(codes)) if kept[i]]
    assert all(n >= k for n in by_pairs([codes[i] for i in best], [sizes[i] for i in best]))
    for mask in range(1 << min(len(codes), 8)):  # no other set that holds is outside it
        chosen = [i for i in range(min(len(codes), 8)) if mask >> i & 1]
        counts = by_pairs([codes[i] for i in chosen], [sizes[i] for i in chosen])
        assert any(n < k for n in counts) or set(chosen) <= set(best)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 6))
def test_a_value_of_its_own_is_the_stricter_reading(seed, k):
    frame = people(seed, missing=0.2)
    own = recipe(k=k, missing="both").protect(frame).steps[0].settings
    anything = recipe(k=k, missing="wildcard").protect(frame).steps[0].settings
    assert own["levels"] == anything["levels"]
    assert anything["suppressed_rows"] <= own["suppressed_rows"]


def test_the_promise_names_its_readings():
    frame = people(3, missing=0.2)
    claims = {
        reading: recipe(missing=reading).protect(frame).claims
        for reading in ("category", "wildcard", "both")
    }
    assert [len(found) for found in claims.values()] == [1, 1, 2]
    assert "value of its own" in claims["category"][0]
    assert "matches any value" in claims["wildcard"][0]


@pytest.mark.parametrize("name", ["group-size", "group-size-wildcard"])
def test_one_row_moved_breaks_the_promise(name):
    frame = pd.DataFrame({"zip": ["a"] * 3 + ["b"] * 3, "sex": ["f"] * 6})
    promise = Promise(name, "package", {"columns": ["zip", "sex"], "k": 3})
    assert prove(promise, Evidence(vd.open(frame)), vd.KAnonymity.checks).status == "holds"
    frame.loc[0, "zip"] = "c"
    assert prove(promise, Evidence(vd.open(frame)), vd.KAnonymity.checks).status == "broken"


def test_suppressed_rows_match_no_one():
    frame = pd.DataFrame({"zip": ["a", "a", "*"], "sex": ["f", "f", "*"]})
    promise = Promise(
        "group-size-wildcard",
        "package",
        {"columns": ["zip", "sex"], "k": 3, "starred": True},
    )
    assert prove(promise, Evidence(vd.open(frame)), vd.KAnonymity.checks).violations == 1


def test_a_later_step_that_takes_the_promise_away_is_refused():
    frame = pd.DataFrame({"age": [30, 40] * 20})
    with pytest.raises(PromiseError, match="does not keep its promise"):
        vd.Steps(
            [vd.KAnonymity(quasi_identifiers=["age"], k=8), vd.Noise(columns=["age"])]
        ).protect(frame, seed=1)


def test_rows_without_any_value_are_a_group_like_others():
    frame = people(7)
    frame.loc[:4, COLUMNS] = None
    release = recipe(k=5).protect(frame)
    assert int(release.datasets[0][COLUMNS].isna().all(axis=1).sum()) == 5
