"""Attacks catch a release that copies a tenth of its rows, and let an independent sample pass.

Claim: on an independent sample of the population the p-value of each attack is that of a valid
test, so a false alarm at 1e-5 happens in one run of 100,000. Controls: a release whose first tenth,
or whose whole, is copied.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError
from veladura.measures.risk.evaluation import judge

LEVEL, ROWS = 1e-5, 1500


def people(rng, n=ROWS):
    age = rng.integers(18, 90, n)
    frame = {"age": age, "sex": rng.choice(list("fm"), n), "job": rng.choice(list("abcdefghij"), n)}
    return pd.DataFrame(
        {
            **frame,
            "income": rng.lognormal(9 + 0.01 * age, 0.6).round(),
            "height": rng.normal(170, 9, n).round(1),
        }
    )


def independent(rng, original):
    """Another sample of the same population."""
    return people(rng, len(original))


def copies_a_tenth(rng, original):
    """Another sample, but a tenth of its rows are those of the original."""
    return pd.concat(
        [original.sample(frac=0.1, random_state=1), people(rng).iloc[ROWS // 10 :]],
        ignore_index=True,
    )


def copies_everything(_rng, original):
    """The original itself."""
    return original


ATTACKS = {
    "singling out": vd.risk.singling_out,
    "linkability": vd.risk.linkability,
    "attribute inference": lambda *given, **settings: vd.risk.attribute_inference(
        *given, attribute="income", **settings
    ),
    "membership": vd.risk.membership,
}


def attacked(name, release, seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    original, control = people(rng, rows), people(rng, rows)
    return ATTACKS[name](original, release(rng, original), control, attempts=rows, level=1 - LEVEL)


@pytest.mark.parametrize("name", ATTACKS)
def test_an_independent_sample_passes(name):
    found = attacked(name, independent)
    assert float(found.p_value) > LEVEL
    assert not found.caught
    assert found.risk.lower == 0


@pytest.mark.parametrize("release", [copies_a_tenth, copies_everything])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_release_that_copies_is_caught(name, release):
    found = attacked(name, release)
    assert found.caught
    assert found.risk.lower > 0
    assert float(found.success) > float(found.control)


@pytest.mark.parametrize("name", ATTACKS)
def test_the_risk_of_copying_a_tenth_is_about_a_tenth(name):
    found = attacked(name, copies_a_tenth)
    assert found.risk.lower < 0.1 < found.risk.upper


@pytest.mark.parametrize("name", ATTACKS)
def test_p_values_of_independent_samples_are_not_too_small(name):
    """Of 40 independent samples as few have p-values below 0.1 as a valid test allows at 1e-5."""
    small = sum(
        float(attacked(name, independent, seed, rows=300).p_value) < 0.1 for seed in range(1, 41)
    )
    assert stats.binom.sf(small - 1, 40, 0.1) > LEVEL


def test_m_datasets_are_attacked_together():
    rng = np.random.default_rng(7)
    original, control = people(rng), people(rng)
    released = [people(rng), copies_a_tenth(rng, original)]
    for name, attack in ATTACKS.items():
        assert float(attack(original, released, control, attempts=ROWS).p_value) < 0.01, name


def test_the_same_seed_gives_the_same_attack():
    one, other, third = (attacked("linkability", copies_a_tenth, seed=3) for _ in range(3))
    assert one == other == third


def test_membership_tells_the_area_under_its_curve():
    fair, copy = attacked("membership", independent), attacked("membership", copies_everything)
    assert fair.auc.lower < 0.5 < fair.auc.upper
    assert copy.auc.lower > 0.95


def test_judging_by_hand():
    found = judge(30, 100, 10, 100)
    assert float(found.risk) == pytest.approx(0.2 / 0.9)
    assert float(found.p_value) == pytest.approx(
        stats.fisher_exact([[30, 70], [10, 90]], alternative="greater").pvalue
    )
    assert found.risk.lower < 0.2 / 0.9 < found.risk.upper
    assert float(judge(1, 100, 10, 100).risk) == 0.0
    assert float(judge(5, 5, 5, 5).risk) == 0.0
    assert not judge(0, 0, 0, 0).caught


def test_the_assessment_attacks_where_there_is_a_control():
    rng = np.random.default_rng(8)
    original, control = people(rng, 400), people(rng, 400)
    release = vd.Noise(columns=["income"], scale=0.0001, min_people=0).protect(original, seed=1)
    names = [
        f"risk.attacks.{name}"
        for name in ("singling_out", "linkability", "attribute_inference", "membership")
    ]
    alone = vd.assess(original, release)
    assert all("control" in alone.figures[name].why for name in [*names, "risk.distance.nearer"])
    judged = vd.assess(original, release, control=control)
    assert all(judged[name].lower > 0.2 for name in names)
    assert judged["risk.distance.nearer"].lower > 0.9
    assert "400 attempts" in judged.figures[names[1]].note


def test_mistakes_are_told():
    frame = people(np.random.default_rng(1), 20)
    with pytest.raises(PlanError, match="at least 2 columns"):
        vd.risk.linkability(frame[["age"]], frame[["age"]], frame[["age"]])
    with pytest.raises(PlanError, match="1 attempt"):
        vd.risk.membership(frame, frame, frame, attempts=0)
    with pytest.raises(DataError, match="at least 10 rows"):
        vd.risk.membership(frame, frame, frame.iloc[:3])
    with pytest.raises(PlanError, match="share none"):
        vd.risk.linkability(frame, frame, frame, parts=(["age"], ["age"]))
    with pytest.raises(PlanError, match="must not be one of the known"):
        vd.risk.attribute_inference(frame, frame, frame, attribute="age", known=["age"])
    with pytest.raises(PlanError, match="attribute 'none'"):
        vd.risk.attribute_inference(frame, frame, frame, attribute="none")
    with pytest.raises(PlanError, match="share of rows"):
        vd.risk.singling_out(frame, frame, frame, width=1)
    with pytest.raises(ColumnError, match="known"):
        vd.risk.singling_out(frame, frame, frame.drop(columns="sex"))
