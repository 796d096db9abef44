"""Two-sided geometric noise follows its law, on whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from veladura.base.streams import Streams
from veladura.methods.private.geometric import discrete_laplace
from veladura.methods.private.urn import Bits

LEVEL, DRAWS = 1e-5, 20_000


def pvalue(draw, scale: Fraction, seed: int) -> float:
    """Compare draws with exp(-|z| / scale), summed to 1, by a chi-squared test."""
    bits = Bits(Streams(seed)("geometric").bytes)
    seen = np.array([draw(bits, scale) for _ in range(DRAWS)])
    most = int(4 * scale) + 1
    z = np.arange(-(10**4), 10**4 + 1)
    p = np.exp(-np.abs(z) / float(scale))
    p /= p.sum()
    places = np.clip(z, -most, most)
    expected = np.bincount(places + most, weights=p) * DRAWS
    found = np.bincount(np.clip(seen, -most, most) + most, minlength=2 * most + 1)
    return float(stats.chisquare(found, expected).pvalue)


def zero_twice(bits, scale):
    """Slip: a negative zero counts as zero."""
    drawn = discrete_laplace(bits, scale)
    return 0 if abs(drawn) == 1 and not bits.below(8) else drawn


def half_the_scale(bits, scale):
    """Slip: too little noise."""
    return discrete_laplace(bits, scale / 2)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])
def test_draws_follow_the_law(scale):
    assert pvalue(discrete_laplace, scale, 1) > LEVEL


@pytest.mark.parametrize("broken", [zero_twice, half_the_scale])
def test_the_test_sees(broken):
    assert pvalue(broken, Fraction(7, 2), 1) < LEVEL
