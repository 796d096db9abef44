"""Database files open by their path, for reading only, with the one table they have."""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3

import duckdb
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.plan.draft import draft
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import run
from veladura.release.verify import verify
from veladura.table.database.connection import home_of

pytestmark = pytest.mark.quick

ROWS = [(f"0{i % 3}", 20 + i % 40, 1000.5 * i) for i in range(120)]
WAYS = ["h.duckdb", "h.ddb", "h.db", "h.sqlite", "h.sqlite3", "lite.db"]


def make(path, tables=("people",)):
    lite = "lite" in path.name or path.name.startswith("h.sqlite")
    connection = sqlite3.connect(path) if lite else duckdb.connect(str(path))
    for name in tables:
        connection.execute(f"CREATE TABLE {name} (zip VARCHAR, age INTEGER, income DOUBLE)")
        connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", ROWS)  # noqa: S608
    connection.commit()
    connection.close()
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", WAYS)
def test_a_database_file_opens_as_it_is(name, tmp_path):
    path = make(tmp_path / name)
    before = digest(path)
    for table in (vd.open(path), vd.open(str(path), table="people")):
        assert table.source.name == table.source.table == "people"
        assert sorted(map(tuple, (row.values() for row in table.arrow.to_pylist()))) == sorted(ROWS)
    assert digest(path) == before
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["h.duckdb", "h.sqlite"])
def test_several_tables_need_a_name(name, tmp_path):
    path = make(tmp_path / name, ("people", "visits"))
    with pytest.raises(PlanError, match=r"(?s)2 tables.*table = .*\['people', 'visits'\]"):
        vd.open(path)
    assert vd.open(path, table="visits").rows == len(ROWS)
    with pytest.raises(DataError, match=r"(?s)'peeple' is not in .*\['people', 'visits'\]"):
        vd.open(path, table="peeple")


def test_tables_of_other_schemas_are_named_with_them(tmp_path):
    path = make(tmp_path / "h.duckdb")
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.visits AS SELECT 1 AS a")
    with pytest.raises(PlanError, match=r"\['clinic.visits', 'people'\]"):
        vd.open(path)
    assert vd.open(path, table="clinic.visits").rows == 1


def test_what_is_no_database(tmp_path):
    empty = tmp_path / "empty.duckdb"
    duckdb.connect(str(empty)).close()
    with pytest.raises(DataError, match="the database has no tables"):
        vd.open(empty)
    (tmp_path / "text.db").write_text("name,age\nAna,40\n")
    with pytest.raises(DataError, match="not a DuckDB or SQLite database") as caught:
        vd.open(tmp_path / "text.db")
    assert "Ana" not in str(caught.value)
    (tmp_path / "none.sqlite").touch()
    with pytest.raises(DataError, match="not a DuckDB or SQLite database"):
        vd.open(tmp_path / "none.sqlite")
    with pytest.raises(DataError, match="is not a file"):
        vd.open(tmp_path / "missing.duckdb")


@pytest.mark.parametrize("name", ["h.duckdb", "h.sqlite"])
def test_a_file_is_written_to_only_when_asked(name, tmp_path):
    from veladura.table.write import write_table

    path = make(tmp_path / name)
    before = digest(path)
    with pytest.raises(DataError, match=r"(?s)reading only.*writable=True"):
        write_table(vd.open(path), "copy")
    assert digest(path) == before


@pytest.mark.parametrize("name", ["h.duckdb", "h.sqlite"])
def test_a_plan_of_a_database_file_runs(name, tmp_path):
    path = make(tmp_path / name, ("people", "visits"))
    before = digest(path)
    text = draft(str(path), table="people", method="microaggregation", home=tmp_path)
    source = parse_plan(text).source
    assert (source.path, source.table, source.name) == (name, "people", "people")
    (tmp_path / "plan.toml").write_text(text)
    outcome = run(read_plan(tmp_path / "plan.toml"))
    assert vd.load(outcome.folder).tables[0].table.rows == len(ROWS)
    assert digest(path) == before
    lines = verify(outcome.folder, path, outcome.custodian / "record.json")
    assert all(line.status != "broken" for line in lines)
    assert any("source is the table" in line.claim and line.status == "holds" for line in lines)


@pytest.mark.parametrize("writable", [True, False])
def test_sqlite_sorts_in_memory_and_not_in_a_folder_of_the_system(tmp_path, writable):
    with contextlib.closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        pd.DataFrame({"x": [1, 2]}).to_sql("people", connection, index=False)
    table = vd.open(tmp_path / "a.db", writable=writable)
    connection = home_of(table.expression).con
    assert connection.execute("PRAGMA temp_store").fetchone() == (2,)
