"""Contingency tables in and out: a row stands for as many people as its count says."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.cli.main import app
from veladura.errors import DataError, PlanError
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.plan.run import run
from veladura.release.verify import holds, verify

CELLS = pd.DataFrame(
    {"sex": ["f", "f", "m", "m"], "smokes": ["yes", "no", "yes", "no"], "n": [30, 120, 50, 0]}
)
ROWS = CELLS.loc[np.repeat(CELLS.index, CELLS["n"]), ["sex", "smokes"]].reset_index(drop=True)


def test_a_table_of_counts_is_the_table_of_its_people() -> None:
    opened = vd.open(CELLS, counts="n")
    assert (opened.rows, opened.names) == (200, ["sex", "smokes"])
    recipe = vd.KAnonymity(quasi_identifiers=["sex", "smokes"], k=40, max_suppression=0.2)
    for given in (opened, ROWS):
        release = recipe.protect(given)
        assert sorted(map(tuple, release.datasets[0].to_numpy())) == sorted(
            map(tuple, recipe.protect(ROWS).datasets[0].to_numpy())
        )
    assert vd.risk.uniqueness(opened, ["sex", "smokes"]).sample_uniques.value == 0


@pytest.mark.parametrize("wrong", [-1, 2.5, None, np.inf])
def test_counts_that_are_none_are_refused_without_a_value(wrong: Any) -> None:
    frame = CELLS.astype({"n": "Float64"})
    frame.loc[1, "n"] = wrong
    with pytest.raises(DataError, match="negative or not a whole number in 1 rows"):
        vd.open(frame, counts="n")


@pytest.mark.parametrize("counts", [[1e30, 0, 0, 0], [5 * 10**18, 5 * 10**18, 0, 0]])
def test_counts_beyond_whole_numbers_are_refused_in_words(counts: list[Any]) -> None:
    with pytest.raises(DataError, match=r"1e\+(30|19) rows, more than 50,000,000"):
        vd.open(CELLS.assign(n=counts), counts="n")


def test_other_columns_cannot_count() -> None:
    with pytest.raises(PlanError, match="counts: column"):
        vd.open(CELLS, counts="number")
    with pytest.raises(DataError, match="must hold whole numbers"):
        vd.open(CELLS, counts="sex")
    with pytest.raises(DataError, match="more than 50,000,000"):
        vd.open(CELLS.assign(n=10**8), counts="n")
    with pytest.raises(PlanError, match="numbers of people"):
        vd.open(CELLS, {"sex": {"role": "person"}}, counts="n")


def test_a_plan_reads_counts_and_its_release_is_written_as_counts(tmp_path: Path) -> None:
    CELLS.to_csv(tmp_path / "cells.csv", index=False)
    (tmp_path / "plan.toml").write_text("""
[source]
path = "cells.csv"
counts = "n"

[columns]
sex = {role = "quasi-identifier"}
smokes = {role = "sensitive"}

[[step]]
method = "dirichlet-multinomial"
columns = ["sex", "smokes"]
domain = {sex = ["f", "m"], smokes = ["yes", "no"]}
epsilon = 3

[release]
folder = "out/release"

[custodian]
folder = "safe/record"
""")
    outcome = run(read_plan(tmp_path / "plan.toml"), ledger=vd.Ledger(epsilon=3))
    assert outcome.release.steps[0].settings["n"] == 200
    record = tmp_path / "safe" / "record" / "record.json"
    assert holds(verify(outcome.folder, source=tmp_path / "cells.csv", record=record))
    file = tmp_path / "counts.csv"
    printed = CliRunner().invoke(app, ["counts", str(outcome.folder), "--out", str(file)])
    assert printed.exit_code == 0, printed.output
    counts = pd.read_csv(file)
    released = vd.load(outcome.folder).datasets[0]
    expected = released.groupby(["sex", "smokes"]).size()
    assert counts.set_index(["sex", "smokes"])["n"].to_dict() == expected.to_dict()
    again = vd.open(file, counts="n")
    assert again.rows == 200
    one = CliRunner().invoke(
        app, ["counts", str(outcome.folder), "--column", "sex", "--out", str(file), "--force"]
    )
    assert one.exit_code == 0
    assert pd.read_csv(file)["n"].sum() == 200
    refused = CliRunner().invoke(app, ["counts", str(outcome.folder), "--out", str(file)])
    assert refused.exit_code != 0


def test_statistics_are_no_rows_to_count(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="the extra dp is not installed")
    frame = pd.DataFrame({"age": np.arange(400) % 80})
    made = vd.PrivateSummary(columns=["age"], bounds={"age": [0, 100]}, epsilon=1)
    folder = made.protect(frame).save(tmp_path / "a" / "out", tmp_path / "b" / "safe")
    file = tmp_path / "counts.csv"
    refused = CliRunner().invoke(app, ["counts", str(folder), "--out", str(file)])
    assert refused.exit_code != 0
    assert not file.exists()
    with pytest.raises(PlanError, match="nothing to count"):
        vd.load(folder).counts()


def test_a_drafted_plan_says_which_column_looks_like_counts(tmp_path: Path) -> None:
    CELLS.to_csv(tmp_path / "cells.csv", index=False)
    text = draft(str(tmp_path / "cells.csv"), method="noisy-counts")
    assert '\n# counts = "n"\n' in text
    uncommented = text.replace('\n# counts = "n"', '\ncounts = "n"')
    assert tomllib.loads(uncommented)["source"]["counts"] == "n"
    ROWS.assign(n=1).to_csv(tmp_path / "rows.csv", index=False)  # combinations repeat: people
    assert "counts =" not in draft(str(tmp_path / "rows.csv"), method="noisy-counts")
