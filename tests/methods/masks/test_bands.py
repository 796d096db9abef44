"""Cuts: the bands are those of pandas, ordered in every frame, and nothing else is released."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import veladura as vd
from veladura.errors import PlanError
from veladura.plan.reading import parse_plan
from veladura.plan.steps import steps_to_toml


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    days = pd.Timestamp("1930-01-01") + pd.to_timedelta(rng.integers(0, 30_000, 400), unit="D")
    frame = pd.DataFrame(
        {"age": rng.integers(0, 100, 400), "pay": rng.normal(0, 50, 400).round(1), "born": days}
    )
    frame.loc[rng.random(400) < 0.1, ["pay", "born"]] = None
    frame.loc[:1, "age"] = [18, 65]
    return frame


@pytest.mark.parametrize("closed", ["left", "right"])
def test_the_bands_are_those_of_pandas(frame, closed):
    cuts = {"age": [18, 65], "pay": [-10.5, 0, 20]}
    rules = {name: {"cuts": points, "closed": closed} for name, points in cuts.items()}
    released = vd.Recode(columns=rules).protect(frame).datasets[0]
    for name, points in cuts.items():
        edges = [-np.inf, *points, np.inf]
        bands = pd.cut(frame[name], edges, right=closed == "right", labels=False)
        codes = released[name].cat.codes.where(released[name].notna())
        assert codes.equals(bands.astype(float)) or (codes.fillna(-1) == bands.fillna(-1)).all()
    at_cut = released["age"].iloc[0]
    assert at_cut == ("[18, 65)" if closed == "left" else "<= 18")


def test_dates_are_cut_by_day_and_by_moment(frame):
    cuts = [dt.date(1950, 1, 1), "1980-06-01T12:00"]
    recipe = vd.Recode(columns={"born": {"cuts": cuts, "labels": ["old", "middle", "young"]}})
    released = recipe.protect(frame).datasets[0]["born"]
    points = [pd.Timestamp("1950-01-01"), pd.Timestamp("1980-06-01 12:00")]
    expected = np.array(["old", "middle", "young"])[
        (frame["born"] >= points[0]).astype(int) + (frame["born"] >= points[1]).astype(int)
    ]
    present = frame["born"].notna()
    assert (released[present] == expected[present]).all()
    assert released[~present].isna().all()


def test_bands_are_ordered_in_every_kind_of_frame(frame):
    import polars as pl

    recipe = vd.Recode(columns={"age": {"cuts": [18, 65, 200], "labels": ["a", "z", "b", "none"]}})
    pandas = recipe.protect(frame).datasets[0]["age"]
    assert pandas.cat.ordered
    assert list(pandas.cat.categories) == ["a", "z", "b"]  # the empty band is not listed
    assert recipe.protect(pl.from_pandas(frame)).datasets[0]["age"].dtype == pl.Enum(
        ["a", "z", "b"]
    )
    arrow = recipe.protect(pa.Table.from_pandas(frame)).datasets[0]["age"].type
    assert arrow.ordered


def test_bands_are_ordered_in_the_written_release(frame, tmp_path):
    release = vd.Recode(columns={"age": {"cuts": [18, 65]}}).protect(frame)
    folder = release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {c["name"]: c["kind"] for c in manifest["columns"]}["age"] == "ordered"
    loaded = vd.load(folder)
    assert loaded.tables[0].table.schema["age"].kind == "ordered"
    assert loaded.tables[0].table.schema["age"].order == ("< 18", "[18, 65)", ">= 65")


def test_the_promise_goes_when_a_later_step_changes_the_bands(frame):
    bands = vd.Recode(columns={"age": {"cuts": [18, 40, 65]}})
    alone = vd.KAnonymity(quasi_identifiers=["age"], k=300, max_suppression=0)
    release = vd.Steps([bands, alone]).protect(frame)
    assert set(release.datasets[0]["age"]) == {"*"}
    assert "bands" not in {promise.name for promise in release.promises}


def test_a_plan_gives_the_rule_back(frame):
    rule = {"cuts": [18.5, 65], "labels": ["a", "b", "c"], "closed": "right"}
    recipe = vd.Recode(columns={"age": rule, "born": {"cuts": ["1950-01-01"]}})
    assert parse_plan('[source]\npath = "t.csv"\n' + steps_to_toml(recipe)).recipe == recipe
    dates = '[source]\npath = "t.csv"\n[[step]]\nmethod = "recode"\n[step.columns.born]\ncuts = '
    assert parse_plan(dates + "[1950-01-01]").recipe == vd.Recode(
        columns={"born": {"cuts": ["1950-01-01"]}}
    )


@pytest.mark.parametrize(
    ("rule", "match"),
    [
        ({"cuts": []}, "at least one point"),
        ({"cuts": [1, "2000-01-01"]}, "all of them numbers"),
        ({"cuts": [5, 5]}, "must rise"),
        ({"cuts": ["2000-01-02", "2000-01-01"]}, "must rise"),
        ({"cuts": ["yesterday"]}, "no ISO date"),
        ({"cuts": [1], "labels": ["a"]}, "each of the 2 bands"),
        ({"cuts": [1], "labels": ["a", "a"]}, "each of the 2 bands"),
        ({"cuts": [1], "closed": "both"}, "closed"),
        ({"round": 5, "labels": ["a", "b"]}, "go with cuts only"),
        ({"cuts": [1], "round": 2}, "exactly one of"),
    ],
)
def test_rules_are_checked(rule, match):
    with pytest.raises(PlanError, match=match):
        vd.Recode(columns={"age": rule})


def test_kinds_are_checked(frame):
    with pytest.raises(PlanError, match="cuts of dates"):
        vd.Recode(columns={"born": {"cuts": [1950]}}).protect(frame)
    with pytest.raises(PlanError, match="cuts of numbers"):
        vd.Recode(columns={"age": {"cuts": ["1950-01-01"]}}).protect(frame)


def test_bands_may_come_before_a_private_step(frame):
    domain = {"age": ["< 18", "[18, 65)", ">= 65"]}
    private = vd.DirichletMultinomial(columns=["age"], domain=domain, epsilon=1)
    steps = vd.Steps([vd.Recode(columns={"age": {"cuts": [18, 65]}}), private])
    release = steps.protect(frame, seed=1, unsafe_repeatable=True)
    assert set(release.datasets[0]["age"]) <= set(domain["age"])
