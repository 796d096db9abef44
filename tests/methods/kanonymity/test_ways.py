"""The ways to choose from, in words: every minimal one, ties as ties, and the line to paste."""

from __future__ import annotations

import re
import tomllib

import numpy as np
import pandas as pd
import pytest
from tests.methods.kanonymity.recount import people, recipe

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.kanonymity.ways import MOST_SHOWN, Ways
from veladura.plan.reading import read_plan
from veladura.plan.ways import ways_of


def square() -> pd.DataFrame:
    """Two columns that are alike: each way has a twin."""
    rows = [(a, b) for a in "pqrs" for b in "wxyz"]
    return pd.DataFrame(rows, columns=["a", "b"])


def twins(**settings) -> vd.KAnonymity:
    halves = {
        "a": vd.Hierarchy.groups({"1": ["p", "q"], "2": ["r", "s"]}),
        "b": vd.Hierarchy.groups({"1": ["w", "x"], "2": ["y", "z"]}),
    }
    asked = {"quasi_identifiers": ["a", "b"], "k": 2, "max_suppression": 0}
    return vd.KAnonymity(**{**asked, "hierarchies": halves, **settings})


def test_ways_are_a_sequence_of_all_minimal_generalisations():
    ways = recipe().fit(people(3, rows=120)).minimal
    assert isinstance(ways, Ways)
    assert len(ways) == len(list(ways)) == len(ways[:])
    assert ways[0].levels == next(iter(ways)).levels


def test_ties_are_shown_as_ties():
    ways = twins().fit(square()).minimal
    assert [way.rank for way in ways.best] == [1, 1]
    assert all(way.tied for way in ways.best)
    assert [way.chosen for way in ways.best] == [True, False]
    assert repr(ways).count("1 tie") == 2


def test_all_ways_can_be_ranked_not_only_the_best_twenty():
    ways = recipe().fit(people(3, rows=120)).minimal
    every = ways.ranked(len(ways))
    minimal = {tuple(way.node.levels.values()) for way in every if way.minimal}
    assert minimal == {tuple(node.levels.values()) for node in ways}
    assert "are shown" not in ways.heading_of(len(ways))
    assert f"the best {len(ways) - 1} are shown" in ways.heading_of(len(ways) - 1)


def test_the_best_come_first_and_costs_are_those_of_each_way():
    ways = recipe().fit(people(3, rows=120)).minimal
    shown = [
        (sum(words.startswith("given up") for words in way.columns.values()), way.loss)
        for way in ways.best
        if way.minimal
    ]
    assert shown == sorted(shown)
    assert len(shown) == min(len(ways), MOST_SHOWN)
    vectors = [tuple(node.levels.values()) for node in ways]
    for way in ways.best:
        assert way.minimal == (tuple(way.node.levels.values()) in vectors)


def test_every_line_chooses_its_way():
    frame = people(3, rows=120)
    for way in recipe().fit(frame).minimal.best:
        levels = tomllib.loads(way.line)["levels"]
        fitted = recipe(levels=levels).fit(frame)
        assert fitted.chosen.levels == dict(way.node.levels)
        assert fitted.chosen.suppressed == way.node.suppressed


def test_a_line_with_odd_names_is_valid_toml():
    frame = square().rename(columns={"a": 'x "y", z'})
    made = vd.KAnonymity(quasi_identifiers=list(frame), k=2, max_suppression=0)
    way = made.fit(frame).minimal.best[0]
    assert tomllib.loads(way.line)["levels"] == dict(way.node.levels)


def test_every_rule_is_told_in_words():
    rng = np.random.default_rng(1)
    rows = 400
    frame = pd.DataFrame(
        {
            "zip": [f"0{number}" for number in rng.integers(1000, 1050, rows)],
            "age": rng.integers(18, 90, rows),
            "income": rng.integers(0, 9000, rows),
            "wealth": rng.integers(0, 9000, rows),
            "birth": pd.to_datetime("1950-01-01")
            + pd.to_timedelta(rng.integers(0, 9000, rows), "D"),
            "job": rng.choice(list("abcd"), rows),
            "town": rng.choice(list("uvwx"), rows),
            "x": rng.uniform(0, 10, rows),
            "y": rng.uniform(0, 10, rows),
            "sex": rng.choice(["f", "m"], rows),
        }
    )
    rules = {
        "zip": vd.Hierarchy.mask(5),
        "age": vd.Hierarchy.intervals([5, 10]),
        "income": vd.Hierarchy.intervals(cuts=[[1000, 5000]]),
        "wealth": vd.Hierarchy.quantiles(4),
        "birth": vd.Hierarchy.dates(["year", "decade"]),
        "job": vd.Hierarchy.groups({"north": ["a", "b"], "south": ["c", "d"]}),
        "town": vd.Hierarchy.explicit([(t, "A" if t < "w" else "B", "*") for t in "uvwx"]),
        "x, y": vd.Hierarchy.grid(2.5, 2),
    }
    levels = dict.fromkeys(rules, 1) | {"sex": 1, "age": 2}
    made = vd.KAnonymity(
        quasi_identifiers=list(frame),
        pairs=[["x", "y"]],
        k=2,
        max_suppression=399,
        hierarchies=rules,
        levels=levels,
    )
    words = made.fit(frame).minimal.best[0].columns
    assert words["zip"].startswith("first 4 characters (")
    assert words["age"] == f"bands of 10 (8 of {frame.age.nunique()} values left)"
    assert words["income"].startswith("bands with limits at 1000, 5000 (3 of")
    assert words["wealth"].startswith("4 bands of about as many people (")
    assert words["birth"].startswith("year (")
    assert words["job"] == "groups north, south (2 of 4 values left)"
    assert words["town"] == "level 1 of 2 (2 of 4 values left)"
    assert words["x, y"] == "centres of cells of 2.5 by 2.5 (16 of 400 places left)"
    assert words["sex"] == "given up (*)"


