"""Weights that a plan declares are used by every measure they make sense for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.measures.pairing import pair
from veladura.measures.utility.linear import fit_all, propose
from veladura.measures.weights import effective_rows, weighted_mean, weights_of
from veladura.report.intervals import interval_facts

ROWS = 900
ROLES = {"w": {"role": "weight"}, "town": {}, "age": {}, "pay": {}, "job": {}}


@pytest.fixture
def sample():
    """People of one town were drawn five times as often, and earn less."""
    rng = np.random.default_rng(8)
    town = rng.choice(["Ulm", "Bern"], ROWS, p=[0.7, 0.3])
    age = rng.integers(18, 80, ROWS)
    pay = np.round(np.where(town == "Ulm", 2000, 4000) + 20 * age + rng.normal(0, 300, ROWS))
    return pd.DataFrame(
        {
            "town": town,
            "age": age,
            "job": np.where(rng.random(ROWS) < np.where(town == "Ulm", 0.2, 0.6), "cook", "clerk"),
            "pay": pay,
            "w": np.where(town == "Ulm", 1.0, 5.0) * rng.uniform(0.5, 1.5, ROWS),
        }
    )


def other(sample):
    """The same people with less pay in one town, so that weights matter."""
    moved = sample.copy()
    moved.loc[moved["town"] == "Bern", "pay"] -= 700
    moved.loc[moved.index % 3 == 0, "job"] = "cook"
    return moved


def expanded(sample):
    """Every person as often as their weight says: what weights mean, without any formula."""
    whole = np.maximum(np.round(sample["w"] * 20), 1).astype(int)
    return sample.assign(w=whole / 20), sample.loc[np.repeat(sample.index, whole)].drop(columns="w")


def opened(frame):
    return vd.open(frame, {name: ROLES[name] for name in frame.columns})


@pytest.mark.parametrize(
    "measure", [vd.utility.columns, vd.utility.tables, vd.utility.correlations]
)
def test_a_weighted_figure_is_that_of_the_population_it_stands_for(sample, measure):
    before, population = expanded(sample)
    after, released = expanded(other(sample))
    weighted = measure(opened(before), opened(after))
    counted = measure(
        opened(population.reset_index(drop=True)), opened(released.reset_index(drop=True))
    )
    plain = measure(opened(before.drop(columns="w")), opened(after.drop(columns="w")))
    if measure is vd.utility.columns:
        for name in ("town", "age", "job", "pay"):
            assert float(weighted.distances[name]) == pytest.approx(float(counted.distances[name]))
        assert float(weighted.distances["pay"]) > 1.5 * float(plain.distances["pay"])
    elif measure is vd.utility.correlations:
        assert float(weighted.mean) == pytest.approx(float(counted.mean), abs=1e-9)
        assert float(weighted.mean) != pytest.approx(float(plain.mean), rel=1e-3)
    else:
        # cells of numbers are cut at quantiles of the rows: categories alone are comparable
        names = ("job", "town") if ("job", "town") in weighted.tables else ("town", "job")
        assert float(weighted.tables[names]) == pytest.approx(float(counted.tables[names]))
        assert float(weighted.tables[names]) != pytest.approx(float(plain.tables[names]), rel=1e-3)


def test_without_a_released_weight_both_sides_are_counted_in_rows(sample):
    moved = other(sample)
    without = vd.utility.columns(opened(sample), opened(moved.drop(columns="w")))
    plain = vd.utility.columns(opened(sample.drop(columns="w")), opened(moved.drop(columns="w")))
    assert without.weight is None
    assert {n: float(d) for n, d in without.distances.items()} == {
        n: float(d) for n, d in plain.distances.items()
    }


@pytest.mark.parametrize("bad", [np.nan, -1.0])
def test_a_weight_that_cannot_be_used_is_not(sample, bad):
    sample.loc[3, "w"] = bad
    assert weights_of(opened(sample)) is None


def test_a_weighted_regression_is_that_of_statsmodels(sample):
    from statsmodels.formula import api as formulas

    pairing = pair(opened(sample), opened(other(sample)))
    model = propose(pairing, ["pay"])
    fits = fit_all(pairing, model)
    assert model.response == "pay"
    frame = sample.assign(
        y=(sample["pay"] - sample["pay"].mean()) / sample["pay"].std(ddof=0),
        x=(sample["age"] - sample["age"].mean()) / sample["age"].std(ddof=0),
    )
    fitted = formulas.wls("y ~ x + C(town) + C(job)", frame, weights=frame["w"]).fit(cov_type="HC1")
    place = fits.terms.index("age")
    assert fits.estimates[0][place] == pytest.approx(fitted.params["x"])
    assert fits.variances[0][place] == pytest.approx(fitted.bse["x"] ** 2)


def test_a_weighted_mean_has_the_variance_of_the_linearised_estimate():
    rng = np.random.default_rng(1)
    values, weights = rng.normal(size=40), rng.uniform(0.2, 3, 40)
    mean, variance = weighted_mean(values, weights)
    assert mean == pytest.approx(np.average(values, weights=weights))
    scores = [
        (mean - np.average(np.delete(values, i), weights=np.delete(weights, i))) for i in range(40)
    ]
    jackknife = 39 / 40 * np.sum((np.array(scores) - np.mean(scores)) ** 2)
    assert variance == pytest.approx(jackknife, rel=0.1)
    assert effective_rows(np.ones(7)) == pytest.approx(7)


def test_means_and_proportions_of_the_page_are_weighted(sample):
    release = vd.Noise(columns=["pay"], scale=0.01).protect(opened(sample), seed=1)
    means, shares, *_ = interval_facts(release, release.original)
    assert means.title == "Means, weighted by w"
    pay = next(row for row in means.rows if row.name == "pay")
    population = np.average(sample["pay"], weights=sample["w"])
    low, high = (
        float(end.replace(",", "")) for end in pay.original.split("(")[1][:-1].split(" to ")
    )
    assert low < population < high
    assert not low < sample["pay"].mean() < high
    cook = next(row for row in shares.rows if row.name in ("job: cook", "job: clerk"))
    label = cook.name.partition(": ")[2]
    share = 100 * np.average(sample["job"] == label, weights=sample["w"])
    assert float(cook.original.split(" %")[0]) == pytest.approx(share, abs=0.1)


def test_the_assessment_says_that_it_is_weighted(sample):
    table = opened(sample)
    release = vd.Noise(columns=["pay"], scale=0.1).protect(table, seed=1)
    assessed = vd.assess(table, release)
    for name in ("columns.mean", "correlations.mean", "overlap.mean"):
        assert "Weighted by w." in assessed.figures[f"utility.{name}"].note
