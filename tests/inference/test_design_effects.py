"""Declared design effects: the sampling part of a private interval is widened, the noise is not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.rules import NoiseAwareRows, Partial
from veladura.errors import PlanError, VeladuraWarning
from veladura.inference.combined import combine_by
from veladura.inference.pooling import Pooling

Q, V = [10.0, 12.0, 11.0, 13.0], [0.5, 0.7, 0.6, 0.6]


def survey() -> vd.Table:
    """Forty areas of ten people each: rent is that of the area, age is nobody's."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"area": np.repeat(np.arange(40), 10)})
    frame["rent"] = (500 + 100 * rng.normal(size=40)[frame["area"]]).clip(0, 1000).round()
    frame["age"] = rng.integers(0, 100, 400)
    return vd.open(frame, {"area": {"role": "cluster"}})


def release_of(**settings):
    bounds = {"rent": (0, 1000), "age": (0, 100)}
    recipe = vd.Marginals(columns=("rent", "age"), bounds=bounds, epsilon=5.0, m=5, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return recipe.protect(survey())


def test_the_variance_of_independent_rows_is_multiplied_and_that_of_the_noise_is_not():
    """T = (1 + 1/m) b holds the sampling variance v once: with effect d, T + (d - 1) v."""
    plain = combine_by(NoiseAwareRows(), Q, V)
    wide = combine_by(NoiseAwareRows(), Q, V, effect=9.0)
    b, v = np.var(Q, ddof=1), np.mean(V)
    assert plain.variance == pytest.approx(1.25 * b)
    assert wide.variance == pytest.approx(1.25 * b + 8 * v)
    assert wide.value == plain.value
    # Satterthwaite (1946): the part that is known adds no degree of freedom's uncertainty
    assert wide.df == pytest.approx(wide.variance**2 / (plain.variance**2 / 3))
    assert combine_by(NoiseAwareRows(), Q, V, effect=1.0).df == plain.df == 3


def test_a_coefficient_has_its_own_effect_or_that_of_the_mean():
    q, v = np.column_stack([Q, Q, Q]), np.column_stack([V, V, V])
    rule = NoiseAwareRows(design_effects={"rent": 4.0, "rent ~ age": 1.0})
    pooled = Pooling(rule, 4).combine_model(q, v, 0.95, ["Intercept", "age", "sex"], 99.0, "rent")
    plain, wide = combine_by(rule, Q, V), combine_by(rule, Q, V, effect=4.0)
    assert pooled.variance == pytest.approx([wide.variance, plain.variance, wide.variance])
    assert pooled.df == pytest.approx([wide.df, plain.df, wide.df])


@pytest.mark.quick
def test_a_figure_has_its_own_effect_and_others_have_none(tmp_path):
    pytest.importorskip("opendp")
    effects = {"rent": 10.0, "total rent": 10.0}
    release_of(design_effects=effects).save(
        tmp_path / "a" / "out", custodian=tmp_path / "b" / "own"
    )
    again = vd.load(tmp_path / "a" / "out")
    assert dict(again.rule.design_effects) == effects
    with pytest.warns(VeladuraWarning, match="multiplied by the design effect"):
        wide = vd.survey_mean(again, "rent")
    with pytest.warns(VeladuraWarning, match="independent draws"):
        age = vd.survey_mean(again, "age")
    means = [data["rent"].mean() for data in again.datasets]
    errors = [data["rent"].var() / len(data) for data in again.datasets]
    expected = 1.2 * np.var(means, ddof=1) + 9 * np.mean(errors)
    assert wide.variance[0] == pytest.approx(expected, rel=0.02)
    assert age.variance[0] == pytest.approx(
        1.2 * np.var([data["age"].mean() for data in again.datasets], ddof=1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # also: the table of both was not measured
        model = again.analyze("rent ~ age")
    plain = NoiseAwareRows().total
    assert model.coefficients.variance[0] > plain(5, np.var(means, ddof=1), np.zeros(()))[0]
    assert any("design effect" in remark for remark in model.cautions)


@pytest.mark.parametrize("effect", [0.5, 0, -1, float("inf"), float("nan"), True, "2"])
def test_an_effect_that_is_no_number_of_at_least_one_is_refused(effect):
    with pytest.raises(PlanError, match="design_effects: 'rent'"):
        vd.Marginals(
            columns=("rent",), bounds={"rent": (0, 9)}, epsilon=1.0, design_effects={"rent": effect}
        )


def test_rules_of_other_releases_have_none():
    assert Partial().design_effect("rent") is None
    assert NoiseAwareRows().design_effect("rent") is None
