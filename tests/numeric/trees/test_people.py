"""Leaves by people: different people of every node, against sets."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.trees.people import distinct_up_to


@pytest.mark.parametrize("most", [1, 2, 5, 50])
def test_different_people_are_counted_up_to_as_many_as_are_needed(most):
    rng = np.random.default_rng(most)
    people = rng.integers(0, 12, 300)
    start = rng.integers(0, 300, 80)
    end = np.minimum(start + rng.integers(0, 40, 80), 300)
    brute = [min(len({*people[a:b].tolist()}), most) for a, b in zip(start, end, strict=True)]
    assert distinct_up_to(people, start, end, most).tolist() == brute
