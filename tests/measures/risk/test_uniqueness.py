"""Uniqueness is what a group-by by hand gives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased, Partial
from veladura.errors import ColumnError, NotApplicable, PlanError
from veladura.measures.measure import Subject
from veladura.measures.risk.uniqueness import known_columns

rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]), st.integers(0, 3), st.sampled_from([0.5, 1.5, None])
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(rows)
def test_it_equals_brute_force(rows):
    frame = pd.DataFrame(rows, columns=["x", "y", "z"]).astype(
        {"x": "string", "y": "int64", "z": "float64"}
    )
    found = vd.risk.uniqueness(frame, ["x", "y", "z"])
    sizes = Counter(rows)
    assert int(found.rows) == len(rows)
    assert int(found.classes) == len(sizes)
    assert int(found.sample_uniques) == sum(size == 1 for size in sizes.values())
    assert float(found.average_prosecutor) == pytest.approx(
        np.mean([1 / sizes[row] for row in rows])
    )
    assert float(found.highest_prosecutor) == 1 / min(sizes.values())
    assert found.sizes == dict(sorted(Counter(sizes.values()).items()))


@settings(max_examples=15, deadline=None)
@given(rows)
def test_fewer_columns_never_make_more_uniques(rows):
    frame = pd.DataFrame(rows, columns=["x", "y", "z"]).astype(
        {"x": "string", "y": "int64", "z": "float64"}
    )
    assert int(vd.risk.uniqueness(frame, ["x"]).sample_uniques) <= int(
        vd.risk.uniqueness(frame, ["x", "y"]).sample_uniques
    )


@pytest.mark.parametrize("columns", [[], "x"])
def test_columns_are_a_list(columns):
    with pytest.raises(PlanError, match="a list of at least one column"):
        vd.risk.uniqueness(pd.DataFrame({"x": [1]}), columns)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(ColumnError, match="zipp"):
        vd.risk.uniqueness(pd.DataFrame({"zip": [1]}), ["zipp"])


def subject(frame, columns, steps=()):
    table = vd.open(frame, columns)
    return Subject(table, Release((Dataset(table),), None, tuple(steps), (), AsReleased()))


FRAME = pd.DataFrame({"zip": ["1", "2"], "age": [3, 4], "income": [1.5, 2.5], "weight": [1, 2]})


def test_declared_quasi_identifiers_come_first():
    assert known_columns(subject(FRAME, {"zip": {"role": "quasi-identifier"}})) == ["zip"]


def test_those_a_method_was_told_of_count_too():
    step = Step("k-anonymity", {"quasi_identifiers": ["age"]}, ())
    assert known_columns(subject(FRAME, {"zip": {"role": "quasi-identifier"}}, [step])) == [
        "zip",
        "age",
    ]


def test_without_any_all_categories_and_whole_numbers_are_known():
    assert known_columns(subject(FRAME, {"weight": {"role": "weight"}})) == ["zip", "age"]


def test_numbers_alone_have_no_classes():
    with pytest.raises(NotApplicable, match="no column is declared a quasi-identifier"):
        known_columns(subject(FRAME[["income"]], {"income": "number"}))


def test_the_assessment_has_release_and_original_beside_each_other():
    before = vd.open(pd.DataFrame({"zip": ["1", "2", "3", "3"]}), {"zip": "category"})
    after = [
        vd.open(pd.DataFrame({"zip": values}), {"zip": "category"})
        for values in (["1", "1", "3", "3"], ["1", "2", "3", "4"])
    ]
    figures = vd.assess(before, Release(tuple(map(Dataset, after)), None, (), (), Partial()))
    assert float(figures["risk.uniqueness.average_prosecutor"]) == 0.75
    assert not figures["risk.uniqueness.average_prosecutor"].is_exact
    assert figures["risk.uniqueness.average_prosecutor"].upper == 1.0
    assert int(figures["risk.uniqueness.original_uniques"]) == 2
    assert float(figures["risk.uniqueness.original_average_prosecutor"]) == 0.75
