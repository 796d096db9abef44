"""Associations against SciPy and pandas, and their differences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import veladura as vd
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased
from veladura.errors import NotApplicable
from veladura.measures.measure import Subject
from veladura.measures.utility.correlations import MAX_COLUMNS, associations, measure


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], 400)
    x = rng.normal(size=400) + (group == "a")
    y = np.round(x + rng.normal(size=400), 1)
    other = np.where(rng.random(400) < 0.3, "u", np.where(group == "c", "v", "w"))
    return pd.DataFrame({"x": x, "y": y, "group": group, "other": other})


def test_each_kind_of_pair_equals_an_independent_computation(frame):
    table = vd.open(frame, {"x": "number"})
    xy, xg, xo, yg, _, go = associations(table, ["x", "y", "group", "other"], {"x", "y"})
    assert xy == pytest.approx(stats.spearmanr(frame["x"], frame["y"]).statistic)
    assert go == pytest.approx(
        stats.contingency.association(
            pd.crosstab(frame["group"], frame["other"]).to_numpy(), method="cramer"
        )
    )
    for found, value, labels in ((xg, "x", "group"), (xo, "x", "other"), (yg, "y", "group")):
        ranks = frame[value].rank()
        between = ((ranks.groupby(frame[labels]).transform("mean") - ranks.mean()) ** 2).sum()
        assert found == pytest.approx(np.sqrt(between / ((ranks - ranks.mean()) ** 2).sum()))


def test_ordered_categories_are_ranked():
    frame = pd.DataFrame({"size": ["low", "mid", "high", "high"], "n": [1, 2, 3, 3]})
    table = vd.open(frame, {"size": {"kind": "ordered", "order": ["low", "mid", "high"]}})
    assert associations(table, ["size", "n"], {"size", "n"})[0] == pytest.approx(1.0)


def test_rows_with_a_missing_value_are_left_out_of_the_pair():
    frame = pd.DataFrame({"a": ["x", "y", None, "x", "y"], "b": ["u", "v", "v", "u", None]})
    assert associations(vd.open(frame, {"a": "category"}), ["a", "b"], set())[0] == pytest.approx(
        1.0
    )


@pytest.mark.parametrize("other", [[1, 2, 3], ["a", "b", "c"], [None, None, 1.0]])
@pytest.mark.parametrize("constant", [[7, 7, 7], ["q", "q", "q"]])
def test_a_constant_is_associated_with_nothing(constant, other):
    table = vd.open(pd.DataFrame({"c": constant, "o": other}), {"c": {}})
    ranked = {name for name in table.names if table.schema[name].kind != "category"}
    assert associations(table, ["c", "o"], ranked).tolist() == [0.0]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.integers(0, 9), st.sampled_from([0.5, 2.5, None])
        ),
        min_size=1,
        max_size=20,
    )
)
def test_identical_tables_have_no_difference_and_no_association_is_above_one(rows):
    frame = pd.DataFrame(rows, columns=["s", "i", "x"]).astype({"s": "string", "x": "float64"})
    found = vd.utility.correlations(frame, frame)
    assert (float(found.mean), float(found.largest)) == (0.0, 0.0)
    assert all(abs(float(before)) <= 1 for before, _ in found.pairs.values())


def test_a_shuffled_column_loses_its_associations(frame):
    after = frame.assign(x=np.random.default_rng(1).permutation(frame["x"]))
    found = vd.utility.correlations(frame, after)
    assert found.largest_pair == ("x", "y")
    assert float(found.largest) > 0.5
    assert float(found.pairs["group", "other"][1]) == 0.0
    assert float(found.mean) == pytest.approx(
        np.mean([float(moved) for _, moved in found.pairs.values()])
    )


def test_recoded_and_text_columns_are_left_out(frame):
    after = frame.assign(x=pd.cut(frame["x"], 3).astype(str))
    found = vd.utility.correlations(vd.open(frame, {"other": "text"}), after)
    assert set(found.left_out) == {"x", "other"}
    assert list(found.pairs) == [("y", "group")]
    with pytest.raises(NotApplicable, match="fewer than two columns"):
        vd.utility.correlations(frame[["x"]], after)


def test_changed_columns_are_preferred_when_there_are_too_many():
    rng = np.random.default_rng(0)
    table = vd.open(
        pd.DataFrame({f"n{i}": rng.normal(size=20) for i in range(MAX_COLUMNS + 2)}),
        {"n0": "number"},
    )
    release = Release(
        (Dataset(table),), None, (Step("test", {}, (f"n{MAX_COLUMNS + 1}",)),), (), AsReleased()
    )
    found = measure(Subject(table, release))
    assert found.notes["mean"] == "2 columns left out: only 40 columns are used."
    assert len(vd.utility.correlations(table, table, first=["n41"]).pairs) == 40 * 39 / 2
    assert "n41" not in vd.utility.correlations(table, table, first=["n41"]).left_out
    assert len(found.detail.rows) == 10
