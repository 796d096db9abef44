"""Traffic lights, the command `veladura assess`, and the gate that a drafted plan proposes."""

from __future__ import annotations

import json
import re
import tomllib

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import veladura as vd
from veladura.base.estimate import Estimate
from veladura.base.limits import Limit
from veladura.cli.main import app
from veladura.core.registry import METHODS
from veladura.errors import GateError, PlanError
from veladura.measures.assessment import Assessment
from veladura.measures.measure import Figure
from veladura.measures.registry import figure_names
from veladura.plan.proposals import gate_text
from veladura.release.gate import Verdict
from veladura.release.reassess import reassess

NAME = "utility.columns.worst"


@pytest.mark.parametrize(
    ("estimate", "light"),
    [
        (Estimate(0.1, 0.05, 0.15), "green"),
        (Estimate(0.1, 0.05, 0.25), "amber"),
        (Estimate(0.3, 0.25, 0.35), "red"),
        (None, "red"),
        (Estimate(float("nan"), 0.0, 0.0), "red"),
    ],
)
def test_the_light_is_green_only_when_the_unfavourable_end_is_within(estimate, light):
    limit = Limit(max=0.2)
    assert limit.light(estimate) == light
    assert Verdict(NAME, estimate, limit, passed=light == "green").light == light
    shown = Assessment({NAME: Figure(NAME, "M.", "low", estimate, "why")}, limits={NAME: limit})
    assert shown.light(NAME) == light
    assert f"{light} (at most 0.2)" in str(shown)
    assert f"{light} (at most 0.2)" in shown.to_html()
    assert shown.to_json()[NAME]["light"] == light


def test_a_figure_without_a_limit_has_no_light():
    plain = Assessment({NAME: Figure(NAME, "M.", "low", Estimate.exact(1))})
    assert plain.light(NAME) is None
    assert "light" not in plain.to_json()[NAME]
    assert "gate" not in str(plain)


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 120), "income": rng.normal(50, 9, 120).round(1)}
    )


@pytest.fixture
def saved(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    release = vd.Noise(columns=["income"], scale=0.1).protect(
        vd.open(tmp_path / "people.csv", {"sex": "category"}), seed=1
    )
    release.save(tmp_path / "out" / "release", custodian=tmp_path / "safe" / "record")
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "people.csv"\n[[step]]\nmethod = "noise"\ncolumns ='
        ' ["income"]\n[gate]\n"utility.columns.worst" = {max = 0.5}\n'
    )
    return tmp_path


def test_figures_do_not_depend_on_threads(people):
    release = vd.Cart(m=2).protect(people, seed=1)
    assert (
        vd.assess(people, release, threads=1).to_json()
        == vd.assess(people, release, threads=3).to_json()
    )


def test_a_private_release_is_held_against_no_limit(people):
    release = vd.DirichletMultinomial(
        columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=1.0
    ).protect(people[["sex"]])
    with pytest.raises(PlanError, match="would disclose something about the data"):
        vd.assess(people[["sex"]], release, limits={NAME: Limit(max=1)})


def test_the_command_prints_and_writes_what_the_function_gives(saved):
    call = [
        "assess",
        str(saved / "out/release"),
        "--plan",
        str(saved / "plan.toml"),
        "--html",
        str(saved / "a.html"),
        "--json",
        str(saved / "a.json"),
    ]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert "utility.columns.worst" in done.output
    assert "green: at most 50 %" in done.output
    told = json.loads((saved / "a.json").read_text())
    assert told[NAME]["light"] == "green"
    page = (saved / "a.html").read_text()
    assert "For the custodian only" in page
    assert "passed" in page


def test_a_missed_limit_is_an_error_after_the_page_is_written(saved):
    strict = saved / "strict.toml"
    strict.write_text((saved / "plan.toml").read_text().replace("0.5", "0.0001"))
    done = CliRunner().invoke(
        app,
        [
            "assess",
            str(saved / "out/release"),
            "--plan",
            str(strict),
            "--html",
            str(saved / "a.html"),
        ],
    )
    assert isinstance(done.exception, GateError)
    assert NAME in str(done.exception)
    assert "failed" in (saved / "a.html").read_text()


def test_the_command_needs_the_original(saved):
    done = CliRunner().invoke(app, ["assess", str(saved / "out/release")])
    assert isinstance(done.exception, PlanError)
    assert "--source" in str(done.exception)


def test_a_record_is_used_where_rows_can_be_linked(saved):
    found = reassess(saved / "out/release", saved / "people.csv", saved / "safe/record/record.json")
    figure = found.assessment.figures["risk.unchanged.cells"]
    assert figure.estimate is not None or "not linked" in figure.why


@pytest.mark.parametrize(
    "method", [method for method in METHODS if method != "steps"]
)  # drafted plans hold single methods
def test_proposed_limits_are_on_figures_that_exist(method):
    recipe = getattr(vd, METHODS[method][1])
    settings = {"quasi_identifiers": ["a"], "k": 7} if method == "k-anonymity" else {}
    if recipe.private:
        recipe = type("Private", (), {"private": True})
        assert gate_text(recipe).startswith("# No [gate]")
        return
    made = object.__new__(recipe)
    for name, value in settings.items():
        object.__setattr__(made, name, value)
    if method == "k-anonymity":
        object.__setattr__(made, "max_suppression", 0.02)
        assert made.proposed_gate()["risk.classes.smallest"] == Limit(min=7)
    assert set(made.proposed_gate()) <= set(figure_names())
    text = gate_text(made)
    assert ("\n[gate]" in text) == bool(made.firm_gate)
    uncommented = re.sub(r'^# (?=["\[])', "", text, flags=re.MULTILINE)  # the rest explains
    assert {name: Limit(**ends) for name, ends in tomllib.loads(uncommented)["gate"].items()} == {
        **made.proposed_gate(),
        **made.firm_gate,
    }
