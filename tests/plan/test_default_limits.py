"""Gaps that tell people's numbers are refused though no plan asks for it, in every method."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from veladura.base.limits import Limit
from veladura.core import registry
from veladura.core.gates import NO_HOLES, NO_OWN_EXTREMES, NO_OWN_NUMBERS, default_limits
from veladura.errors import GateError, PlanError
from veladura.methods.cart.cart import Cart
from veladura.methods.masks.microaggregation import Microaggregation
from veladura.methods.masks.noise import Noise
from veladura.methods.private.dirichlet import DirichletMultinomial
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import run
from veladura.release.certificate import certificate
from veladura.release.verify import holds, verify

PLAN = """
[source]
path = "people.csv"
[columns]
income = {{kind = "integer", role = "sensitive"}}
[release]
folder = "out/people"
[custodian]
folder = "safe/people"
[run]
seed = 1
{gate}
[[step]]
method = "{method}"
columns = ["income"]
{more}
"""
REASON = "the numbers of visits are in a public register"


@pytest.fixture
def folder(tmp_path):
    """Whole numbers so dense that groups of three leave out numbers of one or two people."""
    rng = np.random.default_rng(1)
    incomes = np.rint(rng.gamma(4, 600, 20_000)).astype(int)
    pd.DataFrame({"income": incomes}).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def plan(folder, method="microaggregation", gate="", more=""):
    text = PLAN.format(method=method, gate=gate, more=more)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan(folder / "plan.toml")


def test_every_method_that_is_not_private_has_the_limit():
    for name in registry.METHODS:
        recipe = registry.find(name)
        limits = default_limits([recipe])
        assert ("risk.holes.ratio" in limits) == (not recipe.private), name


def test_the_loosest_limit_of_a_chain_holds_and_none_beside_a_private_step():
    noise, cart = Noise(columns=["x"]), Cart(columns=["y"])
    assert default_limits([noise]) == NO_OWN_EXTREMES
    both = {**NO_OWN_EXTREMES, **NO_HOLES}
    assert default_limits([noise, cart]) == default_limits([cart, noise]) == both
    assert default_limits([cart]) == NO_OWN_NUMBERS  # noise keeps numbers nearly as they are
    private = DirichletMultinomial(columns=["s"], domain={"s": ["a", "b"]}, epsilon=1)
    assert default_limits([noise, private]) == {}


def test_a_plan_without_a_gate_refuses_gaps_that_tell_people(folder):
    with pytest.raises(GateError, match=r"risk\.holes\.ratio is [2-9].*\n.*Hole attack") as refused:
        run(plan(folder, more="min_people = 0"))  # plain means
    assert "reason" in str(refused.value)
    assert not (folder / "out" / "people").exists()
    outcome = run(plan(folder))  # means of moved numbers have no such gaps
    assert {v.figure: v.passed for v in outcome.verdicts} == dict.fromkeys(NO_OWN_EXTREMES, True)
    assert "loosened" not in json.loads((outcome.folder / "manifest.json").read_text())


def test_the_holder_may_accept_the_gaps_with_a_reason_that_is_published(folder):
    gate = '[gate]\n"risk.holes.ratio" = {{max = 3{}}}'
    with pytest.raises(PlanError, match=r"at most 3 is looser than .* by default, at most 1\.25"):
        plan(folder, gate=gate.format(""))
    with pytest.raises(PlanError, match="looser"):
        plan(folder, gate=gate.format(', reason = "  "'))
    outcome = run(plan(folder, gate=gate.format(f', reason = "{REASON}"')))
    assert outcome.assessment.light("risk.holes.ratio") == "green"
    manifest = json.loads((outcome.folder / "manifest.json").read_text(encoding="utf-8"))
    loosened = {"figure": "risk.holes.ratio", "limit": "at most 3", "default": "at most 1.25"}
    assert manifest["loosened"] == [{**loosened, "reason": REASON}]
    assert REASON in (outcome.folder / "report.html").read_text(encoding="utf-8")
    assert holds(verify(outcome.folder))
    assert REASON in certificate(outcome.folder)


def test_a_stricter_limit_needs_no_reason(folder):
    outcome = run(plan(folder, more="k = 15", gate='[gate]\n"risk.holes.ratio" = {max = 1.2}'))
    assert [str(v.limit) for v in outcome.verdicts] == ["at most 1.2", "at most 0"]


@pytest.mark.parametrize("text", ["{min = 0}", '{min = 0, reason = ""}'])
def test_a_limit_of_the_other_end_is_looser(text):
    gate = f'[gate]\n"risk.holes.ratio" = {text}'
    with pytest.raises(PlanError, match="looser"):
        parse_plan(PLAN.format(method="noise", gate=gate, more=""))


def test_limits_are_compared_end_by_end():
    assert Limit(min=0.4).looser_than(Limit(min=0.5))
    assert Limit(max=1).looser_than(Limit(min=0.5))
    assert not Limit(min=0.6, max=2).looser_than(Limit(min=0.5))
    assert not Limit(max=1.25).looser_than(Limit(max=1.25))


def test_groups_of_three_fail_and_noise_does_not(folder):
    assert Microaggregation.firm_gate == Noise.firm_gate == NO_OWN_EXTREMES
    assert [v.passed for v in run(plan(folder, method="noise")).verdicts] == [True, True]


@pytest.mark.parametrize(("smoothing", "refused"), [("local", False), ("none", True)])
def test_a_synthesis_that_hands_out_own_numbers_is_refused(tmp_path, smoothing, refused):
    rng = np.random.default_rng(3)
    incomes = np.rint(rng.lognormal(9, 0.6, 1500)).astype(int)
    pd.DataFrame({"income": incomes}).to_csv(tmp_path / "people.csv", index=False)
    cart = plan(tmp_path, method="cart", more=f'm = 1\nsmoothing = "{smoothing}"')
    if refused:
        with pytest.raises(GateError, match=r"risk\.nearest\.ratio is 1\.[3-9]"):
            run(cart)
    else:
        assert {verdict.figure for verdict in run(cart).verdicts} == set(NO_OWN_NUMBERS)


def test_a_synthesis_that_republishes_an_outlier_is_refused(tmp_path):
    """Everybody else shares a number with five others: only the outlier could be told."""
    rng = np.random.default_rng(4)
    incomes = np.append(rng.integers(10, 30, 1500) * 100, 987_654)
    pd.DataFrame({"income": incomes}).to_csv(tmp_path / "people.csv", index=False)
    for smoothing in ("none", "local"):
        more = f'm = 1\ndraws = "plain"\nsmoothing = "{smoothing}"'
        cart = plan(tmp_path, method="cart", more=more)
        if smoothing == "none":
            with pytest.raises(GateError, match=r"risk\.extremes\.own is 1"):
                run(cart)
        else:
            assert all(verdict.passed for verdict in run(cart).verdicts)


@pytest.fixture
def lone(tmp_path):
    """Incomes of which one is a thousand times as large as any other."""
    rng = np.random.default_rng(5)
    incomes = np.append(np.rint(rng.lognormal(9, 0.5, 1500)).astype(int), 98_765_432)
    pd.DataFrame({"income": incomes}).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize("method", ["swap", "noise"])
def test_a_mask_that_hands_out_a_lone_outlier_is_refused(lone, method):
    more = "min_people = 0" if method == "swap" else "min_people = 0\nscale = 0.0001"
    with pytest.raises(GateError, match=r"risk\.extremes\.own is 1.*\n.*comes out as it is"):
        run(plan(lone, method=method, more=more))
    assert not (lone / "out" / "people").exists()
    verdicts = run(plan(lone, method=method)).verdicts  # the default moves it
    assert {v.figure: v.passed for v in verdicts} == dict.fromkeys(NO_OWN_EXTREMES, True)


CRITICAL = """
[source]
path = "people.csv"
[columns]
income = {{kind = "integer", role = "sensitive", exact = "{reason}"}}
[release]
folder = "out/people"
[custodian]
folder = "safe/people"
[run]
seed = 1
[[step]]
method = "critical-cart"
critical = {{income = "{condition}"}}
groups = []
m = 1
smoothing = "{smoothing}"
"""


def critical(folder, condition, smoothing="local"):
    text = CRITICAL.format(reason=REASON, condition=condition, smoothing=smoothing)
    (folder / "plan.toml").write_text(text, encoding="utf-8")
    return read_plan(folder / "plan.toml")


def test_critical_cells_are_held_to_the_limits_of_a_synthesis(lone):
    with pytest.raises(GateError, match=r"risk\.nearest\.ratio is 1\.[3-9]"):
        run(critical(lone, "income > 5000", "none"))
    verdicts = run(critical(lone, "income > 5000")).verdicts
    assert {v.figure: v.passed for v in verdicts} == dict.fromkeys(NO_OWN_NUMBERS, True)


def test_numbers_that_are_not_critical_may_come_out(lone):
    """The holder's condition says that the outlier, and most numbers, are nobody's secret."""
    verdicts = run(critical(lone, "income < 5000")).verdicts
    assert {v.figure: v.passed for v in verdicts} == dict.fromkeys(NO_OWN_NUMBERS, True)
