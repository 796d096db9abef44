"""A plan sets the priors and the length of the chains, and asks for the strongest intruder."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import GateError, PlanError
from veladura.numeric.mcmc.diagnostics import ChainWarning
from veladura.plan.reading import read_plan
from veladura.plan.run import run

PLAN = """
[source]
path = "homes.csv"
[columns]
x = {{kind = "number"}}
y = {{kind = "number"}}
ill = {{kind = "category"}}
[[step]]
method = "geography"
x = "x"
y = "y"
attributes = ["ill"]
region = [0, 0, 1, 1]
grid = [3, 3]
m = 2
sweeps = 60
burn = 20
chains = 2
{more}
[release]
folder = "out/release"
[custodian]
folder = "safe/record"
[run]
seed = 1
[gate]
"risk.informed_intruder.posterior" = {{max = {most}}}
"""
SHORT = "most_sweeps = 60\n"


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    homes = pd.DataFrame(rng.random((150, 2)).round(4), columns=["x", "y"])
    homes["ill"] = np.where(rng.random(150) < 0.2 + 0.6 * homes["x"], "yes", "no")
    homes.to_csv(tmp_path / "homes.csv", index=False)
    return tmp_path


def plan(folder, more=SHORT, most=1.0):
    (folder / "plan.toml").write_text(PLAN.format(more=more, most=most), encoding="utf-8")
    return read_plan(folder / "plan.toml")


def run_quietly(*arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainWarning)
        return run(plan(*arguments, **settings), force=True)


def protected(folder, more):
    recipe = plan(folder, more).recipe
    return recipe.protect(str(folder / "homes.csv"), seed=1)


@pytest.mark.filterwarnings("ignore::veladura.numeric.mcmc.diagnostics.ChainWarning")
def test_priors_of_a_plan_are_those_of_the_model(folder):
    given = SHORT + "priors = {contrast_rate = 3.0, extra_sd = 0.5}\n"
    set_, usual = (plan(folder, more).recipe.priors for more in (given, SHORT))
    assert set_ == replace(usual, contrast_rate=3.0, extra_sd=0.5) != usual
    after, before = (protected(folder, more).datasets[0] for more in (given, SHORT))
    assert (after["x"] != before["x"]).any()  # the same seed, another model
    with pytest.raises(PlanError, match="contrast_speed"):
        plan(folder, "priors = {contrast_speed = 3.0}\n")


@pytest.mark.parametrize(("more", "took"), [(SHORT, 60), ("most_sweeps = 200\n", 140)])
def test_most_sweeps_of_a_plan_ends_the_chains(folder, more, took):
    """60 sweeps with 20 of burn-in keep 40; the next stretch is twice as long, up to 140 in all."""
    with pytest.warns(ChainWarning, match=f"each took {took} sweeps"):
        protected(folder, more)
    with pytest.raises(PlanError, match="most_sweeps"):
        plan(folder, "most_sweeps = 59\n")


def test_a_gate_asks_for_the_strongest_intruder(folder):
    outcome = run_quietly(folder, SHORT + "priors = {contrast_rate = 3.0}\n")
    settings = vd.load(folder / "out" / "release").manifest["steps"][0]["settings"]
    assert settings["priors"]["contrast_rate"] == 3.0
    figures = {name.rpartition(".")[2] for name in outcome.assessment.figures if "informed" in name}
    assert figures == {"posterior", "prior", "found", "found_base"}
    assert 1 / 9 < float(outcome.assessment["risk.informed_intruder.posterior"]) < 1
    passed = {verdict.figure: verdict.passed for verdict in outcome.verdicts}
    assert passed["risk.informed_intruder.posterior"]
    with pytest.raises(GateError, match=r"risk\.informed_intruder\.posterior"):
        run_quietly(folder, most=0.01)
