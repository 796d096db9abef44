"""Ripley's L, Moran's I and smoothed intensity against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.measures.utility.location import MOST_PAIRED, _some
from veladura.methods.geography.patterns import Smoother, moran, ripley_l


def test_l_is_the_count_of_pairs_and_grows_with_clusters():
    rng = np.random.default_rng(7)
    points = rng.random((80, 2))
    radii = np.array([0.1, 0.2])
    distance = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    pairs = [(distance <= r).sum() - 80 for r in radii]
    assert ripley_l(points, 1.0, radii) == pytest.approx(
        [np.sqrt(p / (80 * 79) / np.pi) for p in pairs]
    )
    assert (ripley_l(points * 0.5, 1.0, radii) > ripley_l(points, 1.0, radii)).all()


def test_moran_is_its_formula():
    values = np.array([1.0, 4.0, 2.0, 8.0])
    pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2], [0, 3], [3, 0]])
    apart = values - values.mean()
    by_hand = 4 / 8 * sum(apart[i] * apart[j] for i, j in pairs) / (apart @ apart)
    assert moran(values, pairs) == pytest.approx(by_hand)
    assert np.isnan(moran(np.ones(4), pairs))


def test_a_uniform_pattern_is_flat_up_to_the_border():
    from veladura.methods.geography.grid import grid_over
    from veladura.methods.geography.projection import Plane
    from veladura.methods.geography.region import region_of

    grid = grid_over(region_of((0.0, 0.0, 1.0, 1.0), None), Plane(), (5, 5))
    surface = Smoother(grid, 0.1).intensity(np.random.default_rng(8).random((200_000, 2)))
    assert surface.std() / surface.mean() < 0.03


def test_pairs_of_very_many_points_are_counted_on_a_part():
    """Ripley's L of 10,000 points out of 25,000 is that of all, to one in a hundred."""
    rng = np.random.default_rng(4)
    towns = rng.random((20, 2))[rng.integers(0, 20, 25_000)] + rng.normal(0, 0.02, (25_000, 2))
    radii = np.array([0.02, 0.05, 0.1])
    part = _some(towns)
    assert len(part) == MOST_PAIRED
    assert len(np.unique(part, axis=0)) == MOST_PAIRED
    assert ripley_l(part, 1.0, radii) == pytest.approx(ripley_l(towns, 1.0, radii), rel=0.01)
    assert len(_some(towns[:100])) == 100
