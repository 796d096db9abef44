"""Slopes kept: fits of statsmodels, verdicts, and the holder's own models."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import veladura as vd
from veladura.errors import ColumnError, PlanError
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.run import rehearse

PLAN = """
[source]
path = "people.csv"
[columns]
x = {{ role = "other" }}
y = {{ role = "sensitive" }}
sex = {{ role = "other" }}
[[step]]
method = "cart"
m = 2
[utility]
models = {models}
"""


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(5)
    x, sex = rng.normal(size=800), rng.choice(["f", "m"], 800)
    y = 2 * x + (sex == "m") + rng.normal(size=800)
    return pd.DataFrame({"x": x, "y": y, "sex": sex})


def interval(fit, term):
    low, high = (
        fit.params[term] - 1.959964 * fit.bse[term],
        fit.params[term] + 1.959964 * fit.bse[term],
    )
    return fit.params[term], low, high


def test_own_models_are_those_of_statsmodels(people):
    rng = np.random.default_rng(6)
    other = people.assign(y=people["y"] + rng.normal(0, 3, 800))
    found = vd.utility.slopes(people, other, ["y ~ x + C(sex)", "sex ~ x + y"])
    linear, logistic = found.models[:2]
    for model, frames, fitting in (
        (linear, (people, other), lambda data: smf.ols("y ~ x + C(sex)", data).fit()),
        (
            logistic,
            (people, other),
            lambda data: smf.logit("m ~ x + y", data.assign(m=(data["sex"] == "m") * 1.0)).fit(
                disp=0
            ),
        ),
    ):
        fits = [fitting(frame) for frame in frames]
        term = model.terms["x"]
        for ends, fit in zip((term.original, term.released), fits, strict=True):
            assert (ends.value, ends.lower, ends.upper) == pytest.approx(
                interval(fit, "x"), rel=1e-4
            )
        (_, a, b), (_, c, d) = (interval(fit, "x") for fit in fits)
        shared = max(min(b, d) - max(a, c), 0)
        assert float(term.overlap) == pytest.approx(
            (shared / (b - a) + shared / (d - c)) / 2, abs=1e-4
        )


def test_the_same_table_keeps_every_slope_and_a_mirrored_one_reverses_them(people):
    same = vd.utility.slopes(people, people)
    assert (float(same.overlap), float(same.kept), int(same.reversed)) == (1.0, 1.0, 0)
    assert {model.formula.split(" ~ ")[0] for model in same.models} == {"x", "y", "sex"}
    mirrored = vd.utility.slopes(people, people.assign(y=-people["y"]), ["y ~ x"])
    assert mirrored.models[0].reversed == ["x"]
    assert int(mirrored.reversed) >= 3


def test_a_slope_that_is_lost_is_not_kept(people):
    rng = np.random.default_rng(7)
    lost = vd.utility.slopes(people, people.assign(y=rng.permutation(people["y"])), ["y ~ x"])
    assert lost.models[0].kept == []
    assert lost.models[0].overlap == 0.0
    assert float(lost.kept) < 0.5


def test_a_model_that_cannot_be_fitted_says_why_and_others_go_on(people):
    found = vd.utility.slopes(people, people, ["sex + y ~ x", "y ~ nothing", "y ~ x"])
    assert [bool(model.why) for model in found.models[:3]] == [True, True, False]
    assert "nothing" in found.models[1].why


def test_models_of_a_plan_reach_the_assessment(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN.format(models='["y ~ x + C(sex)"]'), encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.utility.models == ("y ~ x + C(sex)",)
    release = plan.recipe.protect(plan.open(), seed=1)
    assessment = vd.assess(plan.open(), release, models=plan.utility.models)
    assert assessment.details["utility.slopes"].rows[0][0] == "y ~ x + C(sex)"
    assert 0 <= float(assessment["utility.slopes.kept"]) <= 1


def test_a_plan_refuses_python_and_columns_that_are_not_there(people, tmp_path):
    with pytest.raises(PlanError, match="formula"):
        parse_plan(PLAN.format(models="""["y ~ x + __import__('os').getcwd()"]"""))
    with pytest.raises(PlanError, match="no response"):
        parse_plan(PLAN.format(models='["x + y"]'))
    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "plan.toml").write_text(PLAN.format(models='["y ~ income"]'), encoding="utf-8")
    with pytest.raises(ColumnError, match="income"):
        rehearse(read_plan(tmp_path / "plan.toml"))
