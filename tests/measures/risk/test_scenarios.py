"""Scenarios and curves: match risk for several intruders, and for several radii."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError

Intruder = vd.risk.Intruder


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), 200),
            "zip": rng.integers(0, 20, 200),
            "income": rng.lognormal(10, 1, 200).round(),
        }
    )


@pytest.fixture
def release(people):
    return vd.Noise(columns=["income"], scale=0.05).protect(people, seed=1)


def test_scenarios_are_matches_by_name(people, release):
    knows = {
        "little": Intruder(known="sex"),
        "much": Intruder(known=["sex", "zip"], sensitive="income", radius=2000),
    }
    found = vd.risk.scenarios(people, release, knows)
    assert list(found) == ["little", "much"]
    direct = vd.risk.match(people, release, known=["sex", "zip"], sensitive="income", radius=2000)
    assert float(found["much"].emr) == float(direct.emr) > float(found["little"].emr)
    assert len(str(found).splitlines()) == len(found) + 1


def test_a_curve_multiplies_the_radius_and_cuts_a_share_at_one(people, release):
    wide = Intruder(known="sex", sensitive="income", radius=500)
    curve = vd.risk.match_curve(people, release, wide, factors=(0.5, 1, 4))
    for factor, risk in curve.items():
        direct = vd.risk.match(
            people, release, known="sex", sensitive="income", radius=500 * factor
        )
        assert (float(risk.emr), float(risk.tmr), float(risk.fmr)) == (
            float(direct.emr),
            float(direct.tmr),
            float(direct.fmr),
        )
    share = Intruder(known="sex", sensitive="income", radius=0.5, relative=True)
    cut = vd.risk.match_curve(people, release, share, factors=(9,))[9]
    assert float(cut.emr) == float(
        vd.risk.match(people, release, known="sex", sensitive="income", radius=1, relative=True).emr
    )


def test_mistakes_are_told(people, release):
    with pytest.raises(PlanError, match="at least one intruder"):
        vd.risk.scenarios(people, release, {})
    with pytest.raises(PlanError, match="with a radius"):
        vd.risk.match_curve(people, release, Intruder(known="sex"))
    with pytest.raises(PlanError, match="fewer than the release was made from"):
        vd.risk.match(people.iloc[:50], release, known="sex")


def clinic(seed=0, size=200):
    rng = np.random.default_rng(seed)
    before = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], size), "income": rng.lognormal(8, 1, size).round(-1) + 10}
    )
    return before, vd.Noise(columns=["income"], scale=0.1).protect(before, seed=1)


def test_the_curve_is_drawn_with_its_three_rates_and_says_that_it_is_private(tmp_path):
    before, release = clinic()
    who = vd.risk.Intruder(known=["sex"], sensitive=["income"], radius=0.1, relative=True)
    curve = vd.risk.match_curve(before, release, who, factors=[0.5, 1, 2])
    text = curve.plot(tmp_path / "curve.svg").read_text()
    for words in ("EMR / n", "TMR", "FMR", "times the radius", "private, do not share"):
        assert words in text
    named = vd.risk.scenarios(before, release, {"sex": vd.risk.Intruder(known=["sex"])})
    assert "sex" in named.plot(tmp_path / "bars.svg").read_text()


@pytest.mark.parametrize(("within", "relative"), [("5 %", True), (250, False)])
def test_the_plan_says_how_precisely_the_intruder_of_match_risk_knows(within, relative):
    """The figure is that of `match` with the same radius, and not that of the usual 10 %."""
    before, release = clinic()
    who = vd.risk.Scenario(name="who", knows=["sex", "income"], within={"income": within})
    figures = vd.assess(before, release, intruders=[who])
    radius = 0.05 if relative else 250.0
    own = vd.risk.match(
        before, release, known=["sex"], sensitive=["income"], radius=radius, relative=relative
    )
    assert float(figures["risk.match.emr"]) == pytest.approx(float(own.emr))
    usual = vd.assess(before, release)
    assert float(usual["risk.match.emr"]) != pytest.approx(float(own.emr))
    curve = figures.details["risk.match"].curve
    assert float(curve[1.0].emr) == pytest.approx(float(own.emr))
