"""Transformations: undone exactly, monotone, and refused outside their domain."""

from __future__ import annotations

import numpy as np
import pytest

from veladura.numeric.transforms import TRANSFORMS, Transform


@pytest.mark.parametrize("name", TRANSFORMS)
def test_undone_numbers_are_the_numbers_and_keep_their_order(name):
    numbers = np.sort(np.random.default_rng(0).lognormal(5, 3, 500))
    transform = Transform(name, unit=0.01)
    there = transform.of(numbers)
    assert (np.diff(there) > 0).all()
    np.testing.assert_allclose(transform.undone(there), numbers, rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "wrong"), [("log", [0.0, -1.0]), ("log1p", [-1.0, -2.0]), ("sqrt", [-1.0, -0.5])]
)
def test_numbers_outside_the_domain_are_counted(name, wrong):
    assert Transform(name).outside(np.array([1.0, *wrong, 5.0])) == len(wrong)
    assert Transform("asinh").outside(np.array(wrong)) == 0


def test_a_number_too_large_to_write_is_the_largest():
    assert np.isfinite(Transform("log").undone(np.array([1e4]))).all()
