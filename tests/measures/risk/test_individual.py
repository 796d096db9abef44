"""Individual risk from weights: published values, and the negative binomial sum itself."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import veladura as vd
from veladura.errors import ColumnError, DataError, PlanError
from veladura.numeric.individual_risk import negative_binomial_risk

# f, sum of weights and risk of the rows of sdcMicro's example "francdat"
PUBLISHED = [
    (2, 110.0, 0.01714426),
    (2, 84.5, 0.02204233),
    (1, 17.0, 0.17707583),
    (1, 541.0, 0.01165448),
    (1, 8.0, 0.29706308),
    (1, 5.0, 0.40235948),
]


def test_published_values_to_eight_digits():
    rows = [(i, total / f, risk) for i, (f, total, risk) in enumerate(PUBLISHED) for _ in range(f)]
    sample = pd.DataFrame(rows, columns=["key", "w", "risk"])
    found = vd.risk.individual(sample, ["key"], weight="w")
    np.testing.assert_allclose(found.per_record, sample["risk"], atol=0.5e-8)
    assert float(found.highest) == pytest.approx(0.40235948, abs=0.5e-8)
    assert float(found.expected) == pytest.approx(sample["risk"].sum(), abs=1e-7)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.floats(0.02, 0.999))
def test_the_risk_is_the_mean_of_one_over_the_population(f, p):
    many = np.arange(0, int((f + 60) / p * 3) + 2000)
    direct = float(np.sum(stats.nbinom.pmf(many, f, p) / (f + many)))
    assert negative_binomial_risk(np.array([f]), np.array([f / p]))[0] == pytest.approx(
        direct, rel=1e-7
    )


@pytest.mark.parametrize(
    ("f", "total"),
    [
        (1, 1e9),
        (2, 1e9),
        (3, 1e7),
        (500, 1e6),
        (29, 1e6),
        (30, 1e6),
        (29, 60.0),
        (5, 9.99),
        (5, 10.01),
        (10_000, 10_001.0),
        (3, 3.0),
        (2, 1.0),
    ],
)
def test_ends_of_the_range_agree_with_an_integral(f, total):
    # E(1/F) is the integral of E(s^F) / s for s from 0 to 1, with the logarithm of
    # (1/s - 1) / p + 1 as its variable
    p = min(f / total, 1.0)
    ends = [0.0, 1 / f, 5 / f, 30 / f, 80.0] if f > 1 else [0.0, -np.log(p) + 1e-9, 80.0]
    parts = [
        integrate.quad(lambda w: p * np.exp(w * (1 - f)) / (1 + p * np.expm1(w)), *pair, limit=500)[
            0
        ]
        for pair in pairwise(ends)
    ]
    value = sum(parts)
    assert negative_binomial_risk(np.array([f]), np.array([total]))[0] == pytest.approx(
        value, rel=1e-6
    )


def test_without_weights_the_table_is_the_population():
    found = vd.risk.individual(pd.DataFrame({"a": [1, 1, 2, None, None]}), ["a"])
    assert found.per_record.tolist() == [0.5, 0.5, 1.0, 0.5, 0.5]
    assert found.frequency.tolist() == [2, 2, 1, 2, 2]


def test_the_figure_needs_a_declared_weight():
    people = pd.DataFrame(
        {"sex": list("ffmm"), "x": [1.0, 2.0, 3.0, 4.0], "w": [10.0, 20.0, 5.0, 5.0]}
    )
    table = vd.open(people, {"sex": {"role": "quasi-identifier"}, "w": {"role": "weight"}})
    figures = vd.assess(table, vd.Noise(columns=["x"]).protect(table, seed=1))
    direct = vd.risk.individual(people, ["sex"], weight="w")
    assert float(figures["risk.individual.highest"]) == pytest.approx(float(direct.highest))
    assert float(figures["risk.individual.expected"]) == pytest.approx(float(direct.expected))


def test_mistakes_are_told():
    people = pd.DataFrame({"a": [1, 2], "w": [1.0, -1.0], "t": ["x", "y"]})
    with pytest.raises(PlanError, match="at least one column in known"):
        vd.risk.individual(people, [])
    with pytest.raises(DataError, match="above 0") as error:
        vd.risk.individual(people, ["a"], weight="w")
    assert "-1" not in str(error.value)
    with pytest.raises(DataError, match="must hold numbers"):
        vd.risk.individual(people, ["a"], weight="t")
    with pytest.raises(ColumnError):
        vd.risk.individual(people, ["b"])
    with pytest.raises(DataError, match="no rows"):
        vd.risk.individual(people.iloc[:0], ["a"])


def test_the_household_risk_is_that_of_finding_any_member():
    """Against the product over members, written out; a person with two rows counts once."""
    rng = np.random.default_rng(12)
    people = pd.DataFrame({"person": np.arange(60), "home": rng.integers(0, 20, 60)})
    people["zip"], people["w"] = rng.integers(0, 12, 60), rng.uniform(2, 9, 60)
    twice = pd.concat([people, people[:7]], ignore_index=True)
    roles = {"person": {"role": "person"}, "home": {"role": "household"}, "w": {"role": "weight"}}
    table = vd.open(twice, roles).without_identifiers()
    risk = vd.risk.individual(table, ["zip"], weight="w")
    each = dict(zip(twice["person"], risk.per_record, strict=True))
    homes = people.groupby("home")["person"].apply(list)
    found = {home: 1 - np.prod([1 - each[p] for p in members]) for home, members in homes.items()}
    assert float(risk.households) == pytest.approx(sum(found.values()))
    assert np.allclose(risk.per_household, [found[home] for home in twice["home"]])
    assert float(risk.households) > max(found.values())
    assert vd.risk.individual(people, ["zip"], weight="w").households is None


def test_a_released_household_column_gives_the_household_risk():
    rng = np.random.default_rng(13)
    frame = pd.DataFrame({"home": np.repeat(np.arange(100), 3), "zip": rng.integers(0, 50, 300)})
    frame["w"] = rng.uniform(5, 9, 300)
    roles = {"home": {"role": "household"}, "w": {"role": "weight"}}
    table = vd.open(frame, roles | {"zip": {"role": "quasi-identifier"}})
    release = vd.Reweight(column="w").protect(table)
    figures = vd.assess(table, release).figures
    expected = figures["risk.individual.expected"].estimate.value
    households = figures["risk.individual.households"].estimate.value
    assert 0 < households < expected  # two members found are one household
