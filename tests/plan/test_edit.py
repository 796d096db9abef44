"""Edits of a plan change single lines; comments and everything else stay."""

from __future__ import annotations

import stat
import tomllib

import pytest

from veladura.errors import PlanError
from veladura.plan.edit import (
    check_edit,
    comment_above,
    set_column,
    set_confirmed,
    set_unconfirmed,
    write_private,
)

TEXT = """# A plan.
unconfirmed = [
    "roles [and] kinds",  # a comment
    "region",
]

[source]
path = "people.csv"

# 12 distinct values,
# 0 missing
[columns."body mass"]
role = "other"
kind = "number"

# levels
[columns.edu]
order = [
    "low",
    "high",
]

[columns]
age = { role = "other", kind = "integer" }

# The step.
[[step]]
method = "noise"
columns = ["age"]
"""
CONFIRMED = {"date": "2026-01-01", "shape": "x", "columns": {"age": "integer"}}


def comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


@pytest.mark.parametrize("name", ["body mass", "edu", "age", "new one"])
@pytest.mark.parametrize("settings", [{"role": "dropped"}, {"exact": 'a "quoted" reason'}])
def test_a_column_is_set_and_nothing_else(name, settings):
    edited = set_column(TEXT, name, settings)
    expected = tomllib.loads(TEXT)
    expected["columns"].setdefault(name, {}).update(settings)
    assert tomllib.loads(edited) == expected
    assert comments(edited) == comments(TEXT)
    assert abs(len(edited.splitlines()) - len(TEXT.splitlines())) <= 3


def test_a_new_setting_stands_with_its_column_not_below_the_next_comment():
    edited = set_column(TEXT, "body mass", {"exact": "why"})
    assert 'kind = "number"\nexact = "why"\n\n# levels' in edited


@pytest.mark.parametrize("points", [[], ["region"]])
def test_points_are_taken_off_the_list(points):
    edited = set_unconfirmed(TEXT, points)
    assert tomllib.loads(edited) == tomllib.loads(TEXT) | {"unconfirmed": points}


def test_a_confirmation_replaces_an_older_one():
    once = set_confirmed(TEXT, CONFIRMED)
    assert tomllib.loads(once) == tomllib.loads(TEXT) | {"confirmed": CONFIRMED}
    assert set_confirmed(once, CONFIRMED) == once
    assert set_confirmed(once, None) == TEXT


def test_the_comment_above_a_column_is_its_why():
    assert comment_above(TEXT, "body mass") == "12 distinct values, 0 missing"
    assert comment_above(TEXT, "age") == ""


def test_a_plan_that_cannot_be_edited_is_left_alone():
    dotted = "columns.age.role = 'other'\n[source]\npath = 'x'\n"
    edited = set_column(dotted, "age", {"role": "dropped"})
    expected = {"columns": {"age": {"role": "dropped"}}, "source": {"path": "x"}}
    with pytest.raises(PlanError, match="cannot edit"):
        check_edit(edited, expected)


def test_a_plan_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    write_private(path, TEXT)
    assert path.read_text(encoding="utf-8") == TEXT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["plan.toml"]
