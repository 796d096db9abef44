"""Circles that hide a place among k others: by their definition, place by place."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from veladura.methods.geography.circles import Circles, circles_of
from veladura.methods.geography.grid import grid_over
from veladura.methods.geography.homes import Homes
from veladura.methods.geography.isolation import around_region, hidden_places, ring_points
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


def circles(points, k, outer=1.0):
    """The circles of `Donut` in a region of 1,000 by 1,000."""
    around = around_region(Plane(), (0, 0, 1000, 1000))
    return circles_of(points, outer / np.sqrt(k + 1), outer, k, around)


@pytest.mark.parametrize("k", [1, 4])
def test_a_lonely_home_shares_a_circle_with_its_nearest_places(k):
    points = town_and_one()
    found = circles(points, k, outer=6.0)
    way = np.hypot(*(points - points[-1]).T)
    group = np.argsort(way)[: k + 1]
    middle = points[group].mean(axis=0)
    np.testing.assert_allclose(found.centre[group], np.tile(middle, (k + 1, 1)))
    np.testing.assert_allclose(found.radius[group], np.hypot(*(points[group] - middle).T).max())


def sparse_world(seed):
    """A hamlet between two farms, a town, and homes scattered over the country."""
    rng = np.random.default_rng(seed)
    parts = [
        [[515.0, 500.0], [400.0, 500.0]],
        rng.normal(500, 0.6, (rng.integers(5, 12), 2)),
        rng.normal(100, 5, (rng.integers(20, 200), 2)),
        rng.uniform(0, 1000, (rng.integers(0, 80), 2)),
    ]
    return np.vstack(parts).round(3)


@pytest.mark.parametrize("seed", range(30))
def test_everybody_is_hidden_among_k_others(seed):
    """By counting: of one circle, or with circles of their own as near as they must be."""
    points, k, outer = sparse_world(seed), 1 + seed % 6, 8.0
    found = circles(points, k, outer)
    same = (found.centre[:, None] == found.centre[None]).all(axis=2)
    same &= found.radius[:, None] == found.radius[None]
    way = np.linalg.norm(points[:, None] - points[None], axis=2)
    stay = ~found.shared
    near = (way <= outer / np.sqrt(k + 1)) & stay[None]
    others = np.where(found.shared, same.sum(axis=1), near.sum(axis=1)) - 1
    assert others.min() >= k
    assert found.radius.min() >= outer
    from_centre = np.hypot(*(points - found.centre).T)
    assert (from_centre <= found.radius * (1 + 1e-12)).all()  # a circle holds all of its places
    assert np.array_equal(found.centre[stay], points[stay])
    turned = np.random.default_rng(seed).permutation(len(points))
    again = circles(points[turned], k, outer)
    assert np.array_equal(again.radius, found.radius[turned])  # whatever the order of rows


def test_people_at_one_place_do_not_hide_each_other():
    points = town_and_one()
    family = np.vstack([points, np.repeat(points[-1:], 9, axis=0)])
    assert circles(family, 5).radius[-10:] == pytest.approx(circles(points, 5).radius[-1])


def test_fewer_than_k_others_move_over_the_whole_region():
    everywhere = circles(np.eye(2), 2, 0.5)
    assert everywhere.centre.tolist() == [[500.0, 500.0]] * 2
    assert everywhere.radius.tolist() == [np.hypot(500, 500)] * 2
    assert circles(np.eye(2), 0, 0.5).radius.tolist() == [0.5, 0.5]


def test_points_are_uniform_in_the_ring():
    middle = located(np.full((20_000, 2), 50.0))
    own = Circles(np.full((20_000, 2), 50.0), np.full(20_000, 10.0), np.zeros(20_000, dtype=bool))
    x, y = ring_points(np.random.default_rng(1), middle, 5.0, own)
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
