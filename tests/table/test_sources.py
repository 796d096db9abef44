"""The same table gives the same content, whatever holds it."""

# ruff: noqa: S608, DTZ001  # statements are made of names the tests choose; times without a zone are a case
from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.table.table import Table

pytestmark = pytest.mark.quick

WORDS = ["b", "B", "a", "Ä", "ä", "z", "Z", "é", "e", "_", "a b", "0a", None, "ß", "Ω"]
DECLARED = {
    "zip": "category",
    "name": "category",
    "age": "integer",
    "income": "number",
    "born": "date",
    "member": "category",
    "grade": {"kind": "ordered", "order": ["low", "mid", "high"]},
    "seen": {"kind": "date", "format": "%Y-%m-%d %H:%M:%S"},
    "small": "category",
}


def people(rows: int = 60) -> pa.Table:
    draw = np.random.default_rng(5)
    pick = lambda values: [values[i] for i in draw.integers(len(values), size=rows)]  # noqa: E731
    day = dt.date(1950, 1, 1)
    return pa.table(
        {
            "zip": pick(["02138", "00501", "99501"]),
            "name": pick(WORDS),
            "age": pa.array(pick([0, 1, -5, 77, None, 2**40]), pa.int64()),
            "income": pa.array(pick([0.1, -2.5, 1e-7, None, 123456.75, 3.0]), pa.float64()),
            "born": pa.array(
                [
                    None if i % 9 == 0 else day + dt.timedelta(days=int(d))
                    for i, d in enumerate(draw.integers(20000, size=rows))
                ]
            ),
            "member": pa.array(pick([True, False, None])),
            "grade": pick(["low", "mid", "high", None]),
            "seen": pa.array(
                [
                    dt.datetime(2020, 1, 1, 3, 4, 5) + dt.timedelta(hours=int(h))
                    for h in draw.integers(999, size=rows)
                ],
                pa.timestamp("us"),
            ),
            "small": pa.array(pick([1, 2, 3]), pa.int64()),
        }
    )


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


def as_csv(table: pa.Table, folder: Path, declared: dict) -> Table:
    path = folder / "people.csv"
    frame = table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    frame["member"] = frame["member"].map({True: "true", False: "false"})
    frame.to_csv(path, index=False, date_format="%Y-%m-%d %H:%M:%S")
    return vd.open(path, declared)


def as_parquet(table: pa.Table, folder: Path, declared: dict) -> Table:
    pq.write_table(table, folder / "people.parquet")
    return vd.open(folder / "people.parquet", declared)


def as_duckdb(table: pa.Table, folder: Path, declared: dict) -> Table:
    with duckdb.connect(str(folder / "people.db")) as connection:
        connection.register("source", table)
        connection.execute(
            "CREATE TABLE people AS SELECT * REPLACE (income::DOUBLE AS income, age::BIGINT AS age)"
            " FROM source"
        )
    return vd.open(f"duckdb:///{folder / 'people.db'}", declared, table="people")


def as_sqlite(table: pa.Table, folder: Path, declared: dict) -> Table:
    path = folder / "people.sqlite"
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE people (zip TEXT, name TEXT, age INTEGER, income REAL, born TEXT, member"
        " BOOLEAN, grade TEXT, seen TEXT, small INTEGER)"
    )
    rows = [
        tuple(str(v) if isinstance(v, dt.date) else v for v in row.values())
        for row in table.to_pylist()
    ]
    connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * 9)})", rows)
    connection.commit()
    connection.close()
    return vd.open(f"sqlite:///{path}", declared, table="people")


def as_postgres(
    table: pa.Table,
    url: str,
    schema: str,
    declared: dict,
    types: str | None = None,
    name: str = "people",
) -> Table:
    import psycopg

    types = (
        types
        or "zip text, name varchar(20), age bigint, income numeric(14, 7), born date,"
        " member boolean, grade text, seen timestamp, small smallint"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {schema}.{name}")
        connection.execute(f"CREATE TABLE {schema}.{name} ({types})")
        with connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {schema}.{name} VALUES ({', '.join(['%s'] * 9)})",
                [tuple(row.values()) for row in table.to_pylist()],
            )
    return vd.open(url, declared, table=f"{schema}.{name}")


def content(table: Table) -> list[tuple]:
    return sorted((tuple(row.values()) for row in table.arrow.to_pylist()), key=repr)


def assert_same(one: Table, other: Table) -> None:
    assert one.schema == other.schema
    assert one.arrow.schema.equals(other.arrow.schema, check_metadata=True)
    assert content(one) == content(other)
    assert one.rows == other.rows
    left, right = one.codes(["name", "income", "grade"]), other.codes(["name", "income", "grade"])
    for name in left:
        np.testing.assert_array_equal(left[name].missing, right[name].missing)
        np.testing.assert_array_equal(
            left[name].values[~left[name].missing], right[name].values[~right[name].missing]
        )
        assert left[name].labels is None or left[name].labels.equals(right[name].labels)
    here, there = (
        one.counts(["zip", "member", "age", "born"]),
        other.counts(["zip", "member", "age", "born"]),
    )
    np.testing.assert_array_equal(here.size, there.size)
    np.testing.assert_array_equal(here.codes, there.codes)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return as_parquet(people(), tmp_path_factory.mktemp("reference"), DECLARED)


