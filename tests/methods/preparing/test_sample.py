"""Sampling: every unit has the same chance, strata keep their shares, and risk knows of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.preparing.sample import drawn_units

DRAWS = 2_000
LEVEL = 1e-5


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """600 people in 240 households of 30 villages; some have several rows."""
    rng = np.random.default_rng(4)
    household = np.sort(rng.integers(0, 240, 600))
    frame = pd.DataFrame(
        {
            "person": np.arange(600) * 7 + 3,
            "household": household,
            "village": household // 8,
            "sex": rng.choice(["f", "m"], 600, p=[0.8, 0.2]),
            "age": rng.integers(0, 90, 600),
        }
    )
    return frame.loc[np.repeat(np.arange(600), rng.integers(1, 4, 600))].reset_index(drop=True)


ROLES = {"person": {"role": "person"}, "household": {"role": "household"}}


def chances(strata: np.ndarray, share: float, draw=drawn_units) -> np.ndarray:
    rng = np.random.default_rng(8)
    return sum(draw(strata, share, rng).astype(float) for _ in range(DRAWS)) / DRAWS


def too_unequal(found: np.ndarray, share: float) -> bool:
    """Whether inclusion differs from the share: a chi-square test over units at level 1e-5."""
    z2 = ((found - share) ** 2 / (share * (1 - share) / DRAWS)).sum()
    return bool(stats.chi2.sf(z2, found.size) < LEVEL)


STRATA = np.repeat(np.arange(5), [1, 2, 3, 17, 37])


@pytest.mark.parametrize("share", [0.1, 0.25, 1 / 3])
@pytest.mark.parametrize("strata", [STRATA, np.zeros(60, dtype=int)], ids=["strata", "simple"])
def test_every_unit_has_the_same_chance(strata, share):
    assert not too_unequal(chances(strata, share), share)


def by_largest_remainder(strata, share, rng):
    """Round each stratum's number to the nearest: small strata are never drawn."""
    sizes = np.round(np.bincount(strata) * share).astype(int)
    drawn = np.zeros(strata.size, dtype=bool)
    for s, size in enumerate(sizes):
        drawn[rng.choice(np.flatnonzero(strata == s), size, replace=False)] = True
    return drawn


def first_rows(strata, share, rng):
    """Always take the first rows."""
    drawn = np.zeros(strata.size, dtype=bool)
    drawn[: round(share * strata.size)] = True
    return drawn


@pytest.mark.parametrize("broken", [by_largest_remainder, first_rows])
def test_the_test_of_chances_rejects_broken_samplers(broken):
    assert too_unequal(chances(STRATA, 0.25, broken), 0.25)


def test_pairs_of_units_are_drawn_as_a_simple_random_sample_draws_them():
    """P(both) = n(n-1) / N(N-1), for all pairs of 12 units, 3 drawn."""
    rng = np.random.default_rng(2)
    drawn = np.array([drawn_units(np.zeros(12, dtype=int), 0.25, rng) for _ in range(DRAWS)])
    assert set(drawn.sum(axis=1)) == {3}
    both = np.array([(drawn[:, i] & drawn[:, j]).sum() for i in range(12) for j in range(i)])
    p = 3 * 2 / (12 * 11)
    z = (both - DRAWS * p) / np.sqrt(DRAWS * p * (1 - p))
    assert np.abs(z).max() < stats.norm.isf(LEVEL / 2 / both.size)


def test_strata_keep_their_shares(people):
    release = vd.Sample(fraction=0.3, strata=["sex"]).protect(people, seed=1)
    before, after = people["sex"].value_counts(), release.datasets[0]["sex"].value_counts()
    assert (np.abs(after - 0.3 * before) < 1).all()


@pytest.mark.parametrize(
    ("unit", "column"), [("people", "person"), ("households", "household"), ("clusters", "village")]
)
def test_units_come_whole(people, unit, column):
    table = vd.open(people, ROLES)
    cluster = "village" if unit == "clusters" else None
    release = vd.Sample(fraction=0.25, unit=unit, cluster=cluster).protect(table, seed=6)
    kept = people.loc[release.rows]
    wanted = people[column].nunique() * 0.25
    assert kept[column].nunique() in (int(wanted), int(np.ceil(wanted)))
    rows = people[people[column].isin(kept[column])]
    assert len(rows) == len(kept)


