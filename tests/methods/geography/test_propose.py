"""`veladura init --method geography`: coordinates by their names, or an error with a hint."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

from veladura.errors import PlanError
from veladura.plan.draft import draft

METHODS = ("geography", "naive-geography", "donut")


def survey(folder, **more):
    """A table of the kind of a labour survey: ages, incomes and regions, but no place."""
    columns = {
        "sex": ["f", "m"] * 30,
        "age": range(20, 80),
        "region": ["north", "south", "east"] * 20,
        "income": range(800, 860),
    }
    pd.DataFrame({**columns, **more}).to_csv(folder / "survey.csv", index=False)
    return str(folder / "survey.csv")


@pytest.mark.parametrize("method", METHODS)
def test_a_table_without_places_is_refused_with_the_names_that_were_looked_for(tmp_path, method):
    with pytest.raises(PlanError, match="no two number columns") as refused:
        draft(survey(tmp_path), method=method)
    for name in (
        "lon",
        "longitude",
        "lat",
        "latitude",
        "easting",
        "northing",
        "x_coord",
        "y_coord",
        "x with y",
    ):
        assert name in str(refused.value)
    assert "rename the columns" in str(refused.value)
    assert "--method cart" in str(refused.value)


@pytest.mark.parametrize("names", [("east", "north"), ("x", "lat"), ("longitude", "region_lat")])
def test_half_a_pair_is_no_place(tmp_path, names):
    more = {name: [round(0.1 * at + 7, 1) for at in range(60)] for name in names}
    with pytest.raises(PlanError, match="no two number columns"):
        draft(survey(tmp_path, **more), method="geography")


def test_places_written_as_text_are_told_without_a_value(tmp_path):
    more = {"Lon": [f"8d{at}m E" for at in range(60)], "lat": [f"47d{at}m N" for at in range(60)]}
    with pytest.raises(
        PlanError, match="'Lon' and 'lat' have names of coordinates, but do not hold numbers"
    ) as refused:
        draft(survey(tmp_path, **more), method="geography")
    assert "47d" not in str(refused.value)


@pytest.mark.parametrize(
    ("x", "y", "coordinates"),
    [("LNG", "Latitude", "degrees"), ("Easting", "northing", "planar"), ("X", "Y", "planar")],
)
def test_coordinates_are_found_in_capitals_or_not(tmp_path, x, y, coordinates):
    more = {
        x: [round(8 + at / 97, 4) for at in range(60)],
        y: [round(47 + at * at / 9973, 4) for at in range(60)],
    }
    plan = draft(survey(tmp_path, **more), method="geography")
    assert f'x = "{x}"' in plan
    assert f'y = "{y}"' in plan
    assert f'coordinates = "{coordinates}"' in plan or coordinates == "planar"


@pytest.mark.parametrize("method", METHODS)
def test_a_drafted_plan_refuses_a_map_whose_gaps_tell_homes(method, tmp_path):
    path = tmp_path / "homes.csv"
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.random((200, 2)).round(3), columns=["x", "y"]).to_csv(path, index=False)
    text = draft(str(path), method=method)
    gate = tomllib.loads(text)["gate"]
    assert gate == {"risk.holes.ratio": {"max": 1.25}}
    assert '# "risk.holes' not in text
