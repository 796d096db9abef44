"""Times are microseconds once opened, whatever unit they came in; frames come back in their own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd

UNITS = ["s", "ms", "us", "ns"]
ROWS = 60


def visits(unit, zone=None):
    rng = np.random.default_rng(3)
    days = rng.permutation(ROWS) * 10
    when = pd.Series(pd.Timestamp("2021-03-01") + pd.to_timedelta(days, unit="D"))
    when = when.dt.tz_localize(zone).astype(
        f"datetime64[{unit}]" if zone is None else f"datetime64[{unit}, {zone}]"
    )
    return pd.DataFrame({"when": when, "ward": rng.choice(list("ab"), ROWS)})


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("unit", UNITS)
def test_a_time_is_held_in_microseconds(unit, zone):
    frame = visits(unit, zone)
    table = vd.open(frame, {"when": {}})
    assert table.schema["when"].type == pa.timestamp("us", tz=zone)
    counted = frame["when"].astype("datetime64[us, UTC]" if zone else "datetime64[us]")
    expected = counted.astype("int64").to_numpy()
    assert np.array_equal(np.sort(table.codes(["when"])["when"].values), np.sort(expected))


def test_a_day_is_a_day_also_in_milliseconds():
    days = pa.array([0, 1, 400], pa.date32())
    table = vd.open(pa.table({"day": days.cast(pa.date64())}), {"day": {}})
    assert table.codes(["day"])["day"].values.tolist() == [0, 1, 400]


@pytest.mark.parametrize("unit", UNITS)
def test_match_risk_is_the_same_in_every_unit(unit):
    """Visits lie ten days apart: whoever knows one within three days finds one person."""
    frame = visits(unit)
    release = vd.Pram(columns=["ward"]).protect(vd.open(frame, {"when": {}}), seed=1)
    risk = vd.risk.match(frame, release, sensitive=["when"], radius=3)
    assert float(risk.tmr) == 1


@pytest.mark.parametrize("unit", UNITS)
def test_distances_of_columns_are_the_same_in_every_unit(unit):
    frame = visits(unit)
    moved = frame.assign(when=frame["when"] + pd.Timedelta(days=30))
    of = vd.utility.columns(frame, moved)
    expected = vd.utility.columns(visits("us"), moved)
    assert float(of.mean) == pytest.approx(float(expected.mean))


@pytest.mark.parametrize("unit", UNITS)
def test_trees_draw_times_on_the_grid_of_the_original(unit):
    frame = visits(unit)
    drawn = vd.Cart(columns=["when"], m=1).protect(vd.open(frame, {"when": {}}), seed=1).datasets[0]
    assert drawn["when"].dtype == frame["when"].dtype
    assert (drawn["when"].dt.normalize() == drawn["when"]).all()


def test_what_is_finer_than_a_microsecond_comes_back_where_a_column_is_kept():
    frame = visits("ns")
    frame["when"] += pd.to_timedelta(np.arange(ROWS), unit="ns")
    out = vd.Pram(columns=["ward"]).protect(vd.open(frame, {"when": {}}), seed=1).datasets[0]
    assert out["when"].tolist() == frame["when"].tolist()
