"""What members have in common, against brute force; a resample is near, strangers are far."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from tests.generators.households import ROLES, households

import veladura as vd
from veladura.errors import NotApplicable, VeladuraWarning
from veladura.measures.utility.households import intraclass, pair_table


def test_intraclass_correlation_is_that_of_a_random_effect():
    """Closed form: the share of variance between units, 0.36 / (0.36 + 0.64)."""
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(20_000), 3)
    values = 0.6 * rng.normal(size=20_000)[unit] + 0.8 * rng.normal(size=unit.size)
    assert abs(intraclass(values, unit, np.ones(20_000)) - 0.36) < 0.03
    assert abs(intraclass(rng.permutation(values), unit, np.ones(20_000))) < 0.03


def test_intraclass_correlation_by_the_table_of_the_analysis_of_variance():
    rng = np.random.default_rng(2)
    unit = np.sort(rng.integers(0, 30, 100))
    unit = np.unique(unit, return_inverse=True)[1]
    values = rng.normal(size=100) + unit % 3
    groups = [values[unit == u] for u in range(unit.max() + 1)]
    k, n = len(groups), values.size
    between = sum(g.size * (g.mean() - values.mean()) ** 2 for g in groups) / (k - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (n - k)
    each = (n - sum(g.size**2 for g in groups) / n) / (k - 1)
    expected = (between - within) / (between + (each - 1) * within)
    assert intraclass(values, unit, np.ones(k)) == pytest.approx(expected)


def test_a_weight_is_a_household_that_is_there_several_times():
    rng = np.random.default_rng(3)
    unit, values = np.repeat(np.arange(20), 3), rng.normal(size=60)
    classes, weight = rng.integers(0, 4, 60), rng.integers(0, 3, 20).astype(float)
    times = np.repeat(np.arange(20), weight.astype(int))
    rows = np.concatenate([np.flatnonzero(unit == u) for u in times])
    again = np.repeat(np.arange(times.size), 3)
    ones = np.ones(times.size)
    assert intraclass(values, unit, weight) == pytest.approx(intraclass(values[rows], again, ones))
    found = pair_table(classes, 4, unit, weight)
    assert np.allclose(found, pair_table(classes[rows], 4, again, ones))
    pairs = Counter(
        pair
        for home in range(times.size)
        for pair in permutations(classes[rows][again == home].tolist(), 2)
    )
    brute = np.array([[pairs[a, b] for b in range(4)] for a in range(4)]) / sum(pairs.values())
    assert np.allclose(found, brute)


def test_another_sample_is_near_and_strangers_are_far():
    people = vd.open(households(1500), ROLES)
    near = vd.utility.households(people, vd.open(households(1500, 2), ROLES))
    mixed = households(1500)
    mixed["home"] = np.random.default_rng(1).permutation(mixed.home.to_numpy())
    far = vd.utility.households(people, vd.open(mixed, ROLES))
    for name in ("composition", "intraclass", "pairs"):
        base = float(getattr(near, f"{name}_resample"))
        assert 0 < float(getattr(near, name)) < 4 * base
        assert float(getattr(far, name)) > 6 * base


def test_compositions_are_counted_by_kind():
    """Half the couples have a second head instead of a partner: a quarter of all households."""
    homes = np.repeat(np.arange(200), 2)
    frame = pd.DataFrame({"home": homes, "relation": ["head", "partner"] * 200})
    frame["age"] = np.arange(400) % 77
    other = frame.copy()
    other.loc[(other.home < 50) & (other.relation == "partner"), "relation"] = "lodger"
    found = vd.utility.households(vd.open(frame, ROLES), vd.open(other, ROLES))
    assert float(found.composition) == pytest.approx(0.25)


def test_without_households_there_is_no_figure():
    frame = households(50)
    with pytest.raises(NotApplicable, match="no column has the role household"):
        vd.utility.households(frame, frame)
    table = vd.open(frame, ROLES)
    with pytest.warns(VeladuraWarning, match="the same for all members"):
        release = vd.Cart(m=1).protect(table, seed=1)
    figures = vd.assess(table, release)
    with pytest.raises(NotApplicable, match="does not apply"):
        figures["utility.households.pairs"]


def test_an_assessment_has_the_figures():
    table = vd.open(households(400), ROLES)
    figures = vd.assess(table, vd.HouseholdCart(m=1).protect(table, seed=1))
    assert 0 < float(figures["utility.households.composition"]) < 0.2
