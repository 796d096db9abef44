"""Quasi-identifiers are declared once, by the roles; a step that says otherwise is refused."""

from __future__ import annotations

import pytest

from veladura.errors import PlanError
from veladura.plan.reading import parse_plan

pytestmark = pytest.mark.quick

HEAD = '[source]\npath = "people.csv"\n'
STEP = '[[step]]\nmethod = "k-anonymity"\nk = 3\n'


def columns(**roles: str) -> str:
    return "".join(f'[columns.{name}]\nrole = "{role}"\n' for name, role in roles.items())


AGE_AND_SEX = {"age": "quasi-identifier", "sex": "quasi-identifier"}


def test_a_step_takes_them_from_the_roles():
    plan = parse_plan(HEAD + columns(income="sensitive", **AGE_AND_SEX) + STEP)
    assert plan.recipe.quasi_identifiers == ("age", "sex")


def test_a_step_may_list_them_too_and_more_that_nobody_decided():
    for role in ("undecided", "other", "geographic", "strata"):
        text = columns(place=role, **AGE_AND_SEX) + STEP
        plan = parse_plan(HEAD + text + 'quasi_identifiers = ["sex", "age", "place"]\n')
        assert plan.recipe.names == ("sex", "age", "place")


def test_pairs_of_coordinates_are_among_them():
    text = columns(lon="geographic", lat="geographic", **AGE_AND_SEX) + STEP
    plan = parse_plan(HEAD + text + 'pairs = [["lon", "lat"]]\n')
    assert set(plan.recipe.names) == {"age", "sex", "lon", "lat"}
    assert plan.recipe.pairs == (("lon", "lat"),)


def test_two_steps_may_share_them():
    first, second = (f'{STEP}quasi_identifiers = ["{name}"]\n' for name in AGE_AND_SEX)
    assert len(parse_plan(HEAD + columns(**AGE_AND_SEX) + first + second).steps) == 2


@pytest.mark.parametrize(
    "role", ["identifier", "dropped", "person", "household", "sensitive", "weight", "harmless"]
)
def test_a_role_that_says_something_else_is_refused(role):
    text = HEAD + columns(age="quasi-identifier", x=role) + STEP
    with pytest.raises(PlanError, match=rf"says something else: x \({role}\)"):
        parse_plan(text + 'quasi_identifiers = ["age", "x"]\n')


def test_a_quasi_identifier_that_the_step_leaves_out_is_refused():
    text = HEAD + columns(**AGE_AND_SEX) + STEP + 'quasi_identifiers = ["age"]\n'
    with pytest.raises(PlanError, match=r"leaves them out: \['sex'\]"):
        parse_plan(text)


def test_no_quasi_identifier_at_all_is_refused():
    with pytest.raises(PlanError, match="no quasi-identifiers"):
        parse_plan(HEAD + columns(income="sensitive") + STEP)


def test_other_methods_are_not_asked():
    step = '[[step]]\nmethod = "noise"\ncolumns = ["income"]\n'
    assert parse_plan(HEAD + columns(**AGE_AND_SEX) + step).recipe.method == "noise"
