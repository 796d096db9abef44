"""Attack: is a person in a differentially private table? Look for their category in the domain.

A domain that is read off the data holds a category if and only if somebody has it: the manifest of
version 0.1.0, from the plan that `veladura init` wrote, told with certainty whether the one person
with a rare disease is in the table, whatever epsilon is.
"""

from __future__ import annotations

import json

import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.methods.private.dirichlet import DirichletMultinomial

METHODS = ("dirichlet-multinomial", "noisy-counts", "beta-binomial")
RARE = "kuru"


def home_with(tmp_path, name, last):
    """Return a home with a register whose last person has one disease or another."""
    home = tmp_path / name
    home.mkdir()
    diseases = ["flu", "cold"] * 30 + [last]
    pd.DataFrame({"disease": diseases, "sex": ["f", "m", "m"] * 20 + ["f"]}).to_csv(
        home / "people.csv", index=False
    )
    return home


def seen_by_the_intruder(home):
    """Return whether the rare disease is in anything that left, or None if nothing left."""
    files = [path for path in (home / "release").rglob("*") if path.is_file()]
    manifests = [path for path in files if path.name == "manifest.json"]
    if not manifests:
        return None
    (step,) = json.loads(manifests[0].read_text(encoding="utf-8"))["steps"]
    return RARE in str(step["settings"]["domain"])


@pytest.mark.parametrize("method", METHODS[:2])
def test_the_domain_does_not_say_who_is_in(veladura, tmp_path, method):
    answers = []
    for name, last in (("in", RARE), ("out", "flu")):
        home = home_with(tmp_path, name, last)
        drafted = veladura("init", "people.csv", "--method", method, cwd=home)
        assert drafted.returncode == 0, drafted.stderr
        ran = veladura("run", "plan.toml", cwd=home)
        assert ran.returncode == 2
        assert "nothing was charged" in ran.stderr
        assert "domain must come from public knowledge" in ran.stderr
        assert "columns was proposed" in ran.stderr or "columns were proposed" in ran.stderr
        assert "No private draws" in veladura("budget", cwd=home).stdout
        answers.append(seen_by_the_intruder(home))
    assert answers == [None, None]


def test_a_declared_domain_is_the_same_for_both(veladura, tmp_path):
    answers = []
    for name, last in (("in", RARE), ("out", "flu")):
        home = home_with(tmp_path, name, last)
        (home / "plan.toml").write_text(
            f'[source]\npath = "people.csv"\nname = "{name}"\n'
            '[columns]\nsex = {role = "dropped"}\n'
            '[release]\nfolder = "release/people"\n[custodian]\nfolder = "safe/people"\n'
            '[[step]]\nmethod = "dirichlet-multinomial"\ncolumns = ["disease"]\nepsilon = 1.0\n'
            '[step.domain]\ndisease = ["flu", "cold", "kuru", "measles"]\n',
            encoding="utf-8",
        )
        assert veladura("run", "plan.toml", cwd=home).returncode == 0
        answers.append(seen_by_the_intruder(home))
    assert answers == [True, True]


@pytest.mark.parametrize("point", ["domain", "columns", "missing"])
def test_one_open_point_is_enough_to_refuse(veladura, tmp_path, point):
    home = home_with(tmp_path, "in", RARE)
    assert veladura("init", "people.csv", "--method", METHODS[0], cwd=home).returncode == 0
    text = (home / "plan.toml").read_text(encoding="utf-8")
    start = text.index("unconfirmed = ")
    end = text.index("]", start) + 1
    line = f'unconfirmed = ["{METHODS[0]}: {point} was proposed from the data"]'
    (home / "plan.toml").write_text(text[:start] + line + text[end:], encoding="utf-8")
    refused = veladura("run", "plan.toml", cwd=home)
    assert refused.returncode == 2
    assert "Nothing was drawn" in refused.stderr
    assert veladura("run", "plan.toml", "--dry-run", cwd=home).returncode == 2


def test_in_python_the_domain_has_to_be_given():
    with pytest.raises(PlanError, match="from public knowledge and never from the data"):
        DirichletMultinomial(columns=["disease"], epsilon=1.0)
