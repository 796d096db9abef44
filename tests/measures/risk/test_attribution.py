"""DiSCO, TCAP and DCAP against their definitions, counted row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.errors import DataError, PlanError

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(["x", "y", None])),
    min_size=1,
    max_size=14,
)


def frame(rows):
    return pd.DataFrame(rows, columns=["k", "q", "t"]).astype({"k": object, "t": object})


def by_definition(before, after):
    """DiSCO, TCAP and DCAP, one original row after the other."""
    known = [(k, q, t) for k, q, t in after.fillna("missing").itertuples(index=False)]
    disco = reached = dcap = 0.0
    for k, q, t in before.fillna("missing").itertuples(index=False):
        targets = [c for a, b, c in known if (a, b) == (k, q)]
        dcap += targets.count(t) / len(targets) if targets else 0.0
        if len(set(targets)) == 1:
            reached += 1
            disco += targets[0] == t
    return disco / len(before), disco / reached if reached else 0.0, dcap / len(before)


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_disco_tcap_and_dcap_are_those_counted_by_hand(before, after):
    before, after = frame(before), frame(after)
    found = vd.risk.attribution(before, after, ["k", "q"], "t")
    assert [float(found.disco), float(found.tcap), float(found.dcap)] == pytest.approx(
        by_definition(before, after)
    )
    own = vd.risk.attribution(before, before, ["k", "q"], "t")
    assert (
        float(own.disco)
        == pytest.approx(float(own.original))
        == pytest.approx(float(own.disclosive))
    )


def test_numbers_of_many_values_are_guessed_by_groups():
    before = pd.DataFrame({"k": np.repeat(np.arange(50), 2), "y": np.arange(100.0)})
    near = before.assign(y=before["y"] + 0.1)
    assert float(vd.risk.attribution(before, near, ["k"], "y", groups=10).disco) > 0.9
    assert (
        float(
            vd.risk.attribution(
                before, near.assign(y=near["y"][::-1].to_numpy()), ["k"], "y", groups=10
            ).disco
        )
        < 0.1
    )


def test_several_datasets_give_the_mean_and_an_interval():
    before = pd.DataFrame({"k": [1, 2], "t": ["x", "y"]})
    found = vd.risk.attribution(before, [before, before.assign(t=["y", "x"])], ["k"], "t")
    assert (found.disco.value, found.disco.lower, found.disco.upper) == (0.5, 0.0, 1.0)


def test_the_assessment_tells_the_worst_column_and_refuses_what_was_recoded():
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "zip": rng.integers(1000, 1020, 300).astype(str),
            "sex": rng.choice(list("fm"), 300),
            "ill": rng.choice(list("yn"), 300),
        }
    )
    swapped = vd.assess(people, vd.Pram(columns=["ill"]).protect(people, seed=1))
    assert 0 < float(swapped["risk.attribution.tcap"]) <= 1
    assert float(swapped["risk.replicated.uniques"]) >= 0
    hierarchy = {"zip": vd.Hierarchy.mask(4), "sex": vd.Hierarchy.mask(1)}
    generalised = vd.assess(
        people,
        vd.KAnonymity(quasi_identifiers=["zip", "sex"], k=20, hierarchies=hierarchy).protect(
            people
        ),
    )
    assert (
        float(generalised["risk.replicated.uniques"]) == 0
    )  # nobody is alone in classes of twenty
    for name in ("risk.attribution.disco", "risk.match.emr", "risk.distance.copies"):
        assert "recoded" in generalised.figures[name].why


def test_a_column_of_one_value_hides_no_other():
    """Everybody knows the year: it would be the worst, with a base rate of 1."""
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"age": rng.integers(20, 60, 400), "ill": rng.choice(list("yn"), 400)})
    dated = people.assign(year="2019")
    assessed = vd.assess(dated, vd.Cart(m=1).protect(dated, seed=1))
    assert float(assessed["risk.attribution.base"]) < 1


def test_mistakes_are_told():
    people = pd.DataFrame({"k": ["a", "b"], "t": ["x", "y"]})
    with pytest.raises(PlanError, match="not one of them"):
        vd.risk.attribution(people, people, ["t"], "t")
    with pytest.raises(PlanError, match="groups"):
        vd.risk.attribution(people, people, ["k"], "t", groups=1)
    with pytest.raises(DataError, match="no rows"):
        vd.risk.attribution(people.iloc[:0], people, ["k"], "t")


def test_the_base_rate_is_that_of_the_commonest_released_value():
    rng = np.random.default_rng(5)
    before = pd.DataFrame(
        {
            "k": rng.integers(0, 40, 300),
            "t": rng.choice(["no", "yes", "both"], 300, p=[0.9, 0.07, 0.03]),
        }
    )
    after = before.sample(frac=1, random_state=1).reset_index(drop=True)
    after["k"] = rng.integers(0, 40, 300)
    risk = vd.risk.attribution(before, after, ["k"], "t")
    commonest = after["t"].value_counts().idxmax()
    single = after.groupby("k")["t"].agg(lambda part: part.iloc[0] if len(set(part)) == 1 else None)
    right = before["k"].map(single) == before["t"]
    assert float(risk.base) == pytest.approx((before["t"] == commonest).mean())
    assert float(risk.disco) == pytest.approx(right.mean())
    assert float(risk.beyond) == pytest.approx((right & (before["t"] != commonest)).mean())


def test_a_mostly_zero_column_has_zero_as_a_class_of_its_own():
    """Nine of ten people have 0: quantiles alone would make one class of 0 and small sums."""
    rng = np.random.default_rng(6)
    pay = np.where(rng.random(2000) < 0.9, 0.0, rng.lognormal(3, 1, 2000))
    before = pd.DataFrame({"k": np.arange(2000), "pay": pay})
    small = np.where(pay == 0, 1e-6, pay)  # nobody who has 0 is inferred: only small sums are said
    risk = vd.risk.attribution(before, before.assign(pay=small), ["k"], "pay", groups=20)
    assert float(risk.disco) == pytest.approx((pay > 0).mean())
    parts = pd.qcut(pay[pay > 0], 19, labels=False)
    moved = pay.copy()
    moved[pay > 0] = np.roll(np.sort(pay[pay > 0]), 40)[np.argsort(np.argsort(pay[pay > 0]))]
    found = vd.risk.attribution(before, before.assign(pay=moved), ["k"], "pay", groups=20)
    stayed = parts == pd.cut(
        moved[pay > 0],
        [-np.inf, *np.quantile(pay[pay > 0], np.arange(1, 19) / 19), np.inf],
        labels=False,
        right=False,
    )
    assert float(found.disco) == pytest.approx((pay == 0).mean() + stayed.sum() / 2000, abs=0.002)
