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
    set_steps,
    set_table,
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


def test_settings_of_a_table_change_and_comments_stay():
    text = (
        'unconfirmed = []\n\n[release]\n# where\nfolder = "a"\n# purpose = "x"\n\n[run]\nseed = 1\n'
    )
    new = set_table(text, ["release"], {"purpose": 'a "b"', "folder": "c"})
    assert tomllib.loads(new)["release"] == {"folder": "c", "purpose": 'a "b"'}
    assert "# where" in new
    assert tomllib.loads(set_table(new, ["run"], {"seed": None}))["run"] == {}
    added = set_table(new, ["gate"], {"risk.x.y": {"max": 0.5, "reason": "r"}})
    assert tomllib.loads(added)["gate"] == {"risk.x.y": {"max": 0.5, "reason": "r"}}
    gone = set_table(added, ["gate"], {"risk.x.y": None})
    assert tomllib.loads(gone)["gate"] == {}


def test_a_list_over_several_lines_is_replaced_whole():
    text = '[source]\nmissing = [\n    "",\n    "NA",\n]\npath = "a.csv"\n'
    new = set_table(text, ["source"], {"missing": ["-9"]})
    assert tomllib.loads(new)["source"] == {"path": "a.csv", "missing": ["-9"]}


def test_labels_replace_a_table_of_labels():
    text = '[columns.sex]\nrole = "other"\n\n[columns.sex.labels]\n1 = "men"\n\n[run]\n'
    new = set_column(text, "sex", {"labels": {"2": "women"}})
    assert tomllib.loads(new)["columns"]["sex"] == {"role": "other", "labels": {"2": "women"}}


def test_steps_are_replaced_and_everything_else_stays(tmp_path):
    from veladura import example
    from veladura.plan.commented import steps_text
    from veladura.plan.draft import draft
    from veladura.plan.reading import parse_plan
    from veladura.plan.steps import recipes_of

    for method in (None, "noise", "cart"):
        text = draft(str(example.path("clinic.csv")), home=tmp_path, method=method)
        before = tomllib.loads(text)
        plan = parse_plan(text)
        again = set_steps(text, "\n".join(steps_text(step) for step in plan.steps))
        after = tomllib.loads(again)
        assert {k: v for k, v in after.items() if k != "step"} == {
            k: v for k, v in before.items() if k != "step"
        }
        assert recipes_of(parse_plan(again).recipe) == recipes_of(plan.recipe)
        assert set_steps(again, "\n".join(steps_text(step) for step in plan.steps)) == again
