"""The same region from every kind of file; a hull of the data is coarse, wide and cautioned."""

from __future__ import annotations

import json
import struct

import numpy as np
import pandas as pd
import pytest
import shapely

import veladura as vd
from veladura.errors import PlanError
from veladura.methods.geography.hull import hull_around
from veladura.methods.geography.region import RegionWarning, read_shape

pytestmark = pytest.mark.quick

LAND = [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0), (0.0, 3.0), (0.0, 0.0)]
LAKE = [(1.0, 1.0), (1.0, 2.0), (2.0, 2.0), (2.0, 1.0), (1.0, 1.0)]
ISLE = [(6.0, 0.5), (7.0, 0.5), (7.0, 1.5), (6.0, 0.5)]
WHOLE = shapely.MultiPolygon([shapely.Polygon(LAND, [LAKE]), shapely.Polygon(ISLE)])
RINGS = {"land": LAND, "lake": LAKE, "isle": ISLE}


def as_csv(path, separator=",", names=("lon", "lat", "ring")):
    lines = [separator.join(names)]
    for ring, corners in RINGS.items():
        for x, y in corners[:-1]:  # not closed: the first corner need not be repeated
            numbers = [str(x), str(y)]
            if separator == ";":
                numbers = [number.replace(".", ",") for number in numbers]
            lines.append(separator.join([*numbers, ring]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def as_shapefile(path, kind=5):
    """Write polygons as ESRI's description says: the land with its lake, and the isle."""
    records = b""
    for number, rings in enumerate(([LAND, LAKE], [ISLE]), start=1):
        points = [point for ring in rings for point in ring]
        starts = np.cumsum([0, *(len(ring) for ring in rings[:-1])])
        xs, ys = zip(*points, strict=True)
        body = struct.pack(
            "<i4d2i", kind, min(xs), min(ys), max(xs), max(ys), len(rings), len(points)
        )
        body += struct.pack(f"<{len(rings)}i", *starts)
        body += b"".join(struct.pack("<2d", x, y) for x, y in points)
        if kind == 15:  # heights: their range, then one for each point
            body += struct.pack(f"<{2 + len(points)}d", *[0.0] * (2 + len(points)))
        records += struct.pack(">2i", number, len(body) // 2) + body
    empty = struct.pack("<i", 0)  # a record without a shape
    records += struct.pack(">2i", 3, 2) + empty
    head = struct.pack(">7i", 9994, 0, 0, 0, 0, 0, (100 + len(records)) // 2)
    head += struct.pack("<2i8d", 1000, kind, 0, 0, 7, 3, 0, 0, 0, 0)
    path.write_bytes(head + records)
    return path


def as_wkt(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def ways(folder):
    lines = "\n".join(shapely.to_wkt(part) for part in WHOLE.geoms)
    geojson = folder / "a.geojson"
    geojson.write_text(shapely.to_geojson(WHOLE))
    return [
        geojson,
        as_csv(folder / "a.csv"),
        as_csv(folder / "b.csv", ";", ("Easting", "Northing", "part")),
        as_csv(folder / "c.csv", "\t", ("x", "y", "polygon")),
        as_wkt(folder / "a.wkt", shapely.to_wkt(WHOLE)),
        as_wkt(folder / "b.wkt", "SRID=4326;" + shapely.to_wkt(WHOLE)),
        as_wkt(folder / "c.WKT", lines),
        as_shapefile(folder / "a.shp"),
        as_shapefile(folder / "b.SHP", kind=15),
    ]


def test_every_file_gives_the_same_region(tmp_path):
    for path in ways(tmp_path):
        shape = read_shape(path, "region")
        assert shape.equals(WHOLE), path.name
        assert shape.area == pytest.approx(12 - 1 + 0.5)


def test_a_recipe_takes_files_and_wkt(tmp_path):
    draw = np.random.default_rng(1)
    homes = pd.DataFrame(
        {"x": draw.uniform(0, 0.9, 90).round(3), "y": draw.uniform(0, 3, 90).round(3)}
    )
    for region in (as_csv(tmp_path / "a.csv"), str(as_shapefile(tmp_path / "a.shp")), WHOLE.wkt):
        recipe = vd.Donut(x="x", y="y", region=region, inner=0.05, outer=0.3)
        release = recipe.protect(homes, seed=1)
        released = release.datasets[0]
        assert shapely.intersects_xy(WHOLE, released["x"], released["y"]).all()
        [inside] = [p for p in release.promises if p.name == "inside-region"]
        assert shapely.from_geojson(json.dumps(inside.settings["region"])).equals(WHOLE)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.csv", b"a,b\n1,2\n", r"\(line 1\).*lon and lat"),
        ("a.csv", b"lon,lat\n1,2\n3,x\n", r"\(line 3\)"),
        ("a.csv", b"lon,lat\n1,2\n3,4\n", "fewer than three corners"),
        ("a.csv", b"", "does not hold a region"),
        ("a.wkt", b"POLYGON ((0 0, 1 1", r"\(line 1\).*POLYGON"),
        ("a.wkt", b"POINT (1 2)", "no area"),
        ("a.shp", b"PK\x03\x04 not one", "not a shapefile"),
        ("a.shp", b"", "does not hold a region"),
        ("a.wkt", b"\xff\xfe", "does not hold a region"),
    ],
)
def test_files_without_a_region_are_refused(name, content, says, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(PlanError, match=f"(?s){says}"):
        read_shape(tmp_path / name, "region")


def test_shapefiles_of_points_and_cut_off_ones_are_refused(tmp_path):
    path = as_shapefile(tmp_path / "a.shp")
    whole = path.read_bytes()
    path.write_bytes(whole[:150])
    with pytest.raises(PlanError, match="does not hold a region"):
        read_shape(path, "region")
    path.write_bytes(whole[:104] + struct.pack(">i", -54) + whole[108:])
    with pytest.raises(PlanError, match="damaged"):
        read_shape(path, "region")
    path.write_bytes(whole[:108] + struct.pack("<i", 1) + whole[112:])
    with pytest.raises(PlanError, match="not polygons"):
        read_shape(path, "region")
    with pytest.raises(PlanError, match=r"(?s)cannot be read.*\.shp"):
        read_shape(tmp_path / "none.geojson", "region")
    with pytest.raises(PlanError, match="cannot be read"):
        read_shape(tmp_path / "none.shp", "region")


def test_a_hull_holds_everyone_with_room_and_tells_no_place():
    draw = np.random.default_rng(3)
    x, y = draw.normal(-71.1, 0.1, 400), draw.normal(42.3, 0.05, 400)
    with pytest.warns(RegionWarning, match=r"(?s)steps of 0.1: .*outermost people.*border.geojson"):
        hull = hull_around(x, y, degrees=True)
    points = shapely.points(x, y)
    assert shapely.contains(hull, points).all()
    assert shapely.distance(hull.exterior, points).min() >= 0.1 - 1e-9  # a whole square of room
    corners = shapely.get_coordinates(hull) / 0.1
    np.testing.assert_allclose(corners, np.round(corners), atol=1e-6)


def test_a_hull_is_the_same_when_people_move_a_little():
    """The outermost person moves within a square of the grid: the region does not change."""
    x, y = np.array([0.0, 10.0, 10.0, 0.4]), np.array([0.0, 0.0, 9.9, 9.2])
    with pytest.warns(RegionWarning):
        hulls = [hull_around(x, y + shift, degrees=False) for shift in (0.0, 0.05)]
    assert hulls[0].equals(hulls[1])


def test_a_plan_can_ask_for_a_hull(tmp_path):
    from veladura.plan.reading import read_plan

    draw = np.random.default_rng(1)
    homes = pd.DataFrame(draw.random((200, 2)).round(4), columns=["x", "y"])
    homes.to_csv(tmp_path / "homes.csv", index=False)
    (tmp_path / "plan.toml").write_text(
        '[source]\npath = "homes.csv"\n[[step]]\nmethod = "donut"\nx = "x"\ny = "y"\n'
        'region = "hull"\ninner = 0.01\nouter = 0.1\n'
    )
    plan = read_plan(tmp_path / "plan.toml")
    with pytest.warns(RegionWarning, match="around the places of the data"):
        release = plan.recipe.protect(homes, seed=1)
    assert release.datasets[0].shape == (200, 2)
    with pytest.raises(PlanError, match="more than one place"):
        plan.recipe.protect(homes.assign(x=1.0, y=2.0), seed=1)
