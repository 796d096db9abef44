"""Declared polygons as cells: neighbours, areas and points by definition; what is refused."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import shapely
from scipy import stats

import veladura as vd
from veladura.core.promise import Evidence
from veladura.errors import PlanError
from veladura.methods.geography.claims import off_centre, outside_tracts
from veladura.methods.geography.place import Writing, draw_points
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region, RegionWarning
from veladura.methods.geography.tracts import Declared, read_tracts, tracts_over

pytestmark = pytest.mark.filterwarnings("ignore::veladura.numeric.mcmc.diagnostics.ChainWarning")
BOX = shapely.box(0, 0, 10, 10)


def polygons(number=40, seed=0):
    """Voronoi cells of a square, and an island."""
    points = np.random.default_rng(seed).random((number, 2)) * 10
    cells = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(points), extend_to=BOX))
    return [*shapely.intersection(cells, BOX), shapely.box(12, 4, 13, 5)]


def collection(shapes, name="TRACT"):
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {name: f"T{i:02d}"},
                "geometry": json.loads(shapely.to_geojson(shape)),
            }
            for i, shape in enumerate(shapes)
        ],
    }


def people(shapes, rows=400, seed=1):
    rng = np.random.default_rng(seed)
    land = np.vstack(
        [rng.random((rows - 8, 2)) * 10, np.array([12, 4]) + rng.random((8, 2))]
    ).round(3)
    tree = shapely.STRtree(shapes)
    tract = tree.nearest(shapely.points(land))
    return pd.DataFrame(
        {
            "x": land[:, 0],
            "y": land[:, 1],
            "tract": [f"T{i:02d}" for i in tract],
            "ill": rng.choice(["yes", "no"], rows),
        }
    )


def recipe(shapes, **settings):
    chain = {"m": 2, "sweeps": 300, "burn": 100, "chains": 2, "most_sweeps": 300}
    kept = {"x": "x", "y": "y", "attributes": ["ill"], "cells": collection(shapes)}
    return vd.Geography(**{**kept, **chain, **settings})


def cells_of(shapes, excluded=None):
    declared = read_tracts(collection(shapes))
    return tracts_over(Region(declared.union, excluded), Plane(), declared)


def test_neighbours_are_those_that_touch_pair_by_pair():
    shapes = polygons()
    truth = {
        (i, j)
        for i, one in enumerate(shapes)
        for j, other in enumerate(shapes)
        if i != j and shapely.distance(one, other) < 1e-9
    }
    cells = cells_of(shapes)
    assert {tuple(pair) for pair in cells.pairs.tolist()} == truth
    assert cells.area == pytest.approx([shape.area for shape in shapes])


def test_a_corner_makes_neighbours():
    squares = shapely.box([0, 1, 0, 1], [0, 0, 1, 1], [1, 2, 1, 2], [1, 1, 2, 2])
    assert len(cells_of(squares).pairs) == 12  # all six pairs, both ways


def test_every_point_is_in_its_polygon_and_uniform_there():
    shapes = polygons()
    lake = shapely.Point(5, 5).buffer(1.5)
    cells = cells_of(shapes, lake)
    rng = np.random.default_rng(2)
    wanted = np.repeat(np.arange(cells.cells), 200)
    x, y = draw_points(rng, cells, wanted, Writing((3, 3)))
    shaped = np.array(cells.declared.shapes)[wanted]
    assert shapely.intersects_xy(shaped, x, y).all()
    assert not shapely.contains_xy(lake, x, y).any()
    # on the island, a square: both coordinates uniform
    island = wanted == cells.cells - 1
    assert stats.kstest(x[island] - 12, "uniform").pvalue > 1e-5
    assert stats.kstest(y[island] - 4, "uniform").pvalue > 1e-5


def test_points_are_located_in_the_polygon_that_holds_them():
    shapes = polygons()
    frame = people(shapes)
    cells = cells_of(shapes)
    found = cells.locate(frame["x"].to_numpy(), frame["y"].to_numpy())
    assert [cells.names[i] for i in found] == frame["tract"].tolist()
    assert cells.locate(np.array([20.0]), np.array([4.5])).tolist() == [len(shapes) - 1]


@pytest.mark.parametrize("release", ["point", "cell"])
def test_releases_of_tracts_hold_what_they_promise(release, tmp_path):
    shapes = polygons()
    frame = people(shapes)
    path = tmp_path / "tracts.geojson"
    path.write_text(json.dumps(collection(shapes)), encoding="utf-8")
    with pytest.warns(RegionWarning, match="1 of 41 cells touch no other"):
        released = recipe(shapes, cells=path, cell_column="tract", release=release).protect(
            frame, seed=1
        )
    tree = shapely.STRtree(shapes)
    names = {promise.name for promise in released.promises}
    assert names == {"inside-region", "in-cells"} | (
        {"cell-centres"} if release == "cell" else {"drawn-places"}
    )
    for data in released.datasets:
        at = tree.nearest(shapely.points(data[["x", "y"]].to_numpy()))
        assert [f"T{i:02d}" for i in at] == data["tract"].tolist()
        places = data.groupby("tract")[["x", "y"]].nunique().max().max()
        assert (places == 1) == (release == "cell")
        assert (data["ill"] == frame["ill"]).all()
    assert any("declared cells" in claim for claim in released.claims)
    saved = released.save(tmp_path / "out" / "map", tmp_path / "safe" / "map")
    assert not [line for line in vd.verify(saved) if line.status == "broken"]


def test_squares_can_be_released_as_cells():
    frame = people([BOX, shapely.box(10, 0, 13, 10)]).drop(columns="tract")
    released = vd.Geography(
        x="x",
        y="y",
        attributes=["ill"],
        region=[0, 0, 13, 10],
        grid=(13, 10),
        release="cell",
        m=2,
        sweeps=300,
        burn=100,
        chains=2,
        most_sweeps=300,
    ).protect(frame, seed=1)
    data = released.datasets[0]
    assert ((data[["x", "y"]] - 0.5) % 1 == 0).all().all()


def test_a_broken_release_of_cells_is_seen():
    shapes = polygons()
    frame = people(shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = recipe(shapes, cell_column="tract", release="cell").protect(frame, seed=1)
    settings = {promise.name: promise.settings for promise in released.promises}
    good = released.datasets[0]
    moved = good.assign(x=np.where(good.index == 3, 0.123, good["x"]))
    renamed = good.assign(tract=np.where(good.index < 2, good["tract"][5], good["tract"]))
    wrong = int((renamed["tract"] != good["tract"]).sum())
    for data, off, out in ((good, 0, 0), (moved, 1, None), (renamed, wrong, wrong)):
        evidence = Evidence(vd.open(data), None, None)
        assert off_centre(evidence, settings["cell-centres"]) == off
        if out is not None:
            assert outside_tracts(evidence, settings["in-cells"]) == out


def test_figures_use_the_declared_cells():
    shapes = polygons()
    frame = people(shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = recipe(shapes).protect(frame, seed=1)
        risk = vd.risk.location(frame, released)
    tree = shapely.STRtree(shapes)
    own = tree.nearest(shapely.points(frame[["x", "y"]].to_numpy()))
    same = [
        np.mean(tree.nearest(shapely.points(data[["x", "y"]].to_numpy())) == own)
        for data in released.datasets
    ]
    assert risk.same_cell.value == pytest.approx(np.mean(same))
    assert set(risk.combinations) == {"ill no", "ill yes"}
    assert sum(people for people, _, _ in risk.combinations.values()) == len(frame)


REFUSED = {
    "overlap": lambda: tracts_over(
        Region(BOX), Plane(), Declared(("a", "b"), shapely.box([0, 1], 0, [3, 4], 2))
    ),
    "one feature each|collection of features": lambda: read_tracts({"type": "Polygon"}),
    "2 and 20,000": lambda: read_tracts(collection([BOX])),
    "no property 'code'": lambda: read_tracts(collection(polygons()), "code"),
    "share the 'kind'": lambda: read_tracts(
        {
            **collection(polygons()),
            "features": [
                {**f, "properties": {"kind": "x"}} for f in collection(polygons())["features"]
            ],
        },
        "kind",
    ),
    "cells are declared": lambda: recipe(polygons(), grid="choose"),
    "cell_column gets the name": lambda: vd.Geography(
        x="x", y="y", region=[0, 0, 1, 1], cell_column="t"
    ),
    "cell_name names a property": lambda: vd.Geography(
        x="x", y="y", region=[0, 0, 1, 1], cell_name="t"
    ),
    "addresses are points": lambda: recipe(polygons(), release="cell", addresses=[(1, 1), (2, 2)]),
    "region must be declared": lambda: vd.Geography(x="x", y="y"),
    "of at least 5000": lambda: vd.Geography(x="x", y="y", region=[0, 0, 1, 1], most_sweeps=10),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises(PlanError, match=message):
        REFUSED[message]()


def test_decimals_that_write_no_centre_are_refused():
    tiny = [shapely.box(i / 10, 0, (i + 1) / 10, 1) for i in range(12)]
    frame = pd.DataFrame({"x": [0.0, 1.0] * 20, "y": [0.0, 1.0] * 20, "ill": ["yes", "no"] * 20})
    with pytest.raises(vd.errors.DataError, match="no centre that can be written"):
        recipe(tiny, release="cell", k=0).protect(frame, seed=1)
