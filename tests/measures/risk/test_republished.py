"""Republished values: counted by hand over the replaced columns."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import NotApplicable


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    jobs = rng.choice(list("abc"), 120).astype(object)
    jobs[:3] = ["only", "sole", "single"]
    return pd.DataFrame(
        {
            "sex": rng.choice(list("fm"), 120),
            "job": jobs,
            "income": rng.integers(1, 200, 120) * 10.0,
        }
    )


def singles(column):
    return {value for value, number in Counter(column.dropna()).items() if number == 1}


def test_numbers_and_categories_of_one_person_are_counted_by_hand(people):
    recipe = vd.Steps([vd.Swap(columns=["income"]), vd.Pram(columns=["job"])])
    release = recipe.protect(people, seed=1)
    released = release.datasets[0]
    counted = vd.risk.republished(people, release)
    assert int(counted.single_numbers) == released["income"].isin(singles(people["income"])).sum()
    assert int(counted.single_numbers) > 0
    expected = set(released["job"]) & singles(people["job"])
    assert int(counted.single_categories) == len(expected) > 0


def test_several_datasets_are_added_and_the_assessment_has_the_same(people):
    release = vd.Cart(columns=["income"], m=3).protect(people, seed=1)
    alone = singles(people["income"])
    by_hand = sum(int(frame["income"].isin(alone).sum()) for frame in release.datasets)
    counted = vd.risk.republished(people, release)
    assert int(counted.single_numbers) == by_hand
    figures = vd.assess(people, release)
    assert int(figures["risk.republished.single_numbers"]) == by_hand


def test_a_release_that_replaces_nothing_does_not_apply(people):
    release = vd.Swap(columns=["income"]).protect(people, seed=1)
    with pytest.raises(NotApplicable, match="no column was replaced"):
        vd.risk.republished(people, replace(release, steps=()))


def test_moved_numbers_come_out_by_chance_and_the_note_says_so():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"income": rng.integers(1000, 9000, 400), "age": rng.integers(20, 60, 400)}
    )
    moved = vd.assess(frame, vd.Cart(m=1).protect(frame, seed=1))
    assert "land on somebody's by chance" in moved.figures["risk.republished.single_numbers"].note
    swapped = vd.Swap(columns=["income"], min_people=0).protect(frame, seed=1)
    assert vd.assess(frame, swapped).figures["risk.republished.single_numbers"].note == ""
