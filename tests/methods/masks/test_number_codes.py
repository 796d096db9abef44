"""Codes are never averaged or given noise; numbers are, and the holder's word counts."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import PlanError, VeladuraWarning
from veladura.table.inspect import inspect_table

pytestmark = pytest.mark.quick

ROWS = 2000


def table() -> pd.DataFrame:
    draw = np.random.default_rng(21)
    occupation = np.array([11, 12, 213, 241, 522, 611, 832, 913])
    return pd.DataFrame(
        {
            "sex": draw.integers(1, 3, ROWS),
            "party": draw.choice([1, 2, 3, 4, 5, 6], ROWS, p=[0.3, 0.05, 0.25, 0.03, 0.3, 0.07]),
            "job": draw.choice(occupation, ROWS),
            "age": draw.normal(45, 14, ROWS).clip(18, 95).round().astype(int),
            "children": draw.poisson(1.6, ROWS),
            "income": draw.lognormal(10, 0.6, ROWS).round(2),
            "visits": draw.negative_binomial(3, 0.2, ROWS),
        }
    )


CODES = ["sex", "party", "job"]
NUMBERS = ["age", "children", "income", "visits"]
MASKS = [lambda names: vd.Noise(columns=names), lambda names: vd.Microaggregation(columns=names)]


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", CODES)
def test_codes_are_refused(mask, name):
    with pytest.raises(PlanError, match=rf"(?s)\['{name}'\] hold codes.*kind = \"category\""):
        mask([name, "age"]).protect(table(), seed=1)


@pytest.mark.parametrize("mask", MASKS)
def test_numbers_are_masked(mask):
    released = mask(NUMBERS).protect(table(), seed=1).datasets[0]
    assert released[["age", "children", "visits"]].dtypes.eq("int64").all()
    assert not released["age"].equals(table()["age"])
    assert (released[NUMBERS] >= 0).all().all()


@pytest.mark.parametrize("mask", MASKS)
def test_the_word_of_the_holder_counts(mask):
    declared = vd.open(table(), {"party": "integer", "age": "integer"})
    assert mask(["party", "age"]).protect(declared, seed=1).datasets
    labelled = vd.open(
        table(), {"party": {"kind": "integer", "labels": {"1": "left", "2": "right"}}}
    )
    with pytest.raises(PlanError, match="hold codes"):
        mask(["party", "age"]).protect(labelled, seed=1)


def test_a_guess_from_a_file_is_not_the_word_of_the_holder(tmp_path):
    table().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(PlanError, match=r"\['party'\] hold codes"):
        vd.Noise(columns=["party"]).protect(vd.open(tmp_path / "a.csv"), seed=1)


def test_suggestions_take_no_codes():
    opened = vd.open(table())
    for recipe in (vd.Noise, vd.Microaggregation):
        suggested = recipe.suggest_for(opened, inspect_table(opened))
        assert list(suggested.columns) == NUMBERS


def test_means_stay_within_the_values_of_their_group():
    """A plain mean is never outside the values it is made of: it needs no limits."""
    frame = table()
    plain = vd.Microaggregation(columns=NUMBERS, k=5, min_people=0)
    released = plain.protect(frame).datasets[0]
    for name in NUMBERS:
        assert released[name].between(frame[name].min(), frame[name].max()).all()


def test_noise_warns_of_codes_for_no_answer():
    rng = np.random.default_rng(8)
    income = rng.lognormal(10, 0.5, 600).round().astype(int)
    plain = pd.DataFrame({"income": income, "change": rng.normal(0, 900, 600).round().astype(int)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", VeladuraWarning)
        vd.Noise(columns=["income", "change"]).protect(plain, seed=1)
    for code in (-9, 9_999_999):
        coded = plain.assign(income=np.where(rng.random(600) < 0.05, code, income))
        with pytest.warns(VeladuraWarning, match=r"(?s)\['income'\] seem to hold codes.*missing"):
            vd.Noise(columns=["income", "change"]).protect(coded, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error", VeladuraWarning)
            kept = vd.Noise(columns=["income"], keep_shared=True).protect(coded, seed=1)
        assert (kept.datasets[0]["income"] == code).sum() >= (coded["income"] == code).sum()


def admissions(**given: object) -> pd.DataFrame:
    days = pd.date_range("2015-01-01", "2024-12-31", periods=600)
    return pd.DataFrame({"day": days.strftime("%Y%m%d").astype(int), **given})


@pytest.mark.parametrize(
    "recipe", [vd.Cart(m=1), vd.CriticalCart(critical=["day"], m=1)], ids=["cart", "critical"]
)
def test_dates_written_as_numbers_are_told(recipe):
    with pytest.warns(VeladuraWarning, match=r"(?s)\['day'\] seem to hold dates.*%Y%m%d"):
        recipe.protect(admissions(sex=["f", "m"] * 300), seed=1)


@pytest.mark.parametrize("wrong", [20230229, 20241301, 20240100, 21000101, 5000])
def test_one_number_that_is_no_date_makes_a_column_of_numbers(wrong):
    numbers = admissions(sex=["f", "m"] * 300)
    numbers.loc[7, "day"] = wrong
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vd.Cart(m=1).protect(numbers, seed=1)


def test_a_leap_day_is_a_date_and_the_word_of_the_holder_counts():
    numbers = admissions(sex=["f", "m"] * 300)
    numbers.loc[7, "day"] = 20240229
    with pytest.warns(VeladuraWarning, match="seem to hold dates"):
        vd.Cart(m=1).protect(numbers, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        declared = vd.open(numbers, columns={"day": {"kind": "integer"}})
        vd.Cart(m=1).protect(declared, seed=1)
