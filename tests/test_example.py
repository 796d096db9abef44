"""The bundled register is reproducible, plausible row by row, and dependent as real data are."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from veladura import example
from veladura.base.streams import Streams
from veladura.example import generate

if TYPE_CHECKING:
    from collections.abc import Callable

Ring = list[list[float]]
Claim = tuple["Callable[[pd.DataFrame], float]", str, float]

PEOPLE = 5_000
REFERENCE = pd.Timestamp("2024-12-31")
FILES = ["clinic.csv", "region.geojson", "lake.geojson"]
COLUMNS = [
    "name",
    "social_number",
    "birth",
    "zip",
    "sex",
    "ethnicity",
    "marital",
    "lon",
    "lat",
    "diagnosis",
    "income",
    "stay",
]


@pytest.fixture(scope="module")
def clinic() -> pd.DataFrame:
    """Return the shipped register with the age in years."""
    table = pd.read_csv(example.path("clinic.csv"), dtype={"zip": str}, parse_dates=["birth"])
    return table.assign(age=(REFERENCE - table["birth"]).dt.days / 365.25)


def ring_of(name: str) -> Ring:
    """Return the one outer ring of a bundled polygon."""
    (feature,) = json.loads(example.path(name).read_text(encoding="utf-8"))["features"]
    (ring,) = feature["geometry"]["coordinates"]
    return list(ring)


def signed_area(ring: Ring) -> float:
    """Return the shoelace area: positive when counterclockwise."""
    return sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring)) / 2


def winds_around(lon: float, lat: float, ring: Ring) -> bool:
    """Return whether the ring turns a full circle as seen from the point.

    Angles, where the generator counts crossings: a slip there is not repeated here.
    """
    seen = np.array([complex(x - lon, y - lat) for x, y in ring])
    return bool(abs(np.angle(seen[1:] / seen[:-1]).sum()) > np.pi)


def eta(table: pd.DataFrame, group: str, value: str) -> float:
    """Return the share of the rank variance of ``value`` that lies between groups."""
    known = table[[group, value]].dropna()
    ranks = known[value].rank()
    return float(ranks.groupby(known[group]).transform("mean").var() / ranks.var())


def cramer(table: pd.DataFrame, one: str, other: str) -> float:
    """Return Cramér's V of two categorical columns."""
    seen = pd.crosstab(table[one], table[other]).to_numpy()
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / seen.sum()
    chi2 = ((seen - expected) ** 2 / expected).sum()
    return float(np.sqrt(chi2 / seen.sum() / (min(seen.shape) - 1)))


def hill(values: pd.Series, top: int = 200) -> float:
    """Return the Hill estimate of the tail index from the ``top`` largest values."""
    largest = np.sort(values.dropna().to_numpy())[::-1][: top + 1]
    return float(1 / np.log(largest[:top] / largest[top]).mean())


def younger_than(table: pd.DataFrame, years: int) -> pd.Series[bool]:
    """Return who had not reached that birthday on the reference date."""
    return table["birth"] > REFERENCE - pd.DateOffset(years=years)


def adults(table: pd.DataFrame) -> pd.DataFrame:
    """Return who may earn: age acts on income beyond the zeros of children."""
    return table[~younger_than(table, 18)]


