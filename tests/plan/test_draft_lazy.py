"""Drafted plans of tables whose rows are not held: they run as they are."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.plan.draft import draft
from veladura.plan.proposals import gate_text

DRAWN = ("noise", "cart")
METHODS = ("k-anonymity", *DRAWN)


def told_of(done):
    """Whether a run said that the limit on holes was not judged."""
    return "were not judged" in done.stderr and "risk.holes.ratio at most" in done.stderr


@pytest.fixture
def people(tmp_path):
    rng, rows = np.random.default_rng(1), 2_000
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            "region": rng.choice(list("abcdef"), rows),
            "income": rng.lognormal(8, 1, rows).round(0),
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    return tmp_path


@pytest.mark.usefixtures("lazy_files")
@pytest.mark.parametrize("method", [*METHODS, None])
def test_a_drafted_plan_runs_where_rows_are_not_held(people, veladura, method):
    chosen = [] if method is None else ["--method", method]
    for command in (
        ["init", "people.parquet", *chosen],
        ["confirm", "plan.toml", "--accept-all"],
        ["run", "plan.toml"],
    ):
        done = veladura(*command, cwd=people)
        assert done.returncode == 0, done.stderr
    if method in DRAWN:
        judged = "gate passed risk.holes.ratio" in done.stdout
        assert judged != told_of(done)  # one or the other: nobody is left to wonder
    else:
        assert not told_of(done)  # no number was drawn: there is nothing to judge
    assert (people / "release" / "people" / "manifest.json").is_file()


@pytest.mark.usefixtures("lazy_files")
def test_limits_on_rows_that_pass_in_chunks_are_told_as_not_judged(people, veladura):
    assert veladura("init", "people.parquet", "--method", "cart", cwd=people).returncode == 0
    assert veladura("confirm", "plan.toml", "--accept-all", cwd=people).returncode == 0
    text = (people / "plan.toml").read_text(encoding="utf-8")
    text = text.replace('method = "cart"', 'method = "cart"\nfit_rows = 500')
    (people / "plan.toml").write_text(text, encoding="utf-8")
    done = veladura("run", "plan.toml", cwd=people)
    assert done.returncode == 0, done.stderr
    assert told_of(done)


@pytest.mark.usefixtures("lazy_files")
def test_limits_that_need_rows_are_comments_with_the_reason(people):
    text = draft(str(people / "people.parquet"), method="cart", home=people)
    assert "risk.holes.ratio" not in tomllib.loads(text).get("gate", {})
    for figure in ("risk.holes.ratio", "risk.spikes.ratio", "risk.extremes.own"):
        assert f'# "{figure}" = ' in text
    assert "hold by default where the released rows are in memory" in text
    assert '# memory = "4 GiB"' in text


def test_limits_are_asked_for_where_rows_are_held(people):
    text = draft(str(people / "people.parquet"), method="cart", home=people)
    assert {"risk.holes.ratio", "risk.spikes.ratio"} <= set(tomllib.loads(text)["gate"])


@pytest.mark.parametrize("held", [True, False])
def test_uncommented_limits_are_those_that_hold(held):
    recipe = vd.Noise(columns=["income"])
    gate = tomllib.loads(gate_text(recipe, held=held)).get("gate", {})
    assert set(gate) == (set(recipe.firm_gate) if held else set())


def test_a_table_of_any_name_gives_a_folder(tmp_path):
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute('CREATE TABLE "a/b: `c`" AS SELECT range % 7 AS x FROM range(500)')
    text = draft(str(tmp_path / "d.duckdb"), home=tmp_path)
    plan = tomllib.loads(text)
    assert plan["release"]["folder"] == "release/a-b- -c"
    assert plan["custodian"]["folder"] == "custodian/a-b- -c"
    assert plan["source"]["table"] == "a/b: `c`"
