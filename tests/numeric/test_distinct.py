"""Distinct values, beside NumPy's sort."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.distinct import distinct, places

rng = np.random.default_rng(0)
COLUMNS = {
    "whole": rng.integers(-5, 50, 1000),
    "short": rng.integers(0, 3, 9).astype(np.int8),
    "far apart": np.array([2**62, -(2**62), 3]),
    "one decimal": rng.normal(size=5000).round(1),
    "two decimals": rng.choice([0.07, 0.14, 1.1, 2.3], 500),
    "late third decimal": np.append(rng.normal(size=5000).round(2), 0.125),
    "continuous": rng.normal(size=100),
    "large": np.array([1e300, 2.0]),
    "infinite": np.array([np.inf, 1.0]),
    "not a number": np.array([np.nan, 1.0]),
    "zeros": np.array([0.0, -0.0, 1.0]),
    "none": np.empty(0),
    "text": np.array(["b", "a", "b"]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_counts_and_places_are_those_of_a_sort(name):
    column = COLUMNS[name]
    values, inverse, count = np.unique(column, return_inverse=True, return_counts=True)
    counted, placed = distinct(column), places(column)
    np.testing.assert_array_equal(counted[0], values)
    np.testing.assert_array_equal(counted[1], count)
    np.testing.assert_array_equal(placed[0], values)
    np.testing.assert_array_equal(placed[1], inverse.reshape(-1))
    assert counted[0].dtype == placed[0].dtype == column.dtype
