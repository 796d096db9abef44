"""budget, analyze and the private side of run, from the command line."""

from __future__ import annotations

import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.inference.posterior.compare import read_groups

PLAN = """
[source]
path = "people.csv"
[release]
folder = "out/people"
[custodian]
folder = "safe/people"
[[step]]
method = "dirichlet-multinomial"
columns = ["sex", "smokes"]
epsilon = 0.75
[step.domain]
sex = ["f", "m"]
smokes = ["yes", "no"]
"""


@pytest.fixture
def home(tmp_path):
    pd.DataFrame({"sex": ["f", "m"] * 50, "smokes": ["yes", "no", "no", "no"] * 25}).to_csv(
        tmp_path / "people.csv", index=False
    )
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def test_a_run_is_charged_once_and_the_second_is_refused(veladura, home):
    assert "No private draws are recorded" in veladura("budget", "plan.toml", cwd=home).stdout
    assert veladura("run", "plan.toml", cwd=home).returncode == 0
    again = veladura("run", "plan.toml", "--force", cwd=home)
    assert again.returncode == 5
    assert "Nothing was drawn" in again.stderr
    printed = veladura("budget", "plan.toml", "--events", cwd=home).stdout
    assert "epsilon = 0.75" in printed
    assert "dirichlet-multinomial of sex, smokes (one row replaced): epsilon = 0.75" in printed
    (home / "plan.toml").write_text(
        PLAN.replace("[[step]]", "[budget]\nepsilon = 1.5\n[[step]]", 1), encoding="utf-8"
    )
    assert veladura("run", "plan.toml", "--force", cwd=home).returncode == 0
    assert veladura("budget", cwd=home).stdout.split()[-5:] == [
        "=",
        "1.5",
        "1.5",
        "0",
        "2",
    ]
    assert veladura("budget", "nowhere", cwd=home).returncode == 2


def test_a_seed_needs_to_be_called_unsafe(veladura, home):
    (home / "plan.toml").write_text(PLAN + "[run]\nseed = 3\n", encoding="utf-8")
    for arguments in (["--dry-run"], []):
        done = veladura("run", "plan.toml", *arguments, cwd=home)
        assert done.returncode == 2
        assert "--unsafe-repeatable" in done.stderr
    assert "No private draws" in veladura("budget", cwd=home).stdout
    assert veladura("run", "plan.toml", "--unsafe-repeatable", cwd=home).returncode == 0
    assert '"repeatable": true' in (home / "out" / "people" / "manifest.json").read_text(
        encoding="utf-8"
    )


def test_an_analyst_needs_the_folder_only(veladura, home):
    assert veladura("run", "plan.toml", "--quiet", cwd=home).returncode == 0
    shown = veladura(
        "analyze",
        "out/people",
        "--posterior",
        "--picture",
        "shares.png",
        "--out",
        "cells.csv",
        cwd=home,
    )
    assert shown.returncode == 0, shown.stderr
    assert "100 people in the original" in shown.stdout
    assert list(pd.read_csv(home / "cells.csv").columns) == [
        "sex",
        "smokes",
        "share",
        "sd",
        "lower",
        "upper",
        "count",
    ]
    assert (home / "shares.png").stat().st_size > 5000
    asked = veladura(
        "analyze",
        "out/people",
        "--posterior",
        "--event",
        "smokes=yes",
        "--among",
        "sex=f",
        "--among",
        "sex=m",
        cwd=home,
    )
    assert "odds ratio (sex=f / sex=m)" in asked.stdout
    assert "difference (sex=f - sex=m)" in asked.stdout
    assert veladura("analyze", "out/people", cwd=home).returncode == 2
    wrong = veladura("analyze", "out/people", "--posterior", "--event", "smokes", cwd=home)
    assert wrong.returncode == 2


def test_a_group_is_column_and_value():
    assert read_groups("a=1|2, b=x") == {"a": ("1", "2"), "b": ("x",)}
    with pytest.raises(PlanError, match="is not a group"):
        read_groups("=x")
