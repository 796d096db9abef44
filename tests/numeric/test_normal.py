"""The normal quantile function equals SciPy's."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from veladura.numeric.normal import normal_quantile


def test_quantiles_are_those_of_scipy():
    tails = np.geomspace(1e-300, 0.5, 500)
    shares = np.concatenate([tails, 1 - tails[tails > 1e-15], np.linspace(0.001, 0.999, 2001)])
    np.testing.assert_allclose(normal_quantile(shares), ndtri(shares), rtol=1e-13, atol=1e-14)
