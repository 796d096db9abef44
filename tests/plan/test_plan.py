"""Plans: what is not understood is refused with its key, what was got and what is possible."""

from __future__ import annotations

from pathlib import Path

import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.plan.reading import parse_plan, read_plan
from veladura.plan.steps import steps_to_toml

pytestmark = pytest.mark.quick

SOURCE = '[source]\npath = "people.csv"\n'
STEP = '[[step]]\nmethod = "noise"\ncolumns = ["income"]\n'


def test_the_shortest_plan():
    plan = parse_plan(SOURCE + STEP)
    assert plan.recipe == vd.Noise(columns=["income"])
    assert plan.folder == Path("release")
    assert plan.custodian_folder is None


def test_several_steps_are_one_recipe_both_ways():
    recipe = vd.Steps(
        [vd.TopCode(columns={"income": 1000}), vd.Noise(columns=["income"], scale=0.2)]
    )
    assert parse_plan(SOURCE + steps_to_toml(recipe)).recipe == recipe


def test_paths_are_taken_from_the_folder_of_the_plan(tmp_path):
    file = tmp_path / "deep" / "plan.toml"
    file.parent.mkdir()
    file.write_text(
        SOURCE + STEP + '[release]\nfolder = "out/r"\n[custodian]\nfolder = "safe/c"\n',
        encoding="utf-8",
    )
    plan = read_plan(file)
    assert plan.folder == file.parent / "out" / "r"
    assert plan.custodian_folder == file.parent / "safe" / "c"


WHO = '[[intruder]]\nname = "clerk"\nknows = ["age", "income"]\n'


def test_intruders_are_read():
    plan = parse_plan(SOURCE + STEP + WHO + 'within = {income = "10 %", age = 2}\n')
    (clerk,) = plan.intruders
    assert clerk.knows == ("age", "income")
    assert clerk.reach("income") == (0.1, "%")
    assert clerk.reach("age") == (2.0, "")
    assert parse_plan(SOURCE + STEP).intruders == ()


def test_purpose_and_recipient():
    text = '[release]\npurpose = "teaching"\nrecipient = "a school"\n'
    release = parse_plan(SOURCE + STEP + text).release
    assert (release.purpose, release.recipient) == ("teaching", "a school")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SOURCE + STEP + WHO + WHO, "two intruders have the same name"),
        (SOURCE + STEP + WHO.replace('"age", "income"', ""), "knows nothing"),
        (SOURCE + STEP + '[intruder]\nname = "x"\n', "two brackets"),
        (SOURCE + STEP + '[[intruder]]\nname = "x"\n', "knows must be given"),
        (SOURCE + STEP + WHO.replace("clerk", "everything"), "always measured"),
        (SOURCE + STEP + WHO + 'within = {age = "much"}\n', "within.age must be a number"),
        (SOURCE + STEP + WHO + "within = {sex = 1}\n", "within names columns"),
        (SOURCE + STEP + WHO + 'sees = ["age"]\n', "sees"),
        ("x = [", "not valid TOML"),
        ('[custodian]\nfolder = "C:\\Users\\x"', "within single quotes"),
        (STEP, r"no \[source\]"),
        (SOURCE, r"no \[\[step\]\]"),
        (SOURCE + STEP + "[relase]\n", "did you mean 'release'"),
        (
            SOURCE + STEP + '[release]\nfromat = "csv"\n',
            r"\[release\]: key 'fromat' is not known.*\n*.*did you mean 'format'",
        ),
        (
            SOURCE + STEP + '[release]\nformat = "xlsx"\n',
            r"\[release\].format: value 'xlsx' is not known",
        ),
        (
            SOURCE + '[[step]]\nmethod = "nois"\n',
            "method 'nois' is not known.*\n*.*did you mean 'noise'",
        ),
        (SOURCE + "[[step]]\ncolumns = []\n", r"\[\[step\]\] 1: method must be given"),
        (SOURCE + '[[step]]\nmethod = "noise"\n', r"\[\[step\]\] 1 noise: columns must be given"),
        (
            SOURCE + '[[step]]\nmethod = "noise"\ncolumns = ["a"]\nscale = "big"\n',
            r"1 noise\.scale: expected a number, got text",
        ),
        (
            SOURCE + '[[step]]\nmethod = "noise"\ncolumns = ["a"]\nscale = -1\n',
            r"1 noise: scale \(-1.0\) must be above 0",
        ),
        ('[source]\npath = "a"\nurl = "b"\n' + STEP, "give either path"),
        (
            SOURCE + STEP + '[columns.zip]\nrole = "quasi"\n',
            r"columns\.zip\.role: value 'quasi' is not known",
        ),
        (
            SOURCE + STEP + '[columns.zip]\nkind = "category"\norder = ["a"]\n',
            "order is for kind 'ordered'",
        ),
        (SOURCE + STEP + '[gate]\n"risk.x" = 3\n', r"gate\.risk\.x: expected a table"),
        (
            SOURCE + STEP + '[run]\nseed = "x"\n',
            r"\[run\]\.seed: expected a whole number, got text",
        ),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(PlanError, match=f"(?s){message}"):
        parse_plan(text)


def test_a_missing_plan_says_how_to_get_one(tmp_path):
    with pytest.raises(PlanError, match="veladura init"):
        read_plan(tmp_path / "none.toml")
