"""Intruders of a plan, from the file to the gate."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from veladura.errors import ColumnError, GateError, PlanError
from veladura.plan.reading import read_plan
from veladura.plan.run import rehearse, run

PLAN = """
[source]
path = "people.csv"
[columns]
code = {{role = "identifier"}}
age = {{role = "quasi-identifier", exact = "asked for by the study"}}
sex = {{role = "quasi-identifier", exact = "asked for by the study"}}
income = {{role = "sensitive"}}
[[step]]
method = "noise"
columns = ["income"]
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
[[intruder]]
name = "clerk"
knows = {knows}
[gate]
"risk.intruders.{gate}" = {{max = {most}}}
"""


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(5)
    n = 300
    frame = pd.DataFrame(
        {
            "code": [f"p{i:04d}" for i in range(n)],
            "age": rng.integers(20, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "income": rng.lognormal(10, 0.5, n).round(),
        }
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def plan(folder, knows='["age", "sex"]', gate="clerk", most=1.0):
    text = PLAN.format(knows=knows, gate=gate, most=most)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan(folder / "plan.toml")


def test_people_at_risk_are_counted_and_held_against_the_gate(folder):
    frame = pd.read_csv(folder / "people.csv")
    alone = int((frame.groupby(["age", "sex"]).size() == 1).sum())
    outcome = run(plan(folder))
    clerk, everything = outcome.assessment.intruders
    assert (int(clerk.before), int(clerk.after), clerk.people) == (alone, alone, len(frame))
    assert everything.name == "everything"
    passed = {verdict.figure: verdict.passed for verdict in outcome.verdicts}
    assert passed == dict.fromkeys(
        ("risk.intruders.clerk", "risk.holes.ratio", "risk.extremes.own"), True
    )
    assert alone > 0
    with pytest.raises(GateError, match=r"risk\.intruders\.clerk"):
        run(plan(folder, most=0.0), force=True)


def test_bad_intruders_are_refused_before_anything_is_drawn(folder):
    for start in (run, rehearse):
        with pytest.raises(ColumnError, match="height"):
            start(plan(folder, knows='["height"]'))
        with pytest.raises(PlanError, match="finds nobody"):
            start(plan(folder, knows='["code", "age"]'))
        with pytest.raises(PlanError, match="did you mean 'clerk'"):
            start(plan(folder, gate="clark"))
    assert not (folder / "out").exists()


def test_the_terminal_says_the_verdict_first(folder):
    plan(folder)
    done = subprocess.run(
        [sys.executable, "-m", "veladura", "run", "plan.toml"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    (place,) = [i for i, line in enumerate(lines) if "could be found by the clerk; now" in line]
    assert place < lines.index(next(line for line in lines if line.startswith("Risk")))
