"""Linked tables in drafted plans: units without numbers, and amounts of the table above."""

from __future__ import annotations

import numpy as np
import pytest
from tests.generators.linked import firms_and_employees, homes_and_people
from tests.table.test_linked import people_and_visits

import veladura as vd
from veladura.plan.guessed import look_at_linked
from veladura.plan.linked import find_linked

SEEDS = range(4)


def chain_of(folder, **tables):
    paths = [folder / f"{name}.csv" for name in tables]
    for path, table in zip(paths, tables.values(), strict=True):
        table.to_csv(path, index=False)
    return find_linked(list(map(str, paths)))


@pytest.mark.parametrize("seed", SEEDS)
def test_employees_without_numbers_are_people_and_firms_are_not(tmp_path, seed):
    firms, employees = firms_and_employees(seed=seed)
    chain = chain_of(tmp_path, firms=firms, employees=employees)
    assert [table.unit for table in chain] == ["household", None]
    table = vd.open_linked(*chain)
    assert (table.person, table.schema.household) == (None, "firm")


@pytest.mark.parametrize("seed", SEEDS)
def test_the_turnover_of_a_firm_is_no_weight_of_its_employees(tmp_path, seed):
    firms, employees = firms_and_employees(seed=seed)
    table, _, guesses = look_at_linked(chain_of(tmp_path, firms=firms, employees=employees))
    assert guesses["turnover"].role == "sensitive"
    assert not table.schema.of_role("weight")


@pytest.mark.parametrize("seed", SEEDS)
def test_rounded_amounts_of_a_firm_are_no_codes_though_its_employees_repeat_them(tmp_path, seed):
    firms, employees = firms_and_employees(seed=seed)
    employees = employees.sample(3000, replace=True, random_state=seed)
    turnover = np.exp(np.random.default_rng(seed).normal(14, 1, len(firms)))
    firms = firms.assign(turnover=turnover.round(-3).astype(int), sector=firms.sector.map(len) * 11)
    _, _, guesses = look_at_linked(chain_of(tmp_path, firms=firms, employees=employees))
    assert guesses["turnover"].kind == "integer"
    assert guesses["sector"].kind == "category"  # the control: a few codes stay codes


def test_codes_of_the_last_table_are_guessed_though_its_key_is_not_joined(tmp_path):
    people, visits = people_and_visits(300)
    visits = visits.assign(ward=visits.ward.map({"A": 11, "B": 13, "C": 20}))
    chain = chain_of(tmp_path, people=people, visits=visits)
    assert chain[-1].key == "visit"
    assert look_at_linked(chain)[2]["ward"].kind == "category"


def test_the_weight_of_a_home_is_one_of_its_people(tmp_path):
    """The control: what is a weight in the table of homes by itself stays one."""
    homes, people = homes_and_people()
    spread = np.random.default_rng(1).uniform(0.7, 1.4, len(homes))
    homes = homes.assign(weight=(120.5 * spread).round(4))
    _, _, guesses = look_at_linked(chain_of(tmp_path, homes=homes, people=people))
    assert guesses["weight"].role == "weight"


def test_the_weight_of_a_home_is_that_of_no_body(tmp_path):
    """Two decimals and the size of pounds, but all members share it and its name says weight."""
    homes, people = homes_and_people()
    pounds = np.random.default_rng(3).lognormal(5, 0.3, len(homes)).round(2)
    homes = homes.assign(peso=pounds)
    _, _, guesses = look_at_linked(chain_of(tmp_path, homes=homes, people=people))
    assert guesses["peso"].role == "weight"


@pytest.mark.parametrize("seed", SEEDS)
def test_wages_that_differ_by_chance_are_no_times(seed):
    """Many values seldom meet within a firm; that they never do is promised of times only."""
    firms, employees = firms_and_employees(60, seed)
    wage = employees.wage + 7919 * employees.groupby("firm").cumcount()  # none twice in a firm
    assert not employees.assign(wage=wage).duplicated(["firm", "wage"]).any()
    wave = employees.groupby("firm").cumcount() + 1
    people = employees.assign(wage=wage).merge(firms, on="firm")
    roles = {"firm": {"role": "person"}}
    for columns, times in (({}, []), ({"wave": wave}, ["wave"])):
        table = vd.open(people.assign(**columns), roles)
        release = vd.HouseholdCart(m=1).protect(table, seed=1)
        named = [p.settings["columns"] for p in release.promises if p.name == "distinct"]
        assert named == ([times] if times else [])
