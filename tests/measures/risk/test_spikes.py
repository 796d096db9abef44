"""The spike attack: seen where donors' own numbers are handed out, silent where all are moved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.core.gates import NO_OWN_NUMBERS
from veladura.measures.risk.spikes import spikes

LIMIT = NO_OWN_NUMBERS["risk.spikes.ratio"].max


def incomes(rng, rows=2000):
    return np.rint(np.exp(rng.normal(8.0, 0.5, rows))).astype(int)


def frame(values):
    return pd.DataFrame({"income": values})


def precision_by_hand(original, released):
    """The definition for numbers that are never round: all are odd multiples of three."""
    values, people = np.unique(original, return_counts=True)
    few, mass = set(values[people < 5].tolist()), set(values[people >= 5].tolist())
    count = pd.Series(released).value_counts().to_dict()
    points = [v for v in sorted(count) if v not in mass]
    excess, chance = [], []
    for v in points:
        around = [v + d for d in range(-12, 13) if d and v + d not in mass]
        expected = np.mean([count.get(w, 0) for w in around])
        excess.append((count[v] - expected) / np.sqrt(expected + 0.5))
        chance.append(np.mean([w in few for w in around]))
    named = np.array(excess) >= np.quantile(excess, 0.9)
    found = np.array([v in few for v in points])[named]
    return found.mean(), np.array(chance)[named].mean(), int(named.sum())


def test_precision_and_base_rate_are_the_definition_counted_by_hand(monkeypatch):
    monkeypatch.setattr("veladura.numeric.numbers_attacks.roundness", np.zeros_like)
    rng = np.random.default_rng(0)
    original, released = rng.integers(0, 900, 700), rng.integers(0, 900, 1500)
    risk = spikes(frame(original), frame(released))
    expected = precision_by_hand(original, released)
    assert (float(risk.precision), float(risk.base), risk.named) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_own_numbers_are_seen_and_moved_ones_are_not(seed):
    rng = np.random.default_rng(seed)
    people = incomes(rng)
    bare = [frame(rng.choice(people, people.size)) for _ in range(5)]
    moved = [frame(people + rng.integers(-60, 61, people.size)) for _ in range(5)]
    assert float(spikes(frame(people), bare).ratio) > LIMIT
    assert float(spikes(frame(people), moved).ratio) < 1.15


def test_a_synthesis_is_below_the_proposed_limit_and_bare_donors_are_not():
    rng = np.random.default_rng(9)
    people = frame(incomes(rng)).assign(group=rng.choice(list("ab"), 2000))
    figures = {}
    for smoothing in ("local", "none"):
        release = vd.Cart(m=3, smoothing=smoothing).protect(people, seed=1)
        figures[smoothing] = float(vd.assess(people, release)["risk.spikes.ratio"])
    assert figures["local"] < LIMIT < figures["none"]


def test_columns_without_a_grid_are_not_attacked():
    people = frame(np.random.default_rng(0).normal(size=200))
    assert spikes(people, people).where == ""
