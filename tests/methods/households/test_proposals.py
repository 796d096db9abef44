"""Order of members and rules across them, found by contents; tables without any give none."""

from __future__ import annotations

import numpy as np
import pytest
from tests.generators.households import ROLES, households

import veladura as vd
from veladura.methods.households.levels import find_levels, is_constant
from veladura.plan.draft import draft
from veladura.plan.reading import read_plan
from veladura.table.inspect import inspect_table


def proposed(frame, roles=ROLES):
    table = vd.open(frame, roles).without_identifiers()
    return vd.HouseholdCart.suggest_for(table, inspect_table(table))


def test_the_head_the_partner_and_ages_are_found():
    recipe = proposed(households(1500))
    assert recipe.members == ("relation", "age")
    assert recipe.exactly_one == ("head",)
    assert recipe.relatives["partner"] == 'relation == "partner"'
    assert 'relation == "child" implies age - head.age <= -15' in recipe.rules
    bounds = [rule for rule in recipe.rules if rule.startswith('relation == "partner"')]
    assert len(bounds) == 2


def test_names_do_not_matter_and_codes_are_found_too():
    frame = households(1500).rename(columns={"relation": "x1", "age": "x2"})
    frame["x1"] = frame.x1.map({"head": 1, "partner": 2, "child": 3, "other": 9})
    recipe = proposed(frame)
    assert recipe.members == ("x1", "x2")
    assert recipe.relatives["member_1"] == "x1 == 1"
    assert "x1 == 3 implies x2 - member_1.x2 <= -15" in recipe.rules


def test_ages_are_bounded_by_the_head_where_some_homes_have_none():
    frame = households(1500)
    headless = frame.home.isin(frame.home.unique()[::20]) & (frame.relation == "head")
    recipe = proposed(frame[~headless])
    assert not recipe.exactly_one
    assert 'relation == "child" implies age - head.age <= -15' in recipe.rules


def test_heads_and_bounds_are_found_beside_codes_for_no_answer():
    """One age in a hundred is 999, and 7 households in a hundred have no head."""
    frame = households(1500)
    headless = frame.home.isin(frame.home.unique()[::14]) & (frame.relation == "head")
    frame = frame[~headless].reset_index(drop=True)
    recipe = proposed(frame.assign(age=frame.age.where(frame.index % 100 > 0, 999)))
    assert recipe.members == ("relation", "age")
    bounds = {rule for rule in proposed(frame).rules if "age - " in rule}
    assert bounds
    assert {rule for rule in recipe.rules if "age - " in rule} == bounds


def test_members_of_random_groups_give_no_rule():
    """The control: the same people, thrown together at random."""
    frame = households(1500)
    frame["home"] = np.random.default_rng(1).permutation(frame.home.to_numpy())
    recipe = proposed(frame)
    assert not recipe.exactly_one
    assert not any("age - " in rule for rule in recipe.rules)


def test_no_bound_shows_the_household_at_the_end():
    """One household far out, or not, gives the same bounds."""
    frame = households(1500)
    odd = frame[frame.relation == "child"].index[0]
    other = frame.assign(age=np.where(frame.index == odd, 90, frame.age))
    assert proposed(other).rules == proposed(frame).rules


def test_a_drafted_plan_says_that_the_rules_are_open(tmp_path):
    households(800).to_csv(tmp_path / "people.csv", index=False)
    text = draft(str(tmp_path / "people.csv"), method="households", home=tmp_path)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    assert any("rules" in point for point in plan.unconfirmed)
    assert "head.age" in text


def test_a_drafted_plan_asks_for_no_rules_that_nobody_proposed(tmp_path):
    frame = households(800).drop(columns=["relation", "age"])
    frame.to_csv(tmp_path / "people.csv", index=False)
    text = draft(str(tmp_path / "people.csv"), method="households", home=tmp_path)
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.toml")
    assert plan.recipe.exactly_one == ()
    assert plan.unconfirmed
    assert not [point for point in plan.unconfirmed if "proposed" in point]


@pytest.mark.parametrize("seed", range(5))
def test_levels_against_brute_force(seed):
    rng = np.random.default_rng(seed)
    frame = households(60, seed)
    frame["coin"] = rng.integers(0, 2, len(frame))
    frame["spot"] = frame.home.map(dict.fromkeys(frame.home, 1)) + (frame.index == 3)
    table = vd.open(frame, ROLES).without_identifiers()
    columns = {name: table.column(name) for name in table.names}
    top, below = find_levels(table, columns)
    constant = [name for name in table.names if frame.groupby("home")[name].nunique().max() == 1]
    assert list(top.columns) == constant
    number = frame.home.rank(method="dense").astype(int).to_numpy() - 1
    for name, column in columns.items():
        assert is_constant(column, number) == (name in constant)
    members = frame.iloc[below.row]
    assert (members.home.to_numpy() == frame.home.to_numpy()[top.row][below.parent]).all()
    assert (members.groupby("home").cumcount().to_numpy() + 1 == below.position).all()
