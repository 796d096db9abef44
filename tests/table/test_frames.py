"""What comes back is the caller's own frame with only the changed columns replaced."""

from __future__ import annotations

import datetime as dt
import io

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.table.frames.conversion import restore, to_arrow
from veladura.table.recode import replace

from .conftest import CANARY

pytestmark = pytest.mark.quick

ROWS = np.array([0, 2, 3])


def through(frame, rows=None, columns=None):
    """Take columns apart into codes, put them back as replaced ones, and restore the frame."""
    opened = vd.open(frame, columns or {name: {} for name in to_arrow(frame)[1]})
    codes = opened.codes(opened.names)
    back = np.argsort(codes.rows)
    kept = np.arange(opened.rows) if rows is None else rows
    table = replace(opened, {name: codes[name].take(back[kept]) for name in opened.names}, kept)
    return restore(frame, table.arrow, dict.fromkeys(opened.names, True), kept)


def untouched(frame, rows):
    opened = vd.open(frame, {name: {} for name in to_arrow(frame)[1]})
    table = replace(opened, {}, rows)
    return restore(frame, table.arrow, dict.fromkeys(opened.names, False), rows)


ZONED = pd.to_datetime(
    ["2024-01-01 12:00", None, "2024-07-01 08:30", "1999-12-31 00:00"]
).tz_localize("Europe/Warsaw")
SERIES = {
    "objects": pd.Series(["a", None, "", "z"], dtype=object),
    "text": pd.Series(["a", None, "", "z"], dtype="str"),
    "arrow_text": pd.Series(["a", None, "", "z"], dtype="string[pyarrow]"),
    "python_text": pd.Series(["a", None, "", "z"], dtype="string[python]"),
    "Int64": pd.Series([1, None, -3, 2**62], dtype="Int64"),
    "Int8": pd.Series([1, None, -3, 4], dtype="Int8"),
    "UInt16": pd.Series([1, None, 3, 4], dtype="UInt16"),
    "Float64": pd.Series([1.5, None, -3, 4], dtype="Float64"),
    "Float32": pd.Series([1.5, None, -3, 4], dtype="Float32"),
    "boolean": pd.Series([True, None, False, True], dtype="boolean"),
    **{
        kind: pd.Series([1, 2, 3, 4], dtype=kind)
        for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    "float32": pd.Series([1.5, np.nan, -3, 4], dtype="float32"),
    "float64": pd.Series([1.5, np.nan, -3, np.inf]),
    "bool": pd.Series([True, False, True, True]),
    "category": pd.Series(pd.Categorical(["b", None, "a", "b"], categories=["b", "a"])),
    "ordered": pd.Series(
        pd.Categorical(
            ["low", None, "high", "mid"], categories=["low", "mid", "high"], ordered=True
        )
    ),
    "numbers_as_category": pd.Series(pd.Categorical([3, None, 1, 3], categories=[3, 1])),
    "ns": pd.Series(
        pd.to_datetime(
            ["2024-01-01", None, "1999-12-31 23:59:59.123456", "2000-01-01"], format="ISO8601"
        ).astype("datetime64[ns]")
    ),
    "us": pd.Series(
        pd.to_datetime(["2024-01-01", None, "1999-12-31", "2000-01-01"]).astype("datetime64[us]")
    ),
    "s": pd.Series(
        pd.to_datetime(["2024-01-01", None, "1999-12-31", "2000-01-01"]).astype("datetime64[s]")
    ),
    "zoned": pd.Series(ZONED),
    "dates": pd.Series(
        [dt.date(2024, 1, 1), None, dt.date(1999, 12, 31), dt.date(2000, 1, 1)], dtype=object
    ),
    "arrow_int": pd.Series([1, None, 3, 4], dtype="int16[pyarrow]"),
    "arrow_date": pd.Series(
        [dt.date(2024, 1, 1), None, dt.date(1999, 12, 31), dt.date(2000, 1, 1)],
        dtype=pd.ArrowDtype(pa.date32()),
    ),
    "arrow_decimal_text": pd.Series(["x", None, "y", "z"], dtype=pd.ArrowDtype(pa.large_string())),
    "all_missing": pd.Series([None] * 4, dtype="Int64"),
    "all_missing_objects": pd.Series([None] * 4, dtype=object),
    "all_missing_floats": pd.Series([np.nan] * 4),
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("rows", [None, ROWS])
def test_pandas_dtypes_come_back(name, rows):
    frame = pd.DataFrame({"a": SERIES[name]}, index=pd.Index([10, 20, 30, 40], name="key"))
    frame["a"] = SERIES[name].array
    before = frame.copy(deep=True)
    expected = frame if rows is None else frame.iloc[rows]
    for result in (through(frame, rows), untouched(frame, np.arange(4) if rows is None else rows)):
        pd.testing.assert_frame_equal(result, expected, check_categorical=rows is None)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("name", SERIES)
def test_any_dtype_can_be_counted(name):
    opened = vd.open(pd.DataFrame({"a": SERIES[name]}), {"a": {}})
    counted = opened.counts(["a"])
    present = SERIES[name].dropna()
    assert counted.size.sum() == 4
    assert len(counted.size) == present.nunique() + (len(present) < 4)
    assert (counted.codes[:, 0] == -1).sum() == (len(present) < 4)


def test_no_category_survives_its_last_row():
    for ordered in (False, True):
        frame = pd.DataFrame(
            {
                "a": pd.Categorical(
                    ["x", CANARY, "y"], categories=["y", CANARY, "x", "unused"], ordered=ordered
                )
            }
        )
        rows = np.array([0, 2])
        for result in (through(frame, rows), untouched(frame, rows)):
            assert list(result["a"].cat.categories) == ["y", "x"]
            assert result["a"].cat.ordered == ordered
        assert vd.open(frame).schema["a"].order == (("y", CANARY, "x") if ordered else ())


def test_labels_of_a_method_are_added_after_the_old_ones():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"], categories=["y", "x"], ordered=True)})
    result = restore(frame, pa.table({"a": ["x", "*"]}), {"a": True}, np.arange(2))
    assert list(result["a"].cat.categories) == ["x", "*"]
    assert not result["a"].cat.ordered


def test_index_and_column_names_are_kept():
    index = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1), ("y", 2)], names=["k", "l"])
    frame = pd.DataFrame(
        {1: [1, 2, 3, 4], "b": list("abcd"), (2, "t"): [1.5, 2, 3, 4]}, index=index
    )
    frame.columns.name = "columns"
    pd.testing.assert_frame_equal(through(frame, ROWS), frame.iloc[ROWS])
    pd.testing.assert_frame_equal(untouched(frame, ROWS), frame.iloc[ROWS])
    wide = pd.DataFrame(
        [[1, 2], [3, 4], [5, 6], [7, 8]],
        columns=pd.MultiIndex.from_tuples([("a", "x"), ("b", "y")], names=["u", "v"]),
    )
    pd.testing.assert_frame_equal(through(wide, ROWS), wide.iloc[ROWS])


