"""Interval overlap by hand and by property; the proposed model against statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import NotApplicable, PlanError
from veladura.measures.pairing import pair
from veladura.measures.utility.linear import fit_all, propose
from veladura.measures.utility.overlap import interval_overlap

ends = st.tuples(st.floats(-5, 5), st.floats(0.01, 5)).map(
    lambda pair_: (pair_[0], pair_[0] - pair_[1], pair_[0] + pair_[1])
)


def arrays(interval):
    return tuple(np.array([end]) for end in interval)


@given(ends, ends)
def test_overlap_is_symmetric_one_for_the_same_and_nought_when_disjoint(first, second):
    one, other = arrays(first), arrays(second)
    for kind in ("mean", "geometric"):
        shared = interval_overlap(one, other, kind)[0]
        assert shared == pytest.approx(interval_overlap(other, one, kind)[0])
        assert 0 <= shared <= 1 + 1e-12
        assert interval_overlap(one, one, kind)[0] == pytest.approx(1)
    if first[2] < second[1]:
        assert shared == 0


def test_overlap_by_hand():
    one, other = arrays((0.5, 0.0, 1.0)), arrays((1.0, 0.5, 1.5))
    assert interval_overlap(one, other)[0] == pytest.approx(0.5)
    wide = arrays((1.0, 0.0, 2.0))
    assert interval_overlap(one, wide)[0] == pytest.approx((1 + 0.5) / 2)
    assert interval_overlap(one, wide, "geometric")[0] == pytest.approx(np.sqrt(0.5))


@pytest.fixture
def people():
    rng = np.random.default_rng(1)
    age, sex = rng.normal(40, 10, 500), rng.choice(["f", "f", "m"], 500)
    return pd.DataFrame(
        {
            "income": 10 * age + 50 * (sex == "m") + rng.normal(0, 60, 500),
            "age": age,
            "sex": sex,
            "note": ["free text"] * 500,
        }
    )


def test_the_proposed_model_is_that_of_statsmodels(people):
    pairing = pair(vd.open(people, {"note": "text"}), vd.open(people, {"note": "text"}))
    model = propose(pairing, ["income"])
    assert str(model) == "income ~ age + sex"
    fits = fit_all(pairing, model)
    scaled = people.assign(
        **{
            name: (people[name] - people[name].mean()) / people[name].std(ddof=0)
            for name in ("income", "age")
        }
    )
    theirs = smf.ols("income ~ age + C(sex)", scaled).fit()
    assert fits.terms == ("age", "sex: m")
    np.testing.assert_allclose(fits.estimates[0], theirs.params[["age", "C(sex)[T.m]"]])
    np.testing.assert_allclose(np.sqrt(fits.variances[0]), theirs.bse[["age", "C(sex)[T.m]"]])


def test_a_response_of_categories_is_whether_it_is_the_most_frequent(people):
    pairing = pair(people[["sex", "age"]], people[["sex", "age"]])
    fits = fit_all(pairing, propose(pairing, ["sex"]))
    theirs = smf.ols(
        "y ~ age",
        pd.DataFrame(
            {
                "y": (people["sex"] == "f") * 1.0,
                "age": (people["age"] - people["age"].mean()) / people["age"].std(ddof=0),
            }
        ),
    ).fit()
    np.testing.assert_allclose(fits.estimates[0], [theirs.params["age"]])


def test_a_given_formula_is_fitted_in_all_tables_with_the_same_reference(people):
    changed = people.assign(income=people["income"] + 1000, sex=["m"] * 250 + ["f"] * 250)
    found = vd.utility.overlap(people, changed, "income ~ age + C(sex)")
    assert set(found.terms) == {"C(sex)[T.m]", "age"}
    theirs = smf.ols("income ~ age + C(sex)", people).fit()
    low, high = (
        theirs.params["age"] - 1.959964 * theirs.bse["age"],
        theirs.params["age"] + 1.959964 * theirs.bse["age"],
    )
    assert found.terms["age"].original.lower == pytest.approx(low)
    assert found.terms["age"].original.upper == pytest.approx(high)
    poisson = vd.utility.overlap(
        people.assign(n=[1, 2] * 250), people.assign(n=[1, 2] * 250), "n ~ age", family="poisson"
    )
    assert float(poisson.mean) == pytest.approx(1)


def test_a_release_is_combined_by_its_own_rule(people):
    release = vd.Cart(columns=["income"], m=4).protect(people.drop(columns="note"), seed=1)
    found = vd.utility.overlap(people, release, "income ~ age")
    combined = release.estimate(lambda data: smf.ols("income ~ age", data).fit())
    assert found.terms["age"].released.lower == pytest.approx(combined.lower[1])
    assert found.terms["age"].released.upper == pytest.approx(combined.upper[1])
    assert found.mean.lower <= found.mean.value <= found.mean.upper <= 1


def test_a_lost_relation_has_no_overlap_and_a_kept_one_has(people):
    rng = np.random.default_rng(2)
    lost = people.assign(income=rng.permutation(people["income"]))
    assert float(vd.utility.overlap(people, lost).least) == 0
    assert float(vd.utility.overlap(people, lost).difference) > 3
    assert (
        float(
            vd.utility.overlap(
                people, people.assign(income=people["income"] + rng.normal(size=500))
            ).mean
        )
        > 0.9
    )


def test_what_cannot_be_fitted_is_refused_with_its_reason(people):
    with pytest.raises(NotApplicable, match="fewer than two columns"):
        vd.utility.overlap(people[["age"]], people[["age"]])
    with pytest.raises(NotApplicable, match="vary too little"):
        vd.utility.overlap(
            people.assign(age=1.0)[["income", "age"]], people.assign(age=1.0)[["income", "age"]]
        )
    with pytest.raises(NotApplicable, match="too few rows"):
        vd.utility.overlap(people[:6], people[:6])
    with pytest.raises(NotApplicable, match="no coefficient"):
        vd.utility.overlap(people, people, "income ~ 1")
    with pytest.raises(PlanError, match="did you mean 'geometric'"):
        vd.utility.overlap(people, people, kind="geometrical")
    with pytest.raises(PlanError, match="did you mean 'poisson'"):
        vd.utility.overlap(people, people, "income ~ age", family="poison")
