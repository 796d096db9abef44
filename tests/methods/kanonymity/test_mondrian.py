"""Mondrian: cuts at medians, ranges and sets, k in every piece."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity.recount import COLUMNS, people, recipe, smallest_group

import veladura as vd


def release_of(frame, k=3, columns=None, **settings_):
    return vd.KAnonymity(
        quasi_identifiers=columns or list(frame.columns), k=k, recoding="mondrian", **settings_
    ).protect(frame)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 8), st.sampled_from([0.0, 0.2]))
def test_every_piece_has_k_rows_and_none_is_lost(seed, k, missing):
    frame = people(seed, missing=missing)
    release = recipe(k=k, recoding="mondrian").protect(frame)
    released = release.datasets[0]
    assert len(released) == len(frame)
    assert smallest_group(released) >= k
    for old, new in zip(frame["age"], released["age"], strict=True):
        assert covers(new, old)


def covers(label, value):
    """Whether a range holds a number."""
    if pd.isna(value) or pd.isna(label):
        return pd.isna(label) == pd.isna(value) or label == "*"
    numbers = [float(number) for number in re.findall(r"-?\d+", label)]
    if label == "*":
        return True
    if label.startswith("<"):
        return value < numbers[0]
    if label.startswith(">="):
        return value >= numbers[0]
    return value == numbers[0] if len(numbers) == 1 else numbers[0] <= value < numbers[1]


def test_a_column_is_cut_at_its_median():
    frame = pd.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8]})
    assert release_of(frame, k=4).datasets[0]["age"].tolist() == ["< 5"] * 4 + [">= 5"] * 4
    assert (
        release_of(frame, k=2).datasets[0]["age"].tolist()
        == ["< 3"] * 2 + ["[3, 5)"] * 2 + ["[5, 7)"] * 2 + [">= 7"] * 2
    )
    assert release_of(frame, k=5).datasets[0]["age"].tolist() == ["*"] * 8


def test_rows_of_one_value_are_never_taken_apart():
    frame = pd.DataFrame({"age": [1] * 7 + [2]})
    assert release_of(frame, k=2).datasets[0]["age"].tolist() == ["*"] * 8


def test_ends_of_the_data_are_not_told():
    frame = pd.DataFrame(
        {"income": np.arange(1000, 1100) ** 2, "age": np.tile(np.arange(20, 30), 10)}
    )
    texts = " ".join(release_of(frame, k=5).datasets[0]["income"])
    assert str(1000**2) not in texts
    assert str(1099**2) not in texts


def test_categories_are_sets_or_common_ancestors():
    frame = pd.DataFrame({"job": ["nurse", "doctor", "pilot", "baker"] * 2})
    sets = release_of(frame, k=4).datasets[0]["job"]
    assert set(sets) == {"{baker, doctor}", "{nurse, pilot}"}
    groups = vd.Hierarchy.groups({"health": ["nurse", "doctor"], "other": ["pilot", "baker"]})
    named = release_of(frame, k=4, hierarchies={"job": groups}).datasets[0]["job"]
    assert named.tolist() == ["health", "health", "other", "other"] * 2


def test_dates_become_ranges_of_days():
    frame = pd.DataFrame(
        {"birth": pd.to_datetime(["1980-01-01", "1981-01-01", "1990-01-01", "1991-01-01"])}
    )
    assert (
        release_of(frame, k=2).datasets[0]["birth"].tolist()
        == ["< 1990-01-01"] * 2 + [">= 1990-01-01"] * 2
    )


def test_more_is_kept_than_by_one_level_for_all():
    frame = people(8, rows=400)
    cut, levelled = (
        recipe(k=5, recoding="mondrian").protect(frame),
        recipe(k=5, max_suppression=0).protect(frame),
    )
    told = cut.steps[0].settings
    assert "levels" not in told
    assert told["precision_by_cell"] > np.mean(
        list(levelled.steps[0].settings["precision"].values())
    )
    assert (
        cut.datasets[0].groupby(COLUMNS, dropna=False).ngroups
        > levelled.datasets[0].groupby(COLUMNS, dropna=False).ngroups
    )


@pytest.mark.parametrize("k", [2, 5])
def test_a_piece_of_known_and_missing_values_tells_neither(k):
    frame = pd.DataFrame({"age": pd.array([None, 30, 31, 32, None, None] * 2, dtype="Int64")})
    released = release_of(frame, k=k).datasets[0]["age"]
    assert released[frame["age"].isna()].isna().all() or set(released) == {"*"}
