"""Results are put back: in memory, or lazily where the data lives."""

# ruff: noqa: S608  # statements are made of names the tests choose
from __future__ import annotations

import sqlite3

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import ColumnError, DataError
from veladura.table.recode import fresh, recode, replace
from veladura.table.write import write_arrow, write_parquet, write_table

ROWS = [
    ("02138", 1, "m"),
    ("02139", 2, "f"),
    (None, 3, "f"),
    ("02138", None, "m"),
    ("00501", 5, None),
    ("02139", 2, "f"),
]
NAMES = ["zip", "age", "sex"]
ZIPS = pa.table({"old": ["02138", "02139", "00501", None], "new": ["0213*", "0213*", "*", "?"]})
AGES = pa.table({"old": pa.array([1, 2, 3, 5]), "new": ["young", "young", "old", "old"]})
DROP = pa.table(
    {"zip": ["0213*", "*"], "age": pa.array([None, "old"]), "sex": pa.array(["m", None])}
)
EXPECTED = [
    ("0213*", "young", "f"),
    ("0213*", "young", "f"),
    ("0213*", "young", "m"),
    ("?", "old", "f"),
]


@pytest.fixture(
    params=[
        "frame",
        "duckdb",
        "sqlite",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")]),
    ]
)
def source(request, tmp_path):
    if request.param == "frame":
        return lambda rows=ROWS: vd.open(
            pa.table([list(column) for column in zip(*rows, strict=True)], names=NAMES)
        )
    make = {"duckdb": _duckdb, "sqlite": _sqlite}.get(request.param)
    if make is not None:
        return lambda rows=ROWS: make(tmp_path, rows)
    url, schema = (
        request.getfixturevalue("postgres_url"),
        request.getfixturevalue("postgres_schema"),
    )
    return lambda rows=ROWS: _postgres(url, schema, rows)


def _duckdb(folder, rows):
    path = folder / "a.db"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (zip VARCHAR, age INTEGER, sex VARCHAR)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return vd.open(f"duckdb:///{path}", table="t", writable=True)


def _sqlite(folder, rows):
    path = folder / "a.sqlite"
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (zip TEXT, age INTEGER, sex TEXT)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return vd.open(f"sqlite:///{path}", table="t", writable=True)


def _postgres(url, schema, rows):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {schema}.t")
        cursor.execute(f"CREATE TABLE {schema}.t (zip text, age int, sex char(1))")
        cursor.executemany(f"INSERT INTO {schema}.t VALUES (%s, %s, %s)", rows)
    return vd.open(url, table=f"{schema}.t")


def content(table):
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def test_values_are_mapped_and_classes_dropped(source):
    opened = source()
    recoded = recode(opened, {"zip": ZIPS, "age": AGES}, DROP)
    assert content(recoded.arrow) == sorted(EXPECTED, key=repr)
    assert [field.kind for field in recoded.schema] == ["category"] * 3
    assert recoded.counts(["zip", "age", "sex"]).size.tolist() == [2, 1, 1]
    assert not recode(opened, {"zip": ZIPS}).in_memory


def test_a_missing_value_without_a_mapping_stays_missing(source):
    recoded = recode(source(), {"age": AGES})
    assert sorted(map(repr, recoded.arrow["age"].to_pylist())) == [
        "'old'",
        "'old'",
        "'young'",
        "'young'",
        "'young'",
        "None",
    ]


def test_numbers_may_be_mapped_to_numbers(source):
    pairs = pa.table({"old": [1, 2, 3, 5], "new": [0, 0, 4, 4]})
    recoded = recode(source(), {"age": pairs})
    assert recoded.schema["age"].kind == "integer"
    assert sorted(v for v in recoded.arrow["age"].to_pylist() if v is not None) == [0, 0, 0, 4, 4]


def test_unknown_columns_are_refused(source):
    with pytest.raises(ColumnError, match="mapping names columns"):
        recode(source(), {"nope": ZIPS})
    with pytest.raises(ColumnError, match="drop names columns"):
        recode(source(), {}, pa.table({"nope": [1]}))


