"""The grid: its areas, neighbours and cells, against brute force and plain geometry."""

from __future__ import annotations

import json

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from veladura import example
from veladura.errors import PlanError
from veladura.methods.geography.grid import SLIVER, grid_over
from veladura.methods.geography.icar_model import Graph
from veladura.methods.geography.place import Writing, draw_points
from veladura.methods.geography.projection import EARTH, EqualArea, Plane, plane_of
from veladura.methods.geography.region import (
    Region,
    RegionWarning,
    plain_shape,
    read_shape,
    region_of,
)

pytestmark = pytest.mark.quick

ANY_DECIMALS = Writing((None, None))
STAR = shapely.Polygon([(0, 0), (4, 1), (9, 0), (8, 5), (9.5, 9), (5, 7), (1, 9), (2, 5)])
POND = shapely.Point(5, 4).buffer(1.5)


def star(shape=(7, 5), pond=POND):
    return grid_over(Region(STAR, pond), Plane(), shape)


def clinic(shape=(12, 10)):
    region = region_of(example.path("region.geojson"), example.path("lake.geojson"))
    return grid_over(region, plane_of(region.bounds, "degrees"), shape)


def test_areas_are_those_of_the_land_that_is_left():
    grid = star()
    assert grid.area.sum() == pytest.approx(STAR.difference(POND).area, rel=1e-12)
    assert np.bincount(grid.piece_cell, weights=grid.piece_area) == pytest.approx(grid.area)
    assert (grid.area > 0).all()


def test_neighbours_share_a_side_or_corner_and_no_others():
    grid = star()
    squares = [
        shapely.union_all(squares_of(grid)[grid.square[grid.piece_cell == cell]])
        for cell in range(grid.cells)
    ]
    touching = {
        (i, j)
        for i in range(grid.cells)
        for j in range(grid.cells)
        if i != j and squares[i].distance(squares[j]) < 1e-9
    }
    assert {tuple(pair) for pair in grid.pairs.tolist()} == touching


def squares_of(grid):
    left, low = np.meshgrid(grid.x_edges[:-1], grid.y_edges[:-1])
    right, high = np.meshgrid(grid.x_edges[1:], grid.y_edges[1:])
    return shapely.box(left.ravel(), low.ravel(), right.ravel(), high.ravel())


def test_no_sliver_is_left_that_has_a_neighbour():
    grid = star((20, 20))
    whole = (grid.x_edges[1] - grid.x_edges[0]) * (grid.y_edges[1] - grid.y_edges[0])
    lonely = set(range(grid.cells)) - set(grid.pairs[:, 0].tolist())
    small = set(np.flatnonzero(grid.area < SLIVER * whole).tolist())
    assert (grid.piece_area < SLIVER * whole).any()  # there were some to merge
    assert small <= lonely


def test_a_point_is_located_in_the_cell_whose_piece_holds_it():
    grid = star((9, 9))
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 3000)) * 10
    inside = grid.region.usable(x, y)
    x, y = x[inside], y[inside]
    holds = np.array([shapely.intersects_xy(shape, x, y) for shape in grid.shapes])
    expected = [{int(c) for c in grid.piece_cell[column]} for column in holds.T]
    assert all(
        cell in cells for cell, cells in zip(grid.locate(x, y).tolist(), expected, strict=True)
    )


def test_islands_are_parts_of_their_own():
    islands = shapely.union_all(
        [shapely.box(0, 0, 2, 2), shapely.box(7, 7, 10, 10), shapely.box(9.4, 0.2, 9.6, 0.4)]
    )
    grid = grid_over(Region(islands), Plane(), (10, 10))
    graph = Graph.of_pairs(grid.cells, grid.pairs)
    assert graph.parts == 2
    assert np.count_nonzero(graph.part < 0) == 1  # the rock has no neighbour to join


def test_the_border_is_inside_and_the_pond_s_border_is_too():
    region = Region(shapely.box(0, 0, 10, 10), shapely.box(4, 4, 6, 6))
    x, y = np.array([0.0, 10.0, 5.0, 4.0, 5.0, 10.1]), np.array([0.0, 3.0, 10.0, 5.0, 5.0, 5.0])
    assert region.usable(x, y).tolist() == [True, True, True, True, False, False]
    grid = grid_over(region, Plane(), (5, 5))
    assert (grid.locate(x[:4], y[:4]) >= 0).all()


def test_points_keep_clear_of_the_pond_and_spread_by_area():
    """Claim: points are uniform in the usable part of a cell (chi-square, level 1e-5)."""
    from scipy import stats

    grid = star((4, 3))
    cell = int(grid.locate(np.array([5.0]), np.array([6.0]))[0])
    x, y = draw_points(np.random.default_rng(1), grid, np.full(40_000, cell), ANY_DECIMALS)
    assert grid.region.usable(x, y).all()
    assert (grid.locate(x, y) == cell).all()
    fine = grid_over(grid.region, Plane(), (24, 18))
    shape = shapely.union_all(grid.shapes[grid.piece_cell == cell])
    share = shapely.area(shapely.intersection(fine.shapes, shape)) / shape.area
    square = (
        np.searchsorted(fine.x_edges, x, "right")
        - 1
        + 24 * (np.searchsorted(fine.y_edges, y, "right") - 1)
    )
    count = np.array([np.count_nonzero(square == s) for s in fine.square])
    kept = share > 1e-3
    assert (
        stats.chisquare(count[kept], share[kept] / share[kept].sum() * count[kept].sum()).pvalue
        > 1e-5
    )
    bent = stats.chisquare(
        np.sort(count[kept]), share[kept] / share[kept].sum() * count[kept].sum()
    ).pvalue
    assert bent < 1e-5  # the test sees points that pile up


