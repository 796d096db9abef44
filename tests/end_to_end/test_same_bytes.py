"""The same plan on CSV, Parquet, DuckDB, SQLite and PostgreSQL gives the same data files.

Byte for byte.
"""

from __future__ import annotations

import sqlite3

import duckdb
import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from veladura import example
from veladura.measures.assessment import Assessment
from veladura.plan.reading import parse_plan
from veladura.plan.run import run

PLAN = """
{source}
[columns.name]
role = "identifier"
[columns.social_number]
role = "identifier"
[columns.zip]
kind = "category"
exact = "a test"
[columns.birth]
kind = "date"
exact = "a test"
[columns.sex]
kind = "category"
[columns.ethnicity]
kind = "category"
exact = "a test"
[columns.marital]
kind = "category"
[columns.diagnosis]
kind = "category"
exact = "a test"
[columns.lon]
kind = "number"
[columns.lat]
kind = "number"
[columns.income]
kind = "integer"
[columns.stay]
kind = "integer"
[[step]]
method = "noise"
columns = ["income", "stay"]
[[step]]
method = "pram"
columns = ["sex", "marital"]
[[step]]
method = "microaggregation"
columns = ["lon", "lat"]
[release]
folder = "{home}/out/{label}"
format = "{format}"
{table}
[custodian]
folder = "{home}/safe/{label}"
[run]
seed = 5
"""


@pytest.fixture(scope="module")
def rows():
    frame = pd.read_csv(
        example.path("clinic.csv"), dtype={"zip": str, "social_number": str}, parse_dates=["birth"]
    ).head(500)
    frame["birth"] = frame["birth"].dt.date
    frame["income"] = frame["income"].astype("Int64")
    return frame


@pytest.fixture(scope="module", autouse=True)
def unmeasured():
    """The data files are looked at and nothing else: nothing needs to be measured."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veladura.plan.run.assess", lambda *_, **__: Assessment({}))
        yield


def shuffled(rows, seed):
    return rows.iloc[np.random.default_rng(seed).permutation(len(rows))]


def data_of(home, label, source, format_="parquet", table=""):
    plan = parse_plan(
        PLAN.format(source=source, home=home.as_posix(), label=label, format=format_, table=table)
    )
    run(plan)
    return (home / "out" / label / "data" / f"dataset-1.{format_}").read_bytes()


@pytest.fixture(scope="module")
def home(tmp_path_factory, rows):
    home = tmp_path_factory.mktemp("sources")
    rows.to_csv(home / "t.csv", index=False)
    shuffled(rows, 1).to_csv(
        home / "moved.csv", index=False, sep=";", decimal=",", encoding="utf-16"
    )
    pq.write_table(
        pa.Table.from_pandas(shuffled(rows, 2), preserve_index=False), home / "t.parquet"
    )
    arrow = pa.Table.from_pandas(shuffled(rows, 3), preserve_index=False)  # noqa: F841  # DuckDB reads it by name
    with duckdb.connect(str(home / "t.db")) as connection:
        connection.execute("create table people as select * from arrow")
    with sqlite3.connect(home / "t.sqlite") as connection:
        shuffled(rows, 4).astype({"birth": str}).to_sql("people", connection, index=False)
    return home


@pytest.fixture(scope="module")
def expected(home):
    return {
        format_: data_of(
            home,
            f"csv-{format_}",
            f'[source]\npath = "{home.as_posix()}/t.csv"\nname = "t"',
            format_,
        )
        for format_ in ("parquet", "csv")
    }


@pytest.mark.parametrize("format_", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("label", "source"),
    [
        ("moved", 'path = "{home}/moved.csv"'),
        ("parquet", 'path = "{home}/t.parquet"'),
        ("duckdb", 'url = "duckdb:///{home}/t.db"\ntable = "people"'),
        ("sqlite", 'url = "sqlite:///{home}/t.sqlite"\ntable = "people"'),
    ],
)
def test_the_same_bytes_from_every_source_in_any_order(home, expected, label, source, format_):
    text = '[source]\nname = "t"\n' + source.format(home=home.as_posix())
    assert data_of(home, f"{label}-{format_}", text, format_) == expected[format_]


@pytest.mark.postgres
@pytest.mark.xdist_group("postgres")
def test_the_same_bytes_from_postgresql(home, expected, postgres_url, rows):
    connection = ibis.connect(postgres_url)
    connection.create_table(
        "same_bytes", pa.Table.from_pandas(shuffled(rows, 5), preserve_index=False), overwrite=True
    )
    source = f'[source]\nname = "t"\nurl = "{postgres_url}"\ntable = "same_bytes"'
    for format_ in ("parquet", "csv"):
        assert data_of(home, f"postgres-{format_}", source, format_) == expected[format_]
    released = data_of(home, "postgres-table", source, table='table = "same_bytes_released"')
    assert released == expected["parquet"]
    back = connection.table("same_bytes_released").to_pyarrow()
    connection.disconnect()
    direct = pq.read_table(home / "out" / "postgres-table" / "data" / "dataset-1.parquet")
    assert sorted(map(repr, back.to_pylist())) == sorted(map(repr, direct.to_pylist()))


def test_the_same_rows_when_the_writing_is_done_inside_duckdb(home, expected):
    source = f'[source]\nname = "t"\nurl = "duckdb:///{home.as_posix()}/t.db"\ntable = "people"'
    assert data_of(home, "duckdb-table", source, table='table = "released"') == expected["parquet"]
    with duckdb.connect(str(home / "t.db")) as connection:
        back = connection.sql("select * from released").to_arrow_table()
    direct = pq.read_table(home / "out" / "duckdb-table" / "data" / "dataset-1.parquet")
    assert sorted(map(repr, back.to_pylist())) == sorted(map(repr, direct.to_pylist()))
