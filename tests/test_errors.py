"""Errors: the drawn tree is the real one, and hints name what is near."""

from __future__ import annotations

import re

import pytest

from veladura import errors


def classes(cls):
    yield cls
    for child in cls.__subclasses__():
        yield from classes(child)


def test_the_drawing_shows_every_error_with_its_exit_code():
    drawn = dict(re.findall(r"^\s*([A-Z]\w+)\s+(?:exit code )?(\d)", errors.__doc__, re.MULTILINE))
    ours = [cls for cls in classes(errors.VeladuraError) if cls.__module__ == "veladura.errors"]
    assert drawn == {cls.__name__: str(cls.exit_code) for cls in ours}


@pytest.mark.parametrize(
    ("got", "hint"),
    [
        ("microagregation", "did you mean 'microaggregation'"),
        ("zzz", "possible: 'noise', 'microaggregation'"),
    ],
)
def test_an_unknown_name_gets_the_nearest_one_or_all(got, hint):
    assert hint in str(errors.PlanError.unknown("method", got, ["noise", "microaggregation"]))


def test_missing_columns_are_named_with_those_there_are():
    text = str(errors.ColumnError.missing("columns", ["sexx"], ["age", "sex"]))
    assert "['sexx']" in text
    assert "did you mean ['sex']" in text
    assert "['age', 'sex']" in text
