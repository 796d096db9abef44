"""Attack: the sampling weight of a person who was left out, by the factor of `Reweight`.

Released weights are rounded ones times one factor, which an intruder finds because all of them are
multiples of it; the total over the factor is then the sum of the rounded weights that are released.
If the total is that of the data, what lacks is the weight of those who were left out, beneath what
rounding moved the others by. The total of a drafted plan is made of released weights only.
"""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.masks.reweight import significant
from veladura.plan.draft import draft

LEVEL = 4.417  # standard normal, two sides, a level of 1e-5


def left_out(seed, digits, **total):
    """Return the weight of the one who was left out, and what the intruder says it is."""
    rng = np.random.default_rng(seed)
    weights = rng.gamma(4, 300, 801)
    if total.pop("of_data", False):
        total = {"total": float(f"{weights.sum():.6g}")}
    release = vd.Reweight(column="w", digits=digits, **total).protect(
        pd.DataFrame({"w": weights[1:]})
    )
    rounded = significant(weights[1:], digits)
    factor = float(np.median(release.datasets[0]["w"] / rounded))  # as if he had found it
    promised = release.manifest["steps"][0]["settings"]["total"]
    return weights[0], promised - promised / factor


def told(digits, number=60, **total):
    """Return the correlation of guess and truth over some releases."""
    truth, guess = np.array([left_out(seed, digits, **total) for seed in range(number)]).T
    if np.ptp(guess) < 1e-6:  # the same answer whoever was left out
        return 0.0
    return float(np.corrcoef(truth, guess)[0, 1])


def test_the_attack_wins_where_the_total_is_that_of_the_data():
    """The control: version 0.1.0 had no such step; plans drafted later had this total."""
    assert told(3, of_data=True) > 0.95
    assert 0.4 < told(2, of_data=True) < 0.9


@pytest.mark.parametrize("digits", [2, 3, 6])
@pytest.mark.parametrize("total", [{"rows": 801}, {"total": 1_000_000.0}, {}], ids=str)
def test_a_total_of_released_rows_or_from_public_knowledge_says_nothing(digits, total):
    number = 60 if digits != 3 else 300
    assert abs(told(digits, number, **total)) < LEVEL / np.sqrt(number - 3)


def test_a_drafted_plan_has_no_total_of_the_data(tmp_path):
    rng = np.random.default_rng(1)
    people = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 900),
            "sex": rng.choice(["f", "m"], 900),
            "survey_weight": rng.gamma(4, 300, 900).round(2),
        }
    )
    people.to_csv(tmp_path / "people.csv", index=False)
    text = draft(str(tmp_path / "people.csv"), home=tmp_path)
    step = next(step for step in tomllib.loads(text)["step"] if step["method"] == "reweight")
    assert step["rows"] == 900
    assert "total" not in step


def test_the_excess_of_one_trimmed_weight_is_not_told():
    """One weight of 98,765,432 that is trimmed to 5,000: no total tells it."""
    weights = np.random.default_rng(2).gamma(4, 300, 800)
    shown = []
    for largest in (10_000.0, 98_765_432.0):
        weights[0] = largest
        frame = pd.DataFrame({"w": weights})
        release = vd.Reweight(column="w", rows=801, upper=5_000.0).protect(frame)
        shown.append(release.datasets[0]["w"].tolist())
    assert shown[0] == shown[1]


def last_weight(weights, released):
    """Return the weight of the first person, by who knows all others: what lacks of the total."""
    return released.sum() - weights[1:].sum()


@pytest.mark.parametrize("rows", [None, 800])
def test_who_knows_all_other_weights_learns_a_rounded_one_at_most(rows):
    """The total of exact weights, released with the rounded ones, told the last to its cents."""
    near, exact = [], []
    for seed in range(40):
        weights = np.random.default_rng(seed).gamma(4, 300, 800).round(2)
        release = vd.Reweight(column="w", rows=rows).protect(pd.DataFrame({"w": weights}))
        released = release.datasets[0]["w"].to_numpy()
        near.append(abs(last_weight(weights, released) - weights[0]) < 0.01)
        broken = released * (weights.sum() / released.sum())  # as it was
        exact.append(abs(last_weight(weights, broken) - weights[0]) < 0.01)
    assert all(exact)
    assert sum(near) == 0  # by chance one in ten thousand: rounding moves the sum by hundreds


def test_the_population_keeps_its_size_within_the_chance_of_who_is_left_out():
    rng = np.random.default_rng(3)
    weights = rng.gamma(4, 300, 5_000)
    kept = rng.random(5_000) > 0.05
    frame = pd.DataFrame({"w": weights[kept]})
    total = vd.Reweight(column="w", rows=5_000).protect(frame).datasets[0]["w"].sum()
    error = LEVEL * weights.std() * np.sqrt(5_000 * 0.05 / 0.95)
    assert abs(total - weights.sum()) < error
    assert abs(frame["w"].sum() - weights.sum()) > error  # without `rows`: a twentieth is missing