# Measure, column to shuffle for the control, bound: the register is above, the control below.
CLAIMS: dict[str, Claim] = {
    "income by age": (
        lambda t: eta(adults(t).assign(band=adults(t)["age"] // 10), "band", "income"),
        "income",
        0.10,
    ),
    "income by place": (lambda t: eta(adults(t), "zip", "income"), "income", 0.06),
    "income by sex": (lambda t: eta(adults(t), "sex", "income"), "income", 0.008),
    "income by diagnosis": (lambda t: eta(t, "diagnosis", "income"), "income", 0.05),
    "stay by diagnosis": (lambda t: eta(t, "diagnosis", "stay"), "stay", 0.20),
    "stay by age": (lambda t: float(t["age"].corr(t["stay"], "spearman")), "stay", 0.12),
    "age by diagnosis": (lambda t: eta(t, "diagnosis", "age"), "diagnosis", 0.20),
    "age by marital": (lambda t: eta(t, "marital", "age"), "marital", 0.30),
    "sex with diagnosis": (lambda t: cramer(t, "sex", "diagnosis"), "sex", 0.12),
    "sex with marital": (lambda t: cramer(t, "sex", "marital"), "sex", 0.06),
    "ethnicity with place": (lambda t: cramer(t, "ethnicity", "zip"), "ethnicity", 0.15),
}


@pytest.mark.parametrize("name", FILES)
def test_the_generator_reproduces_the_shipped_bytes(name: str) -> None:
    assert generate.render()[name] == example.path(name).read_bytes()


def test_another_seed_gives_another_register(clinic: pd.DataFrame) -> None:
    assert not generate.make_clinic(seed=1)["birth"].equals(clinic["birth"].dt.strftime("%Y-%m-%d"))


def test_an_unknown_file_is_refused_with_a_hint() -> None:
    with pytest.raises(ValueError, match=r"Hint: choose one of \['clinic.csv'"):
        example.path("hospital.csv")


def test_the_register_has_its_shape(clinic: pd.DataFrame) -> None:
    assert list(clinic.columns[:-1]) == COLUMNS
    assert len(clinic) == PEOPLE


def test_the_file_is_plain_utf8_with_six_decimals() -> None:
    raw = example.path("clinic.csv").read_bytes()
    assert b"\r" not in raw
    text = pd.read_csv(example.path("clinic.csv"), dtype=str, encoding="utf-8")
    for column in ("lon", "lat"):
        assert text[column].str.fullmatch(r"-?\d{2}\.\d{6}").all()
    assert text["birth"].str.fullmatch(r"\d{4}-\d{2}-\d{2}").all()
    assert text["income"].dropna().str.fullmatch(r"\d+").all()


def test_social_numbers_are_unique_and_were_never_issued(clinic: pd.DataFrame) -> None:
    numbers = clinic["social_number"]
    assert numbers.is_unique
    # Middle groups from 50 on are taxpayer numbers of real people.
    assert numbers.str.fullmatch(r"9\d{2}-(?!00)[0-4]\d-(?!0000)\d{4}").all()


def test_zip_codes_keep_their_leading_zero_and_follow_the_place(clinic: pd.DataFrame) -> None:
    assert clinic["zip"].str.fullmatch(r"0\d{4}").all()
    assert clinic["zip"].nunique() == 12
    assert eta(clinic, "zip", "lon") > 0.8
    assert eta(clinic, "zip", "lat") > 0.8


@pytest.mark.parametrize("name", FILES[1:])
def test_rings_are_closed_and_counterclockwise(name: str) -> None:
    ring = ring_of(name)
    assert ring[0] == ring[-1]
    assert signed_area(ring) > 0


def test_the_lake_lies_in_the_region_and_is_a_few_percent_of_it() -> None:
    region, lake = ring_of("region.geojson"), ring_of("lake.geojson")
    assert all(winds_around(x, y, region) for x, y in lake)
    assert 0.03 < signed_area(lake) / signed_area(region) < 0.10


def test_everybody_lives_on_the_land_of_the_region(clinic: pd.DataFrame) -> None:
    region, lake = ring_of("region.geojson"), ring_of("lake.geojson")
    homes = list(zip(clinic["lon"], clinic["lat"], strict=True))
    assert all(winds_around(x, y, region) for x, y in homes)
    assert not any(winds_around(x, y, lake) for x, y in homes)


def test_the_land_check_sees_homes_astray() -> None:
    assert winds_around(-71.25, 42.39, ring_of("lake.geojson"))
    assert not winds_around(-71.50, 42.60, ring_of("region.geojson"))


def test_the_shore_is_inhabited(clinic: pd.DataFrame) -> None:
    """Without homes near the water a method that ignores it could not be caught."""
    lake = np.array(ring_of("lake.geojson"))
    (west, south), (east, north) = lake.min(axis=0), lake.max(axis=0)
    around = clinic["lon"].between(west, east) & clinic["lat"].between(south, north)
    assert around.mean() > 0.02


def test_every_row_is_plausible(clinic: pd.DataFrame) -> None:
    born, stay = clinic["birth"], clinic["stay"]
    birth_giving = clinic[clinic["diagnosis"] == "childbirth"]
    assert set(clinic["sex"]) == {"female", "male"}
    assert set(clinic["marital"]) == {"single", "married", "divorced", "widowed"}
    assert (born < REFERENCE).all()
    assert clinic["age"].max() < 105
    assert (clinic.loc[younger_than(clinic, 18), "marital"] == "single").all()
    assert (clinic.loc[younger_than(clinic, 16), "income"] == 0).all()
    assert (clinic["income"].dropna() >= 0).all()
    assert (stay >= 0).all()
    assert (born + pd.to_timedelta(stay, unit="D") <= REFERENCE).all()
    assert set(birth_giving["sex"]) == {"female"}
    assert not younger_than(birth_giving, 18).any()
    assert younger_than(birth_giving, 50).all()


def test_some_diagnoses_are_rare_and_none_is_empty(clinic: pd.DataFrame) -> None:
    counts: Any = clinic["diagnosis"].value_counts()
    assert counts.size == 11
    assert ((counts >= 3) & (counts < 30)).sum() == 2


def test_ethnic_shares_are_unequal(clinic: pd.DataFrame) -> None:
    shares = clinic["ethnicity"].value_counts(normalize=True)
    assert shares.size == 5
    assert shares.max() > 0.5
    assert 0.01 < shares.min() < 0.05


def test_only_income_is_missing_and_for_one_in_twenty_five(clinic: pd.DataFrame) -> None:
    missing = clinic[COLUMNS].isna().mean()
    assert 0.03 < missing.pop("income") < 0.05
    assert (missing == 0).all()


@pytest.mark.parametrize("claim", CLAIMS)
def test_columns_depend_on_each_other(clinic: pd.DataFrame, claim: str) -> None:
    measure, _, bound = CLAIMS[claim]
    assert measure(clinic) > bound


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_measures_see_a_shuffled_column(clinic: pd.DataFrame, claim: str) -> None:
    measure, column, bound = CLAIMS[claim]
    order = Streams(0)("test", claim).permutation(len(clinic))
    assert measure(clinic.assign(**{column: clinic[column].to_numpy()[order]})) < bound


def test_income_has_a_heavy_tail(clinic: pd.DataFrame) -> None:
    income = adults(clinic)["income"].dropna()
    assert 1.6 < hill(income) < 2.7
    assert income[income > income.quantile(0.99)].sum() > 0.06 * income.sum()


def test_the_tail_index_sees_a_lognormal_tail(clinic: pd.DataFrame) -> None:
    log = np.log(adults(clinic)["income"].dropna())
    normal = Streams(0)("test", "tail").normal(log.median(), log.std(), log.size)
    assert hill(pd.Series(np.exp(normal))) > 2.7


def test_stay_is_skewed(clinic: pd.DataFrame) -> None:
    assert clinic["stay"].mean() > 1.3 * clinic["stay"].median()
