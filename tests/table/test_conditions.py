"""Conditions hold in the rows they should; those that do not fit the columns are refused."""

from __future__ import annotations

import pandas as pd
import pytest

import veladura as vd
from veladura.base.expression import parse
from veladura.errors import PlanError
from veladura.table.conditions import holds

FRAME = pd.DataFrame(
    {
        "age": [15, 30, 45, None],
        "smoke": ["NO", "YES", None, "NO"],
        "a b": [1.5, 30.0, 50.0, 2.0],
        "ok": [True, False, True, None],
        "born": pd.to_datetime(["2001-05-05", "1990-01-01", "1980-12-31", None]),
        "size": ["small", "large", "medium", "large"],
    }
)


@pytest.fixture(scope="module")
def columns():
    table = vd.open(
        FRAME,
        {"size": {"kind": "ordered", "order": ["small", "medium", "large"]}, "age": "integer"},
    )
    codes = table.codes(table.names)
    back = codes.rows.argsort()
    return {name: column.take(back) for name, column in codes.items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age > 20", [False, True, True, False]),
        ("20 < age", [False, True, True, False]),
        ("20 <= age < 40", [False, True, False, False]),
        ("age != 15", [False, True, True, False]),
        ("not age != 15", [True, False, False, True]),
        ('smoke == "NO"', [True, False, False, True]),
        ("smoke in ['NO', 'YES']", [True, True, False, True]),
        ("smoke not in ['NO']", [False, True, True, False]),
        ("smoke is missing or age is missing", [False, False, True, True]),
        ("missing(smoke)", [False, False, True, False]),
        ("age is not missing and not missing(smoke)", [True, True, False, False]),
        ('smoke == "NO" implies age < 20', [True, True, True, False]),
        ("`a b` <= age", [True, True, False, False]),
        ("`a b` == 1.5 or `a b` == 3e1", [True, True, False, False]),
        ("`a b` < 1_000 and (age == 15 or age == 30)", [True, True, False, False]),
        ("ok == true", [True, False, True, False]),
        ('born >= "1990-01-01"', [True, True, False, False]),
        ('size >= "medium"', [False, True, True, True]),
        ("age == -8", [False] * 4),
    ],
)
def test_conditions_hold_where_they_should(columns, text, expected):
    assert holds(parse(text), columns).tolist() == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("smoke > 'NO'", "without an order"),
        ("age == 'x'", "holds numbers"),
        ("born > 3", "holds dates"),
        ("size > 'huge'", "not in its declared order"),
        ("agee > 3", "did you mean"),
        ("age == smoke", "cannot be compared"),
    ],
)
def test_conditions_that_do_not_fit_the_columns_are_refused(columns, text, why):
    with pytest.raises(PlanError, match=why):
        holds(parse(text), columns)
