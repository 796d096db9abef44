"""Recoding follows the declared rule in every row, and the release proves it."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from math import floor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import ColumnError, PlanError
from veladura.methods.masks.recode_rules import (
    Coarser,
    multiples,
    not_merged,
    not_multiples,
    not_period_starts,
    too_many_digits,
)
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick

INT = np.iinfo(np.int64)


def recoded(frame: pd.DataFrame, **columns: object) -> pd.DataFrame:
    return vd.Recode(columns=columns).protect(frame).datasets[0]


def test_groups_take_their_members_in():
    frame = pd.DataFrame({"job": ["nurse", "pilot", None, "baker", "doctor"], "n": range(5)})
    some = recoded(frame, job={"groups": {"care": ["nurse", "doctor", "midwife"]}})
    assert some["job"].fillna("-").tolist() == ["care", "pilot", "-", "baker", "care"]
    rest = recoded(frame, job={"groups": {"care": ["nurse", "doctor"]}, "other": "else"})
    assert rest["job"].fillna("-").tolist() == ["care", "else", "-", "else", "care"]
    swapped = recoded(frame, job={"groups": {"pilot": ["baker"], "baker": ["pilot"]}})
    assert swapped["job"].fillna("-").tolist() == ["nurse", "baker", "-", "pilot", "doctor"]
    assert rest["n"].equals(frame["n"])


def test_a_frame_of_categories_keeps_none_that_is_gone():
    frame = pd.DataFrame({"c": pd.Categorical(["a", "b", "c"], categories=["a", "b", "c", "rare"])})
    released = recoded(frame, c={"groups": {"ab": ["a", "b"]}})["c"]
    assert set(released.cat.categories) == {"ab", "c"}


def test_an_order_is_kept_where_groups_have_no_gap():
    grades = ["low", "mid", "high", "top"]
    table = open_table(pd.DataFrame({"g": grades}), {"g": {"kind": "ordered", "order": grades}})
    near = (
        vd.Recode(columns={"g": {"groups": {"upper": ["high", "top"]}}})
        .protect(table)
        .tables[0]
        .table.schema["g"]
    )
    assert (near.kind, near.order) == ("ordered", ("low", "mid", "upper"))
    apart = (
        vd.Recode(columns={"g": {"groups": {"ends": ["low", "top"]}}})
        .protect(table)
        .tables[0]
        .table.schema["g"]
    )
    assert (apart.kind, apart.order) == ("category", ())


def test_yes_and_no_become_text():
    released = recoded(
        pd.DataFrame({"b": [True, False, True]}), b={"groups": {"yes": ["true"]}, "other": "no"}
    )
    assert released["b"].tolist() == ["yes", "no", "yes"]


@given(
    st.lists(st.integers(INT.min, INT.max) | st.integers(-50, 50), min_size=1),
    st.integers(1, 40) | st.just(10**18),
)
@settings(max_examples=60, deadline=None)
def test_whole_numbers_go_to_the_nearest_multiple(values, base):
    """Against exact arithmetic; only where 64 bits end is it the multiple below."""
    for value, got in zip(
        values, multiples(np.array(values, dtype=np.int64), base).tolist(), strict=True
    ):
        nearest = floor(Fraction(value, base) + Fraction(1, 2)) * base
        below = value // base * base
        assert got == nearest or (nearest > INT.max and got == below) or below < INT.min


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1), st.sampled_from([0.1, 0.25, 1, 5.0, 1000, 3.3])
)
@settings(max_examples=60, deadline=None)
def test_numbers_go_to_within_half_a_base_and_stay_there(values, base):
    numbers = np.array(values)
    once = multiples(numbers, base)
    assert np.all(np.abs(once - numbers) <= base / 2 * (1 + 1e-9) + np.abs(numbers) * 1e-12)
    assert np.allclose(multiples(once, base), once, rtol=1e-12, atol=base * 1e-9)


def test_multiples_of_a_decimal_base_are_written_shortly():
    frame = pd.DataFrame({"x": [0.26, np.nan, 17.34], "n": [14, 15, -15]})
    released = recoded(frame, x={"round": 0.1}, n={"round": 10})
    assert released["x"].dropna().tolist() == [0.3, 17.3]
    assert released["n"].tolist() == [10, 20, -10]


@pytest.mark.parametrize(
    ("period", "start"),
    [
        ("month", lambda d: d.replace(day=1)),
        ("quarter", lambda d: d.replace(day=1, month=(d.month - 1) // 3 * 3 + 1)),
        ("year", lambda d: d.replace(day=1, month=1)),
        ("decade", lambda d: date(d.year // 10 * 10, 1, 1)),
    ],
)
@given(days=st.lists(st.dates(date(1700, 1, 1), date(2200, 1, 1)), min_size=1, max_size=20))
@settings(max_examples=10, deadline=None)
def test_dates_go_to_the_first_day_of_their_period(period, start, days):
    released = recoded(pd.DataFrame({"day": days}), day={"date": period})
    assert released["day"].tolist() == [start(day) for day in days]


def test_times_with_a_zone_start_at_its_midnight():
    times = pd.to_datetime(["2020-07-15 12:30", None]).tz_localize("Europe/Lisbon")
    released = recoded(pd.DataFrame({"t": times}), t={"date": "month"})
    assert str(released["t"][0]) == "2020-07-01 00:00:00+01:00"
    assert released["t"].isna().tolist() == [False, True]


def test_the_checks_count_what_breaks_the_rule():
    frame = pd.DataFrame(
        {
            "c": ["a", "b", "b"],
            "n": [10, 15, 20],
            "x": [0.1, 0.25, 0.3],
            "day": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-02-02"]),
        }
    )
    evidence = Evidence(open_table(frame))
    assert not_merged(evidence, {"columns": {"c": ["b"]}}) == 2
    assert not_multiples(evidence, {"columns": {"n": 10, "x": 0.1}}) == 2
    assert not_period_starts(evidence, {"columns": {"day": "month"}}) == 1
    assert not_period_starts(evidence, {"columns": {"day": "year"}}) == 2


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ({}, "one of groups, keep, round, digits, date and cuts"),
        ({"round": 3, "date": "year"}, "one of groups, keep, round, digits, date and cuts"),
        ({"date": "week"}, "date 'week' is not known"),
        ({"round": 0}, "must be a number above 0"),
        ({"round": 10**19}, "at most 1e18"),
        ({"round": "ten"}, "must be a number above 0"),
        ({"round": 5, "other": "x"}, "other must be a category"),
        ({"groups": {}}, "at least one new category"),
        ({"groups": {"a": []}}, "a list of old ones"),
        ({"groups": {"a": "bc"}}, "a list of old ones"),
        ({"groups": {"a": [1]}}, "all of them text"),
        ({"groups": {"a": ["x"], "b": ["x"]}}, "1 categories into more than one"),
        ({"gruops": {"a": ["x"]}}, "did you mean 'groups'"),
        (5, "must be a rule"),
    ],
)
def test_rules_are_checked(rule, match):
    with pytest.raises(PlanError, match=match):
        vd.Recode(columns={"c": rule})


def test_columns_are_checked():
    frame = pd.DataFrame({"c": ["a"], "n": [1]})
    with pytest.raises(PlanError, match="columns is empty"):
        vd.Recode(columns={})
    with pytest.raises(PlanError, match="give each column its rule"):
        vd.Recode(columns=["c"])
    with pytest.raises(ColumnError, match="not in the table"):
        recoded(frame, z={"round": 5})
    with pytest.raises(PlanError, match="round, digits or cuts of numbers"):
        recoded(frame, c={"round": 5})
    with pytest.raises(PlanError, match="whole number"):
        recoded(frame, n={"round": 0.5})


def test_a_suggestion_runs_and_names_no_value():
    frame = pd.DataFrame(
        {
            "age": list(range(80)) * 2,
            "few": [1, 2] * 80,
            "x": np.arange(160) / 7,
            "c": ["a", "rare"] * 80,
        }
    )
    frame["day"] = pd.date_range("2000-01-01", periods=160)
    cases = {
        ("age", "few", "day", "c"): {"age": Coarser(round=5), "day": Coarser(date="year")},
        ("few", "c"): {"few": Coarser(round=2)},
        ("x", "c"): {"x": Coarser(round=1)},
    }
    for names, expected in cases.items():
        table = open_table(frame[list(names)])
        suggested = vd.Recode.suggest(table.schema, inspect_table(table))
        assert suggested.columns == expected
        suggested.protect(frame)
    words = open_table(frame[["c"]])
    with pytest.raises(PlanError, match="no group of categories is declared") as refused:
        vd.Recode.suggest(words.schema, inspect_table(words))
    assert "rare" not in str(refused.value)


def test_numbers_keep_their_significant_digits():
    frame = pd.DataFrame({"x": [1234.5, -0.0567, 0.0, np.nan], "n": [98765, 45, -1550, 0]})
    release = vd.Recode(columns={"x": {"digits": 2}, "n": {"digits": 2}}).protect(frame)
    released = release.datasets[0]
    assert released["x"].fillna(-9).tolist() == [1200.0, -0.057, 0.0, -9]
    assert released["n"].tolist() == [99000, 45, -1600, 0]
    assert {proof.status for proof in release.prove()} == {"holds"}
    evidence = Evidence(release.tables[0].table)
    assert too_many_digits(evidence, {"columns": {"x": 2, "n": 2}}) == 0
    assert too_many_digits(evidence, {"columns": {"x": 1, "n": 1}}) == 5


@pytest.mark.parametrize("digits", [0, 7, 1.5, "2"])
def test_digits_that_make_no_sense_are_refused(digits):
    with pytest.raises(PlanError):
        vd.Recode(columns={"x": {"digits": digits}})


def test_categories_that_are_not_kept_are_named_nowhere():
    frame = pd.DataFrame({"c": ["flu", "flu", "asthma", "rare one", None]})
    release = vd.Recode(columns={"c": {"keep": ["flu", "asthma"]}}).protect(frame)
    assert release.datasets[0]["c"].fillna("-").tolist() == ["flu", "flu", "asthma", "other", "-"]
    assert "rare one" not in str(release.manifest)
    assert {proof.status for proof in release.prove()} == {"holds"}
    with pytest.raises(PlanError, match="keep must list"):
        vd.Recode(columns={"c": {"keep": []}})


def test_numbers_and_dates_that_a_later_step_turns_into_categories_break_no_promise():
    """What is an interval or * is no multiple and no first day, and need not be one."""
    draw = np.random.default_rng(4)
    days = np.datetime64("2020-01-01") + draw.integers(0, 900, 300)
    frame = pd.DataFrame(
        {"day": days, "n": draw.integers(0, 1000, 300), "v": draw.normal(size=300)}
    )
    steps = vd.Steps(
        [
            vd.TopCode(columns={"n": 900, "day": "2022-01-01"}),
            vd.Recode(columns={"day": {"date": "month"}, "n": {"round": 10}}),
            vd.KAnonymity(quasi_identifiers=["day", "n"], k=60, max_suppression=0.1),
        ]
    )
    release = steps.protect(frame, seed=1)
    assert all(proof.status == "holds" for proof in release.prove())
    alone = vd.Recode(columns={"n": {"round": 10}}).protect(frame, seed=1)
    broken = Evidence(vd.open(frame))
    assert not_multiples(broken, alone.promises[0].settings) > 0
    mixed = pd.DataFrame({"n": ["[0, 100)", "*", "120", "123"]})
    assert not_multiples(Evidence(vd.open(mixed)), {"columns": {"n": 10}}) == 1
