"""k-anonymity runs where the data lives: rows of a file or database never enter Python.

The release is the same as from a frame.
"""

from __future__ import annotations

import gc
import json
import uuid
from dataclasses import replace

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest
from tests.methods.kanonymity.recount import (
    COLUMNS,
    people,
    recipe,
    smallest_group,
    unmeasured,
    without_stars,
)

import veladura as vd
from veladura.errors import DataError, PromiseError
from veladura.plan.reading import parse_plan
from veladura.plan.run import run
from veladura.release.verify import holds, verify
from veladura.table.database.connection import fetch, find, home_of
from veladura.table.table import Table

KINDS = {"zip": "category", "age": "integer", "sex": "category", "income": "integer"}
FORMS = [
    {},
    {"suppressed": "star"},
    {"suppressed": "cells"},
    {"recoding": "local"},
    {"recoding": "mondrian"},
    {"missing": "wildcard"},
]


pytestmark = pytest.mark.usefixtures("lazy_files")


@pytest.fixture(scope="module")
def frame():
    return people(11, rows=300, missing=0.05)


@pytest.fixture(
    params=[
        "csv",
        "parquet",
        "duckdb",
        pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.xdist_group("postgres")]),
    ]
)
def source(request, tmp_path, frame):
    """The arguments of vd.open for the same rows, in another order, from every kind of source."""
    moved = frame.sample(frac=1, random_state=3)
    if request.param == "csv":
        moved.to_csv(tmp_path / "t.csv", index=False)
        return {"source": tmp_path / "t.csv"}
    if request.param == "parquet":
        moved.to_parquet(tmp_path / "t.parquet", index=False)
        return {"source": tmp_path / "t.parquet"}
    if request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "t.db")) as connection:
            connection.register("moved", moved)
            connection.execute("CREATE TABLE people AS SELECT * FROM moved")
        return {"source": f"duckdb:///{tmp_path}/t.db", "table": "people", "writable": True}
    import ibis

    connection = ibis.connect(url := request.getfixturevalue("postgres_url"))
    name = f"people_{uuid.uuid4().hex[:8]}"
    connection.create_table(name, moved)
    connection.disconnect()
    return {"source": url, "table": name}


@pytest.fixture
def rows_stay(monkeypatch):
    """Break every attempt to bring the rows of a table into memory."""

    def refuse(table):
        msg = f"the rows of {table!r} were fetched"
        raise AssertionError(msg)

    for reader in ("fetched", "read"):
        monkeypatch.setattr(Table, reader, refuse)


def opened(source):
    return vd.open(
        **source, columns={name: {"kind": kind} for name, kind in KINDS.items()}, name="people"
    )


def rows_of(frame):
    return sorted(
        map(
            str,
            frame[[*COLUMNS, "income"]]
            .astype(object)
            .where(frame.notna(), None)
            .to_numpy()
            .tolist(),
        )
    )


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_rows_stay_where_they_are_from_counting_to_the_file(
    source, form, tmp_path, rows_stay, frame
):
    release = recipe(k=4, **form).protect(opened(source))
    assert release.rows is None
    assert not release.tables[0].table.in_memory
    saved = replace(release, pictures=()).save(
        tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c"
    )
    back = pd.read_parquet(saved / "data" / "dataset-1.parquet")
    assert form or smallest_group(without_stars(back)) >= 4
    record = json.loads((tmp_path / "safe" / "c" / "record.json").read_text(encoding="utf-8"))
    assert record["rows"].startswith("no link")
    assert not (tmp_path / "safe" / "c" / "rows.parquet").exists()


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_frame_and_every_source_give_the_same_rows(source, form, frame):
    inside, here = recipe(k=4, **form).protect(opened(source)), recipe(k=4, **form).protect(frame)
    assert here.rows is not None
    assert {**inside.manifest, "name": ""} == {**here.manifest, "name": ""}
    assert rows_of(inside.datasets[0]) == rows_of(here.datasets[0])


@pytest.mark.parametrize("format_", ["parquet", "csv"])
def test_what_is_written_verifies_and_loads(source, tmp_path, frame, format_):
    release = recipe(k=4, suppressed="cells").protect(opened(source))
    saved = replace(release, pictures=()).save(
        tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c", format=format_
    )
    assert holds(verify(saved))
    assert rows_of(vd.load(saved).datasets[0]) == rows_of(
        recipe(k=4, suppressed="cells").protect(frame).datasets[0]
    )
    assert "in a file or database" in (tmp_path / "safe" / "c" / "report-custodian.html").read_text(
        encoding="utf-8"
    )


