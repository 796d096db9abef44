"""No value is left beyond its limit, and limits from the data single out no one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veladura as vd
from veladura.core.promise import Evidence
from veladura.core.violations import outside_limits
from veladura.errors import ColumnError, DataError, PlanError
from veladura.methods.masks.topcode import dates_outside
from veladura.methods.masks.topcode_limits import Limits, round_down
from veladura.table.inspect import inspect_table
from veladura.table.source import open as open_table

pytestmark = pytest.mark.quick


def test_values_beyond_take_the_limit_and_others_stay():
    frame = pd.DataFrame(
        {
            "n": pd.array([1, 50, None, 99], dtype="Int64"),
            "x": [0.5, np.nan, -7.25, 3.0],
            "other": list("abcd"),
        }
    )
    release = vd.TopCode(columns={"n": 60, "x": {"upper": 2.5, "lower": -1}}).protect(frame)
    released = release.datasets[0]
    assert released["n"].tolist() == [1, 50, pd.NA, 60]
    assert released["x"].dropna().tolist() == [0.5, -1, 2.5]
    assert released["other"].equals(frame["other"])
    assert release.steps[0].settings["limits"] == {"n": [None, 60], "x": [-1, 2.5]}


def test_values_beyond_can_turn_missing():
    frame = pd.DataFrame({"x": [1.0, 5.0, np.nan, -5.0]})
    released = (
        vd.TopCode(columns={"x": Limits(upper=2, lower=-2)}, replace="missing")
        .protect(frame)
        .datasets[0]
    )
    assert released["x"].isna().tolist() == [False, True, True, True]


def test_limits_larger_than_64_bits_code_nothing():
    ends = np.iinfo(np.int64)
    frame = pd.DataFrame({"n": [ends.max, ends.min, 3]})
    released = (
        vd.TopCode(columns={"n": {"upper": 10**30, "lower": ends.min}}).protect(frame).datasets[0]
    )
    assert released["n"].equals(frame["n"])


@pytest.mark.parametrize("zone", [None, "Europe/Lisbon"])
def test_dates_have_iso_limits(zone):
    days = pd.to_datetime(["1930-05-01", "1990-01-01", "2030-01-01"]).tz_localize(zone)
    frame = pd.DataFrame({"day": days})
    released = (
        vd.TopCode(columns={"day": {"lower": "1940-01-01", "upper": "2020-12-31"}})
        .protect(frame)
        .datasets[0]
    )
    assert [str(day.date()) for day in released["day"]] == [
        "1940-01-01",
        "1990-01-01",
        "2020-12-31",
    ]
    if zone is None:
        plain = (
            vd.TopCode(columns={"day": "2020-12-31"})
            .protect(frame.assign(day=frame["day"].dt.date))
            .datasets[0]
        )
        assert str(plain["day"].max()) == "2020-12-31"


@given(
    st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 30), min_size=10, max_size=80),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.sampled_from([int, float]),
)
@settings(max_examples=40, deadline=None)
def test_at_least_ten_rows_hold_a_limit_from_the_data(values, quantile, kind):
    frame = pd.DataFrame({"n": np.array(values, dtype=kind)})
    release = vd.TopCode(columns=["n"], quantile=quantile).protect(frame)
    limit = release.steps[0].settings["limits"]["n"][1]
    released = release.datasets[0]["n"]
    assert np.count_nonzero(released == limit) >= 10
    assert np.array_equal(released, np.minimum(frame["n"], limit))


def test_a_limit_from_the_data_is_short():
    frame = pd.DataFrame(
        {"income": np.arange(10_003, 60_003, 7), "high": np.arange(7143) / 7143 + 1_000_000}
    )
    frame["day"] = pd.to_datetime("2001-01-01") + pd.to_timedelta(np.arange(7143), unit="h")
    release = vd.TopCode(columns=["income", "high", "day"], quantile=0.99).protect(frame)
    limits = release.steps[0].settings["limits"]
    assert limits["income"] == [None, 59_000]
    assert limits["high"] == [None, 1_000_000.9]  # two digits would code every row
    assert limits["day"] == [None, "2001-10-01T00:00:00"]


def test_a_limit_from_the_data_needs_ten_values():
    with pytest.raises(DataError, match="has 9 values"):
        vd.TopCode(columns=["n"], quantile=0.9).protect(pd.DataFrame({"n": range(9)}))


def test_a_constant_column_keeps_its_value():
    frame = pd.DataFrame({"n": [0] * 10, "x": [1234.5] * 10})
    assert vd.TopCode(columns=["n", "x"], quantile=0.9).protect(frame).datasets[0].equals(frame)


@given(st.floats(-1e300, 1e300, allow_subnormal=False), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_rounding_down_goes_down_by_less_than_one_unit(value, digits):
    rounded = round_down(value, digits)
    assert rounded <= value
    assert value - rounded <= abs(value) * 10.0 ** (1 - digits) * (1 + 1e-9)


def test_the_checks_count_what_is_beyond():
    frame = pd.DataFrame({"n": [1, 5, 9], "day": pd.date_range("2020-01-01", periods=3)})
    evidence = Evidence(open_table(frame))
    assert outside_limits(evidence, {"columns": {"n": [2, 8]}}) == 2
    assert dates_outside(evidence, {"columns": {"day": ["2020-01-02", None]}}) == 1
    assert dates_outside(evidence, {"columns": {"day": [None, "2020-01-01"]}}) == 2


@pytest.mark.parametrize(
    ("given_", "match"),
    [
        ({"columns": {}}, "columns is empty"),
        ({"columns": ["n"]}, "or name the columns and give a quantile"),
        ({"columns": {"n": 1}, "quantile": 0.9}, "give each column its limit"),
        ({"columns": ["n"], "quantile": 1.0}, "quantile"),
        ({"columns": ["n"], "quantile": 0}, "quantile"),
        ({"columns": {"n": {}}}, "upper, lower or both"),
        ({"columns": {"n": {"uper": 3}}}, "did you mean 'upper'"),
        ({"columns": {"n": float("inf")}}, "finite number"),
        ({"columns": {"n": True}}, "finite number"),
        ({"columns": {"n": [3]}}, "finite number"),
        ({"columns": {"n": "soon"}}, "but no ISO date"),
        ({"columns": {"n": {"upper": 1, "lower": 2}}}, "must not be above"),
        ({"columns": {"n": {"upper": 1, "lower": "2020-01-01"}}}, "must be numbers, or dates"),
        ({"columns": {"n": 1}, "replace": "mean"}, "replace 'mean' is not known"),
    ],
)
def test_settings_are_checked(given_, match):
    with pytest.raises(PlanError, match=match):
        vd.TopCode(**given_)


@pytest.mark.parametrize(
    ("columns", "error", "match"),
    [
        ({"z": 1}, ColumnError, "not in the table"),
        ({"c": 1}, PlanError, "use Recode for categories"),
        ({"n": 1.5}, PlanError, "whole number"),
        ({"n": "2020-01-01"}, PlanError, "must be a number"),
        ({"day": 3}, PlanError, "must be a date"),
        ({"day": "2020-01-01T00:00:00+01:00"}, PlanError, "no time zone"),
    ],
)
def test_limits_must_fit_their_column(columns, error, match):
    frame = pd.DataFrame(
        {"n": [1, 2], "c": ["a", "b"], "day": pd.date_range("2020-01-01", periods=2)}
    )
    with pytest.raises(error, match=match):
        vd.TopCode(columns=columns).protect(frame)


def test_a_suggestion_runs_or_says_why_not():
    frame = pd.DataFrame(
        {
            "n": [1] * 500 + list(range(-30, 0)),
            "few": [1, 2] * 265,
            "day": pd.date_range("2020-01-01", periods=530),
        }
    )
    for names, expected in ((["n", "few", "day"], ("n",)), (["few", "day"], ("day",))):
        table = open_table(frame[names])
        suggested = vd.TopCode.suggest(table.schema, inspect_table(table))
        assert suggested.columns == expected
        suggested.protect(frame)
    few = open_table(frame[["few"]])
    with pytest.raises(PlanError, match="nothing to top-code"):
        vd.TopCode.suggest(few.schema, inspect_table(few))