def test_a_file_is_in_an_order_that_says_nothing(source, tmp_path):
    write_parquet(recode(source(), {"zip": ZIPS}), tmp_path / "one.parquet")
    write_parquet(recode(source(ROWS[::-1]), {"zip": ZIPS}), tmp_path / 'we\'ird "two".parquet')
    one, two = (
        pq.read_table(tmp_path / "one.parquet"),
        pq.read_table(tmp_path / 'we\'ird "two".parquet'),
    )
    assert one.column_names == NAMES
    assert one.to_pylist() == two.to_pylist()
    assert content(one) == content(recode(source(), {"zip": ZIPS}).arrow)


def test_a_long_file_does_not_follow_its_source(tmp_path):
    table = pa.table({"a": list(range(5000)), "b": [i % 7 for i in range(5000)]})
    write_parquet(vd.open(table), tmp_path / "a.parquet")
    order = np.array(pq.read_table(tmp_path / "a.parquet")["a"].to_pylist())
    assert abs(np.corrcoef(order, np.arange(5000))[0, 1]) < 0.1


def test_every_source_gives_the_same_file_order(tmp_path):
    table = vd.open(pa.table([list(c) for c in zip(*ROWS, strict=True)], names=NAMES))
    for i, opened in enumerate((table, _duckdb(tmp_path, ROWS), _sqlite(tmp_path, ROWS[::-1]))):
        write_parquet(opened, tmp_path / f"{i}.parquet")
    first, *others = (pq.read_table(tmp_path / f"{i}.parquet").to_pylist() for i in range(3))
    assert all(other == first for other in others)


def test_names_that_duckdb_cannot_tell_apart_can_be_written(tmp_path):
    opened = vd.open(pa.table([[1, 2], [3, 4], [5, 6]], names=["i", "I", "x"]))
    write_parquet(opened, tmp_path / "a.parquet")
    assert content(pq.read_table(tmp_path / "a.parquet")) == [(1, 3, 5), (2, 4, 6)]


def test_a_table_of_the_same_database(source, request):
    if request.node.callspec.params["source"] == "frame":
        with pytest.raises(DataError, match="is not in a database"):
            write_arrow(source(), pa.table({"x": [1]}), "plain")
        return
    opened = source()
    name = 'out "1"; --'
    write_table(recode(opened, {"zip": ZIPS}), name, overwrite=True)
    write_table(recode(opened, {"zip": ZIPS}), name, overwrite=True)
    with pytest.raises(DataError, match="already"):
        write_table(recode(opened, {"zip": ZIPS}), name)
    backend = opened.expression._find_backends()[0][0]
    from veladura.table.database.connection import fetch, find

    written = fetch(find(backend, name))
    assert written.column_names == NAMES
    assert content(written) == content(recode(opened, {"zip": ZIPS}).arrow)
    write_arrow(opened, pa.table({"x": [3, 1, 2]}), "plain", overwrite=True)
    assert fetch(find(backend, "plain"))["x"].to_pylist() == [3, 1, 2]


def test_a_database_open_for_reading_is_not_written_to(tmp_path):
    _duckdb(tmp_path, ROWS)
    opened = vd.open(f"duckdb:///{tmp_path}/a.db", table="t")
    with pytest.raises(DataError, match="for reading only"):
        write_table(opened, "out")
    with pytest.raises(DataError, match="is not in a database"):
        write_arrow(vd.open(pa.table({"a": [1]})), pa.table({"a": [1]}), "out")


def test_columns_are_replaced_at_some_rows():
    opened = vd.open(pa.table({"a": [1, 2, 3], "b": ["x", "y", "z"]}), {"a": {"role": "sensitive"}})
    codes = opened.codes(["a"])
    changed = replace(
        opened,
        {"a": codes["a"].with_values(codes["a"].values * 10).take(np.array([0, 2]))},
        np.array([0, 2]),
    )
    assert changed.arrow.to_pydict() == {"a": [10, 30], "b": ["x", "z"]}
    assert changed.schema["a"].role == "sensitive"
    assert changed.counts(["b"]).size.tolist() == [1, 1]
    assert opened.arrow.to_pydict()["a"] == [1, 2, 3]
    assert fresh(opened, {"a": codes["a"], "b": opened.codes(["b"])["b"]}).rows == 3
    with pytest.raises(ValueError, match=r"\['b'\]"):
        fresh(opened, {"a": codes["a"]})
