"""The nearest-number attack: half by chance, all where own numbers are handed out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.gates import NO_OWN_NUMBERS
from veladura.measures.risk.nearest import nearest

LIMIT = NO_OWN_NUMBERS["risk.nearest.ratio"].max


def frame(values):
    return pd.DataFrame({"income": values})


def zeros(number):
    """Return how round a number is: the units among 5, 10, 50, 100 and 1000 that divide it."""
    return [unit for unit in (5, 10, 50, 100, 1000) if number % unit == 0]


def by_hand(original, released):
    """Return wins and people of whole numbers by the definition, one person at a time."""
    values, people = np.unique(original, return_counts=True)
    shared = set(values[people >= 5].tolist())
    there = np.array(sorted(set(released.tolist()) - shared))
    wins = []
    for own, following, holders in zip(values, values[1:], people, strict=False):
        middle = (own + following) // 2
        inside = [
            place
            for place in range(own + 1, following)
            if zeros(place) == zeros(own) and abs(place - middle) <= 12
        ]
        if holders == 1 and inside:
            nearest_place = min(abs(place - middle) for place in inside)
            beside = [place for place in inside if abs(place - middle) == nearest_place]
            mine = np.abs(there - own).min()
            others = [np.abs(there - place).min() for place in beside]
            wins.append([1.0 if mine < o else 0.5 if mine == o else 0.0 for o in others])
    return wins


def test_the_share_is_the_definition_counted_by_hand():
    rng = np.random.default_rng(0)
    original, released = rng.integers(0, 5000, 400), rng.integers(0, 5000, 600)
    risk = nearest(frame(original), frame(released))
    wins = by_hand(original, released)
    least, most = (sum(side(w) for w in wins) for side in (min, max))  # two places as near
    attack = risk.attacks["income"]
    assert attack.named == len(wins)
    assert least - 0.5 <= attack.found <= most + 0.5
    assert float(risk.ratio) == pytest.approx((attack.found + 50) / (len(wins) / 2 + 50))


@pytest.mark.parametrize("top", [600, 3000, 40_000], ids=["dense", "between", "sparse"])
def test_chance_is_half_on_every_grid(top):
    """Strangers of the same population: neither the grid nor round numbers count as a leak."""
    rng = np.random.default_rng(4)
    draw = lambda: np.where(  # noqa: E731
        rng.random(1500) < 0.4, rng.integers(0, top // 10, 1500) * 10, rng.integers(0, top, 1500)
    )
    shares = []
    for _ in range(30):
        attack = nearest(frame(draw()), frame(draw())).attacks.get("income")
        if attack is not None:
            assert attack.ratio < LIMIT
            shares.append((attack.found, attack.named))
    found, named = np.sum(shares, axis=0) if shares else (0, 0)
    # the same stranger is near to several people: twice the variance of independent ones
    assert abs(found - named / 2) <= 4.5 * (2 * named / 4) ** 0.5 + 1


def test_by_chance_it_is_half_and_own_numbers_are_seen():
    rng = np.random.default_rng(1)
    people = rng.lognormal(8, 0.6, 4000)
    others = rng.lognormal(8, 0.6, 4000)
    assert abs(float(nearest(frame(people), frame(others)).nearer) - 0.5) < 5 / np.sqrt(4 * 4000)
    assert float(nearest(frame(people), frame(rng.choice(people, 4000))).ratio) > LIMIT


def test_a_synthesis_is_below_the_limit_and_bare_donors_are_not():
    rng = np.random.default_rng(2)
    people = frame(rng.lognormal(8, 0.6, 1500).round(2)).assign(age=rng.integers(18, 80, 1500))
    figures = {}
    for smoothing in ("local", "none"):
        release = vd.Cart(m=3, smoothing=smoothing).protect(people, seed=1)
        figures[smoothing] = float(vd.assess(people, release)["risk.nearest.ratio"])
    assert figures["local"] < 1.1
    assert figures["none"] > LIMIT


def test_few_people_say_nothing():
    people = frame(np.arange(30))
    assert (float(nearest(people, people).nearer), nearest(people, people).where) == (0.5, "")
    release = vd.Cart(m=1).protect(people, seed=1)
    assert "Nothing to attack" in vd.assess(people, release).figures["risk.nearest.nearer"].note
