"""One table in five places: the same nodes, the same released rows, the same drawn rows."""

from __future__ import annotations

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError
from veladura.table import chunks

from .conftest import spark_session

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)"),
]
QUASI = ("sex", "age", "race", "marital")
NAMES = [*QUASI, "ward", "weight"]
ROLES = {name: {"role": "quasi-identifier"} for name in QUASI}
RECIPES = {
    "k-anonymity": vd.KAnonymity(
        quasi_identifiers=QUASI,
        k=3,
        max_suppression=0.1,
        hierarchies={"age": vd.Hierarchy.intervals((10, 30))},
    ),
    "noise": vd.Noise(columns=["weight"], scale=0.2, fit_rows=900),
    "cart": vd.Cart(columns=["weight", "ward"], m=2, fit_rows=900),
}


@pytest.fixture(scope="module")
def places(people, tmp_path_factory, local, postgres_url, postgres_schema):
    """The same rows, in another order everywhere."""
    folder = tmp_path_factory.mktemp("places")
    rows = pq.read_table(people).select(NAMES).slice(0, 3_000)
    other = rows.take(pa.array(list(range(2_999, -1, -1))))
    pa.csv.write_csv(rows, folder / "people.csv")
    pq.write_table(other, folder / "people.parquet", row_group_size=700)
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        connection.register("rows", rows)
        connection.execute("CREATE TABLE people AS SELECT * FROM rows ORDER BY weight")
    types = {"age": "bigint", "weight": "double precision"}
    columns = ", ".join(f"{name} {types.get(name, 'text')}" for name in NAMES)
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"CREATE TABLE {postgres_schema}.people_of_five ({columns})")
        copy = f"COPY {postgres_schema}.people_of_five FROM STDIN"
        with connection.cursor() as cursor, cursor.copy(copy) as stream:
            for row in other.to_pylist():
                stream.write_row(list(row.values()))
    (folder / "parts").mkdir()
    for part in range(3):
        some = rows.slice(part * 1_000, 1_000)
        pq.write_table(some, folder / "parts" / f"{part}.parquet")
    return {
        "csv": (folder / "people.csv", None),
        "parquet": (folder / "people.parquet", None),
        "duckdb": (folder / "people.duckdb", "people"),
        "postgres": (postgres_url, f"{postgres_schema}.people_of_five"),
        "spark": (local, f"parquet.`{folder / 'parts'}`"),
    }


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("method", RECIPES)
def test_five_sources_give_one_release(places, method, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", 700)
    found = {}
    for place, (source, name) in places.items():
        table = vd.open(source, ROLES, table=name)
        fitted = RECIPES[method].fit(table, seed=5)
        release = fitted.sample(seed=5)
        nodes = [node.levels for node in fitted.minimal] if method == "k-anonymity" else []
        found[place] = nodes, [_rows(dataset.table) for dataset in release.tables]
    for place, (nodes, rows) in found.items():
        assert nodes == found["csv"][0], place
        for one, other in zip(rows, found["csv"][1], strict=True):
            assert one.equals(other), place


def _rows(table):
    """Return rows in an order that says nothing of the file they were in."""
    rows = table.read()
    return rows.sort_by([(name, "ascending") for name in rows.column_names]).combine_chunks()


@pytest.mark.usefixtures("lazy_files")
def test_folders_that_name_a_value_are_one_table_in_duckdb_and_spark(people, tmp_path, local):
    rows = pq.read_table(people).select(NAMES).slice(0, 600)
    codes = pa.array([None if i % 50 == 0 else f"0{i % 3}" for i in range(600)])  # zeros stay
    rows = rows.append_column("code", codes)
    pq.write_to_dataset(rows, tmp_path / "people", partition_cols=["ward", "code"])
    recipe = vd.KAnonymity(
        quasi_identifiers=[*QUASI, "code"],
        k=3,
        max_suppression=0.1,
        hierarchies={"age": vd.Hierarchy.intervals((10, 30))},
    )
    found = []
    for source, name in ((tmp_path / "people", None), (local, f"parquet.`{tmp_path / 'people'}`")):
        table = vd.open(source, ROLES, table=name)
        assert table.names == [*QUASI, "weight", "ward", "code"]
        assert {"00", "01", "02"} == set(table.counts(["code"]).columns[0].labels.to_pylist())
        found.append(_rows(recipe.fit(table, seed=5).sample(seed=5).tables[0].table))
    assert found[0].equals(found[1])


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("method", ["k-anonymity", pytest.param("noise", marks=pytest.mark.slow)])
def test_a_table_of_the_catalogue_is_read_as_any_other(places, method, monkeypatch):
    """Written by `saveAsTable`, opened by its name and as a frame; the release is that of a file.

    So are tables of Delta and Iceberg where a session has them: these come through the same call.
    Their jars are not on PyPI, so none is tried here.
    """
    monkeypatch.setattr(chunks, "CHUNK", 700)
    session = spark_session()
    folder = places["spark"][1]
    session.sql("DROP TABLE IF EXISTS people_of_six")
    session.table(folder).write.partitionBy("sex").saveAsTable("people_of_six")
    try:
        found = []
        for source, name in (
            (places["spark"][0], "people_of_six"),
            (session.table("people_of_six"), None),
            (places["parquet"][0], None),
        ):
            table = vd.open(source, ROLES, table=name).select(NAMES)
            release = RECIPES[method].fit(table, seed=5).sample(seed=5)
            found.append([_rows(dataset.table) for dataset in release.tables])
    finally:
        session.sql("DROP TABLE people_of_six")
    for one in found[1:]:
        assert all(a.equals(b) for a, b in zip(one, found[0], strict=True))


def test_a_format_that_the_session_has_not_is_told(local, tmp_path):
    with pytest.raises(DataError, match="delta"):
        vd.open(local, ROLES, table=f"delta.`{tmp_path}`")
