"""The k-minimal vectors: examples and a false theorem of the paper, and brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity import brute

import veladura as vd
from veladura.methods.kanonymity.search import minimal_of
from veladura.methods.kanonymity.settings import allowed_rows

ZIPS = [
    ("02138", "0213*", "021**"),
    ("02139", "0213*", "021**"),
    ("02141", "0214*", "021**"),
    ("02142", "0214*", "021**"),
]
HIERARCHIES = {"ethnicity": vd.Hierarchy.star(), "zip": vd.Hierarchy.explicit(ZIPS)}
TWELVE = pd.DataFrame(
    [(e, z[0]) for e in ("asian", "black", "white") for z in ZIPS], columns=["ethnicity", "zip"]
)
EIGHT = pd.DataFrame(
    [
        ("asian", "02138"),
        ("asian", "02138"),
        ("asian", "02142"),
        ("asian", "02142"),
        ("black", "02138"),
        ("black", "02141"),
        ("black", "02142"),
        ("white", "02138"),
    ],
    columns=["ethnicity", "zip"],
)


def fitted(frame, k, allowed, **more):
    return vd.KAnonymity(
        **{
            "quasi_identifiers": list(frame),
            "k": k,
            "max_suppression": allowed,
            "hierarchies": HIERARCHIES,
            **more,
        }
    ).fit(frame)


def vectors(fit) -> list[tuple[int, ...]]:
    return [tuple(node.levels.values()) for node in fit.minimal]


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (2, [(0, 1), (1, 0)]),
        (3, [(0, 2), (1, 0)]),
        (4, [(0, 2), (1, 1)]),
        (5, [(1, 1)]),
        (6, [(1, 1)]),
        *((k, [(1, 2)]) for k in range(7, 13)),
    ],
)
def test_the_twelve_rows_of_the_paper(k, expected):
    assert vectors(fitted(TWELVE, k, 0)) == expected


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        (0, [(1, 1)]),
        (1, [(0, 2), (1, 0)]),
        (2, [(0, 1), (1, 0)]),
        (3, [(0, 1), (1, 0)]),
        (4, [(0, 0)]),
        (7, [(0, 0)]),
    ],
)
def test_the_eight_rows_of_the_paper_with_suppression(allowed, expected):
    assert vectors(fitted(EIGHT, 2, allowed)) == expected


def test_rows_suppressed_and_tuples_kept_at_every_node_of_the_eight_rows():
    fit = fitted(EIGHT, 2, 0)
    counted = {
        node: (fit.criteria.at(node).suppressed, fit.criteria.at(node).distinct)
        for node in [(a, b) for a in (0, 1) for b in (0, 1, 2)]
    }
    assert counted == {
        (0, 0): (4, 2),
        (0, 1): (2, 3),
        (0, 2): (1, 2),
        (1, 0): (1, 2),
        (1, 1): (0, 2),
        (1, 2): (0, 1),
    }


@pytest.mark.parametrize(
    ("allowed", "prefer", "chosen"),
    [
        (1, ["min-distance"], (1, 0)),
        (2, ["min-suppression"], (1, 0)),
        (2, ["min-relative-distance"], (0, 1)),
        (2, ["max-distinct"], (0, 1)),
        (1, ["min-suppression", "min-distance"], (1, 0)),  # a tie, broken by the second policy
        (
            1,
            ["max-distinct"],
            (0, 2),
        ),  # a tie, broken by the documented order: smallest levels from the left
    ],
)
def test_policies_on_the_eight_rows(allowed, prefer, chosen):
    assert tuple(fitted(EIGHT, 2, allowed, prefer=prefer).chosen.levels.values()) == chosen


def test_weights_come_before_policies():
    costly = fitted(EIGHT, 2, 1, weights={"zip": 0.1}).chosen
    assert tuple(costly.levels.values()) == (0, 2)
    assert tuple(fitted(EIGHT, 2, 1, weights={"ethnicity": 0.1}).chosen.levels.values()) == (1, 0)


def test_a_minimal_vector_need_not_be_a_distance_between_tuples():
    """Rows (a1,c) (a2,c) (b,d1) (b,d2): the one answer is [1,1].

    The theorem of Samarati and Sweeney (1998) says [1,0], [0,1] or [2,2].
    """
    frame = pd.DataFrame([("a1", "c"), ("a2", "c"), ("b", "d1"), ("b", "d2")], columns=["x", "y"])
    hierarchies = {
        "x": vd.Hierarchy.explicit([("a1", "A", "*"), ("a2", "A", "*"), ("b", "B", "*")]),
        "y": vd.Hierarchy.explicit([("c", "C", "*"), ("d1", "D", "*"), ("d2", "D", "*")]),
    }
    assert vectors(fitted(frame, 2, 0, hierarchies=hierarchies)) == [(1, 1)]


def test_a_table_that_is_fine_has_the_one_vector_of_noughts():
    assert vectors(fitted(pd.concat([EIGHT] * 2), 2, 0)) == [(0, 0)]


@given(table=brute.small_tables(), allowed=st.integers(0, 6), k=st.integers(2, 5))
@settings(max_examples=120, deadline=None)
def test_the_antichain_is_that_of_brute_force(table, allowed, k):
    allowed = min(allowed, len(table.rows) - 1)
    fit = fitted(table.frame.drop(columns="secret"), k, allowed, hierarchies=table.hierarchies)
    assert set(vectors(fit)) == brute.minimal(table, allowed, lambda s, _: len(s) >= k)
    assert fit.complete


@given(table=brute.small_tables(), allowed=st.integers(0, 6), k=st.integers(2, 4), data=st.data())
@settings(max_examples=120, deadline=None)
def test_several_quasi_identifiers_are_decided_at_the_fixed_point(table, allowed, k, data):
    allowed = min(allowed, len(table.rows) - 1)
    width = len(table.names)
    more = data.draw(
        st.lists(
            st.lists(st.integers(0, width - 1), min_size=1, unique=True).map(sorted), max_size=2
        )
    )
    sets = (
        *(tuple(one) for one in more),
        tuple(range(width)) if data.draw(st.booleans()) else (0,),
        (width - 1,),
    )
    used = sorted({c for one in sets for c in one})
    part = replace(
        table,
        names=tuple(table.names[c] for c in used),
        ladders=tuple(table.ladders[c] for c in used),
        rows=tuple((*(row[c] for c in used), row[-1]) for row in table.rows),
        others=(),
    )
    names = [[table.names[c] for c in one] for one in sets]
    fit = fitted(part.frame, k, allowed, hierarchies=part.hierarchies, quasi_identifiers=names)
    order = fit.recipe.names
    got = {tuple(node.levels[name] for name in part.names) for node in fit.minimal}
    expected = brute.minimal(
        part,
        allowed,
        lambda s, _: len(s) >= k,
        tuple(tuple(used.index(c) for c in one) for one in sets),
    )
    assert got == expected
    assert set(order) == set(part.names)


def test_one_pass_for_each_quasi_identifier_is_not_enough():
    """A row removed for one quasi-identifier pulls a class of the other below k: count again."""
    frame = pd.DataFrame(
        [("a", "x"), ("a", "x"), ("b", "x"), ("b", "y"), ("b", "y"), ("c", "y")], columns=["q", "r"]
    )
    stars = {"q": vd.Hierarchy.star(), "r": vd.Hierarchy.star()}
    release = fitted(frame, 3, 5, hierarchies=stars, quasi_identifiers=[["q"], ["r"]]).sample()
    out = release.datasets[0]
    assert out.groupby("q").size().min() >= 3
    assert out.groupby("r").size().min() >= 3
    assert [promise.settings["columns"] for promise in release.promises] == [["q"], ["r"]]


def test_minimal_nodes_of_a_set_that_is_not_closed_above():
    good = np.zeros((3, 3), dtype=bool)
    good[0, 2] = good[2, 0] = good[2, 2] = good[1, 1] = True
    assert minimal_of(good) == [(0, 2), (1, 1), (2, 0)]
    good[0, 0] = True
    assert minimal_of(good) == [(0, 0)]


@pytest.mark.parametrize(
    ("share", "rows", "allowed"),
    [
        (0.29, 100, 29),
        (0.02, 30162, 603),
        (0.1, 30162, 3016),
        (0.57, 100, 57),
        (0.7, 10, 7),
        (0.0, 10, 0),
        (0.99, 2, 1),
        (3, 10, 3),
        (1e-3, 999, 0),
    ],
)
def test_a_share_is_taken_as_it_is_written(share, rows, allowed):
    assert allowed_rows(share, rows) == allowed