def test_a_number_of_units(people):
    release = vd.Sample(number=100).protect(people, seed=1)
    assert len(release.datasets[0]) == 100
    assert release.fraction == pytest.approx(100 / len(people))
    assert release.manifest["steps"][0]["settings"]["drawn"] == release.fraction


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({}, "either a fraction"),
        ({"fraction": 0.1, "number": 5}, "either a fraction"),
        ({"fraction": 1.5}, "at most 1"),
        ({"number": 0}, "at least 1"),
        ({"fraction": 0.1, "unit": "streets"}, "unit"),
        ({"fraction": 0.1, "cluster": "village"}, "goes with unit"),
    ],
)
def test_settings_that_make_no_sample_are_refused(settings, match):
    with pytest.raises(PlanError, match=match):
        vd.Sample(**settings)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"number": 10_000}, "more than"),
        ({"fraction": 0.0001}, "less than one"),
        ({"fraction": 0.5, "unit": "people", "strata": ["age2"]}, "several strata"),
        ({"fraction": 0.5, "unit": "clusters"}, "no column says which cluster"),
    ],
)
def test_samples_that_the_table_does_not_allow_are_refused(people, settings, match):
    table = vd.open(people.assign(age2=np.arange(len(people)) % 2), ROLES)
    with pytest.raises((DataError, PlanError), match=match):
        vd.Sample(**settings).protect(table, seed=1)


def test_risk_measures_use_the_fraction():
    """The journalist's risk of a sample is near 1/F, counted in the population it came from."""
    rng = np.random.default_rng(5)
    source = pd.DataFrame(
        {"zip": rng.zipf(1.6, 20_000).clip(max=300), "age": rng.integers(20, 80, 20_000)}
    )
    table = vd.open(source, {name: {"role": "quasi-identifier"} for name in source})
    release = vd.Sample(fraction=0.1).protect(table, seed=3)
    figures = vd.assess(table, release)
    sample = release.datasets[0]
    sizes = source.groupby(["zip", "age"]).size()
    truth = (1 / sizes.loc[list(sample.itertuples(index=False, name=None))]).mean()
    prosecutor = float(figures["risk.uniqueness.average_prosecutor"])
    journalist = float(figures["risk.classes.journalist"])
    assert truth < 0.5 * prosecutor
    assert journalist == pytest.approx(truth)
    assert "10 % of the source. Counted" in figures.figures["risk.classes.journalist"].note
    alone = sample.value_counts()
    alone = alone[alone == 1].index
    both = int((sizes.loc[alone] == 1).sum())
    assert 0 < both < len(alone)
    assert int(figures["risk.uniqueness.population_uniques"]) == both
    by_hand = vd.risk.individual(sample, ["zip", "age"], fraction=0.1)
    assert float(figures["risk.individual.average"]) == pytest.approx(float(by_hand.average))
    weighted = vd.risk.individual(sample.assign(w=10.0), ["zip", "age"], weight="w")
    assert np.allclose(weighted.per_record, by_hand.per_record)


def test_coarser_columns_have_the_estimate_of_the_fraction():
    """Nobody can count bands in the source: the individual risk stands in, and the note says so."""
    rng = np.random.default_rng(5)
    source = pd.DataFrame(
        {"age": rng.integers(20, 80, 5_000), "sex": rng.choice(["f", "m"], 5_000)}
    )
    table = vd.open(source, {name: {"role": "quasi-identifier"} for name in source})
    steps = [vd.Sample(fraction=0.02), vd.Recode(columns={"age": {"round": 5}})]
    release = vd.Steps(steps).protect(table, seed=3)
    figures = vd.assess(table, release)
    sample, everyone = release.datasets[0], vd.Recode(columns={"age": {"round": 5}}).protect(source)
    sizes = everyone.datasets[0].groupby(["age", "sex"]).size()
    truth = (1 / sizes.loc[list(sample.itertuples(index=False, name=None))]).mean()
    journalist = float(figures["risk.classes.journalist"])
    assert truth < journalist < 10 * truth < float(figures["risk.uniqueness.average_prosecutor"])
    assert "Estimated" in figures.figures["risk.classes.journalist"].note


def test_k_map_by_the_fraction():
    table = pd.DataFrame({"zip": [1, 1, 2]})
    assert vd.risk.k_map(table, known=["zip"], fraction=0.25).per_record.tolist() == [8, 8, 4]
    with pytest.raises(PlanError, match="either a population or the fraction"):
        vd.risk.k_map(table, known=["zip"])


def test_without_a_sample_the_journalist_is_the_prosecutor(people):
    figures = vd.assess(people, vd.Noise(columns=["age"]).protect(people, seed=1))
    assert float(figures["risk.classes.journalist"]) == float(figures["risk.classes.marketer"])
    uniques = [figures[f"risk.uniqueness.{name}_uniques"] for name in ("sample", "population")]
    assert uniques[0] == uniques[1]


def test_more_rows_than_the_fraction_break_the_promise(people, tmp_path):
    release = vd.Sample(fraction=0.25).protect(people, seed=2)
    (promise,) = release.promises
    check, (evidence,) = release.checks["sample"], release.evidence()
    assert check.count(evidence, promise.settings) == 0
    assert check.count(evidence, {**promise.settings, "drawn": 0.2}) > 0
    assert "25 %" in release.claims[0]
