"""The step that hides a place among k others: by its definition, place by place."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from veladura.methods.geography.grid import grid_over
from veladura.methods.geography.homes import Homes
from veladura.methods.geography.isolation import hidden_places, reach_of, ring_points
from veladura.methods.geography.located import Located, Places
from veladura.methods.geography.place import Writing
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region


def located(points):
    everybody = np.ones(len(points), dtype=bool)
    places = Places(everybody, points[:, 0].copy(), points[:, 1].copy())
    homes = Homes.of_rows(len(points))
    return Located(Region(shapely.box(0, 0, 100, 100)), Plane(), places, Writing((3, 3)), homes)


def squares(points):
    """Squares of 10."""
    ground = located(points)
    return grid_over(ground.region, ground.plane, (10, 10))


def town_and_one(seed=0):
    """A town of 200, and one home far away, the last."""
    town = np.random.default_rng(seed).normal(10, 2, (200, 2)).clip(0, 20)
    return np.vstack([town, [[90.0, 90.0]]]).round(3)


@pytest.mark.parametrize("k", [1, 4])
def test_the_neighbours_of_a_lonely_home_reach_as_far_as_it_does(k):
    points = town_and_one()
    reach = reach_of(points, 1.0, k, 1000.0)
    way = np.hypot(*(points - points[-1]).T)
    far = np.sort(way)[k] * np.sqrt(k + 1)
    assert reach[-1] == pytest.approx(far)
    assert set(np.flatnonzero(np.isclose(reach, far))) == {200, *np.argsort(way)[1 : k + 1]}


def test_people_at_one_place_do_not_hide_each_other():
    points = town_and_one()
    family = np.vstack([points, np.repeat(points[-1:], 9, axis=0)])
    assert reach_of(family, 1.0, 5, 1000.0)[-10:] == pytest.approx(
        reach_of(points, 1.0, 5, 1000.0)[-1]
    )


def test_fewer_than_k_others_move_over_the_whole_region():
    assert reach_of(np.eye(2), 0.5, 2, 40.0).tolist() == [40.0, 40.0]
    assert reach_of(np.eye(2), 0.5, 0, 40.0).tolist() == [0.5, 0.5]


def test_no_reach_is_larger_than_the_region():
    assert reach_of(town_and_one(), 1.0, 5, 60.0).max() == 60.0


def test_points_are_uniform_in_the_ring():
    middle = located(np.full((20_000, 2), 50.0))
    x, y = ring_points(np.random.default_rng(1), middle, 5.0, np.full(20_000, 10.0))
    way = np.hypot(x - 50, y - 50)
    assert 5.0 <= way.min() <= way.max() <= 10.0
    share = np.mean(way**2 < (25 + 100) / 2)  # half of the area
    assert abs(share - 0.5) < 4.5 * 0.5 / np.sqrt(20_000)
    assert abs(np.mean(x > 50) - 0.5) < 4.5 * 0.5 / np.sqrt(20_000)


def test_a_map_moves_lonely_homes_and_their_neighbours_only():
    """On squares of 10 the town stays, except the five that a lonely home is hidden among."""
    points = town_and_one()
    x, y = hidden_places(np.random.default_rng(2), located(points), squares(points), 5)
    moved = (x != points[:, 0]) | (y != points[:, 1])
    nearest = np.argsort(np.hypot(*(points - points[-1]).T))[:6]
    assert set(np.flatnonzero(moved)) <= set(nearest)
    assert moved.sum() >= 5  # a new place may be the old one by chance
    assert ((x >= 0) & (x <= 100) & (y >= 0) & (y <= 100)).all()


def test_k_of_nought_moves_nobody():
    points = town_and_one()
    x, y = hidden_places(np.random.default_rng(2), located(points), squares(points), 0)
    assert np.array_equal(np.column_stack([x, y]), points)
