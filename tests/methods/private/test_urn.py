"""The urn draws from the Dirichlet-multinomial, without a floating point number."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from veladura.base.streams import Streams
from veladura.methods.private import urn

ALPHA, COUNTS, SIZE, DRAWS, LEVEL = (
    (Fraction(3, 2), Fraction(2, 7), Fraction(1)),
    (2, 0, 1),
    4,
    20_000,
    1e-5,
)


def chances():
    """The chance of every outcome, from gamma functions."""
    weight = np.array([float(a) + x for a, x in zip(ALPHA, COUNTS, strict=True)])
    outcomes = [r for r in product(range(SIZE + 1), repeat=3) if sum(r) == SIZE]
    logs = [
        np.sum(gammaln(weight + r) - gammaln(weight) - gammaln(np.array(r) + 1)) for r in outcomes
    ]
    p = np.exp(logs)
    return outcomes, p / p.sum()


def pvalue(draw, seed):
    outcomes, p = chances()
    bits = urn.Bits(Streams(seed)("urn").bytes)
    place = {outcome: i for i, outcome in enumerate(outcomes)}
    seen = np.bincount(
        [place[tuple(draw(bits).tolist())] for _ in range(DRAWS)], minlength=len(outcomes)
    )
    return stats.chisquare(seen, DRAWS * p).pvalue


def right(bits):
    return urn.draw(bits, ALPHA, COUNTS, SIZE)


def without_return(bits):
    """Slip: draws do not add to the urn (a multinomial)."""
    return sum((urn.draw(bits, ALPHA, COUNTS, 1) for _ in range(SIZE)), np.zeros(3, dtype=np.int64))


def whole_alpha(bits):
    """Slip: alpha rounded up to whole numbers."""
    return urn.draw(bits, [Fraction(2), Fraction(1), Fraction(1)], COUNTS, SIZE)


def without_data(bits):
    """Slip: the counts never looked at."""
    return urn.draw(bits, ALPHA, (0, 0, 0), SIZE)


def test_the_urn_follows_its_law():
    assert pvalue(right, 0) > LEVEL


@pytest.mark.parametrize("broken", [without_return, whole_alpha, without_data])
def test_the_check_sees(broken):
    assert pvalue(broken, 0) < LEVEL


def modulo(source, bound):
    """Slip: a byte modulo the bound favours small numbers."""
    return source(1)[0] % bound


def test_integers_below_a_bound_are_uniform_and_a_modulo_is_not():
    bits, source = urn.Bits(Streams(1)("bits").bytes), Streams(2)("bits").bytes
    fair = np.bincount([bits.below(100) for _ in range(100_000)], minlength=100)
    slip = np.bincount([modulo(source, 100) for _ in range(100_000)], minlength=100)
    assert stats.chisquare(fair).pvalue > LEVEL > stats.chisquare(slip).pvalue


def test_large_bounds_and_the_systems_entropy():
    bits = urn.Bits()
    assert all(0 <= bits.below(10**60 + 1) <= 10**60 for _ in range(200))
    assert bits.below(1) == 0
    assert int(urn.draw(bits, [Fraction(1, 10**50)] * 5, [1, 2, 3, 4, 5], 1000).sum()) == 1000


def test_two_draws_from_the_system_differ():
    assert not np.array_equal(
        *(urn.draw(urn.Bits(), [Fraction(1)] * 50, [1] * 50, 500) for _ in range(2))
    )
