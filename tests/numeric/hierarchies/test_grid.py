"""Grids for pairs of coordinates: cells that nest, and whose centres are released."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veladura as vd
from veladura.base.settings import from_plain, to_plain
from veladura.errors import DataError, PlanError
from veladura.numeric.hierarchies.grid import composed, grid_levels, points_of
from veladura.numeric.hierarchies.levels import distinct_values
from veladura.numeric.hierarchies.suggest import suggest_grid
from veladura.table.codes import encode
from veladura.table.schema import Field


def pair(x, y):
    """Two columns of numbers."""
    fields = [Field("x", "number", pa.float64()), Field("y", "number", pa.float64())]
    return [encode(pa.array(v, pa.float64()), f) for v, f in zip((x, y), fields, strict=True)]


def levels_of(x, y, hierarchy):
    columns = pair(x, y)
    place, base = distinct_values(composed(*columns))
    return place, grid_levels(hierarchy, base, [column.field for column in columns])


coordinates = st.lists(
    st.tuples(*[st.integers(-5000, 5000).map(lambda i: i / 100)] * 2), min_size=1, max_size=40
)


@given(
    coordinates,
    st.sampled_from([0.01, 0.05, 0.2, 1.0, 20.0]),
    st.integers(1, 6),
    st.sampled_from([(0.0, 0.0), (-7.5, 3.25)]),
)
def test_two_points_share_a_code_exactly_when_they_are_in_one_square(points, cell, sizes, origin):
    x, y = zip(*points, strict=True)
    place, levels = levels_of(x, y, vd.Hierarchy.grid(cell, sizes, origin))
    assert levels.height == sizes + 1
    for height in range(1, sizes + 1):
        side = cell * 2 ** (height - 1)
        first = [
            tuple(
                math.floor(math.floor((end - at) / cell) / 2 ** (height - 1))
                for end, at in zip(point, origin, strict=True)
            )
            for point in points
        ]
        code = levels.codes[height][place]
        same = code[:, None] == code[None, :]
        assert same.tolist() == [[a == b for b in first] for a in first]
        for point, own in zip(points, code, strict=True):
            middle = levels.exact[height][own]
            for end, centre in zip(point, middle, strict=True):
                assert abs(end - centre) <= side * 0.5 + cell * 2e-3


def test_a_pair_is_missing_without_both_and_in_no_cell_without_one():
    x, y = [1.0, 1.0, None, None], [2.0, None, 2.0, None]
    columns = pair(x, y)
    column = composed(*columns)
    assert column.missing.tolist() == [False, False, False, True]
    place, levels = levels_of(x, y, vd.Hierarchy.grid(10, 1))
    points = [points_of(levels.base)[i] for i in place]
    assert points == [(1.0, 2.0), (1.0, None), (None, 2.0), (None, None)]
    codes = levels.codes[1][place]
    assert len(set(codes[1:])) == 1
    assert codes[0] != codes[1]
    assert levels.exact[1][codes[0]] == (5.0, 5.0)
    assert levels.labels[1][codes[1]] is None


def test_numbers_of_a_pair_come_back_exactly():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=50) * 1e-7, rng.normal(size=50) * 1e9
    place, base = distinct_values(composed(*pair(x, y)))
    assert [points_of(base)[i] for i in place] == list(zip(x.tolist(), y.tolist(), strict=True))


def test_two_sides_give_cells_that_are_wider_than_high():
    place, levels = levels_of([0.1, 1.9, 0.1], [0.1, 0.1, 1.9], vd.Hierarchy.grid([2, 1], 1))
    code = levels.codes[1][place]
    assert code[0] == code[1] != code[2]
    assert levels.exact[1][code[2]] == (1.0, 1.5)


def test_a_grid_is_declared_in_a_plan_and_in_the_manifest():
    grid = vd.Hierarchy.grid(0.01, 6, (7, 50))
    assert from_plain(vd.Hierarchy, to_plain(grid), "hierarchy") == grid
    declared = grid.declared()
    assert declared == {"cell": 0.01, "levels": 6, "origin": [7.0, 50.0]}
    assert from_plain(vd.Hierarchy, declared, "hierarchy") == grid
    assert from_plain(vd.Hierarchy, {"cell": 0.5}, "hierarchy").height == 9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"cell": -1.0}, "above 0"),
        ({"cell": float("inf")}, "cell of a grid must be"),
        ({"cell": [1.0, 2.0, 3.0]}, "cell of a grid must be"),
        ({"cell": 1.0, "levels": 0}, "whole number from 1"),
        ({"cell": 1.0, "levels": 99}, "whole number from 1"),
        ({"cell": 1.0, "origin": (0.0, float("nan"))}, "origin of a grid must be"),
    ],
)
def test_settings_that_are_no_grid_are_refused(settings, words):
    with pytest.raises(PlanError, match=words):
        vd.Hierarchy.grid(**settings)


def test_intervals_with_two_origins_are_refused():
    with pytest.raises(PlanError, match="origin of intervals must be one number"):
        vd.Hierarchy(widths=(5.0,), origin=(0.0, 1.0))


def test_a_cell_far_too_small_is_refused():
    with pytest.raises(DataError, match="too small"):
        levels_of([1e9], [0.0], vd.Hierarchy.grid(1e-9))


@pytest.mark.parametrize("rule", [vd.Hierarchy.mask(3), vd.Hierarchy.intervals([5])])
def test_a_pair_needs_a_grid(rule):
    with pytest.raises(DataError, match="needs a grid"):
        levels_of([1.0], [2.0], rule)


def test_infinite_coordinates_are_refused():
    with pytest.raises(DataError, match="infinite"):
        composed(*pair([1.0, float("inf")], [0.0, 0.0]))


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.01, 8.0), (5000.0, -2e5)])
def test_a_suggested_grid_has_round_cells_and_covers_the_region(scale, shift):
    rng = np.random.default_rng(3)
    x, y = scale * rng.uniform(0, 1, 500) + shift, scale * rng.uniform(0, 0.6, 500) + shift
    _, base = distinct_values(composed(*pair(x, y)))
    grid = suggest_grid(base)
    digits = f"{grid.cell:e}".split("e")[0]
    assert float(digits) in (1.0, 2.0, 5.0)
    assert 50 <= scale / grid.cell <= 200
    largest = grid.cell * 2 ** (grid.sizes - 1)
    assert scale / 4 <= largest <= scale  # it parts the region
    assert np.all(np.array(grid.corner) <= np.quantile([x, y], 0.02, axis=1))


def test_one_person_does_not_move_a_suggested_grid():
    rng = np.random.default_rng(4)
    x, y = rng.uniform(7, 8, 500), rng.uniform(50, 51, 500)
    grids = []
    for far in (7.5, 170.0):
        _, base = distinct_values(composed(*pair([*x, far], [*y, 50.5])))
        grids.append(suggest_grid(base))
    assert grids[0] == grids[1]


def test_a_pair_of_one_place_or_none_is_kept_or_suppressed():
    for x in ([1.0, 1.0], [None, None]):
        _, base = distinct_values(composed(*pair(x, x)))
        assert suggest_grid(base) == vd.Hierarchy.star()
