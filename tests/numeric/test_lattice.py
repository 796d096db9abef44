"""Points of a lattice: counted once, and the hole attack in the plane by its definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veladura.numeric.lattice import DENSITIES, PRIOR, HoleAttack, distinct_points, hole_attack

FAR = st.integers(-(2**52), 2**52)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(FAR, FAR), max_size=12))
def test_points_are_counted_as_numpy_counts_rows(rows):
    points = np.array([*rows, *rows[:3]], dtype=np.int64).reshape(-1, 2)
    found, count = distinct_points(points)
    expected = np.unique(points, axis=0, return_counts=True)
    assert np.array_equal(found, expected[0])
    assert np.array_equal(count, expected[1])


def by_hand(released, targets):
    """Point by point, all within one square of tiles."""
    count = {}
    for point in released:
        count[point] = count.get(point, 0) + 1
    tiles = {}
    for (x, y), rows in count.items():
        tiles[x // 8, y // 8] = tiles.get((x // 8, y // 8), 0) + rows
    best = 0.0
    for least in DENSITIES:
        hit, chance = 0, 0.0
        for i, j in [tile for tile, rows in tiles.items() if rows >= 32]:
            for x in range(8 * i, 8 * i + 8):
                for y in range(8 * j, 8 * j + 8):
                    near = [
                        (a, b)
                        for a in range(x - 3, x + 4)
                        for b in range(y - 3, y + 4)
                        if (a, b) != (x, y)
                    ]
                    sides = (
                        [count.get(p, 0) for p in near if p[0] < x],
                        [count.get(p, 0) for p in near if p[0] > x],
                        [count.get(p, 0) for p in near if p[1] < y],
                        [count.get(p, 0) for p in near if p[1] > y],
                    )
                    if (x, y) not in count and min(map(np.mean, sides)) >= least:
                        hit += (x, y) in targets
                        chance += np.mean([p in targets for p in near])
        best = max(best, (hit + PRIOR) / (chance + PRIOR))
    return best


@pytest.mark.parametrize("kept", [0.0, 0.5, 1.0])
def test_the_attack_in_the_plane_is_its_definition(kept):
    rng = np.random.default_rng(int(10 * kept))
    targets = {tuple(p) for p in rng.integers(0, 20, (120, 2)).tolist()}
    drawn = [tuple(p) for p in rng.integers(0, 20, (1600, 2)).tolist()]
    released = [p for p in drawn if p not in targets or rng.random() < kept]
    attack = hole_attack(np.array(released), np.array(sorted(targets)))
    assert attack.ratio == pytest.approx(by_hand(released, targets))


def test_nothing_released_or_nothing_to_tell_names_nothing():
    some, none = np.arange(500)[:, None], np.empty((0, 1), dtype=np.int64)
    assert hole_attack(none, some) == hole_attack(some, none) == HoleAttack()
    assert HoleAttack().ratio == 1.0