@pytest.mark.parametrize("way", [as_csv, as_parquet, as_duckdb, as_sqlite])
def test_every_source_gives_the_same_table(way, tmp_path, reference):
    assert_same(way(shuffled(people(), 3), tmp_path, DECLARED), reference)


def test_a_csv_needs_no_declaration_to_give_the_same_kinds(tmp_path, reference):
    declared = {"grade": DECLARED["grade"], "small": "category", "zip": "category"}
    assert_same(as_csv(people(), tmp_path, declared), reference)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "ibis"])
def test_frames_hold_the_same_values(library, reference):
    table = people()
    source = {
        "pandas": lambda: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
        "polars": lambda: pl.from_arrow(table),
        "pyarrow": lambda: table,
        "ibis": lambda: ibis.memtable(table),
    }[library]()
    opened = vd.open(source, DECLARED)
    assert [field.kind for field in opened.schema] == [field.kind for field in reference.schema]
    names = ["zip", "name", "age", "income", "born", "grade", "seen"]
    left, right = opened.codes(names), reference.codes(names)
    for name in names:
        np.testing.assert_array_equal(
            left[name].values[~left[name].missing], right[name].values[~right[name].missing]
        )


def test_paths_of_database_urls(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("near.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS a")
        connection.execute(
            'CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 2 AS a, 3 AS b; CREATE TABLE "s.t" AS'
            " SELECT 4 AS a, 5 AS b, 6 AS c"
        )
    connection = sqlite3.connect("near.sqlite")
    connection.executescript("CREATE TABLE t AS SELECT 1 AS a")
    connection.close()
    assert vd.open("duckdb:///near.db", table="t").rows == 1
    assert vd.open(f"duckdb:///{tmp_path}/near.db", table="t").rows == 1
    assert vd.open("duckdb:///near.db", table="main.t").names == ["a"]
    assert vd.open("duckdb:///near.db", table="s.t").names == [
        "a",
        "b",
        "c",
    ]  # a table by that very name comes first
    assert vd.open("sqlite:///near.sqlite", table="t").rows == 1
    assert vd.open(f"sqlite:///{tmp_path}/near.sqlite", table="t").rows == 1


def test_an_opened_table_stays_as_it_is(reference):
    assert vd.open(reference) is reference


def test_numbers_of_any_width_have_one_storage(tmp_path):
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT 1::TINYINT AS a, 2::UINTEGER AS b, 3.25::DECIMAL(9, 2) AS c,"
            " 0.5::FLOAT AS d, 7::HUGEINT AS e, uuid() AS f, 'NaN'::DOUBLE AS g, TIMESTAMP_NS"
            " '2024-01-01 00:00:00' AS h, 9::UBIGINT AS i, 'x'::VARCHAR AS j"
        )
    opened = vd.open(f"duckdb:///{tmp_path}/a.db", {"j": "category"}, table="t")
    assert [str(field.type) for field in opened.schema] == [
        "int64",
        "int64",
        "double",
        "double",
        "double",
        "string",
        "double",
        "timestamp[us]",
        "int64",
        "string",
    ]
    row = opened.arrow.to_pylist()[0]
    assert (row["a"], row["b"], row["c"], row["d"], row["e"], row["g"], row["i"]) == (
        1,
        2,
        3.25,
        0.5,
        7.0,
        None,
        9,
    )


def test_numbers_as_categories_read_the_same_everywhere(tmp_path):
    table = pa.table(
        {"a": [1.0, 2.5, None], "b": pa.array([1, 2, None], pa.int32()), "c": [True, False, None]}
    )
    pq.write_table(table, tmp_path / "a.parquet")
    opened = vd.open(tmp_path / "a.parquet", dict.fromkeys("abc", "category"))
    assert opened.arrow.to_pydict() == {
        "a": ["1", "2.5", None],
        "b": ["1", "2", None],
        "c": ["true", "false", None],
    }


def test_whole_numbers_in_floats_can_be_declared_integer(tmp_path, refused):
    pq.write_table(pa.table({"a": [1.0, 2.0, None]}), tmp_path / "a.parquet")
    assert vd.open(tmp_path / "a.parquet", {"a": "integer"}).arrow["a"].to_pylist() == [1, 2, None]
    pq.write_table(pa.table({"a": [1.0, 77315.5, None]}), tmp_path / "b.parquet")
    with refused(vd.errors.DataError, r"\{'a': 1\}"):
        vd.open(tmp_path / "b.parquet", {"a": "integer"})


def test_truth_can_be_declared_a_number():
    opened = vd.open(pd.DataFrame({"a": [True, False]}), {"a": "integer"})
    assert opened.arrow["a"].to_pylist() == [1, 0]


def test_a_date_cannot_be_declared_a_number():
    with pytest.raises(
        vd.errors.PlanError, match="declared as integer but holds values of kind date"
    ):
        vd.open(pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}), {"a": "integer"})
    with pytest.raises(
        vd.errors.PlanError, match="declared as date but holds values of kind integer"
    ):
        vd.open(pd.DataFrame({"a": [1]}), {"a": "date"})
