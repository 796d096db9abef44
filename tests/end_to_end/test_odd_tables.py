"""Tables that newcomers bring: a draft that runs and verifies, or a sentence that says why not."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

ROWS = 120


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_column_without_a_name_is_called_by_its_place(veladura, tmp_path, rng):
    """The index that pandas writes has no name, and a release cannot be read without one."""
    table = pd.DataFrame({"age": rng.integers(18, 90, ROWS), "": "same"})
    table.to_csv(tmp_path / "people.csv", index=False)
    for command in (["init", "people.csv"], ["confirm", "plan.toml", "--accept-all"]):
        assert veladura(*command, cwd=tmp_path).returncode == 0
    assert veladura("run", "plan.toml", cwd=tmp_path).returncode == 0
    verified = veladura("verify", "release/people", cwd=tmp_path)
    assert verified.returncode == 0, verified.stdout
    manifest = json.loads((tmp_path / "release/people/manifest.json").read_text(encoding="utf-8"))
    assert {column["name"] for column in manifest["columns"]} <= {"age", "column 2"}


@pytest.mark.parametrize(
    ("table", "code", "words"),
    [
        (pd.DataFrame({"score": [0.5, np.inf, 1.5, np.nan] * 30}), 3, "'score': 30"),
        (pd.DataFrame({"a": [None] * ROWS, "b": [None] * ROWS}), 3, "without values"),
        (pd.DataFrame({"remark": [f"text {i}" for i in range(ROWS)]}), 3, "an identifier"),
        (pd.DataFrame({"country": ["here"] * ROWS}), 2, "the same value in all rows"),
        (pd.DataFrame({"": range(ROWS), "age": 5}), 3, "without a name"),
        (pd.DataFrame({"n" * 2000: range(ROWS)}), 3, "more than 1,000 characters"),
    ],
    ids=["infinite", "no-values", "texts", "constant", "no-name", "long-name"],
)
def test_why_there_is_no_plan(veladura, tmp_path, table, code, words):
    table.to_parquet(tmp_path / "people.parquet")
    done = veladura("init", "people.parquet", cwd=tmp_path)
    assert done.returncode == code
    assert words in done.stderr.replace("\n", " ")
    assert "caution" not in done.stderr
    assert not (tmp_path / "plan.toml").exists()


def test_a_household_whose_members_share_nothing_is_known_by_its_name(veladura, tmp_path, rng):
    people = pd.DataFrame(
        {
            "household_id": np.repeat(np.arange(1, ROWS + 1), 2),
            "age": rng.integers(18, 90, 2 * ROWS),
            "sex": rng.choice(["f", "m"], 2 * ROWS),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    done = veladura("init", "people.csv", cwd=tmp_path)
    assert done.returncode == 0
    plan = (tmp_path / "plan.toml").read_text(encoding="utf-8")
    assert '[columns.household_id]\nrole = "household"' in plan
    assert "and its name says so" in " ".join(done.stdout.split())
