"""Conditions are parsed as they are written; an error points to the place of a mistake."""

from __future__ import annotations

import pytest

from veladura.base.expression import parse
from veladura.errors import PlanError


@pytest.mark.parametrize(
    ("text", "why", "place"),
    [
        ("age = 3", "write ==", 4),
        ('smoke == "NO', "a quote is not closed", 9),
        ("age >", "ends too early", 5),
        ("age 3", "a comparison", 4),
        ("age == 3 smoke", "a word such as", 9),
        ("(age == 3", "expected '\\)'", 9),
        ("age in [1, smoke]", "a list may hold", 11),
        ("3 == 4", "expected a column", 5),
        ("age == 3; import os", "not part of the language", 8),
        ("__import__('os')", "a comparison", 10),
    ],
)
def test_errors_point_to_the_place(text, why, place):
    with pytest.raises(PlanError, match=why) as error:
        parse(text)
    assert str(error.value).splitlines()[-1] == " " * (4 + place) + "^"


def test_members_and_differences_are_names():
    """Only rules across members know them; elsewhere they are columns that do not exist."""
    rule = parse('relation == "child" implies age - head.age <= -15')
    assert rule.columns == ("relation", "age - head.age")
    assert parse("a <-5").columns == ("a",)
    with pytest.raises(PlanError, match="one column to subtract"):
        parse("a - b - c < 2")
