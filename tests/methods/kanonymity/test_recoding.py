"""Every recoding keeps its promise when its files are counted again by other code."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.methods.kanonymity.recount import (
    COLUMNS,
    fewest_matches,
    people,
    recipe,
    smallest_group,
    without_stars,
    written,
)

import veladura as vd
from veladura.errors import PlanError
from veladura.release.verify import holds, verify

FORMS = [
    {},
    {"suppressed": "star"},
    {"suppressed": "cells"},
    {"recoding": "local"},
    {"recoding": "local", "suppressed": "star"},
    {"recoding": "mondrian"},
    {"preserve_type": True},
    {"preserve_type": True, "suppressed": "star"},
]
READINGS = ["category", "wildcard", "both"]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    form=st.sampled_from(FORMS),
    missing=st.sampled_from(READINGS),
    k=st.integers(2, 6),
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.0, 0.1, 0.3]),
    source=st.sampled_from(["frame", "file", "large file"]),
    format_=st.sampled_from(["parquet", "csv"]),
    allowed=st.sampled_from([0.0, 0.1, 0.4]),
)
def test_every_release_keeps_its_promise(
    tmp_path_factory, form, missing, k, seed, share, source, format_, allowed
):
    folder = tmp_path_factory.mktemp("release")
    frame = people(seed, missing=share)
    table = frame
    if source != "frame":
        frame.to_parquet(folder / "people.parquet", index=False)
        table = folder / "people.parquet"
    asked = recipe(k=k, missing=missing, max_suppression=allowed, **form)
    with mock.patch.dict(os.environ, {"VELADURA_HELD_CELLS": "0"} if "large" in source else {}):
        release = asked.protect(table)
    back = written(release, folder, format_)
    assert holds(verify(folder / "out" / "r"))
    assert len(back) + (
        0 if form.get("suppressed") == "star" else release.steps[0].settings["suppressed_rows"]
    ) == len(frame)
    counted = without_stars(back)
    if form.get("preserve_type") and form.get("suppressed") == "star":
        blank = release.promises[0].settings.get("blank", [])
        counted = back[
            ~np.logical_and.reduce(
                [back[c].isna() if c in blank else back[c] == "*" for c in COLUMNS]
            )
        ]
    assert counted.empty or missing == "wildcard" or smallest_group(counted) >= k
    assert counted.empty or fewest_matches(counted) >= k
    assert all(promise.name == "group-size" for promise in release.promises) == (
        missing == "category"
    )


@pytest.mark.parametrize("form", FORMS[2:3] + FORMS[4:6] + FORMS[7:], ids=str)
def test_the_contract_holds(form):
    frame = vd.testing.example_frame(200)
    vd.testing.check_recipe(
        vd.KAnonymity(
            quasi_identifiers=["zip", "birth", "marital"], k=4, max_suppression=0.1, **form
        ),
        frame,
    )


def test_cells_that_are_as_they_were_keep_their_type():
    frame = people(1)
    release = recipe(k=2, max_suppression=0.5, suppressed="cells", prefer="min-distance").protect(
        frame
    )
    released = release.datasets[0]
    at_zero = [name for name, level in release.steps[0].settings["levels"].items() if level == 0]
    assert at_zero
    assert all(released[name].dtype == frame[name].dtype for name in at_zero)
    assert released[COLUMNS].isna().to_numpy().sum() == sum(
        release.steps[0].settings["suppressed_cells"].values()
    )


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("us"), pa.timestamp("ns", tz="UTC")])
def test_a_date_is_written_as_the_first_day_of_its_period(level, type_):
    days = (
        pa.array(pd.to_datetime(["1980-05-03", "1980-07-09", "1980-05-30", "1980-07-01"]).date)
        .cast(pa.timestamp("us"))
        .cast(type_)
    )
    periods = ["month", "year"] if level == 1 else ["year", "decade"]
    asked = vd.KAnonymity(
        quasi_identifiers=["birth"],
        k=2 if level == 1 else 4,
        max_suppression=0,
        preserve_type=True,
        hierarchies={"birth": vd.Hierarchy.dates(periods)},
    )
    release = asked.protect(pa.table({"birth": days}))
    assert release.datasets[0]["birth"].type == type_
    months = [str(value)[:10] for value in release.tables[0].table.arrow["birth"].to_pylist()]
    assert months == (
        ["1980-05-01", "1980-07-01", "1980-05-01", "1980-07-01"]
        if level == 1
        else ["1980-01-01"] * 4
    )


def test_a_zip_is_written_with_zeros_and_an_interval_as_its_lower_limit():
    table = pa.table(
        {
            "zip": ["02138", "02139", "02131", "02138"],
            "code": [2138, 2139, 2131, 2138],
            "age": [31, 38, 33, 37],
        }
    )
    rules = {
        "zip": vd.Hierarchy.mask(5),
        "code": vd.Hierarchy.mask(4),
        "age": vd.Hierarchy.intervals([10]),
    }
    release = vd.KAnonymity(
        quasi_identifiers=["zip", "code", "age"],
        k=4,
        max_suppression=0,
        preserve_type=True,
        hierarchies=rules,
    ).protect(table)
    assert release.tables[0].table.arrow.to_pydict() == {
        "zip": ["02130"] * 4,
        "code": [2130] * 4,
        "age": [30] * 4,
    }


def test_a_level_without_a_value_of_the_type_is_text():
    table = pa.table({"age": [31, 38, 53, 57], "open": [1, 2, 11, 12]})
    rules = {"age": vd.Hierarchy.star(), "open": vd.Hierarchy.intervals(cuts=[[10]])}
    release = vd.KAnonymity(
        quasi_identifiers=["age", "open"],
        k=2,
        max_suppression=0,
        preserve_type=True,
        hierarchies=rules,
    ).protect(table)
    assert release.tables[0].table.arrow.to_pydict() == {
        "age": ["*"] * 4,
        "open": ["< 10", "< 10", ">= 10", ">= 10"],
    }


def test_a_suppressed_row_is_missing_where_the_type_is_kept():
    table = pa.table({"age": [31, 38, 33, 91], "sex": ["f"] * 4})
    rules = {"age": vd.Hierarchy.intervals([10]), "sex": vd.Hierarchy.star()}
    asked = vd.KAnonymity(
        quasi_identifiers=["age", "sex"],
        k=3,
        max_suppression=1,
        preserve_type=True,
        suppressed="star",
        hierarchies=rules,
    )
    release = asked.protect(table)
    assert release.tables[0].table.arrow.to_pydict() == {
        "age": [30, 30, 30, None],
        "sex": ["f", "f", "f", "*"],
    }
    assert release.promises[0].settings["blank"] == ["age"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"suppressed": "hide"}, "suppressed 'hide'"),
        ({"recoding": "none"}, "recoding 'none'"),
        ({"missing": "any"}, "missing 'any'"),
        ({"recoding": "local", "suppressed": "cells"}, "needs one level for all rows"),
        ({"recoding": "mondrian", "preserve_type": True}, "does not go with"),
        (
            {"suppressed": "cells", "quasi_identifiers": [["zip"], ["age"]], "hierarchies": {}},
            "one quasi-identifier only",
        ),
        *(
            (
                {"models": [vd.LDiversity(column="income", l=2)], **word},
                "decided at one level for all rows, and a row",
            )
            for word in (
                {"recoding": "local", "models": [vd.TCloseness(column="income", t=0.2)]},
                {
                    "recoding": "local",
                    "models": [vd.LDiversity(column="income", l=2, kind="entropy")],
                },
                {"recoding": "mondrian"},
                {"suppressed": "cells"},
                {"missing": "wildcard"},
            )
        ),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong, told):
    with pytest.raises(PlanError, match=told):
        recipe(**wrong)
