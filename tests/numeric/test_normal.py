"""Quantiles of the normal distribution against SciPy and the standard library."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import ndtri

from veladura.numeric.normal import SMALLEST, normal_quantile


def test_quantiles_are_those_of_scipy():
    shares = np.concatenate(
        [np.linspace(1e-6, 1 - 1e-6, 20_001), np.geomspace(SMALLEST, 0.5, 2000), [0.075, 0.925]]
    )
    assert normal_quantile(shares) == pytest.approx(ndtri(shares), rel=1e-13, abs=1e-14)
    assert normal_quantile(np.array([0.3]))[0] == pytest.approx(
        NormalDist().inv_cdf(0.3), rel=1e-14
    )


def test_ends_are_finite():
    assert np.isfinite(normal_quantile(np.array([0.0, 1.0]))).all()
