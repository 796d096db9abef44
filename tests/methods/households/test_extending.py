"""A new wave extends a synthetic panel: rows so far stay, new ones follow them, others are new."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.generators.panels import ROLES, household_panel
from tests.table.test_linked import chain, people_and_visits

import veladura as vd
from veladura.base.context import silent
from veladura.core.earlier import Earlier
from veladura.core.making import released
from veladura.core.recipe import context_of
from veladura.core.release import Release
from veladura.errors import DataError, PlanError

HOMES, LAST = 1200, 2022
KEY = ["who", "year"]


def extended(recipe, frame, first: Release, seed=2, *, roles=ROLES, threads=1) -> Release:
    """Extend a release that nobody has written."""
    tables = tuple(dataset.table for dataset in first.tables)
    before = Earlier("digest", tables, first.steps[0].settings)
    context = context_of(seed, threads, silent, None, unsafe_repeatable=False)
    return released(
        recipe.extended(recipe.prepared(vd.open(frame, roles)), before, context), context
    )


def until(frame: pd.DataFrame, year: int) -> pd.DataFrame:
    return frame[frame.year <= year]


def same_rows(new: pd.DataFrame, old: pd.DataFrame) -> bool:
    order = [frame.sort_values(KEY).reset_index(drop=True) for frame in (new, old)]
    return order[0].equals(order[1])


def wide(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    return frame.set_index(["who", "year"])[name].unstack()  # noqa: PD010  # no value is a mean


def changes(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return figures of the last wave given those before, and the standard error of each."""
    pay, work = (wide(frame, name) for name in ("pay", "work"))
    home = frame.groupby("who").home.first()
    both = np.log(pay[[LAST - 1, LAST]].dropna())
    full = work[work[LAST - 1] == "full"][LAST].dropna() == "full"
    left = pay[LAST][pay[LAST - 1].notna()].isna().groupby(home).agg(["mean", "size"])
    known = pay.drop(columns=LAST).notna().any(axis=1)
    homes = home[known].unique()
    new = home[~known]
    joins = new[new.isin(homes)]
    gone = float(np.average(left["mean"], weights=left["size"]))
    late = np.log(pay[LAST][new.index])
    return {
        "pay, Fisher z": (np.arctanh(both.corr().iloc[0, 1]), 1 / np.sqrt(len(both))),
        "full stays full": (full.mean(), np.sqrt(full.mean() * (1 - full.mean()) / len(full))),
        "leaves": (gone, np.sqrt(2 * gone * (1 - gone) / len(left))),  # a household together
        "joins": (joins.size / homes.size, np.sqrt(joins.size) / homes.size),
        "new homes": ((n := new.size - joins.size), np.sqrt(2 * n)),
        "pay of newcomers": (late.mean(), np.sqrt(2 / len(late)) * late.std()),
    }


