"""Whoever attacks coarsened rows finds no more people than the figure says.

The attacker knows a number within some per cent and what each released value covers: all released
rows whose range meets his are compatible.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd

REACH = 0.05


def people(n=600):
    rng = np.random.default_rng(12)
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "income": rng.lognormal(9, 0.8, n).round()}
    )


def attacked(frame, released, ranges):
    """The people of whom one released row alone is compatible with what is known."""
    low, high = frame["income"] * (1 - REACH), frame["income"] * (1 + REACH)
    found = 0
    for i in range(len(frame)):
        meets = (ranges[0] <= high[i]) & (ranges[1] >= low[i])
        fits = np.flatnonzero(meets & (released["sex"] == frame["sex"][i]).to_numpy())
        found += fits.size == 1 and fits[0] == i
    return found


@pytest.mark.parametrize("what", ["round", "top-code", "untouched"])
def test_an_attack_finds_no_more_than_the_figure(what):
    frame = people()
    limit = float(frame["income"].quantile(0.999))
    recipe = {
        "round": vd.Recode(columns={"income": {"round": 500}}),
        "top-code": vd.TopCode(columns={"income": limit}),
        "untouched": vd.TopCode(columns={"income": 1e9}),
    }[what]
    release = recipe.protect(frame)
    after = release.datasets[0]
    value = after["income"].to_numpy(dtype=float)
    low = value - 250 if what == "round" else value
    high = value + 250 if what == "round" else np.where(value >= limit, np.inf, value)
    who = vd.risk.Scenario(name="x", knows=["sex", "income"], within={"income": "5 %"})
    record = vd.risk.intruders(frame, release, [who])[0]
    found = attacked(frame, after, (low, high))
    assert 0 < found <= int(record.after) <= len(frame)
    if what == "untouched":
        assert found == int(record.after) == int(record.before)


def test_exact_coordinates_beside_safe_keys_give_everybody_away():
    """What a page used to call a risk of 1.67 %."""
    rng = np.random.default_rng(4)
    frame = people(400).assign(east=rng.uniform(size=400), north=rng.uniform(size=400))
    table = vd.open(frame, {"sex": {"role": "quasi-identifier"}})
    release = vd.KAnonymity(quasi_identifiers=["sex"], k=5).protect(table)
    result = vd.assess(table, release)
    assert int(result.intruders[0].after) == 0
    assert float(result["risk.intruders.everything"]) == 1.0
    assert float(result["risk.intruders.strongest"]) == 1.0
