"""Aggregation of places to areas: the right polygon by brute force, and no coordinate left."""

from __future__ import annotations

import itertools
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import veladura as vd
from veladura.errors import DataError, PlanError
from veladura.methods.geography.areas import OutsideWarning


def ring_contains(ring: list[list[float]], x: float, y: float) -> bool:
    """The ray-casting rule, written out: an odd number of edges to the right."""
    inside = False
    for (x1, y1), (x2, y2) in itertools.pairwise(ring):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


RINGS = {
    "A": [[[0, 0], [5, 0], [4, 6], [0, 5], [0, 0]]],
    "B": [[[5, 0], [10, 1], [9, 5], [4, 6], [5, 0]]],
    "C": [[[0, 5], [4, 6], [3, 10], [0, 10], [0, 5]], [[7, 7], [9, 7], [8, 9], [7, 7]]],
}
CITY = {"A": "south", "B": "south", "C": "north"}


@pytest.fixture
def file(tmp_path):
    features = [
        {
            "type": "Feature",
            "properties": {"district": name, "city": CITY[name]},
            "geometry": {"type": "Polygon", "coordinates": [ring]},
        }
        for name, rings in RINGS.items()
        for ring in rings
    ]
    path = tmp_path / "districts.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


@pytest.fixture(scope="module")
def homes() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(
        {
            "easting": rng.uniform(-1, 11, 800),
            "northing": rng.uniform(-1, 11, 800),
            "sex": rng.choice(["f", "m"], 800),
        }
    )
    frame.loc[:4, "easting"] = np.nan
    return frame


def recipe_of(file, **more):
    return vd.Areas(x="easting", y="northing", areas=file, name="district", **more)


def test_every_place_is_in_the_polygon_that_holds_it(homes, file):
    with pytest.warns(OutsideWarning, match="lie in none of the areas"):
        release = recipe_of(file).protect(homes)
    released = release.datasets[0]
    assert list(released.columns) == ["easting", "sex"]
    for place, found in zip(homes.itertuples(), released["easting"], strict=True):
        if np.isnan(place.easting):
            assert pd.isna(found)
            continue
        holding = [
            name
            for name, rings in RINGS.items()
            if any(ring_contains(ring, place.easting, place.northing) for ring in rings)
        ]
        assert found == (holding[0] if holding else "outside")


@pytest.mark.filterwarnings("ignore::veladura.methods.geography.areas.OutsideWarning")
def test_no_coordinate_is_in_any_file(homes, file, tmp_path):
    release = recipe_of(file).protect(homes)
    release.save(tmp_path / "out" / "release", tmp_path / "safe" / "record", format="csv")
    digits = {f"{value:.6f}" for name in ("easting", "northing") for value in homes[name].dropna()}
    for path in (tmp_path / "out").rglob("*.*"):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            assert not any(number in text for number in digits), path.name
            assert str(file) not in text
    statuses = [line.status for line in vd.verify(tmp_path / "out" / "release")]
    assert "broken" not in statuses


@pytest.mark.filterwarnings("ignore::veladura.methods.geography.areas.OutsideWarning")
def test_areas_within_areas_are_a_hierarchy(homes, file):
    steps = vd.Steps(
        [
            recipe_of(file),
            vd.KAnonymity(
                quasi_identifiers=["easting", "sex"],
                k=40,
                max_suppression=0.05,
                hierarchies={
                    "easting": vd.Hierarchy.from_areas(file, ["district", "city"]),
                    "sex": vd.Hierarchy.star(),
                },
            ),
        ]
    )
    released = steps.protect(homes).datasets[0]
    assert released.groupby(["easting", "sex"], dropna=False).size().min() >= 40
    assert set(released["easting"].dropna()) <= {"A", "B", "C", "south", "north", "outside", "*"}


def test_of_two_areas_the_first_counts_and_borders_belong():
    frame = pd.DataFrame({"x": [0.5, 1.0, 1.5], "y": [0.5, 0.5, 0.5]})
    areas = {"first": [0, 0, 1, 1], "second": [0.9, 0, 2, 1]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        released = vd.Areas(x="x", y="y", areas=areas).protect(frame).datasets[0]
    assert released["x"].tolist() == ["first", "first", "second"]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"areas": {}}, "path of a GeoJSON file"),
        ({"y": "x"}, "two columns"),
        ({"areas": {"a": [0, 0, 1]}}, "each name a box"),
        ({"areas": {"a": [1, 0, 0, 1]}}, "west < east"),
        ({"areas": {"type": "FeatureCollection", "features": []}}, "no features"),
        ({"areas": "nowhere.geojson"}, "cannot be read"),
        ({"outside": "a"}, "name of an area"),
    ],
)
def test_what_says_no_area_is_refused(settings, match):
    frame = pd.DataFrame({"x": [0.5], "y": [0.5]})
    given = {"x": "x", "y": "y", "areas": {"a": [0, 0, 1, 1]}, **settings}
    with pytest.raises(PlanError, match=match):
        vd.Areas(**given).protect(frame)


def test_a_property_that_is_not_there_is_named(file):
    frame = pd.DataFrame({"x": [0.5], "y": [0.5]})
    with pytest.raises(PlanError, match="its properties are"):
        vd.Areas(x="x", y="y", areas=file).protect(frame)
    with pytest.raises(DataError, match="no polygons with the properties"):
        vd.Hierarchy.from_areas(file, ["street"])
