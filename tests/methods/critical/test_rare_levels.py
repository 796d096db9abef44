"""Categories that few people hold do not come out of critical cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from veladura import open as open_table
from veladura.core.promise import Evidence
from veladura.errors import PlanError
from veladura.methods.critical.cells import CriticalWarning
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.promises import rare_values_out

SEEDS = range(5)


@pytest.fixture(scope="module")
def people():
    """A category of two people and one of a single person, among two common ones."""
    rng = np.random.default_rng(7)
    levels = np.repeat(["a", "b", "q", "z"], [500, 400, 2, 1])
    frame = pd.DataFrame({"c": levels, "age": rng.integers(18, 90, levels.size)})
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def released(frame, column="c", **settings):
    """Return all values of a column in five releases."""
    recipe = CriticalCart(**settings)
    releases = [recipe.protect(frame, seed=seed) for seed in SEEDS]
    return pd.concat([data[column] for release in releases for data in release.datasets])


def test_a_category_of_one_person_never_comes_out(people):
    assert set(released(people, critical=["c"])) == {"a", "b"}
    # control: where two people are enough, theirs comes out and that of one does not
    assert set(released(people, critical=["c"], min_people=2)) == {"a", "b", "q"}


def test_merging_is_promised_and_told(people):
    release = CriticalCart(critical=["c"]).protect(people, seed=1)
    promise = next(one for one in release.promises if one.name == "critical-rare")
    assert promise.settings == {"columns": ["c"], "about": ["c"], "people": 5}
    assert release.steps[0].settings["rare_levels_merged_in"] == ["c"]
    settings = {**promise.settings, **promise.private}
    rows = np.arange(len(people))
    original = open_table(people)
    unchanged = Evidence(original, original, rows)  # has three such cells
    assert rare_values_out(unchanged, settings) == 3
    assert rare_values_out(Evidence(release.tables[0].table, original, rows), settings) == 0


def test_other_cells_keep_their_rare_levels(people):
    people = people.assign(age=np.where(people["c"] == "q", 40, people["age"]))
    people.loc[people["c"] == "z", "age"] = 60
    young = people["age"] < 50
    data = CriticalCart(critical={"c": "age >= 50"}, m=1).protect(people, seed=1).datasets[0]
    assert (data["c"][young] == people["c"][young]).all()
    assert set(data["c"][young]) == {"a", "b", "q"}
    assert set(data["c"][~young]) == {"a", "b"}


def test_other_cells_that_are_replaced_too_have_none(people):
    condition = 'c == "a" or c == "z"'
    with pytest.warns(CriticalWarning, match="cannot be replaced"):
        values = released(people, critical={"c": condition}, others="replace")
    assert set(values) == {"a", "b"}


def test_a_merged_level_meets_the_condition(people):
    more = pd.concat([people, people.assign(c=people["c"].replace("b", "d"))], ignore_index=True)
    values = released(more.drop(more.index[more["c"] == "q"]), critical={"c": 'c != "a"'})
    assert set(values) == {"a", "b", "d"}


def test_a_level_that_its_condition_needs_stays_and_the_holder_is_told(people):
    condition = {"c": 'c == "z" or c == "q"'}
    with pytest.warns(CriticalWarning, match=r"\['c'\] that fewer than 5 people hold come out"):
        release = CriticalCart(critical=condition).protect(people, seed=1)
    assert "critical-rare" not in {promise.name for promise in release.promises}
    assert set(released(people, critical=condition, keep_inside=False)) == {"a", "b"}


def test_people_are_counted_in_all_rows_though_few_of_them_are_critical(people):
    """A level that many others hold says nothing: it may come out."""
    two = np.flatnonzero(people["c"] == "b")[:2]
    rows = (people["c"] == "a").to_numpy(copy=True)
    rows[two] = True
    recipe = CriticalCart(critical=["c"], rows=list(rows), m=20)
    replaced = pd.concat([data["c"][rows] for data in recipe.protect(people, seed=1).datasets])
    assert set(replaced) == {"a", "b"}


def test_people_are_counted_in_all_rows_of_a_table_that_is_not_held(people, tmp_path):
    """Two of the critical people hold a level that many others hold, one holds his alone."""
    old = people.assign(age=np.where(people["c"] == "b", 30, 80))
    old.loc[np.flatnonzero(people["c"] == "b")[:2], "age"] = 80
    old.to_csv(tmp_path / "people.csv", index=False)
    recipe = CriticalCart(critical={"c": "age > 50"}, groups=[], fit_rows=600)
    values = pd.concat(recipe.protect(tmp_path / "people.csv", seed=1).datasets)
    replaced = values.loc[values["age"] > 50, "c"]
    assert set(replaced) == {"a", "b"}


def test_rows_of_one_person_count_once(people):
    """Five rows of one person are a level of one person."""
    many = pd.concat([people, people.loc[people["c"] == "z"].sample(5, replace=True)])
    many = many.assign(person=[f"p{i}" for i in range(len(people))] + ["p_z"] * 5)
    many.loc[many["c"] == "z", "person"] = "p_z"
    table = open_table(many, columns={"person": {"role": "person"}})
    recipe = CriticalCart(critical=["c"], m=1)
    assert "z" not in set(recipe.protect(table, seed=1).datasets[0]["c"])


def test_codes_are_levels(people):
    code = people["c"].map({"a": 8680, "b": 5790, "q": 7071, "z": 770})
    recipe = {"critical": ["code"], "groups": []}
    labels = {str(one): f"industry {one}" for one in (8680, 5790, 7071, 770)}
    table = open_table(
        people.assign(code=code), columns={"code": {"kind": "integer", "labels": labels}}
    )
    assert set(released(table, "code", **recipe)) <= {8680, 5790}


@pytest.mark.parametrize("given", [1, 2.5, True])
def test_min_people_is_a_whole_number_from_two(given):
    with pytest.raises(PlanError, match="min_people"):
        CriticalCart(critical=["c"], min_people=given)
