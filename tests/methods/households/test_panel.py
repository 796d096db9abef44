"""Rows of people, with and without households: waves in order, each like the ones before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.table.inspect import inspect_table

PEOPLE = 2500
ROLES = {"who": {"role": "person"}, "home": {"role": "household"}}


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    """People in homes, seen in up to three years; a number that depends on the year before."""
    rng = np.random.default_rng(1)
    home = np.sort(rng.integers(0, PEOPLE // 2, PEOPLE))
    region = rng.choice(list("abc"), PEOPLE)[home]
    sex = rng.choice(["f", "m"], PEOPLE)
    x = rng.normal(0, 1, PEOPLE)
    waves = []
    for year in (2020, 2021, 2022):
        x = 0.8 * x + 0.6 * rng.normal(0, 1, PEOPLE)
        wave = pd.DataFrame({"who": np.arange(PEOPLE), "home": home, "region": region, "sex": sex})
        waves.append(wave.assign(year=year, y=(50 + 10 * x).round(1))[rng.random(PEOPLE) < 0.9])
    return pd.concat(waves).sample(frac=1, random_state=1).reset_index(drop=True)


def lags(frame: pd.DataFrame) -> np.ndarray:
    """Return correlations with one year before, with two, and the share seen in all years."""
    wide = frame.pivot_table(index="who", columns="year", values="y")
    corr = wide.corr().to_numpy()
    seen = wide.notna().all(axis=1).mean()
    return np.array([np.arctanh(corr[0, 1]), np.arctanh(corr[1, 2]), np.arctanh(corr[0, 2]), seen])


@pytest.mark.parametrize("units", [["who"], ["who", "home"]])
def test_a_panel_keeps_its_lags_and_its_waves(panel, units):
    """At 4.9 standard errors (1/sqrt(n) of Fisher's z, twice: a sample and a draw)."""
    frame = panel if "home" in units else panel.drop(columns=["home", "region"])
    roles = {name: ROLES[name] for name in units}
    release = vd.HouseholdCart(m=1).protect(vd.open(frame, roles), seed=3)
    drawn = release.datasets[0]
    error = np.array([1, 1, 1, np.sqrt(0.73 * 0.27)]) * np.sqrt(2 / (0.73 * PEOPLE))
    assert np.all(np.abs(lags(drawn) - lags(frame)) < 4.9 * error)
    # broken control: rows of a person drawn alone
    alone = drawn.assign(y=np.random.default_rng(1).permutation(drawn.y))
    assert np.any(np.abs(lags(alone) - lags(frame)) > 10 * error)
    assert not drawn.duplicated(["who", "year"]).any()
    assert drawn.groupby("who").sex.nunique().max() == 1
    if "home" in units:
        assert drawn.groupby("home").region.nunique().max() == 1
        assert drawn.groupby("who").home.nunique().max() == 1
    names = {promise.name for promise in release.promises}
    assert {"unit-columns", "distinct", "rare-sizes"} <= names
    assert {proof.status for proof in release.proofs} == {"holds"}


def order_of(table) -> tuple[str, ...]:
    seen = table.without_identifiers()
    return tuple(vd.HouseholdCart.suggest_for(seen, inspect_table(seen)).members)


@pytest.mark.parametrize("kind", ["integer", "date"])
def test_a_wave_that_stands_twice_for_somebody_hides_no_order(panel, kind):
    """As two visits on one day: rows still follow each other, and none is promised to be alone."""
    frame = panel.drop(columns=["home", "region"])
    twice = frame[frame.who < 8].drop_duplicates("who")
    frame = pd.concat([frame, twice], ignore_index=True)
    if kind == "date":
        frame = frame.assign(year=pd.to_datetime(frame.year.astype(str) + "-05-01"))
    table = vd.open(frame, {"who": {"role": "person"}})
    assert order_of(table) == ("year",)
    release = vd.HouseholdCart(m=1).protect(table, seed=3)
    drawn = release.datasets[0].drop_duplicates(["who", "year"])
    error = np.sqrt(2 / (0.73 * PEOPLE))
    assert np.all(np.abs(lags(drawn) - lags(frame))[:3] < 4.9 * error)
    assert "distinct" not in {promise.name for promise in release.promises}


def test_amounts_that_differ_by_chance_are_no_order_beside_a_date(panel):
    """The control: a number of very many values never repeats, and says nothing of time."""
    rng = np.random.default_rng(2)
    frame = panel.drop(columns=["home", "region"]).assign(cost=rng.permutation(10**6)[: len(panel)])
    frame = frame.assign(cost=frame.cost // 3)
    day = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, len(frame)), "D")
    table = vd.open(frame.drop(columns="year").assign(day=day), {"who": {"role": "person"}})
    assert order_of(table) == ("day",)
    drawn = vd.open(frame.drop(columns="year"), {"who": {"role": "person"}})
    assert order_of(drawn) == ("cost",)  # for want of anything better, as before


def test_old_numbers_of_people_are_not_those_of_the_release(panel):
    drawn = vd.HouseholdCart(m=1).protect(vd.open(panel, ROLES), seed=3).datasets[0]
    for name in ROLES:
        assert sorted(drawn[name].unique()) == list(range(1, drawn[name].nunique() + 1))
