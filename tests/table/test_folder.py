"""A folder of Parquet files as a source: parts, and folders named by a value as Hive has them."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import DataError
from veladura.table.files.digest import file_digest

ROWS = pa.table(
    {
        "age": [31, 32, 33, 34, 35],
        "zip": ["02138", "02139", "02138", "a b/c", None],
        "year": ["2001", "2002", "2002", "2001", "2001"],
    }
)


@pytest.fixture(params=["0", ""])
def held(request, monkeypatch):
    """Rows that stay in their files, and rows that are held."""
    monkeypatch.setenv("VELADURA_HELD_CELLS", request.param)


def rows_of(table):
    return sorted(map(str, table.arrow.to_pylist()))


@pytest.mark.usefixtures("held")
def test_folders_that_name_a_value_give_columns_of_text(tmp_path):
    pq.write_to_dataset(ROWS, tmp_path / "people", partition_cols=["zip", "year"])
    table = vd.open(tmp_path / "people", {"zip": "category"})
    assert table.names == ["age", "zip", "year"]
    assert [field.kind for field in table.schema] == ["integer", "category", "category"]
    assert rows_of(table) == sorted(map(str, ROWS.to_pylist()))  # 02138 keeps its zero


@pytest.mark.usefixtures("held")
def test_a_column_of_a_folder_can_be_declared_a_number(tmp_path):
    pq.write_to_dataset(ROWS, tmp_path / "people", partition_cols=["year"])
    table = vd.open(tmp_path / "people", {"year": "integer", "zip": "category"})
    assert sorted(table.arrow["year"].to_pylist()) == [2001, 2001, 2001, 2002, 2002]


def test_parts_side_by_side_are_one_table_and_notes_are_left_out(tmp_path):
    folder = tmp_path / "people [1]"
    (folder / "_temporary").mkdir(parents=True)
    for part in range(2):
        pq.write_table(ROWS.slice(3 * part, 3), folder / f"part-{part}.parquet")
    pq.write_table(ROWS, folder / "_temporary" / "half.parquet")
    pq.write_table(ROWS, folder / ".hidden.parquet")
    (folder / "_SUCCESS").touch()
    assert rows_of(vd.open(folder, {"zip": "category"})) == sorted(map(str, ROWS.to_pylist()))


@pytest.mark.filterwarnings("ignore")
def test_the_release_is_that_of_one_file(tmp_path, monkeypatch):
    monkeypatch.setenv("VELADURA_HELD_CELLS", "0")
    many = pa.concat_tables([ROWS] * 20)
    pq.write_to_dataset(many, tmp_path / "people", partition_cols=["zip", "year"])
    pq.write_table(many, tmp_path / "people.parquet")
    recipe = vd.KAnonymity(quasi_identifiers=["age", "zip", "year"], k=20)
    data = []
    for name in ("people", "people.parquet"):
        out = tmp_path / f"{name} out"
        release = recipe.protect(vd.open(tmp_path / name, {"zip": "category"}))
        release.save(out / "release", custodian=out / "safe" / "record")
        (file,) = (out / "release" / "data").glob("*.parquet")
        data.append(file.read_bytes())
    assert data[0] == data[1]


def test_a_folder_has_a_digest_of_its_files(tmp_path):
    pq.write_to_dataset(ROWS, tmp_path / "people", partition_cols=["year"])
    before = file_digest(tmp_path / "people")
    (tmp_path / "people" / "_SUCCESS").touch()
    assert file_digest(tmp_path / "people") == before
    pq.write_table(ROWS.slice(0, 1), tmp_path / "people" / "year=2001" / "more.parquet")
    assert file_digest(tmp_path / "people") != before


def test_folders_that_are_no_table_are_refused_in_words(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="without Parquet files"):
        vd.open(tmp_path / "empty")
    pq.write_to_dataset(ROWS, tmp_path / "mixed", partition_cols=["year"])
    pq.write_table(ROWS, tmp_path / "mixed" / "more.parquet")
    with pytest.raises(DataError, match="some files are in folders that name a value"):
        vd.open(tmp_path / "mixed")
    (tmp_path / "twice" / "year=2001").mkdir(parents=True)
    pq.write_table(ROWS, tmp_path / "twice" / "year=2001" / "a.parquet")
    with pytest.raises(DataError, match=r"columns \['year'\] are given by the names of folders"):
        vd.open(tmp_path / "twice")


def test_tables_with_versions_are_refused_since_their_folders_hold_deleted_rows(tmp_path):
    for name, note in (("Delta", "_delta_log/0.json"), ("Iceberg", "metadata/v1.metadata.json")):
        folder = tmp_path / name
        (folder / note).parent.mkdir(parents=True)
        (folder / note).write_text(json.dumps({}))
        pq.write_table(ROWS, folder / "part-0.parquet")
        with pytest.raises(
            DataError, match=rf"(?s)a table of {name}.*Spark session that has {name}"
        ):
            vd.open(folder)
