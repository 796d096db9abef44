"""Numbers sorted by their digits, against NumPy's comparisons."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.base.sorting import MANY, argsort, counted, ranked


def numbers(kind: str) -> np.ndarray:
    """Return numbers of both signs, many of them equal."""
    rng = np.random.default_rng(3)
    if kind == "whole":
        return rng.integers(-(2**40), 2**40, 2 * MANY) >> rng.integers(0, 40, 2 * MANY)
    floats = rng.normal(size=2 * MANY) * 10.0 ** rng.integers(-300, 300, 2 * MANY)
    floats[::7], floats[::11], floats[::13] = 0.0, -0.0, floats[1]
    return floats


@pytest.mark.parametrize("kind", ["whole", "floats"])
def test_many_numbers_are_sorted_ranked_and_counted_as_by_comparing(kind):
    values = numbers(kind)
    distinct, place, count = np.unique(values, return_inverse=True, return_counts=True)
    assert (argsort(values) == np.argsort(values, kind="stable")).all()
    assert (ranked(values)[0] == distinct).all()
    assert (ranked(values)[1] == place.reshape(-1)).all()
    assert (counted(values)[0] == distinct).all()
    assert (counted(values)[1] == count).all()
