"""Bad input is refused in words that show no value."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError
from veladura.table.files.dialect import Dialect

from .conftest import CANARY


def csv(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("text", ["a,b\n", "a,b", "a,b\r\n"])
def test_a_header_alone(tmp_path, text, refused):
    with refused(DataError, "has no rows"):
        vd.open(csv(tmp_path, text))


@pytest.mark.parametrize("text", ["", "\n"])
def test_an_empty_file(tmp_path, text, refused):
    with refused(DataError, "empty|no columns"):
        vd.open(csv(tmp_path, text))


@pytest.mark.parametrize(
    "frame",
    [pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([], pa.int64())})],
)
def test_a_frame_without_rows(frame, refused):
    with refused(DataError, "has no rows"):
        vd.open(frame)


@pytest.mark.parametrize("frame", [pd.DataFrame(index=[1, 2]), pl.DataFrame(), pa.table({})])
def test_a_frame_without_columns(frame, refused):
    with refused(DataError, "no columns"):
        vd.open(frame)


def test_files_without_rows(tmp_path, refused):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "a.parquet")
    with refused(DataError, "has no rows"):
        vd.open(tmp_path / "a.parquet")
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    with refused(DataError, "has no rows"):
        vd.open(f"duckdb:///{tmp_path}/a.db", table="t")


def test_a_name_twice(tmp_path, refused):
    with refused(DataError, r"more than once: \['a'\]"):
        vd.open(csv(tmp_path, f"a,b,a\n1,{CANARY},3\n"))
    with refused(DataError, r"more than once: \['a'\]"):
        vd.open(pd.DataFrame([[1, CANARY]], columns=["a", "a"]))
    with refused(DataError, r"more than once: \['1'\]"):
        vd.open(pd.DataFrame([[1, CANARY]], columns=[1, "1"]))
    with refused(DataError, r"more than once: \['a'\]"):
        vd.open(pa.table([[1], [CANARY]], names=["a", "a"]))
    pq.write_table(pa.table([[1], [CANARY]], names=["a", "a"]), tmp_path / "a.parquet")
    with refused(DataError, r"more than once: \['a'\]"):
        vd.open(tmp_path / "a.parquet")


def test_one_value_and_no_value_are_fine(tmp_path):
    opened = vd.open(csv(tmp_path, "a,b,c\n1,,x\n1,,x\n1,,x\n"))
    assert opened.schema["b"].kind == "category"
    codes = opened.codes(["a", "b", "c"])
    assert codes["b"].missing.all()
    assert codes["b"].to_arrow().null_count == 3
    assert opened.counts(["a", "b", "c"]).size.tolist() == [3]
    frame = pd.DataFrame(
        {"a": [None, None], "b": [np.nan, np.nan], "c": pd.array([pd.NA, pd.NA], dtype="Int64")}
    )
    opened = vd.open(frame)
    assert opened.codes(["a", "b", "c"])["a"].missing.all()
    assert vd.open(pl.DataFrame({"a": [None, None]})).counts(["a"]).size.tolist() == [2]


def test_kinds_mixed_in_a_csv_column(tmp_path, refused):
    path = csv(tmp_path, f"a,b\n1,2\n{CANARY},3\nx77315,4\n")
    assert vd.open(path).schema["a"].kind == "category"
    with refused(DataError, r"(?s)\{'a': 2\}.*'a': integer"):
        vd.open(path, {"a": "integer"})
    with refused(DataError, r"(?s)\{'a': 2\}.*'a': number"):
        vd.open(path, {"a": "number"})
    with refused(DataError, r"(?s)\{'a': 3\}.*'a': date"):
        vd.open(path, {"a": "date"})
    with refused(DataError, r"(?s)\{'a': 2\}.*'a': ordered"):
        vd.open(path, {"a": {"order": ["1", "2"]}})


def test_the_same_in_a_frame(refused):
    frame = pd.DataFrame({"a": ["1", CANARY, "x77315"]})
    with refused(DataError, r"(?s)\{'a': 2\}.*'a': integer"):
        vd.open(frame, {"a": "integer"})
    with refused(DataError, r"(?s)\{'a': 2\}.*'a': ordered"):
        vd.open(frame, {"a": {"order": ["1", "2"]}})
    assert vd.open(pd.DataFrame({"a": ["1", " 2", None]}), {"a": "integer"}).arrow[
        "a"
    ].to_pylist() == [1, 2, None]


def test_bytes_that_are_no_text(tmp_path, refused):
    bad = b"a,b\n1," + CANARY.encode() + b"\xff\xfe\n2,\xc3\xa9t\xc3\xa9\n"
    with refused(DataError, "not valid text|not valid\\."):
        vd.open(csv(tmp_path, bad), dialect=Dialect())
    with refused(DataError, "mostly UTF-8"):
        vd.open(csv(tmp_path, bad))
    with refused(DataError, "not valid text"):
        vd.open(
            csv(tmp_path, b"a\n" + CANARY.encode() + b"\x81\n"), dialect=Dialect(encoding="cp1252")
        )
    with refused(DataError, "not valid text"):
        vd.open(
            csv(tmp_path, b"\xff\xfea\x00\n\x00" + CANARY.encode("utf-16-le") + b"\x00"),
            dialect=Dialect(encoding="utf-16"),
        )


def test_zero_bytes(tmp_path, refused):
    with refused(DataError, "contains zero bytes"):
        vd.open(csv(tmp_path, f"a,b\n1,{CANARY}\n".encode("utf-16-le")))
    assert (
        vd.open(
            csv(tmp_path, f"a,b\n1,{CANARY}\n".encode("utf-16-le")),
            dialect=Dialect(encoding="utf-16-le"),
        ).rows
        == 1
    )


def _long_line(tmp_path, megabytes):
    path = tmp_path / "long.csv"
    with path.open("w") as file:
        file.write("a,b\n1,x\n2,")
        for _ in range(megabytes):
            file.write(CANARY[0] * 1_000_000)
        file.write("\n3,y\n")
    return path


def test_a_line_of_20_megabytes(tmp_path, refused):
    with refused(DataError, "has a line of more than 16 MB"):
        vd.open(_long_line(tmp_path, 20))


@pytest.mark.slow
def test_a_line_of_100_megabytes_costs_no_memory(tmp_path, refused):
    import psutil

    path = _long_line(tmp_path, 100)
    before = psutil.Process().memory_info().rss
    with refused(DataError, "has a line of more than 16 MB"):
        vd.open(path)
    assert psutil.Process().memory_info().rss - before < 300_000_000


def test_a_first_line_without_end(tmp_path, refused):
    with refused(DataError, "first line of more than 16 MB"):
        vd.open(csv(tmp_path, b"x" * 17_000_000))


@pytest.mark.parametrize("line", [f"1,{CANARY},3", "1", f'1,"{CANARY}",3,4'])
def test_ragged_lines(tmp_path, line, refused):
    with refused(DataError, r"(?s)more or fewer fields than its header.*line 4"):
        vd.open(csv(tmp_path, f"a,b\n1,2\n3,4\n{line}\n5,6\n"), dialect=Dialect())


def test_a_quote_that_is_never_closed(tmp_path, refused):
    with refused(DataError, "quote"):
        vd.open(csv(tmp_path, f'a,b\n1,2\n3,"{CANARY}\n5,6\n'), dialect=Dialect())
    with refused(DataError, "quote|fields"):
        vd.open(csv(tmp_path, f'a,b\n1,2\n3,"{CANARY}\n5,6\n'))


def test_text_after_a_closed_quote(tmp_path, refused):
    with refused(DataError, "quote|fields"):
        vd.open(csv(tmp_path, f'a,b\n1,2\n3,"x"{CANARY}\n5,6\n'), dialect=Dialect())


def test_types_that_cannot_be_released(tmp_path, refused):
    for column in (
        [[CANARY]],
        [{"x": CANARY}],
        [CANARY.encode()],
        pa.array([77315], pa.duration("s")),
        pa.array([77315], pa.time32("s")),
    ):
        table = pa.table({"bad": column})
        with refused(DataError, "column 'bad' has type"):
            vd.open(table)
        with refused(DataError, "'bad'"):
            vd.open(pl.from_arrow(table))
        if pa.types.is_duration(table.schema.field(0).type):
            continue  # a Parquet file holds it as a whole number
        pq.write_table(table, tmp_path / "a.parquet")
        with refused(DataError, "'bad'"):
            vd.open(tmp_path / "a.parquet")


@pytest.mark.parametrize(
    "values",
    [
        [1, CANARY],
        [77315, "x"],
        [[77315], 1],
        [b"77315", "x"],
        [{"x": CANARY}, 3],
        [object(), CANARY],
        [1 + 77315j],
        [2**70, CANARY],
        [{77315}],
    ],
)
def test_objects_of_several_types(values, refused):
    with refused(DataError, "column 'a'"):
        vd.open(pd.DataFrame({"a": pd.Series(values, dtype=object)}))


def test_pandas_types_that_cannot_be_released(refused):
    for series in (
        pd.Series(pd.period_range("2024-01", periods=2, freq="M")),
        pd.Series(pd.interval_range(0, 2)),
        pd.Series([CANARY, 3]).astype("category"),
    ):
        with refused(DataError, "column 'a'"):
            vd.open(pd.DataFrame({"a": series}))


def test_numbers_too_large_are_counted(refused):
    with refused(DataError, r"\{'a': 1\}"):
        vd.open(pd.DataFrame({"a": np.array([1, 2**64 - 1], dtype="uint64")}))


def test_declarations_are_checked(refused):
    frame = pd.DataFrame({"a": [CANARY], "b": [1]})
    with refused(ColumnError, r"columns names columns that are not in the table: \['A'\]"):
        vd.open(frame, {"A": "category"})
    with refused(PlanError, "kind 'categori' is not known"):
        vd.open(frame, {"a": "categori"})
    with refused(PlanError, "role 'secret' is not known"):
        vd.open(frame, {"a": {"role": "secret"}})
    with refused(PlanError, "setting 'rolle' is not known"):
        vd.open(frame, {"a": {"rolle": "other"}})
    with refused(PlanError, "order is for kind 'ordered'"):
        vd.open(frame, {"b": {"kind": "integer", "order": ["1"]}})
    with refused(PlanError, "format is for kind 'date'"):
        vd.open(frame, {"b": {"kind": "integer", "format": "%Y"}})
    with refused(PlanError, "more than once"):
        vd.open(frame, {"a": {"order": ["x", "x"]}})
    with refused(DataError, "no column is left to release"):
        vd.open(
            frame, {"a": {"role": "identifier"}, "b": {"role": "identifier"}}
        ).without_identifiers()


def test_no_repr_shows_a_value():
    opened = vd.open(pd.DataFrame({"a": [CANARY]}))
    codes = opened.codes(["a"])
    for thing in (opened, opened.schema, codes, codes["a"], opened.counts(["a"]), opened.source):
        assert CANARY not in repr(thing)
