"""Continuous variables drawn by quantiles: bounds, skewness, whole numbers and places stay."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.geography.continuous import normal_scores, surface_of

LEVEL = 1e-5
SETTINGS = {
    "x": "x",
    "y": "y",
    "attributes": ["sex"],
    "region": [0, 0, 10, 10],
    "grid": (4, 4),
    "m": 4,
    "sweeps": 300,
    "burn": 100,
    "chains": 2,
    "most_sweeps": 300,
    "continuous": ["age", "income", "score"],
}


def people(rows=1800, seed=3):
    """Ages in years, incomes that are skewed with many zeros, scores with gaps and a bound."""
    rng = np.random.default_rng(seed)
    x, y = (rng.random((2, rows)) * 10).round(3)
    sex = rng.choice(["f", "m"], rows)
    income = np.round(rng.lognormal(7 + 0.15 * x + 0.5 * (sex == "m"), 0.8), 0)
    income[rng.random(rows) < 0.25] = 0
    score = (10 * rng.beta(4, 1, rows)).round(1)
    score[rng.random(rows) < 0.1] = np.nan
    age = np.minimum(rng.gamma(1.6, 20, rows), 99).astype(int)
    return pd.DataFrame({"x": x, "y": y, "sex": sex, "age": age, "income": income, "score": score})


@pytest.fixture(scope="module")
def released():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits = {"score": [0, 10]}
        return vd.Geography(**SETTINGS, limits=limits).protect(people(), seed=2).datasets


@pytest.fixture(scope="module")
def normal():
    """Named control: normal draws."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        recipe = vd.Geography(**SETTINGS, continuous_draw="normal")
        return recipe.protect(people(), seed=2).datasets


def margin_pvalue(datasets, name):
    """Within each sex, the numbers of the datasets come from the original's distribution."""
    original, data = people(), pd.concat(datasets)
    parts = [
        stats.ks_2samp(
            original.loc[original["sex"] == sex, name].dropna(),
            data.loc[data["sex"] == sex, name].dropna(),
        ).pvalue
        for sex in ("f", "m")
    ]
    return min(1.0, 2 * min(parts))


@pytest.mark.parametrize("name", ["age", "income", "score"])
def test_the_distribution_within_a_combination_stays(released, name):
    assert margin_pvalue(released, name) > LEVEL


@pytest.mark.parametrize("name", ["income", "score"])
def test_the_check_sees_normal_draws(normal, name):
    assert margin_pvalue(normal, name) < LEVEL


def test_bounds_whole_numbers_heaps_and_gaps_stay(released, normal):
    original = people()
    for data in released:
        assert data["age"].dtype == original["age"].dtype
        assert data["age"].between(0, 110).all()
        assert (data["income"] >= 0).all()
        assert (data["income"] % 1 == 0).all()
        assert (data["income"] == 0).mean() == pytest.approx(0.25, abs=0.07)
        assert data["score"].dropna().between(0, 10).all()
        assert (data["score"].isna() == original["score"].isna()).all()
    assert (normal[0]["age"] < 0).any()


def test_values_follow_their_new_place(released):
    """Log incomes rise eastward in the original and, less, in the release; shuffled they do not."""
    original = people()

    def slope(places, data):
        some = data["income"] > 0
        return np.polyfit(places.loc[some, "x"], np.log(data.loc[some, "income"]), 1)[0]

    truth = slope(original, original)
    kept = np.mean([slope(data, data) for data in released])
    shuffled = np.mean(
        [slope(data, data.sample(frac=1, random_state=1).reset_index()) for data in released]
    )
    assert kept > truth / 3
    assert abs(shuffled) < truth / 3


def test_nobody_gets_the_own_number_back_more_often_than_others(released):
    """People whose income nobody shares: their own comes out no more often than a stranger's."""
    original = people()["income"]
    alone = original[~original.duplicated(keep=False)]
    own = sum((data.loc[alone.index, "income"] == alone).sum() for data in released)
    other = sum(
        (data.loc[alone.index, "income"].to_numpy() == np.roll(alone.to_numpy(), 1)).sum()
        for data in released
    )
    assert own <= other + 5


def test_normal_scores_and_means_by_definition():
    numbers = np.array([3.0, 1.0, 2.0, 2.0])
    assert normal_scores(numbers) == pytest.approx(stats.norm.ppf([0.875, 0.125, 0.5, 0.5]))
    surface = surface_of(numbers, np.zeros(4, dtype=int), np.array([0, 1, 1, 1]), (1, 3))
    assert surface.mean.shape == (1, 3)


def test_limits_of_other_columns_are_refused():
    with pytest.raises(PlanError, match="limits names columns"):
        vd.Geography(**SETTINGS, limits={"weight": [0, 1]})


def test_a_number_that_nobody_has_is_no_obstacle():
    empty = people(60).assign(age=pd.array([pd.NA] * 60, dtype="Int64"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = vd.Geography(**{**SETTINGS, "continuous": ["age"]}).protect(empty, seed=1)
    assert released.datasets[0]["age"].isna().all()
