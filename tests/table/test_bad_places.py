"""Sources that are not there or not whole, and names that try to be more than names."""

from __future__ import annotations

import sqlite3

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError

from .conftest import CANARY


def csv(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("scheme", ["duckdb", "sqlite"])
def test_databases_that_are_none(tmp_path, scheme, refused):
    path = tmp_path / "a.db"
    path.write_bytes(b"not a database at all " + CANARY.encode() * 400)
    with refused(DataError, "database"):
        vd.open(f"{scheme}:///{path}", table="t")
    with refused(DataError, f"(?s)is not a file.*{scheme}:////absolute"):
        vd.open(f"{scheme}:///{tmp_path}/none.db", table="t")
    assert not (tmp_path / "none.db").exists()


def test_a_damaged_parquet_file(tmp_path, refused):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [CANARY] * 1000}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with refused(DataError, "cannot be read"):
        vd.open(path)


def test_paths_that_are_no_tables(tmp_path, refused):
    with refused(DataError, "is not a file"):
        vd.open(tmp_path / "none.csv")
    with refused(DataError, "is a folder"):
        vd.open(tmp_path)
    with refused(PlanError, r"files that end in '\.doc'"):
        vd.open(csv(tmp_path, "x", "a.doc"))
    with refused(PlanError, "got int"):
        vd.open(3)
    with refused(PlanError, "(?s)got LazyFrame.*collect"):
        vd.open(pl.LazyFrame({"a": [CANARY]}))
    with refused(PlanError, "got list"):
        vd.open([CANARY])
    with refused(PlanError, "database 'sybase' is not known"):
        vd.open("sybase://x/y", table="t")


def test_tables_that_are_not_there(tmp_path, refused):
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT '{CANARY}' AS a")
    assert vd.open(f"duckdb:///{tmp_path}/a.db").source.table == "people"
    with refused(DataError, r"(?s)table 'peeple' is not in the database.*\['people'\]"):
        vd.open(f"duckdb:///{tmp_path}/a.db", table="peeple")
    with refused(DataError, "is not in the database"):
        vd.open(f"duckdb:///{tmp_path}/a.db", table='x"; DROP TABLE people; --')
    with refused(DataError, "is not in the database"):
        vd.open(f"duckdb:///{tmp_path}/a.db", table="none.people")
    assert vd.open(f"duckdb:///{tmp_path}/a.db", table="people").rows == 1


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_postgres_that_is_not_there(postgres_url, refused):
    with refused(DataError, "is not in the database"):
        vd.open(postgres_url, table='x"; DROP TABLE people; --')
    url = f"postgresql://{CANARY}:{CANARY}@127.0.0.1:1/none"
    with refused(DataError, "the postgresql database cannot be read"):
        vd.open(url, table="t")


def test_strange_names_in_databases(tmp_path):
    name = 'a"b; drop table x'
    with duckdb.connect(str(tmp_path / "a.db")) as connection:
        connection.execute(
            'CREATE TABLE "a""b; drop table x" AS SELECT 1 AS "select", 2 AS "q\'""x"'
        )
    opened = vd.open(f"duckdb:///{tmp_path}/a.db", table=name)
    assert opened.arrow.to_pylist() == [{"select": 1, "q'\"x": 2}]
    connection = sqlite3.connect(tmp_path / "b.db")
    connection.execute('CREATE TABLE "a""b; drop table x" ("select" INT, "; --" INT, "q\'""x" INT)')
    connection.execute('INSERT INTO "a""b; drop table x" VALUES (1, 2, 3)')
    connection.commit()
    connection.close()
    opened = vd.open(f"sqlite:///{tmp_path}/b.db", table=name)
    assert opened.arrow.to_pylist() == [{"select": 1, "; --": 2, "q'\"x": 3}]
    assert opened.counts(["; --"]).size.tolist() == [1]


STRANGE = ['a"b; drop table x', "select", "; --", "i", "I", "q'x"]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "parquet"])
def test_strange_names_in_frames(library, tmp_path):
    table = pa.table([[i, i + 1] for i in range(6)], names=STRANGE)
    pq.write_table(table, tmp_path / "a.parquet")
    source = {
        "pandas": table.to_pandas,
        "polars": lambda: pl.DataFrame(table.to_pydict()),
        "pyarrow": lambda: table,
        "parquet": lambda: tmp_path / "a.parquet",
    }[library]()
    opened = vd.open(source)
    assert opened.names == STRANGE
    assert opened.arrow.to_pydict() == table.to_pydict()
    assert opened.counts(["i", "I", "; --"]).size.tolist() == [1, 1]
