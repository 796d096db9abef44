"""The command line on Spark: init, confirm and run, in few jobs, with the figures of a file."""

from __future__ import annotations

import json
import tomllib

import pytest

import veladura as vd
from veladura.measures.exact import exact_facts
from veladura.table.class_sizes import count_sizes_ahead, sizes_of_rows
from veladura.table.database.spark import plain_name
from veladura.table.inspect import inspect_table

from .conftest import ADULT, job_total

pytestmark = [
    pytest.mark.spark,
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:[^\n]*(generalised|level)"),
]


@pytest.mark.usefixtures("lazy_files")
def test_a_drafted_plan_runs_as_it_is_in_few_jobs(local, adult, tmp_path, veladura):
    jobs, before = {}, job_total()
    source = ["init", local, "--table", f"parquet.`{adult}`", "--method", "k-anonymity"]
    for command in (source, ["confirm", "plan.toml", "--accept-all"], ["run", "plan.toml"]):
        done = veladura(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        jobs[command[0]], before = job_total() - before, job_total()
    assert jobs["run"] <= 15, jobs
    assert jobs["init"] <= 15, jobs
    assert jobs["confirm"] <= 20, jobs
    plan = tomllib.loads((tmp_path / "plan.toml").read_text())
    assert plan["source"]["url"] == local
    assert plan["release"]["folder"] == "release/adult"
    manifest = (tmp_path / "release" / "adult" / "manifest.json").read_text()
    assert json.loads(manifest)["name"] == "adult"
    assert str(adult) not in manifest


@pytest.mark.usefixtures("lazy_files")
def test_a_draft_of_the_whole_table_takes_few_jobs(local, adult, tmp_path, veladura):
    before = job_total()
    done = veladura("init", local, "--table", f"parquet.`{adult}`", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert job_total() - before <= 20


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("parquet.`/data/people.parquet`", "people"),
        ("parquet.`s3a://bucket/register/parts/`", "parts"),
        ("health.people", "health.people"),
    ],
)
def test_files_are_called_by_their_own_name(table, name):
    assert plain_name(table) == name


@pytest.mark.usefixtures("lazy_files")
def test_what_exact_columns_tell_is_counted_by_few_queries(local, people):
    """In one pass for single columns and one for pairs: the figures are those of rows in memory."""
    roles = {"number": {"role": "identifier"}}
    far = vd.open(local, roles, table=f"parquet.`{people}`")
    near = vd.open(people, roles).fetched()
    names, protected = ["sex", "ward", "weight", "age"], ["race", "pay", "number", "country"]
    before = job_total()
    counted = exact_facts(far, names, protected)
    assert job_total() - before <= 7
    assert counted == exact_facts(near, names, protected)


@pytest.mark.usefixtures("lazy_files")
def test_sizes_of_many_columns_come_by_one_query(local, people):
    roles = {"number": {"role": "identifier"}}
    ahead, alone = (vd.open(local, roles, table=f"parquet.`{people}`") for _ in range(2))
    count_sizes_ahead(ahead, ahead.names)
    before = job_total()
    sizes = {name: sizes_of_rows(ahead, [name]) for name in ahead.names}
    assert job_total() == before
    for name, found in sizes.items():
        assert found.histogram() == sizes_of_rows(alone, [name]).histogram(), name


@pytest.mark.usefixtures("lazy_files")
def test_facts_on_columns_are_those_of_a_file(local, people):
    far, near = (
        vd.open(source, {"number": {"role": "identifier"}}, table=table)
        for source, table in ((local, f"parquet.`{people}`"), (people, None))
    )
    assert inspect_table(far) == inspect_table(near.fetched())
    assert len(ADULT) == 9
