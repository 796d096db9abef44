"""A kind of members with a few numbers: they are ranked among the numbers of all members."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.methods.cart.drawn_as import FEW_RANKED, known_among
from veladura.numeric.trees.variable import variable_of


def columns():
    """Return incomes of 48 children, of whom two thirds study and earn little, and of everybody."""
    rng = np.random.default_rng(1)
    adults = 20_000 * np.exp(0.8 * rng.normal(size=2_000))
    children = np.where(np.arange(48) < 32, 5_000, 30_000) * np.exp(0.3 * rng.normal(size=48))
    part, whole = (
        pd.DataFrame({"x": numbers.round(-1)})
        for numbers in (children, np.append(adults, children))
    )
    return vd.open(part).column("x"), vd.open(whole).column("x")


def moved(column, known):
    """Return the numbers as they are, and the mean of what each becomes, by the law alone."""
    law = variable_of(column, all_move=True, known=known).law
    alone, rows = law.alone(np.arange(column.size)), np.arange(column.size)
    rng = np.random.default_rng(2)
    drawn = np.array([alone.drawn(rng, rows) for _ in range(400)])
    return law.places, drawn


def test_a_few_numbers_stay_on_their_side_of_a_gap_when_ranked_among_all():
    """Five of 48 are a tenth of them: ranked among themselves, students cross to those who work."""
    part, whole = columns()
    low = part.values < 12_000
    errors = {}
    for name, known in (("all", known_among(part, whole)), ("themselves", None)):
        places, drawn = moved(part, known)
        errors[name] = abs(drawn[:, low].mean() / places[low].mean() - 1)
        assert (drawn == places).mean() < 0.1  # all of them move
    assert errors["all"] < 0.03
    assert errors["themselves"] > 3 * errors["all"]
    assert errors["themselves"] > 0.05


def test_many_numbers_are_ranked_among_themselves():
    rng = np.random.default_rng(3)
    many = vd.open(pd.DataFrame({"x": rng.normal(size=2 * FEW_RANKED)})).column("x")
    assert known_among(many, many) is None
    known = known_among(many.take(np.arange(100)), many)
    assert known is not None
    assert known.part
    assert known.holders.tolist() == [1] * 100
    assert known.ends.tolist() == pytest.approx([many.values.min(), many.values.max()])
