"""Disclosure scenarios: what they accept, and what they refuse in words."""

from __future__ import annotations

import pandas as pd
import pytest

import veladura as vd
from veladura.errors import ColumnError, PlanError
from veladura.measures.knowledge import Scenario, check_intruders, draft_intruders

pytestmark = pytest.mark.quick

PEOPLE = pd.DataFrame(
    {
        "number": ["a1", "a2", "a3"],
        "town": ["x", "y", "x"],
        "age": [30, 40, 50],
        "east": [1.5, 2.5, 3.5],
        "income": [10.0, 20.0, 30.0],
        "seen": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-03-01"]),
        "job": ["p", "q", "r"],
        "share": [1.0, 2.0, 1.0],
        "dull": [0, 1, 0],
    }
)
ROLES = {
    "number": {"role": "identifier"},
    "town": {"role": "quasi-identifier"},
    "age": {"role": "quasi-identifier"},
    "east": {"role": "geographic"},
    "income": {"role": "sensitive"},
    "job": {"role": "undecided"},
    "share": {"role": "weight"},
    "dull": {"role": "harmless"},
}


def schema():
    return vd.open(PEOPLE, ROLES).schema


def test_drafted_by_roles():
    register, acquaintance = draft_intruders(schema())
    assert register == Scenario(name="register", knows=("town", "age", "east"))
    assert acquaintance.name == "acquaintance"
    assert acquaintance.knows == ("town", "age", "east", "income", "seen", "job")
    assert acquaintance.within == {"income": "10 %", "seen": "30 days"}


def test_drafted_from_a_methods_quasi_identifiers():
    plain = vd.open(PEOPLE[["town", "age"]]).schema
    assert draft_intruders(plain, ["town"])[0].knows == ("town",)
    assert [who.name for who in draft_intruders(plain)] == ["acquaintance"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("10 %", (0.1, "%")),
        ("2.5%", (0.025, "%")),
        ("30 days", (30.0, "days")),
        ("1 day", (1.0, "days")),
        ("2 weeks", (14.0, "days")),
        ("2 years", (730.5, "days")),
        ("3", (3.0, "")),
        (2, (2.0, "")),
        (0.0, (0.0, "")),
    ],
)
def test_reach(given, expected):
    assert Scenario(name="x", knows=["age"], within={"age": given}).reach("age") == expected


@pytest.mark.parametrize("bad", ["ten", "-1", "10 metres", -1, float("nan"), True, "120 %", ""])
def test_bad_reach(bad):
    with pytest.raises(PlanError, match=r"within\.age must be a number of at least 0"):
        Scenario(name="x", knows=["age"], within={"age": bad})


@pytest.mark.parametrize("knows", [[], (), "age"])
def test_knows_nothing(knows):
    with pytest.raises(PlanError, match="knows nothing"):
        Scenario(name="x", knows=knows)


def test_bad_names():
    with pytest.raises(PlanError, match="needs a name"):
        Scenario(name="a.b", knows=["age"])
    twice = [Scenario(name="x", knows=["age"])] * 2
    with pytest.raises(PlanError, match="same name"):
        check_intruders(twice)
    for taken in ("everything", "strongest"):
        with pytest.raises(PlanError, match="always measured"):
            check_intruders([Scenario(name=taken, knows=["age"])])


def test_within_beyond_knows():
    with pytest.raises(PlanError, match=r"within names columns that knows does not: \['income'\]"):
        Scenario(name="x", knows=["age"], within={"income": 3})


def test_against_a_table():
    with pytest.raises(ColumnError, match="agee"):
        Scenario(name="x", knows=["agee"]).check(schema())
    with pytest.raises(PlanError, match="finds nobody"):
        Scenario(name="x", knows=["age", "number"]).check(schema())
    for column, reach, word in (
        ("town", 3, "known exactly"),
        ("seen", "10 %", "30 days"),
        ("age", "30 days", "a number or a share"),
    ):
        with pytest.raises(PlanError, match=word):
            Scenario(name="x", knows=[column], within={column: reach}).check(schema())
    Scenario(name="x", knows=["seen", "age"], within={"seen": 3, "age": "5 %"}).check(schema())
