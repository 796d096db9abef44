"""Distances of columns against SciPy and by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import veladura as vd
from veladura.core.release import Dataset, Release
from veladura.core.rules import AsReleased
from veladura.errors import NotApplicable, PlanError
from veladura.measures.measure import Subject
from veladura.measures.utility.columns import measure

numbers = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=30)
words = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=30)


@settings(max_examples=40, deadline=None)
@given(numbers, numbers)
def test_numbers_equal_the_kolmogorov_smirnov_statistic(first, second):
    found = vd.utility.columns(pd.DataFrame({"x": first}), pd.DataFrame({"x": second}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its p-value, which is not asked for
        expected = stats.ks_2samp(first, second).statistic
    assert float(found.worst) == pytest.approx(expected)
    assert found.measures == {"x": "Kolmogorov-Smirnov"}


@settings(max_examples=40, deadline=None)
@given(words, words)
def test_categories_equal_total_variation_with_missing_as_a_value(first, second):
    frames = [
        pd.DataFrame({"x": pd.Series(["a", *values], dtype="string"), "y": 1.0})
        for values in (first, second)
    ]
    shares = [frame["x"].fillna("?").value_counts(normalize=True) for frame in frames]
    found = vd.utility.columns(*frames)
    assert float(found.distances["x"]) == pytest.approx(
        shares[0].sub(shares[1], fill_value=0).abs().sum() / 2
    )


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", None]), st.one_of(st.none(), st.floats(-1e6, 1e6))),
        min_size=1,
        max_size=20,
    )
)
def test_identical_tables_have_no_distance(rows):
    frame = pd.DataFrame(rows, columns=["s", "x"]).astype({"s": "string", "x": "float64"})
    found = vd.utility.columns(frame, frame)
    assert (float(found.mean), float(found.worst)) == (0.0, 0.0)


def test_missing_numbers_count_by_their_share():
    before, after = (
        pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]}),
        pd.DataFrame({"x": [1.0, 2.0, None, None]}),
    )
    assert float(
        vd.utility.columns(before, before.assign(x=[1.0, 2.0, 4.0, np.nan])).worst
    ) == pytest.approx(1 / 3 - 1 / 12)
    assert float(vd.utility.columns(before, after).worst) == 0.5
    assert float(vd.utility.columns(before, pd.DataFrame({"x": np.full(4, np.nan)})).worst) == 1.0


def test_the_distance_of_missing_shares_wins_where_it_is_larger():
    before, after = pd.DataFrame({"x": [1.0] * 10}), pd.DataFrame({"x": [1.0] * 6 + [None] * 4})
    assert float(vd.utility.columns(before, after).worst) == pytest.approx(0.4)


def test_dates_of_different_storage_are_on_one_axis():
    days = pd.date_range("2020-01-01", periods=10)
    before, after = pd.DataFrame({"d": days.date}), pd.DataFrame({"d": days})
    assert float(vd.utility.columns(before, after).worst) == 0.0
    assert (
        float(vd.utility.columns(before, after.assign(d=days + pd.Timedelta(days=5))).worst) == 0.5
    )


def test_mean_worst_and_its_name():
    before = pd.DataFrame({"a": ["x", "y"], "b": ["x", "y"], "c": [1, 2]})
    after = pd.DataFrame({"a": ["x", "y"], "b": ["x", "x"], "c": [1, 2]})
    found = vd.utility.columns(before, after)
    assert (float(found.mean), float(found.worst), found.worst_column) == (0.5 / 3, 0.5, "b")


def test_several_datasets_are_averaged():
    before = pd.DataFrame({"b": ["x", "y"]})
    found = vd.utility.columns(before, [before, pd.DataFrame({"b": ["x", "x"]})])
    assert (found.worst.value, found.worst.lower, found.worst.upper) == (0.25, 0.0, 1.0)


def test_what_cannot_be_compared_is_told():
    before = pd.DataFrame({"age": [31, 45], "zip": ["02138", "02139"], "sex": ["f", "m"]})
    after = pd.DataFrame(
        {"age": ["30-39", "40-49"], "zip": ["0213*", "0213*"], "sex": ["f", "m"], "new": [1, 2]}
    )
    found = vd.utility.columns(before, after)
    assert set(found.distances) == {"sex"}
    assert found.left_out["age"] == "its numbers were recoded to labels"
    assert "no released category is in the original" in found.left_out["zip"]
    assert "no such column" in found.left_out["new"]


def test_nothing_to_compare_does_not_apply():
    with pytest.raises(NotApplicable, match="no released column can be compared"):
        vd.utility.columns(pd.DataFrame({"x": [1]}), pd.DataFrame({"y": [1]}))
    with pytest.raises(PlanError, match="list of released tables is empty"):
        vd.utility.columns(pd.DataFrame({"x": [1]}), [])


def test_the_measure_names_the_worst_column_and_lists_all():
    before = vd.open(pd.DataFrame({"sex": ["f", "m"], "age": [1, 2]}), {"sex": "category"})
    after = vd.open(pd.DataFrame({"sex": ["f", "f"], "age": ["young", "old"]}), {"sex": "category"})
    found = measure(Subject(before, Release((Dataset(after),), None, (), (), AsReleased())))
    assert found.notes == {"mean": "1 of 2 columns can be compared.", "worst": "Column: sex."}
    assert found.detail.rows == (
        ("sex", "total variation", "0.5000", ""),
        ("age", "", "", "not compared: its numbers were recoded to labels"),
    )