def test_nothing_else_of_a_frame_survives():
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3]})
    frame.attrs["secret"] = CANARY
    frame["a"].attrs["secret"] = CANARY
    result = untouched(frame, np.arange(3))
    assert not result.attrs
    assert not result["a"].attrs
    result.loc[0, "a"] = 99
    assert frame["a"].tolist() == [1, 2, 3]


def test_rows_come_back_in_the_order_asked_for():
    frame = pd.DataFrame({"a": [10, 20, 30]}, index=list("xyz"))
    result = untouched(frame, np.array([2, 0]))
    assert (result["a"].tolist(), list(result.index)) == ([30, 10], ["z", "x"])
    assert untouched(pl.DataFrame({"a": [10, 20, 30]}), np.array([2, 0]))["a"].to_list() == [30, 10]
    assert untouched(pa.table({"a": [10, 20, 30]}), np.array([2, 0]))["a"].to_pylist() == [30, 10]


@pytest.mark.parametrize(
    ("dtype", "values", "expected"),
    [
        ("int8", [300, 1], "int64"),
        ("uint8", [-1, 1], "int64"),
        ("int64", [None, 1], "Int64"),
        ("Int8", [300, None], "Int64"),
        ("bool", ["x", "y"], "str"),
        ("int64", ["05", "06"], "str"),
        ("float64", ["20-29", "*"], "str"),
    ],
)
def test_values_that_do_not_fit_widen_the_dtype(dtype, values, expected):
    frame = pd.DataFrame({"a": pd.Series([0, 1], dtype=dtype)})
    result = restore(frame, pa.table({"a": values}), {"a": True}, np.arange(2))
    assert result["a"].dtype == expected
    assert [None if pd.isna(v) else v for v in result["a"]] == values


