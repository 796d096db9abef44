"""The nearest-number attack: half by chance, all where own numbers are handed out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.gates import NUMBERS
from veladura.measures.risk.nearest import nearest

LIMIT = NUMBERS["risk.nearest.nearer"].max


def frame(values):
    return pd.DataFrame({"income": values})


def by_hand(original, released):
    values, people = np.unique(original, return_counts=True)
    wins = []
    for i in range(len(values) - 1):
        if people[i] == 1:
            beside = (values[i] + values[i + 1]) / 2
            mine, other = (np.abs(released - point).min() for point in (values[i], beside))
            wins.append(1.0 if mine < other else 0.5 if mine == other else 0.0)
    return np.mean(wins)


def test_the_share_is_the_definition_counted_by_hand():
    rng = np.random.default_rng(0)
    original, released = rng.integers(0, 5000, 400), rng.integers(0, 5000, 600)
    risk = nearest(frame(original), frame(released))
    assert float(risk.nearer) == pytest.approx(by_hand(original, released))


def test_by_chance_it_is_half_and_own_numbers_are_seen():
    rng = np.random.default_rng(1)
    people = rng.lognormal(8, 0.6, 4000)
    others = rng.lognormal(8, 0.6, 4000)
    assert abs(float(nearest(frame(people), frame(others)).nearer) - 0.5) < 5 / np.sqrt(4 * 4000)
    assert float(nearest(frame(people), frame(rng.choice(people, 4000))).nearer) > LIMIT


def test_a_synthesis_is_below_the_proposed_limit_and_bare_donors_are_not():
    rng = np.random.default_rng(2)
    people = frame(rng.lognormal(8, 0.6, 1500).round(2)).assign(age=rng.integers(18, 80, 1500))
    figures = {}
    for smoothing in ("local", "none"):
        release = vd.Cart(m=3, smoothing=smoothing).protect(people, seed=1)
        figures[smoothing] = float(vd.assess(people, release)["risk.nearest.nearer"])
    assert figures["local"] < 0.54
    assert figures["none"] > LIMIT


def test_few_people_say_nothing():
    people = frame(np.arange(30))
    assert (float(nearest(people, people).nearer), nearest(people, people).where) == (0.5, "")
    release = vd.Cart(m=1).protect(people, seed=1)
    assert "Nothing to attack" in vd.assess(people, release).figures["risk.nearest.nearer"].note