def apart(one: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Return how many standard errors of a difference figures are apart."""
    first, second = changes(one), changes(other)
    return {
        name: abs(first[name][0] - second[name][0]) / np.hypot(first[name][1], second[name][1])
        for name in first
    }


@pytest.fixture(scope="module")
def panel() -> pd.DataFrame:
    return household_panel(HOMES)


@pytest.fixture(scope="module")
def first(panel) -> Release:
    return vd.HouseholdCart(m=2).protect(vd.open(until(panel, LAST - 1), ROLES), seed=1)


@pytest.fixture(scope="module")
def second(panel, first) -> Release:
    return extended(vd.HouseholdCart(m=2), panel, first)


def test_rows_so_far_stay_with_their_numbers(first, second):
    for old, new in zip(first.datasets, second.datasets, strict=True):
        assert same_rows(until(new, LAST - 1), old)
        assert list(new.columns) == list(old.columns)
        assert list(new.dtypes) == list(old.dtypes)
        for name in ROLES:
            numbers = np.unique(new[name])
            assert numbers.tolist() == list(range(1, numbers.size + 1))
            assert set(numbers) > set(old[name])
        homes = new.groupby("who").home.nunique()
        assert homes.max() == 1
    assert {proof.status for proof in second.proofs} == {"holds"}
    assert {promise.name for promise in second.promises} >= {"extends", "distinct", "unit-columns"}
    assert second.rule == first.rule


def test_the_new_wave_follows_the_rows_before(panel, second):
    """At 4.9 standard errors of a sample and a draw; the control draws the wave without a past."""
    for new in second.datasets:
        assert max(apart(new, panel).values()) < 4.9, apart(new, panel)
    alone = new.copy()
    last = alone.year == LAST
    rng = np.random.default_rng(1)
    alone.loc[last, ["work", "pay"]] = (
        alone.loc[last, ["work", "pay"]].sample(frac=1, random_state=rng).to_numpy()
    )
    found = apart(alone, panel)
    assert found["pay, Fisher z"] > 20
    assert found["full stays full"] > 20


def test_all_waves_at_once_have_the_same_law(panel):
    """Households come and go as a whole; the control puts people into others' households."""
    new = vd.HouseholdCart(m=1).protect(vd.open(panel, ROLES), seed=4).datasets[0]
    assert max(apart(new, panel).values()) < 4.9, apart(new, panel)
    people = new.who.unique()
    other = np.random.default_rng(1).permutation(new.drop_duplicates("who").home)
    mixed = new.assign(home=new.who.map(dict(zip(people, other, strict=True))))
    assert apart(mixed, panel)["joins"] > 10


def test_newcomers_have_random_numbers_and_a_random_count(panel, first):
    new = extended(vd.HouseholdCart(m=2), panel, first, seed=11)
    pairs = zip(new.datasets, first.datasets, strict=True)
    counts = {after.home.nunique() - before.home.nunique() for after, before in pairs}
    assert len(counts) == 2
    late = new.datasets[0]
    late = late[late.who > first.datasets[0].who.max()].groupby("who").pay.first()
    assert abs(np.corrcoef(late.index, np.log(late))[0, 1]) < 4.9 / np.sqrt(len(late))


def test_draws_depend_on_the_seed_alone(panel, first, second):
    mixed = panel.sample(frac=1, random_state=3)
    other_numbers = np.random.default_rng(1).permutation(panel.who.max() + 1)
    mixed["who"] = other_numbers[mixed.who]
    again = extended(vd.HouseholdCart(m=2), mixed, first, threads=2)
    other = extended(vd.HouseholdCart(m=2), panel, first, seed=3)
    for one, two, three in zip(second.datasets, again.datasets, other.datasets, strict=True):
        assert same_rows(one, two)
        assert not same_rows(one, three)


def test_people_without_households_from_one_wave_to_three(panel):
    """Two new waves at once, after a release in which everybody has one row."""
    frame = panel.drop(columns=["home", "region"])
    roles = {"who": ROLES["who"]}
    recipe = vd.HouseholdCart(m=1)
    start = recipe.protect(vd.open(until(frame, 2020), roles), seed=1)
    new = extended(recipe, frame, start, roles=roles).datasets[0]
    assert same_rows(until(new, 2020), start.datasets[0])
    assert set(new.year) == {2020, 2021, 2022}
    assert not new.duplicated(KEY).any()
    seen = [wide(d, "pay") for d in (frame, new)]
    shares = [(w[2020].notna() & w[2022].notna()).sum() / w[2020].notna().sum() for w in seen]
    assert abs(shares[0] - shares[1]) < 4.9 * np.sqrt(4 * 0.25 / seen[0][2020].notna().sum())
    lags = [np.arctanh(np.log(w).corr().to_numpy()[[0, 1], [1, 2]]) for w in seen]
    assert np.abs(lags[0] - lags[1]).max() < 4.9 * np.sqrt(2 / (0.75 * seen[0][2020].count()))


def test_two_of_five_waves_at_once():
    """Few are drawn again, all of them late: nobody's earlier row is among them."""
    frame, recipe = household_panel(300, 5), vd.HouseholdCart(m=1)
    one = recipe.protect(vd.open(until(frame, 2022), ROLES), seed=1)
    new = extended(recipe, frame, one).datasets[0]
    assert same_rows(until(new, 2022), one.datasets[0])
    assert not new.duplicated(KEY).any()
    seen = [d.groupby("year").who.nunique() for d in (frame, new)]
    assert np.all(np.abs(seen[0] - seen[1]) < 4.9 * np.sqrt(8 * seen[0]))  # in households of four


def test_an_extended_release_is_extended_again(panel):
    recipe = vd.HouseholdCart(m=1)
    one = recipe.protect(vd.open(until(panel, 2020), ROLES), seed=1)
    two = extended(recipe, until(panel, 2021), one, seed=2)
    three = extended(recipe, panel, two, seed=3)
    assert same_rows(until(three.datasets[0], 2021), two.datasets[0])
    assert same_rows(until(three.datasets[0], 2020), one.datasets[0])


def test_rules_hold_with_those_who_join(panel):
    """Exactly one head in every household; whoever joins is none."""
    frame = panel.sort_values(["home", "year", "born"])
    heads = frame.drop_duplicates("home").who
    frame = frame.assign(relation=np.where(frame.who.isin(heads), "head", "other"))
    recipe = vd.HouseholdCart(
        m=1, members=["relation"], relatives={"head": 'relation == "head"'}, exactly_one=["head"]
    )
    one = recipe.protect(vd.open(until(frame, 2021), ROLES), seed=1)
    new = extended(recipe, frame, one)
    assert {proof.status for proof in new.proofs} == {"holds"}
    heads = new.datasets[0].drop_duplicates("who").groupby("home").relation
    assert heads.apply(lambda kinds: (kinds == "head").sum()).eq(1).all()
    joined = new.datasets[0].home.isin(one.datasets[0].home) & ~new.datasets[0].who.isin(
        one.datasets[0].who
    )
    assert joined.any()


def test_the_design_stays(panel):
    """Kept columns of new households are those of the real ones, as in any release."""
    roles = {**ROLES, "region": {"role": "strata"}}
    recipe = vd.HouseholdCart(m=1, keep=["region"])
    one = recipe.protect(vd.open(until(panel, 2021), roles), seed=1)
    new = extended(recipe, panel, one, roles=roles).datasets[0]
    regions = [d.groupby("home").region.first().value_counts().to_dict() for d in (panel, new)]
    assert regions[0] == regions[1]


def test_fewer_newcomers_than_a_leaf_are_not_drawn(panel):
    known = until(panel, 2021)
    few = panel[panel.year.eq(2022) & ~panel.home.isin(known.home)].home.unique()[:4]
    join = panel.year.eq(2022) & ~panel.who.isin(known.who) & panel.home.isin(known.home)
    frame = panel[(panel.home.isin(known.home) | panel.home.isin(few)) & ~join]
    recipe = vd.HouseholdCart(m=1)
    one = recipe.protect(vd.open(known, ROLES), seed=1)
    new = extended(recipe, frame, one).datasets[0]
    assert set(new.who) == set(one.datasets[0].who)


def test_nobody_is_left(panel):
    """A wave of newcomers only: all others are gone."""
    known = until(panel, 2021)
    frame = panel[panel.year.lt(2022) | ~panel.home.isin(known.home)]
    recipe = vd.HouseholdCart(m=1)
    one = recipe.protect(vd.open(known, ROLES), seed=1)
    new = extended(recipe, frame, one).datasets[0]
    assert not new[new.year.eq(2022)].who.isin(one.datasets[0].who).any()
    assert new.year.eq(2022).any()


def test_what_cannot_be_extended_is_refused(panel, first):
    recipe = vd.HouseholdCart(m=2)

    def refused(frame, words, roles=ROLES, error=PlanError):
        with pytest.raises(error, match=words):
            extended(recipe, frame, first, roles=roles)

    refused(until(panel, 2021), "no wave after those of the earlier release")
    refused(panel[panel.year > 2020], "lacks waves of the earlier release")
    refused(panel.drop_duplicates("who"), "no person has several rows")
    refused(panel.assign(year=2020), "no column puts the rows of a person in order")
    refused(panel[panel.region != "a"], "categories that the table has not")
    blank = panel.assign(year=panel.year.astype("Int64"))
    one = blank.who.map(blank.who.value_counts()) == 1
    blank.loc[one.idxmax(), "year"] = pd.NA
    refused(blank, "is missing in 1 rows", error=DataError)
    with pytest.raises(PlanError, match="the method 'cart' cannot extend"):
        extended(vd.Cart(m=2), panel, first)


def test_events_at_any_time_are_refused():
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(300), 4)
    frame = pd.DataFrame({"who": who, "day": np.arange(1200) * 7 % 997, "x": rng.normal(size=1200)})
    frame = frame.drop_duplicates(["who", "day"])
    roles = {"who": ROLES["who"]}
    recipe = vd.HouseholdCart(m=1)
    one = recipe.protect(vd.open(frame[frame.day < 500], roles), seed=1)
    with pytest.raises(PlanError, match="too many 'day' to be waves"):
        extended(recipe, frame, one, roles=roles)


def test_linked_tables_are_refused():
    recipe, table = vd.HouseholdCart(m=1), vd.open_linked(*chain(*people_and_visits(200)))
    one = recipe.protect(table, seed=1)
    before = Earlier("digest", tuple(d.table for d in one.tables), one.steps[0].settings)
    context = context_of(1, 1, silent, None, unsafe_repeatable=False)
    with pytest.raises(PlanError, match="linked tables cannot be extended"):
        recipe.extended(recipe.prepared(table), before, context)