def test_new_rows_have_the_dtypes_and_no_index():
    frame = pd.DataFrame(
        {"a": np.array([1, 2], dtype="int8"), "b": pd.Categorical(["x", "y"])}, index=["p", "q"]
    )
    result = restore(
        frame, pa.table({"a": [1, 2, 3], "b": ["y", "y", "y"]}), {"a": True, "b": True}, None
    )
    assert result["a"].dtype == "int8"
    assert list(result["b"].cat.categories) == ["y"]
    assert list(result.index) == [0, 1, 2]


def test_files_come_back_as_pandas():
    result = restore(None, pa.table({"a": [1, 2], "b": ["x", None]}), {"a": True, "b": False}, None)
    assert isinstance(result, pd.DataFrame)
    assert result["a"].tolist() == [1, 2]


POLARS = {
    "category": pl.Series(["b", None, "a", "b"], dtype=pl.Categorical),
    "named_category": pl.Series(
        ["b", None, "a", "b"], dtype=pl.Categorical(pl.Categories("veladura-test"))
    ),
    "enum": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["b", "a"])),
    "date": pl.Series([dt.date(2024, 1, 1), None, dt.date(1999, 1, 1), dt.date(1980, 1, 1)]),
    "zoned": pl.Series([1_700_000_000_000, None, 0, 5]).cast(pl.Datetime("ms", "Europe/Warsaw")),
    "ns": pl.Series([1_700_000_000_000_001_000, None, 0, 5000]).cast(pl.Datetime("ns")),
    **{
        str(kind): pl.Series([1, None, 3, 4], dtype=kind)
        for kind in (
            pl.Int8,
            pl.Int16,
            pl.Int32,
            pl.Int64,
            pl.UInt8,
            pl.UInt16,
            pl.UInt32,
            pl.UInt64,
        )
    },
    "f32": pl.Series([1.5, None, 3, 4], dtype=pl.Float32),
    "text": pl.Series(["a", None, "", "z"]),
    "bool": pl.Series([True, None, False, True]),
}


@pytest.mark.parametrize("name", POLARS)
@pytest.mark.parametrize("rows", [None, ROWS])
def test_polars_dtypes_come_back(name, rows):
    frame = pl.DataFrame({"a": POLARS[name]})
    before = frame.clone()
    expected = frame if rows is None else frame[rows]
    polars.testing.assert_frame_equal(through(frame, rows), expected)
    polars.testing.assert_frame_equal(
        untouched(frame, np.arange(4) if rows is None else rows), expected
    )
    polars.testing.assert_frame_equal(frame, before)


def test_polars_columns_without_values():
    frame = pl.DataFrame({"a": [None, None], "b": [1.0, float("nan")]})
    assert untouched(frame, np.arange(2)).schema == frame.schema
    assert vd.open(frame).codes(["b"])["b"].missing.tolist() == [False, True]


