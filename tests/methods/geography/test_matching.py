"""Greedy matching of places against the algorithm as the source prints it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veladura.methods.geography.matching import greedy_distances

POINTS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


def brute_greedy(before, after):
    """The algorithm as the source prints it: the closest of all pairs, both removed, again."""
    distance = np.hypot(*(np.asarray(before)[:, None] - np.asarray(after)[None]).transpose(2, 0, 1))
    found = []
    while distance.size:
        i, j = np.unravel_index(np.argmin(distance), distance.shape)
        found.append(distance[i, j])
        distance = np.delete(np.delete(distance, i, axis=0), j, axis=1)
    return sorted(found)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 30))
def test_matching_is_the_source_s_greedy_one(seed, rows, others):
    rng = np.random.default_rng(seed)
    before, after = rng.random((rows, 2)), rng.random((others, 2))
    assert greedy_distances(before, after) == pytest.approx(brute_greedy(before, after))


@settings(max_examples=60, deadline=None)
@given(POINTS)
def test_a_copy_is_matched_at_no_distance(points):
    assert greedy_distances(np.array(points), np.array(points)).max() == 0
