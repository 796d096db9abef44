"""Canonical order: neither the order of rows nor a further column moves anything."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import ColumnError, DataError
from veladura.table.codes import encode
from veladura.table.order import canonical_order
from veladura.table.schema import Field

EXTREMES = [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1]
WHOLE = st.one_of(st.none(), st.sampled_from(EXTREMES), st.integers(-3, 3))
FLOATS = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1.5, 5e-324]),
    st.floats(-2, 2),
)
WORDS = st.one_of(
    st.none(), st.sampled_from(["", "a", "A", "ä", "é", "z", "Z", "\U0001d538", "\uffff"])
)
GRADES = st.one_of(st.none(), st.sampled_from(["low", "mid", "high"]))
LINES = st.lists(st.tuples(WHOLE, FLOATS, WORDS, GRADES), min_size=1, max_size=25)
DECLARED = {"grade": {"order": ["low", "mid", "high"]}}


def table_of(rows, declared=DECLARED):
    whole, floats, words, grades = zip(*rows, strict=True)
    columns = {
        "whole": pa.array(whole, pa.int64()),
        "float": pa.array(floats, pa.float64()),
        "word": pa.array(words, pa.string()),
        "grade": pa.array(grades, pa.string()),
    }
    return vd.open(pa.table(columns), declared)


def shown(column):
    return [
        (
            None
            if gone
            else column.labels[int(value)].as_py()
            if column.labels is not None
            else value.item()
        )
        for value, gone in zip(column.values, column.missing, strict=True)
    ]


@settings(deadline=None, max_examples=60)
@given(
    LINES,
    st.randoms(use_true_random=False),
    st.permutations(["whole", "float", "word", "grade"]),
    st.integers(1, 4),
)
def test_the_order_of_rows_moves_nothing(rows, random, names, used):
    mixed = rows.copy()
    random.shuffle(mixed)
    one, other = table_of(rows).codes(names[:used]), table_of(mixed).codes(names[:used])
    for name in one:
        assert shown(one[name]) == shown(other[name])
        assert one[name].values.tobytes() == other[name].values.tobytes()


@settings(deadline=None, max_examples=40)
@given(LINES)
def test_an_appended_column_moves_nothing(rows):
    opened = table_of(rows)
    more = vd.open(opened.arrow.append_column("new", pa.array(range(len(rows), 0, -1))), DECLARED)
    one, other = opened.codes(["word", "float"]), more.codes(["word", "float"])
    for name in one:
        assert shown(one[name]) == shown(other[name])
    for name in opened.names:
        np.testing.assert_equal(
            opened.arrow[name].take(one.rows).to_pylist(),
            opened.arrow[name].take(other.rows).to_pylist(),
        )


@settings(deadline=None, max_examples=60)
@given(LINES)
def test_encoding_loses_nothing(rows):
    opened = table_of(rows)
    for field in opened.schema:
        column = encode(opened.arrow[field.name], field)
        assert column.to_arrow().equals(opened.arrow[field.name].combine_chunks()) or any(
            value == 0 for value in opened.arrow[field.name].to_pylist()
        )
        assert column.to_arrow().to_pylist() == opened.arrow[field.name].to_pylist()
        assert column.to_arrow().type == field.type


@settings(deadline=None, max_examples=60)
@given(LINES, st.permutations(["whole", "float", "word", "grade"]))
def test_rows_are_sorted_and_missing_comes_last(rows, names):
    codes = table_of(rows).codes(names)
    grade = {"low": 0, "mid": 1, "high": 2}
    keys = [
        tuple(
            (v is None, 0 if v is None else grade.get(v, v) if name == "grade" else v)
            for name, v in zip(names, row, strict=True)
        )
        for row in zip(*(shown(codes[name]) for name in names), strict=True)
    ]
    assert keys == sorted(keys)


@settings(deadline=None, max_examples=40)
@given(
    LINES,
    st.sampled_from([["word"], ["whole", "grade"], ["float", "word", "grade"], ["grade", "grade"]]),
)
def test_counts_are_those_of_a_group_by(rows, names):
    opened = table_of(rows)
    found = opened.counts(names)
    tuples = zip(*(shown(column) for column in found.columns), strict=True)
    mine = {tuple(row): int(n) for row, n in zip(tuples, found.size, strict=True)}
    frame = opened.arrow.to_pandas(
        types_mapper={pa.int64(): pd.Int64Dtype()}.get, integer_object_nulls=True
    ).astype(object)
    frame = frame.where(frame.notna(), None)
    theirs: dict = {}
    for row in frame[names].itertuples(index=False, name=None):
        theirs[row] = theirs.get(row, 0) + 1
    assert mine == theirs
    assert found.codes.shape == (len(mine), len(names))
    assert len(np.unique(found.codes, axis=0)) == len(mine)


def test_counts_equal_those_of_pandas():
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "a": draw.choice(["x", "y", None], 500),
            "b": draw.choice([1.5, np.nan, 2.0], 500),
            "c": draw.integers(3, size=500),
        }
    )
    theirs = frame.groupby(["a", "b", "c"], dropna=False).size()
    assert sorted(vd.open(frame).counts(["a", "b", "c"]).size) == sorted(theirs)


def test_equal_rows_stay_in_the_order_they_came():
    assert canonical_order([np.zeros(2000)], 2000).tolist() == list(range(2000))
    assert canonical_order([np.array([1, 0] * 500), np.zeros(1000)], 1000).tolist() == [
        *range(1, 1000, 2),
        *range(0, 1000, 2),
    ]


def test_large_keys_do_not_overflow():
    draw = np.random.default_rng(2)
    first, second = draw.integers(0, 50, 3000), draw.choice([2**63 - 1, -(2**63), 0, 7], 3000)
    np.testing.assert_array_equal(
        canonical_order([first, second], 3000), np.lexsort((second, first))
    )
    floats = draw.choice([0.5, np.inf, -np.inf, 3.0], 3000)
    np.testing.assert_array_equal(
        canonical_order([first, floats, second], 3000), np.lexsort((second, floats, first))
    )


def test_labels_are_in_the_declared_order_or_by_code_point():
    opened = vd.open(
        pa.table({"a": ["b", "B", "ä", "a"], "g": ["high", "low", "low", "high"]}),
        {"g": {"order": ["low", "mid", "high"]}},
    )
    codes = opened.codes(["a", "g"])
    assert codes["a"].labels.to_pylist() == ["B", "a", "b", "ä"]
    assert codes["g"].labels.to_pylist() == ["low", "mid", "high"]


@pytest.mark.parametrize("values", [[True, False, None], [3, 1, None], [1.5, 0.5, None]])
def test_frames_keep_the_type_of_their_categories(values):
    opened = vd.open(pa.table({"a": values}), {"a": "category"})
    column = opened.codes(["a"])["a"]
    assert column.labels.to_pylist() == sorted(v for v in values if v is not None)
    assert column.to_arrow().to_pylist() == [*column.labels.to_pylist(), None]


def test_typed_categories_can_be_ordered():
    opened = vd.open(
        pa.table({"a": [True, False], "b": [10, 9]}),
        {"a": {"order": ["true", "false"]}, "b": {"order": ["10", "9"]}},
    )
    codes = opened.codes(["a", "b"])
    assert codes["a"].labels.to_pylist() == [True, False]
    assert codes["b"].labels.to_pylist() == [10, 9]


def test_a_label_outside_its_order_is_counted():
    with pytest.raises(DataError, match="holds 1 categories that are not in its declared order"):
        encode(pa.array(["x", "zz"]), Field("a", "ordered", pa.string(), order=("x",)))


def test_unknown_columns_are_named():
    opened = vd.open(pa.table({"age": [1]}))
    for call in (opened.codes, opened.counts):
        with pytest.raises(ColumnError, match="did you mean \\['age'\\]"):
            call(["agee"])
    with pytest.raises(ColumnError):
        opened.select(["x"])


def test_decimals_are_kept_by_rounding():
    column = encode(pa.array([1.25, 2.5, None]), Field("a", "number", pa.float64()))
    assert column.decimals == 2
    assert column.rounded(np.array([1.239, np.nan, -0.001])).to_arrow().to_pylist() == [
        1.24,
        None,
        0.0,
    ]
    whole = encode(pa.array([1, 2, None]), Field("a", "integer", pa.int64()))
    assert whole.rounded(np.array([1.6, 1e30, np.nan])).to_arrow().to_pylist()[0] == 2
    with pytest.raises(DataError, match="has 1 infinite values"):
        encode(pa.array([1.0, math.inf]), Field("a", "number", pa.float64())).numbers()


def test_a_selection_keeps_row_numbers():
    opened = vd.open(pa.table({"a": [3, 1, 2], "b": [1, 2, 3]}))
    assert opened.select(["b"]).arrow.to_pydict() == {"b": [1, 2, 3]}
    assert opened.select(["b", "a"]).codes(["a"]).rows.tolist() == [1, 2, 0]
