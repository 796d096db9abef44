"""A gate compares the unfavourable end and never lets a doubt pass."""

from __future__ import annotations

import math

import pytest

from veladura.base.estimate import Estimate
from veladura.errors import GateError, PlanError
from veladura.measures.assessment import Assessment
from veladura.measures.measure import Figure
from veladura.release.gate import Limit, check_gate, gate, require

NAME = "risk.uniqueness.average_prosecutor"


def assessment(estimate, why="", *, private=False):
    return Assessment({NAME: Figure(NAME, "M.", "low", estimate, why)}, private=private)


def passed(estimate, **ends):
    return gate(assessment(estimate), {NAME: Limit(**ends)})[0].passed


def test_the_unfavourable_end_decides():
    estimate = Estimate(0.2, 0.1, 0.3)
    assert passed(estimate, max=0.3)
    assert not passed(estimate, max=0.29)
    assert passed(estimate, min=0.1)
    assert not passed(estimate, min=0.11)
    assert passed(estimate, min=0.1, max=0.3)
    assert not passed(estimate, min=0.15, max=0.4)


def test_what_is_not_a_number_never_passes():
    unknown = Estimate(math.nan, math.nan, math.nan)
    assert not passed(unknown, max=1e9)
    assert not passed(unknown, min=-1e9)
    assert not passed(Estimate(math.nan, 0.0, 1.0), max=2.0)


def test_a_figure_that_does_not_apply_fails_with_its_reason():
    (verdict,) = gate(assessment(None, "no link."), {NAME: Limit(max=1)})
    assert not verdict.passed
    assert verdict.why == "no link."
    with pytest.raises(GateError, match=r"does not apply \(no link\.\); allowed: at most 1"):
        require([verdict])


def test_a_figure_nobody_measured_fails():
    (verdict,) = gate(Assessment({}), {NAME: Limit(max=1)})
    assert (verdict.passed, verdict.why) == (False, "it was not measured")


def test_the_error_names_figure_value_and_limit():
    verdicts = gate(assessment(Estimate.exact(0.5)), {NAME: Limit(min=0.1, max=0.2)})
    with pytest.raises(
        GateError,
        match=(
            r"fails 1 limit of the gate:\n  risk\.uniqueness\.average_prosecutor is 0\.5; allowed:"
            r" at least 0\.1 and at most 0\.2"
        ),
    ):
        require(verdicts)
    require(gate(assessment(Estimate.exact(0.5)), {NAME: Limit(max=0.5)}))
    require([])


def test_an_unknown_figure_is_an_error_with_the_nearest_name():
    with pytest.raises(
        PlanError,
        match=(
            r"gate figure 'risk\.uniqueness\.average' is not known.*\n*.*did you mean"
            r" 'risk\.uniqueness\.average_prosecutor'"
        ),
    ):
        check_gate(["risk.uniqueness.average"])
    with pytest.raises(PlanError, match="is not known"):
        gate(assessment(Estimate.exact(1)), {"risk.nothing": Limit(max=1)})
    check_gate([NAME])


def test_a_differentially_private_release_has_no_gate():
    private = assessment(Estimate.exact(0.1), private=True)
    with pytest.raises(PlanError, match="whether it passes would disclose something"):
        gate(private, {NAME: Limit(max=1)})
    assert gate(private, {}) == []


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({}, "needs min or max"),
        ({"max": math.nan}, "finite numbers"),
        ({"min": -math.inf}, "finite numbers"),
        ({"max": True}, "finite numbers"),
        ({"max": "0.2"}, "finite numbers"),
        ({"min": 2, "max": 1}, "no release can pass"),
    ],
)
def test_limits_are_checked(ends, message):
    with pytest.raises(PlanError, match=message):
        Limit(**ends)
