"""Values that are equal but look different have one form, on every way in and out."""

from __future__ import annotations

import math
import sqlite3
import struct
import tempfile
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.measures.assessment import Assessment
from veladura.release.package import save

PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0xFFF8DEADBEEF0001))[0]
NUMBERS = [0.0, -0.0, math.nan, PAYLOAD, -math.nan, None, 1.0, 2.5]
# texts that look alike stay apart: a composed and a decomposed letter, blanks, NUL, 1 and 1.0
TEXTS = ["é", "e\u0301", "a", "a ", " a", "a\u00a0", "1", "1.0", "01", "a\x00", None, "ﬁ", "fi"]
ROWS = st.lists(
    st.tuples(st.sampled_from(NUMBERS), st.sampled_from(TEXTS)), min_size=4, max_size=40
)
KINDS = {"x": "number", "t": "category", "k": "category"}


def without_nul(rows, way):
    """A CSV file with a zero byte is refused: it is not text."""
    return [(x, None if way is as_csv and t and "\x00" in t else t) for x, t in rows]


def frame_of(rows):
    """One column kept, one text, and one that a method changes."""
    x = pa.array([row[0] for row in rows], pa.float64(), from_pandas=False)
    t = pa.array([row[1] for row in rows], pa.string())
    return pa.table({"x": x, "t": t, "k": pa.array(["a", "b"] * 20)[: len(rows)]})


def as_arrow(table, _):
    return table


def as_pandas(table, _):
    return table.to_pandas()


def as_pandas_arrow(table, _):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def as_polars(table, _):
    return pl.from_arrow(table)


def as_parquet(table, folder):
    pq.write_table(table, folder / "a.parquet")
    return folder / "a.parquet"


def as_duckdb(table, folder):
    with duckdb.connect(str(folder / "a.duckdb")) as connection:
        connection.register("rows", table)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows")
    return folder / "a.duckdb"


def as_sqlite(table, folder):
    connection = sqlite3.connect(folder / "a.sqlite")
    connection.execute("CREATE TABLE people (x REAL, t TEXT, k TEXT)")
    rows = [tuple(row.values()) for row in table.to_pylist()]
    connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return folder / "a.sqlite"


def as_csv(table, folder):
    lines = ["x,t,k"]
    for row in table.to_pylist():
        x = row["x"]
        number = "" if x is None or math.isnan(x) else repr(x)
        lines.append(f'{number},"{row["t"] or "none"}",{row["k"]}')
    (folder / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "a.csv"


WAYS = [as_arrow, as_pandas, as_pandas_arrow, as_polars, as_parquet, as_duckdb, as_sqlite, as_csv]


def forms(arrow):
    """Return the look of every cell of a number column; NaN apart from missing."""
    looks = set()
    for value in arrow.column("x").to_pylist():
        looks.add(None if value is None else struct.pack("<d", value))
    return looks


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10, deadline=None)
@given(rows=ROWS)
def test_equal_numbers_look_equal_once_opened(way, rows):
    with tempfile.TemporaryDirectory() as home:
        opened = vd.open(way(frame_of(without_nul(rows, way)), Path(home)), KINDS)
        arrow = opened.arrow
        numbers = [row[0] for row in rows]
        wanted = sorted(
            (None if x is None or math.isnan(x) else x + 0.0 for x in numbers), key=repr
        )
        assert sorted(arrow.column("x").to_pylist(), key=repr) == wanted
        assert struct.pack("<d", -0.0) not in forms(arrow)
        assert arrow.column("x").null_count == sum(x is None for x in wanted)
        # two values count as one exactly if they look alike
        assert opened.counts(["x"]).size.size == len(forms(arrow))


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10, deadline=None)
@given(rows=ROWS)
def test_texts_that_differ_are_counted_apart(way, rows):
    """No sign of a text is lost on one way and kept on another: counts and files agree."""
    rows = without_nul(rows, way)
    with tempfile.TemporaryDirectory() as home:
        opened = vd.open(way(frame_of(rows), Path(home)), KINDS)
        texts = opened.arrow.column("t").to_pylist()
        assert opened.counts(["t"]).size.size == len(set(texts))
        wanted = [t or ("none" if way is as_csv else None) for _, t in rows]
        assert sorted(texts, key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize("way", WAYS)
def test_nothing_marks_rows_in_what_leaves(way, tmp_path):
    """The kept number column is released: as a frame, and in both kinds of files."""
    table = frame_of([(number, "a") for number in NUMBERS] * 5)
    release = vd.Pram(columns=["k"]).protect(vd.open(way(table, tmp_path), KINDS), seed=1)
    released = release.datasets[0]
    column = released["x"]
    values = column.to_pylist() if isinstance(released, pa.Table) else list(column)
    gone = [value is None or value is pd.NA or math.isnan(value) for value in values]
    assert len({repr(value) for value, missing in zip(values, gone, strict=True) if missing}) == 1
    present = [value for value, missing in zip(values, gone, strict=True) if not missing]
    assert not any(value == 0 and np.signbit(value) for value in present)
    for form in ("csv", "parquet"):
        saved = save(
            release,
            tmp_path / "out" / form,
            tmp_path / "safe" / form,
            format=form,
            assessment=Assessment({}),
        )
        file = next((saved / "data").iterdir())
        if form == "csv":
            text = pd.read_csv(file, dtype=str, keep_default_na=False)["x"]
            assert set(text) == {"", "0.0", "1.0", "2.5"} or set(text) == {"", "0", "1", "2.5"}
        else:
            assert forms(pq.read_table(file)) == {
                None,
                *(struct.pack("<d", x) for x in (0, 1, 2.5)),
            }


@pytest.mark.parametrize("way", [as_arrow, as_pandas, as_polars, as_parquet, as_duckdb, as_csv])
def test_a_k_anonymous_class_has_one_look(way, tmp_path):
    """-0.0, and NaN beside missing, in a quasi-identifier that is not generalised."""
    rows = [(value, "a") for value in (0.0, -0.0, None, math.nan, 1.0, 1.0)] * 6
    opened = vd.open(way(frame_of(rows), tmp_path), {**KINDS, "x": {"kind": "category"}})
    recipe = vd.KAnonymity(quasi_identifiers=["x"], k=12, max_suppression=0.0)
    released = recipe.protect(opened, seed=1).datasets[0]
    if isinstance(released, pa.Table):
        values = released.column("x").to_pylist()
    else:
        values = released["x"].to_list()
    looks = pd.Series([repr(value) for value in values]).value_counts()
    assert looks.min() >= 12


@pytest.mark.parametrize("lazy", [False, True])
def test_a_limit_of_minus_zero_marks_nobody(tmp_path, monkeypatch, lazy):
    """A top code of -0.0 told those who were capped from those who had nothing."""
    if lazy:
        monkeypatch.setattr("veladura.table.source.holds", lambda *_: False)
    pd.DataFrame({"debt": [0.0, 1.5, -2.25, 3.5] * 10}).to_parquet(tmp_path / "people.parquet")
    table = vd.open(tmp_path / "people.parquet")
    assert table.in_memory is not lazy
    released = vd.TopCode(columns={"debt": {"upper": -0.0}}).protect(table)
    debts = released.datasets[0]["debt"].to_numpy()
    assert sorted(set(debts)) == [-2.25, 0.0]
    assert not np.signbit(debts[debts == 0]).any()
    folder = released.save(tmp_path / "out" / "release", custodian=tmp_path / "safe")
    assert all(line.status != "broken" for line in vd.verify(folder))
