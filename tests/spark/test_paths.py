"""Custodian folders with unusual names: Spark writes there and nowhere else, or nothing at all."""

from __future__ import annotations

import locale
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import veladura as vd
from veladura.errors import FolderError
from veladura.table.database import scratch, spark_paths

from .conftest import spark_session, write_plan

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)"),
]
ROLES = {"number": {"role": "identifier"}}
NAMES = ("my säfe", "100%20 b", "tick`s", "a:b", "safe [1]{2}*?")


@pytest.fixture(autouse=True)
def no_plan_before(monkeypatch):
    monkeypatch.setattr(scratch, "_named", None)  # the custodian of a plan that ran here earlier


def folders_in(place: Path) -> set[str]:
    return {path.name for path in place.iterdir()}


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize(
    "name", [*NAMES[:2], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[2:])]
)
def test_rows_are_written_into_the_named_folder(local, people, tmp_path, monkeypatch, name):
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(tmp_path / name))
    table = vd.open(local, ROLES, table=f"parquet.`{people}`").select(["sex", "ward", "weight"])
    release = vd.Noise(columns=["weight"], fit_rows=500, min_people=0).protect(table, seed=1)
    near = vd.open(people, ROLES).select(["sex", "ward", "weight"])
    same = vd.Noise(columns=["weight"], fit_rows=500, min_people=0).protect(near, seed=1)
    rows, wanted = (pq.read_table(one.tables[0].table.stored) for one in (release, same))
    assert rows.equals(wanted)
    assert folders_in(tmp_path) == {name}


@pytest.mark.usefixtures("lazy_files")
def test_a_plan_with_such_a_custodian_writes_a_table(local, people, tmp_path, veladura):
    write_plan(tmp_path, local, people, "of_an_odd_custodian", "my säfe [1]")
    done = veladura("run", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    file = pq.read_table(tmp_path / "out" / "release" / "data" / "dataset-1.parquet")
    assert spark_session().table("of_an_odd_custodian").count() == file.num_rows
    assert folders_in(tmp_path) == {"plan.toml", "out", "my säfe [1]"}


@pytest.mark.usefixtures("lazy_files")
def test_a_folder_that_hadoop_cannot_read_is_refused_before_a_row_is_written(
    local, people, tmp_path, monkeypatch
):
    home = tmp_path / "at 10:30 {x"  # a colon in a pattern of names
    monkeypatch.setenv("VELADURA_CUSTODIAN", str(home))
    table = vd.open(local, ROLES, table=f"parquet.`{people}`").select(["sex", "ward", "weight"])
    with pytest.raises(FolderError, match=r"does not reach the folder.*No row was written"):
        vd.Noise(columns=["weight"], fit_rows=500, min_people=0).protect(table, seed=1)
    assert folders_in(tmp_path) == {home.name}
    assert not list(home.glob("**/*.parquet"))


@pytest.mark.parametrize(
    ("name", "words"), [("one, two", "takes the comma"), ("säfe", "in the locale C")]
)
def test_folders_for_sorting_that_java_would_miss(name, words, tmp_path, monkeypatch):
    monkeypatch.setattr(locale, "setlocale", lambda *_: "C")
    with pytest.raises(FolderError, match=words):
        spark_paths.local_folder(tmp_path / name)
    assert spark_paths.local_folder(tmp_path / "my safe") == str(tmp_path / "my safe")
