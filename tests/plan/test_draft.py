"""Drafted plans explain themselves: every setting is named, comments point nowhere else."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from veladura import example
from veladura.core import registry
from veladura.plan.draft import draft
from veladura.plan.reading import parse_plan
from veladura.plan.steps import recipes_of

METHODS = [  # the register has no weights
    name
    for name in registry.METHODS
    if name not in ("steps", "reweight", "calibrate") and registry.available(name)
]


@pytest.fixture(scope="module", params=METHODS)
def plan(request):
    return draft(str(example.path("clinic.csv")), method=request.param)


def step_of(text: str) -> str:
    """The text from the first step to the release."""
    return text[text.index("[[step]]") : text.index("[release]")]


def test_every_setting_is_named(plan):
    step = step_of(plan)
    for recipe in recipes_of(parse_plan(plan).recipe):
        for field in fields(recipe):
            assert re.search(rf"(?m)^(# |# # |\[+step\.)?{field.name}\b", step), field.name


def test_the_defaults_in_comments_are_the_defaults(plan):
    """Uncommenting every default changes nothing."""
    step = step_of(plan)
    uncommented = re.sub(r"(?m)^# (?=\w+ = )", "", step)
    assert parse_plan(plan.replace(step, uncommented)).recipe == parse_plan(plan).recipe


def test_comments_fit_the_page_and_name_no_folder_of_the_project(plan):
    comments = [line for line in plan.splitlines() if line.startswith("#")]
    assert max(map(len, comments)) <= 100
    assert not any("docs/" in line for line in comments)


def test_every_setting_of_a_whole_protection_has_a_comment():
    """Limits, roundings, hierarchies, pairs and models too: above the first of each."""
    text = step_of(draft(str(example.path("clinic.csv"))))
    lines = text.splitlines()
    first = dict[tuple[int, str], int]()
    step = -1
    for i, line in enumerate(lines):
        step += line == "[[step]]"
        named = re.match(r"(?:\[+step\.)?(\w+)(?: = |[.\]])", line)
        if named and (line.startswith("[") or (step, "") not in first):
            first.setdefault((step, named[1]), i)
    wanted = {"columns", "hierarchies", "models", "pairs", "recoding", "k", "max_suppression"}
    found = {name for _, name in first}
    assert wanted <= found
    for (_, name), i in first.items():
        if name in wanted:
            assert lines[i - 1].startswith("# "), name


@pytest.mark.parametrize(
    ("audience", "purpose"),
    [
        (None, None),
        ("open-data", "open-data"),
        ("researchers", "analysis"),
        ("one-partner", "analysis"),
    ],
)
@pytest.mark.parametrize("method", ["cart", "households"])
def test_the_purpose_of_a_synthesis_follows_from_its_audience(method, audience, purpose):
    text = draft(str(example.path("clinic.csv")), method=method, audience=audience)
    (recipe,) = recipes_of(parse_plan(text).recipe)
    assert recipe.purpose == purpose


def test_comments_say_which_settings_are_harmful_for_inference():
    step = step_of(draft(str(example.path("clinic.csv")), method="cart"))
    for setting in ("prune", "complexity", "order"):
        found = re.search(rf"(?m)((?:^# # .*\n)+)^# {setting} = ", step)
        assert found is not None
        meaning = found[1].replace("\n# # ", " ").lower()
        assert "harmful for inference" in meaning, setting