def test_every_source_gives_the_same_bytes(source, tmp_path, frame):
    frame.to_csv(tmp_path / "plain.csv", index=False)
    files = []
    for i, one in enumerate((source, {"source": tmp_path / "plain.csv"})):
        saved = replace(recipe(k=4).protect(opened(one)), pictures=()).save(
            tmp_path / f"out{i}" / "r", custodian=tmp_path / f"safe{i}" / "c"
        )
        files.append({path.name: path.read_bytes() for path in saved.rglob("*") if path.is_file()})
    assert files[0] == files[1]


def test_the_order_of_the_file_says_nothing(source, tmp_path, frame):
    saved = unmeasured(recipe(k=4).protect(opened(source)), tmp_path)
    written = pq.read_table(saved / "data" / "dataset-1.parquet")["income"].to_pylist()
    kept = [value for value in frame["income"].tolist() if value in set(written)]
    assert written != kept
    assert written != sorted(written)


def plan_of(source, home, extra=""):
    place = (
        f'path = "{source["source"]}"'
        if source.get("table") is None
        else f'url = "{source["source"]}"\ntable = "{source["table"]}"'
    )
    columns = "\n".join(
        f'[columns.{name}]\nkind = "{kind}"\nexact = "a test"' for name, kind in KINDS.items()
    )
    return parse_plan(
        f'[source]\n{place}\n{columns}\n[[step]]\nmethod = "k-anonymity"\nquasi_identifiers ='
        ' ["zip", "age", "sex"]\nk = 4\nmax_suppression = 0.2\n[release]\nfolder ='
        f' "{home}/out/r"\n{extra}\n[custodian]\nfolder = "{home}/safe/c"\n'
    )


def test_a_plan_writes_a_table_of_the_same_database(source, tmp_path, rows_stay):
    name = f"released_{uuid.uuid4().hex[:8]}"
    plan = plan_of(source, tmp_path, f'table = "{name}"')
    if source.get("table") is None:
        with pytest.raises(DataError, match="is not in a database"):
            run(plan)
        return
    outcome = run(plan)
    written = fetch(find(home_of(outcome.release.original.expression), name)).to_pandas()
    assert smallest_group(written) >= 4
    assert len(written) == outcome.release.manifest["rows"][0]


def test_figures_that_need_rows_say_so(source):
    release = recipe(k=4).protect(opened(source))
    figures = vd.assess(release.original, release)
    assert int(figures["risk.uniqueness.sample_uniques"]) == 0
    assert "in a file or database" in figures.figures["utility.correlations.mean"].why
    assert figures.figures["utility.columns.mean"].estimate is not None


@pytest.fixture
def living(tmp_path, frame):
    """A table in a database that can still change."""
    with duckdb.connect(str(tmp_path / "t.db")) as connection:
        connection.register("frame", frame)
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return opened({"source": f"duckdb:///{tmp_path}/t.db", "table": "people", "writable": True})


def add_a_stranger(table):
    home_of(table.expression).con.execute("INSERT INTO people VALUES ('99999', 101, 'z', 1)")


def test_a_source_that_changes_before_it_is_recoded_is_caught(living):
    fitted = recipe(k=4).fit(living)
    add_a_stranger(living)
    with pytest.raises(PromiseError, match="does not keep its promise"):
        fitted.sample()


def test_what_was_proved_is_what_is_written_whatever_the_source_does(living, tmp_path):
    release = recipe(k=4).protect(living)
    before = release.datasets[0]
    add_a_stranger(living)
    saved = replace(release, pictures=()).save(
        tmp_path / "out" / "r", custodian=tmp_path / "safe" / "c"
    )
    assert holds(verify(saved))
    pd.testing.assert_frame_equal(
        pd.read_parquet(saved / "data" / "dataset-1.parquet"), before, check_dtype=False
    )


def test_scratch_goes_when_no_table_needs_it(living):
    release = recipe(k=4).protect(living)
    path, part = release.tables[0].table.stored, release.tables[0].table.select(["age"])
    assert path.exists()
    del release
    gc.collect()
    assert part.counts(["age"]).size.sum() > 0  # a table made of it still needs it
    del part
    gc.collect()
    assert not path.exists()


def test_a_chain_with_a_step_that_needs_rows_keeps_the_link(tmp_path, frame):
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    chain = vd.Steps([recipe(k=4), vd.Noise(columns=["income"])])
    release = chain.protect(tmp_path / "t.parquet", seed=1)
    assert release.rows is not None
    assert len(release.rows) == release.manifest["rows"][0]