@pytest.mark.parametrize(
    "dtype",
    [
        pl.Enum(["y", CANARY, "x", "unused"]),
        pl.Categorical,
        pl.Categorical(pl.Categories("veladura-canary")),
    ],
)
def test_no_polars_category_survives_its_last_row(dtype):
    frame = pl.DataFrame({"a": pl.Series(["x", CANARY, "y"], dtype=dtype)})
    for result in (through(frame, np.array([0, 2])), untouched(frame, np.array([0, 2]))):
        assert result["a"].cast(pl.String).to_list() == ["x", "y"]
        for write in (result.write_parquet, result.write_ipc):
            file = io.BytesIO()
            write(file)
            assert CANARY.encode() not in file.getvalue()
        if result["a"].dtype == pl.Enum:
            assert result["a"].dtype.categories.to_list() == ["y", "x"]


def test_polars_values_that_do_not_fit_widen_the_dtype():
    frame = pl.DataFrame(
        {"a": pl.Series([1, 2], dtype=pl.Int8), "b": pl.Series([1, 2], dtype=pl.Int8)}
    )
    result = restore(
        frame, pa.table({"a": [300, 1], "b": ["05", "*"]}), {"a": True, "b": True}, np.arange(2)
    )
    assert result["a"].to_list() == [300, 1]
    assert result["b"].to_list() == ["05", "*"]


ARROW = {
    "dictionary": pa.array(["b", None, "a", "b"]).dictionary_encode(),
    "small_dictionary": pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1, 0], pa.int8()), ["b", "a"], ordered=True
    ),
    "large_string": pa.array(["a", None, "", "z"], pa.large_string()),
    "view": pa.array(["a", None, "", "z"], pa.string_view()),
    "int8": pa.array([1, None, 3, 4], pa.int8()),
    "float": pa.array([1.5, None, 3, 4], pa.float32()),
    "bool": pa.array([True, None, False, True]),
    "date": pa.array([dt.date(2024, 1, 1), None, dt.date(1999, 1, 1), dt.date(1980, 1, 1)]),
    "date64": pa.array(
        [dt.date(2024, 1, 1), None, dt.date(1999, 1, 1), dt.date(1980, 1, 1)], pa.date64()
    ),
    "zoned": pa.array([1, None, 2, 3], pa.timestamp("ms", "Europe/Warsaw")),
}


@pytest.mark.parametrize("name", ARROW)
@pytest.mark.parametrize("rows", [None, ROWS])
def test_arrow_types_come_back(name, rows):
    whole = ARROW[name]
    frame = pa.table({"a": pa.chunked_array([whole[:1], whole[1:]])})
    expected = pa.table(
        {"a": whole if rows is None else pa.array([whole[i].as_py() for i in rows], whole.type)}
    )
    for result in (through(frame, rows), untouched(frame, np.arange(4) if rows is None else rows)):
        assert result.schema == frame.schema
        assert result.to_pydict() == expected.to_pydict()


def test_no_metadata_and_no_unused_label_of_arrow_survives():
    labels = pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int8()), ["x", CANARY, "y"], ordered=True
    )
    schema = pa.schema(
        [pa.field("a", labels.type, metadata={"secret": CANARY})], metadata={"secret": CANARY}
    )
    frame = pa.Table.from_arrays([labels], schema=schema)
    for result in (through(frame, np.array([0, 2])), untouched(frame, np.array([0, 2]))):
        assert result["a"].chunk(0).dictionary.to_pylist() == ["x", "y"]
        assert result.schema.metadata is None
        file = io.BytesIO()
        pq.write_table(result, file)
        assert CANARY.encode() not in file.getvalue()


def test_subsets_of_columns():
    frame = pd.DataFrame({"a": [1, 2], "id": ["x", "y"], "c": [3, 4]})
    opened = vd.open(frame, {"id": {"role": "identifier"}}).without_identifiers()
    for library in (frame, pl.DataFrame(frame), pa.Table.from_pandas(frame)):
        result = restore(library, opened.arrow, {"a": False, "c": True}, np.arange(2))
        assert list(result.column_names if isinstance(result, pa.Table) else result.columns) == [
            "a",
            "c",
        ]