def test_printed_and_in_a_notebook_they_say_what_to_paste():
    ways = twins().fit(square()).minimal
    text = repr(ways)
    assert "2 minimal ways to reach k = 2" in text
    assert "0 of 16" in text
    assert "levels = {a = 0, b = 1}" in text
    assert re.search(r"To take way \d, put this line into the step: levels = ", text)
    html = ways._repr_html_()
    assert html.count("<tr>") == 3
    assert "b: groups 1, 2 (2 of 4 values left); as it is: a" in html


def test_of_many_ways_the_best_are_shown():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 60, (300, 4)), columns=list("abcd"))
    made = vd.KAnonymity(quasi_identifiers=list("abcd"), k=3, max_suppression=0.1)
    ways = made.fit(frame).minimal
    assert len(ways) > MOST_SHOWN
    assert MOST_SHOWN <= len(ways.best) <= MOST_SHOWN + 1
    assert f"the best {MOST_SHOWN} are shown" in repr(ways)
    assert sum(way.chosen for way in ways.best) == 1


PLAN = """
[source]
path = "people.csv"

[columns]
zip = {{kind = "category"}}

{steps}
[[step]]
method = "k-anonymity"
quasi_identifiers = ["zip", "age", "sex"]
k = 3
max_suppression = 0.2
{more}
[step.hierarchies]
zip = {{masked = 5}}
age = {{widths = [5.0, 10.0, 20.0]}}
sex = {{flat = true}}
"""


def plan(tmp_path, steps="", more=""):
    people(3, rows=120).to_csv(tmp_path / "people.csv", index=False)
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(steps=steps, more=more))
    return path


def test_the_ways_of_a_plan_are_those_of_its_recipe(tmp_path):
    ways = ways_of(read_plan(plan(tmp_path)))
    expected = recipe().fit(people(3, rows=120)).minimal
    assert [dict(node.levels) for node in ways] == [dict(node.levels) for node in expected]


def test_levels_of_the_plan_are_marked_and_do_not_hide_the_others(tmp_path):
    more = "levels = {zip = 4, age = 3, sex = 1}"
    ways = ways_of(read_plan(plan(tmp_path, more=more)))
    assert len(ways) == len(recipe().fit(people(3, rows=120)).minimal)
    chosen = [way for way in ways.best if way.chosen]
    assert [way.node.levels for way in chosen] == [{"zip": 4, "age": 3, "sex": 1}]
    assert not chosen[0].minimal
    with pytest.raises(PlanError, match="'sex' has the levels"):
        ways_of(read_plan(plan(tmp_path, more="levels = {zip = 4, age = 3, sex = 2}")))


def test_steps_before_are_applied(tmp_path):
    step = '[[step]]\nmethod = "top-code"\ncolumns = {age = 20}\n'
    ways = ways_of(read_plan(plan(tmp_path, steps=step)))
    frame = people(3, rows=120)
    frame["age"] = frame["age"].clip(upper=20)
    expected = recipe().fit(frame).minimal
    assert [dict(node.levels) for node in ways] == [dict(node.levels) for node in expected]


def test_a_plan_without_k_anonymity_is_refused(tmp_path):
    path = plan(tmp_path)
    path.write_text('[source]\npath = "people.csv"\n[[step]]\nmethod = "swap"\ncolumns = ["sex"]\n')
    with pytest.raises(PlanError, match="no step with method k-anonymity"):
        ways_of(read_plan(path))


def test_the_command_prints_them(tmp_path, veladura):
    done = veladura("ways", plan(tmp_path).name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "minimal ways to reach k = 3" in done.stdout
    assert "levels = {" in done.stdout
