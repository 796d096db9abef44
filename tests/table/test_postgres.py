"""PostgreSQL gives the same table as a file, sorts nothing for us and shows no password."""

# ruff: noqa: S608  # statements are made of names the tests choose
from __future__ import annotations

import psycopg
import pyarrow as pa
import pytest

import veladura as vd
from veladura.errors import DataError
from veladura.table.database.urls import find_table

from .test_sources import DECLARED, WORDS, as_parquet, as_postgres, assert_same, people, shuffled

pytestmark = [pytest.mark.postgres, pytest.mark.xdist_group("postgres")]


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    return as_parquet(people(), tmp_path_factory.mktemp("reference"), DECLARED)


def test_postgres_gives_the_same_table(postgres_url, postgres_schema, reference):
    assert_same(
        as_postgres(shuffled(people(), 4), postgres_url, postgres_schema, DECLARED), reference
    )


def test_text_columns_of_postgres_can_be_declared_as_numbers_and_dates(
    postgres_url, postgres_schema, reference
):
    texts = [
        [
            None if v is None else str(v).lower() if isinstance(v, bool) else str(v)
            for v in column.to_pylist()
        ]
        for column in people().columns
    ]
    types = ", ".join(f"{name} text" for name in people().column_names)
    opened = as_postgres(
        pa.table(texts, names=people().column_names),
        postgres_url,
        postgres_schema,
        DECLARED,
        types,
        "words",
    )
    assert_same(opened, reference)


def test_what_does_not_fit_in_postgres_is_counted(postgres_url, postgres_schema, refused):
    rows = [
        ("Zanzibar-77315", "x77315", "2024-02-30"),
        ("99999999999999999999", "1e999", "30.01.2024"),
        (" 12 ", "1.5e3", "2024-02-29"),
        ("1.5", "", "24-01-01"),
    ]
    with (
        psycopg.connect(postgres_url, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"CREATE TABLE {postgres_schema}.bad (a text, b text, c text)")
        cursor.executemany(f"INSERT INTO {postgres_schema}.bad VALUES (%s, %s, %s)", rows)
    with refused(DataError, r"\{'a': 3, 'b': 3, 'c': 3\}"):
        vd.open(
            postgres_url,
            {"a": "integer", "b": "number", "c": "date"},
            table=f"{postgres_schema}.bad",
        )
    fitting = {
        "a": {"kind": "integer", "missing": [rows[0][0], rows[1][0], "1.5"]},
        "b": "category",
        "c": "category",
    }
    assert vd.open(postgres_url, fitting, table=f"{postgres_schema}.bad").arrow[
        "a"
    ].to_pylist() == [None, None, 12, None]


def test_postgres_never_sorts_for_us(postgres_url, postgres_schema):
    with (
        psycopg.connect(postgres_url, autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"CREATE TABLE {postgres_schema}.words2 (w text)")
        cursor.executemany(
            f"INSERT INTO {postgres_schema}.words2 VALUES (%s)", [(word,) for word in WORDS]
        )
    labels = (
        vd.open(postgres_url, {"w": "category"}, table=f"{postgres_schema}.words2")
        .codes(["w"])["w"]
        .labels.to_pylist()
    )
    assert labels == sorted(word for word in WORDS if word is not None)


def test_strange_names_in_postgres(postgres_url, postgres_schema):
    name = 'a"b; drop table x'
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            f'CREATE TABLE {postgres_schema}."a""b; drop table x" ("select" int, i int, "I" text,'
            ' "q\'""x%" float4, t timestamptz, u uuid)'
        )
        connection.execute(
            f'INSERT INTO {postgres_schema}."a""b; drop table x" VALUES (1, 2, \'x\', 0.5,'
            " '2024-01-01 12:00+02', '00000000-0000-0000-0000-000000000001')"
        )
    opened = vd.open(postgres_url, {"I": {"role": "sensitive"}}, table=f"{postgres_schema}.{name}")
    assert opened.names == ["select", "i", "I", "q'\"x%", "t", "u"]
    assert opened.counts(["i", "I"]).size.tolist() == [1]
    assert opened.arrow.to_pylist()[0]["q'\"x%"] == 0.5
    assert opened.arrow.schema.field("t").type == pa.timestamp("us", "UTC")
    assert opened.arrow["t"].cast(pa.int64()).to_pylist() == [1704103200000000]


def test_passwords_are_not_kept(postgres_url, postgres_schema):
    as_postgres(people(), postgres_url, postgres_schema, DECLARED, name="secret")
    url = postgres_url.replace("://postgres:@", "://postgres:hunter2@")
    assert "hunter2" not in find_table(url, f"{postgres_schema}.secret")[1]
