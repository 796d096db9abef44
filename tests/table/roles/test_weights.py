"""Weights of bodies, of surveys, of goods, and prices: told apart by content."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.table.roles.guess import guess_roles

pytestmark = pytest.mark.quick

NAMES = ("weight", "wt", "Gewicht", "peso", "poids", "waga")
ROWS = (400, 3000)


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Return people of a survey with a height, an income and a region."""
    sex = rng.integers(1, 3, n)
    height = np.round(163 + 13 * (sex == 2) + rng.normal(0, 6.5, n))
    income = np.round(np.exp(rng.normal(7.4, 0.6, n)), -1)
    region = rng.integers(1, 17, n)
    age = rng.integers(18, 91, n)
    return pd.DataFrame({"sex": sex, "age": age, "region": region, "cm": height, "pay": income})


def bodies(rng: np.random.Generator, frame: pd.DataFrame, style: int) -> np.ndarray:
    """Return weights of bodies: kilograms, with a decimal, pounds to five, grams of the newborn."""
    n = len(frame)
    kilograms = 23 * (frame["cm"] / 100) ** 2 * np.exp(rng.normal(0.07, 0.16, n))
    return (
        np.round(kilograms).astype(int),
        np.round(kilograms, 1),
        (5 * np.round(kilograms * 2.2046 / 5)).astype(int),
        (10 * np.round(rng.normal(3350, 550, n).clip(700, 5500) / 10)).astype(int),
        np.where(rng.random(n) < 0.4, 5 * np.round(kilograms / 5), np.round(kilograms)).astype(int),
    )[style]


def grossing(rng: np.random.Generator, frame: pd.DataFrame, style: int) -> np.ndarray:
    """Return weights of a survey: by region, adjusted, raised to people, whole, of mean one."""
    n = len(frame)
    by_region = np.exp(rng.normal(0, 0.5, 17))[frame["region"]]
    adjusted = by_region * np.exp(rng.normal(0, 0.25, n))
    return (
        np.round(adjusted * 900).astype(int),
        np.round(adjusted / adjusted.mean(), 4),
        np.round(adjusted * 740, 1),
        np.round(by_region * 60, 1),
        adjusted * 1250,
    )[style]


def prices(rng: np.random.Generator, frame: pd.DataFrame, style: int) -> np.ndarray:
    """Return what things cost or weigh: to the cent, to tens, by the pay, parcels in kilograms."""
    n = len(frame)
    price = np.exp(rng.normal(4, 0.6, n))
    return (
        np.round(price) - 0.05 * (rng.random(n) < 0.8),  # 19.95
        np.round(price * 10, -1),
        np.round(0.2 * frame["pay"] * np.exp(rng.normal(0, 0.2, n))),
        np.round(2 * np.exp(rng.normal(0.5, 0.5, n))) / 2 + 0.5,
    )[style]


def guess(frame: pd.DataFrame, values: np.ndarray, name: str):
    return guess_roles(vd.open(frame.assign(**{name: values})))[name]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("style", range(5))
def test_the_weight_of_a_body_is_no_weight_of_a_survey(style, rows):
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        frame = people(rng, rows)
        found = guess(frame, bodies(rng, frame, style), name)
        assert found.role not in ("weight", "dropped"), (name, found)
        assert "no weight of a survey" in found.why


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("style", range(5))
def test_the_weight_of_a_survey_is_found_by_name_and_content(style, rows):
    found = []
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        frame = people(rng, rows)
        found.append(guess(frame, grossing(rng, frame, style), name).role)
    assert found == ["weight"] * len(NAMES)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("style", range(4))
def test_prices_and_goods_are_no_weights(style, rows):
    for seed, name in enumerate((*NAMES, "price", "betrag_pesos")):
        rng = np.random.default_rng(seed)
        frame = people(rng, rows)
        found = guess(frame, prices(rng, frame, style), name)
        assert found.role != "weight", (name, found)


def test_a_figure_of_the_place_is_no_second_weight():
    """The density of a region is the same for all who live there, as weights of strata are."""
    rng = np.random.default_rng(4)
    frame = people(rng, 3000)
    density = np.round(np.exp(rng.normal(6, 0.7, 17)), 2)[frame["region"]]
    frame = frame.assign(density=density, weight=grossing(rng, frame, 4))
    roles = guess_roles(vd.open(frame))
    assert roles["weight"].role == "weight"
    assert roles["density"].role != "dropped"
    second = frame.assign(weight2=frame["weight"] * np.exp(rng.normal(0, 0.05, 3000)))
    assert guess_roles(vd.open(second))["weight2"].role == "dropped"  # the control: a real one


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_bodies_in_pounds_are_no_weights_of_a_survey(decimals):
    """Kilograms times 2.2046 have decimals that nobody rounded, and no other measure beside."""
    for seed in range(5):
        rng = np.random.default_rng([seed, 9])
        frame = people(rng, 1500)[["sex", "region"]]
        kilograms = np.round(72 * np.exp(rng.normal(0, 0.17, 1500)), 1)
        found = guess(frame, np.round(kilograms * 2.20462, decimals), "weight")
        assert found.role != "weight", found


@pytest.mark.parametrize(
    "name", ["facteur", "pond", "pweight", "hhweight", "coef", "Grundgewicht", "pspwght"]
)
def test_weights_have_many_names(name):
    for seed in range(5):
        rng = np.random.default_rng([seed, 3])
        frame = people(rng, 1500)
        values = np.round(grossing(rng, frame, 4), 4)
        assert guess(frame, values, name).role == "weight"


def two_stages(rng, clusters):
    """Return households in numbered places in strata, and a weight that hardly differs in them."""
    place = np.repeat(np.arange(clusters), 12)
    size = rng.integers(1, 5, place.size)
    home = np.repeat(np.arange(place.size), size)
    frame = pd.DataFrame({"home": home + 1000, "spot": place[home] + 1})
    frame["zone"] = [f"Z{place // 4:02d}" for place in frame["spot"] - 1]
    base = rng.uniform(40, 300, clusters)[frame["spot"] - 1]
    frame["age"] = rng.integers(0, 90, len(frame))
    frame["smokes"] = rng.choice(["yes", "no"], len(frame))
    return frame, np.round(base * np.exp(rng.normal(0, 0.02, len(frame))), 4)


@pytest.mark.parametrize("clusters", [40, 60, 80])
def test_numbers_of_places_are_no_ages_where_whole_households_have_the_same(clusters):
    for seed in range(3):
        frame, weights = two_stages(np.random.default_rng([seed, clusters]), clusters)
        roles = guess_roles(vd.open(frame.assign(weight=weights)))
        assert roles["spot"].role == "cluster", roles["spot"]
        assert roles["age"].role == "quasi-identifier"


def test_a_weight_without_a_name_is_found_by_strata_that_have_one():
    for seed in range(3):
        frame, weights = two_stages(np.random.default_rng([seed, 1]), 40)
        named = frame.rename(columns={"spot": "upm", "zone": "estrato"}).drop(columns="home")
        assert guess_roles(vd.open(named.assign(v17=weights)))["v17"].role == "weight"
        rent = weights * np.exp(np.random.default_rng(seed).normal(0, 0.5, len(frame)))
        assert guess_roles(vd.open(named.assign(v17=rent)))["v17"].role != "weight"