def test_points_are_written_with_the_decimals_of_the_source():
    grid = star((4, 4))
    x, y = draw_points(
        np.random.default_rng(2),
        grid,
        np.arange(grid.cells).repeat(20),
        Writing((0, 0)),
        lambda rows: rows % grid.cells,
    )
    assert (x == np.round(x)).all()
    assert (y == np.round(y)).all()
    assert grid.region.usable(x, y).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=3, max_size=8),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
)
def test_any_polygon_gives_a_grid_whose_points_are_usable(corners, across, up, seed):
    land = shapely.MultiPoint(corners).convex_hull
    if land.geom_type != "Polygon" or land.area < 1e-3:
        return
    pond = shapely.Point(corners[0]).buffer(0.3)
    if land.difference(pond).area < 1e-3:
        return
    grid = grid_over(Region(land, pond), Plane(), (across, up))
    assert grid.area.sum() == pytest.approx(land.difference(pond).area, rel=1e-9)
    x, y = draw_points(np.random.default_rng(seed), grid, np.arange(grid.cells), ANY_DECIMALS)
    assert grid.region.usable(x, y).all()


def test_degrees_keep_areas_and_come_back():
    plane = EqualArea(-71.2, 42.4)
    lon, lat = np.array([-71.5, -71.0]), np.array([42.2, 42.6])
    x, y = plane.forward(lon, lat)
    back = plane.back(x, y)
    assert np.allclose(back[0], lon, atol=1e-12)
    assert np.allclose(back[1], lat, atol=1e-12)
    sphere = EARTH**2 * np.radians(0.5) * (np.sin(np.radians(42.6)) - np.sin(np.radians(42.2)))
    assert (x[1] - x[0]) * (y[1] - y[0]) == pytest.approx(sphere, rel=1e-9)


def test_the_clinic_s_cells_have_true_areas():
    grid = clinic()
    assert grid.area.sum() == pytest.approx(clinic((40, 35)).area.sum(), rel=1e-6)
    per_degree = (np.pi / 180 * EARTH) ** 2 * np.cos(np.radians(42.4))
    assert grid.area.sum() == pytest.approx(grid.region.open.area * per_degree, rel=5e-3)


BOWTIE = {"type": "Polygon", "coordinates": [[[0, 0], [4, 4], [4, 0], [0, 4], [0, 0]]]}


def test_a_ring_that_crosses_itself_is_repaired_and_that_is_said():
    with pytest.warns(RegionWarning, match="self-intersection.*repaired"):
        assert read_shape(BOWTIE, "region").area == pytest.approx(8.0)


BAD = {
    "empty": ({"type": "Polygon", "coordinates": []}, "empty"),
    "a line": ({"type": "LineString", "coordinates": [[0, 0], [1, 1]]}, "no area"),
    "no GeoJSON": ({"kind": "Polygon"}, "not valid GeoJSON"),
    "a box inside out": ((4.0, 0.0, 1.0, 2.0), "west < east"),
    "no features": ({"type": "FeatureCollection", "features": []}, "without features"),
}


@pytest.mark.parametrize(("shape", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_shape_is_refused(shape, message):
    with pytest.raises(PlanError, match=message):
        read_shape(shape, "region")


def test_a_file_that_is_not_there_or_is_no_geojson_is_told(tmp_path):
    with pytest.raises(PlanError, match="cannot be read"):
        read_shape(tmp_path / "nowhere.geojson", "region")
    (tmp_path / "text.geojson").write_text("hello", encoding="utf-8")
    with pytest.raises(PlanError, match="is not GeoJSON"):
        read_shape(tmp_path / "text.geojson", "region")


def test_everything_excluded_is_refused():
    with pytest.raises(PlanError, match="cover the whole region"):
        Region(shapely.box(0, 0, 1, 1), shapely.box(-1, -1, 2, 2))


def test_forms_of_a_region_are_the_same(tmp_path):
    file = tmp_path / "box.geojson"
    box = shapely.box(0, 0, 2, 3)
    file.write_text(
        json.dumps(
            {"type": "Feature", "properties": {}, "geometry": json.loads(shapely.to_geojson(box))}
        ),
        encoding="utf-8",
    )
    for given_ in (box, file, str(file), [0, 0, 2, 3], json.loads(shapely.to_geojson(box))):
        assert read_shape(plain_shape(given_, "region"), "region").equals(box)
    with pytest.raises(PlanError, match="must be a shapely geometry"):
        plain_shape(3, "region")


def test_several_excluded_areas_are_taken_together():
    region = region_of((0.0, 0.0, 10.0, 10.0), ((1.0, 1.0, 2.0, 2.0), (5.0, 5.0, 7.0, 7.0)))
    assert region.open.area == pytest.approx(95.0)


def test_a_region_too_large_for_one_map_or_no_degrees_is_refused():
    with pytest.raises(PlanError, match="too much for one map"):
        plane_of((-10.0, 0.0, 10.0, 60.0), "degrees")
    with pytest.raises(PlanError, match="beyond longitude"):
        plane_of((0.0, 0.0, 5000.0, 60.0), "degrees")
    with pytest.raises(PlanError, match="more than"):
        grid_over(Region(STAR), Plane(), (1000, 1000))
