"""The promise of epsilon, by enumeration of all tables, all neighbours and all outcomes."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veladura.methods.private import exact


def tables(n: int, k: int):
    """Yield every table of n rows in k cells."""
    return (x for x in product(range(n + 1), repeat=k) if sum(x) == n)


def rising(start: Fraction, steps: int) -> Fraction:
    """Return start (start + 1) ... : the ratio of two gamma functions, exactly."""
    return math.prod((start + i for i in range(steps)), start=Fraction(1))


def chance(drawn: tuple[int, ...], x: tuple[int, ...], alpha: tuple[Fraction, ...]) -> Fraction:
    """The exact Dirichlet-multinomial probability of an outcome, without the constant factor."""
    weights = [a + count for a, count in zip(alpha, x, strict=True)]
    return math.prod(rising(w, r) for w, r in zip(weights, drawn, strict=True)) / rising(
        sum(weights, Fraction(0)), sum(drawn)
    )


def worst(n: int, size: int, alpha: tuple[Fraction, ...]) -> Fraction:
    """Return the largest ratio of chances over all neighbours (one row replaced) and outcomes."""
    k = len(alpha)
    outcomes = list(tables(size, k))
    largest = Fraction(1)
    for x in tables(n, k):
        for i, j in product(range(k), repeat=2):
            if i != j and x[j]:
                other = tuple(count + (cell == i) - (cell == j) for cell, count in enumerate(x))
                largest = max(
                    largest,
                    *(chance(drawn, other, alpha) / chance(drawn, x, alpha) for drawn in outcomes),
                )
    return largest


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("n", "size"), [(1, 1), (2, 3), (4, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", ["0.1", "0.459", "1", "2", "5"])
def test_the_worst_ratio_is_epsilon_and_never_more(k, n, size, epsilon):
    alpha = exact.smallest_alpha(Fraction(epsilon), size)
    reached = exact.logarithm(worst(n, size, (alpha,) * k))
    assert reached <= exact.logarithm(exact.growth_below(Fraction(epsilon)))
    assert float(Fraction(epsilon) - Fraction(reached)) < 1e-9
    assert exact.keeps(Fraction(epsilon), alpha, size)
    assert exact.ratio(alpha, size) == worst(n, size, (alpha,) * k)


def source_alpha(epsilon: float, size: int) -> float:
    """The source's printed formula, size / exp(epsilon - 1)."""
    return size / math.exp(epsilon - 1)


def a_little_less(epsilon: float, size: int) -> float:
    """A millionth less than needed."""
    return size / math.expm1(epsilon) * (1 - 1e-6)


def without_the_one(epsilon: float, size: int) -> float:
    """Slip: size / exp(epsilon)."""
    return size / math.exp(epsilon)


@pytest.mark.parametrize("slip", [source_alpha, a_little_less, without_the_one])
def test_a_wrong_alpha_exceeds_epsilon_and_is_seen(slip):
    epsilon, size = Fraction(3, 10), 3
    alpha = Fraction(slip(float(epsilon), size))
    assert exact.logarithm(worst(3, size, (alpha,) * 3)) > epsilon.numerator / exact.Decimal(
        epsilon.denominator
    )
    assert not exact.keeps(epsilon, alpha, size)


def test_unequal_alphas_cost_what_the_smallest_costs():
    alpha = (Fraction(3, 2), Fraction(5), Fraction(7, 3))
    assert worst(3, 3, alpha) == exact.ratio(min(alpha), 3)


def test_several_sets_split_epsilon_and_reach_it_together():
    """The worst outcomes of all sets come together, so the ratios multiply."""
    alpha = exact.smallest_alpha(Fraction(2, 3), 3)
    assert abs(3 * float(exact.logarithm(worst(2, 3, (alpha,) * 2))) - 2) < 1e-9
    assert exact.keeps(Fraction(2), alpha, 3, 3)
    assert not exact.keeps(Fraction(2), exact.smallest_alpha(Fraction(2), 3), 3, 3)


@given(st.fractions(Fraction(1, 1000), 20), st.integers(1, 10**7))
def test_alpha_is_enough_and_hardly_more(epsilon, size):
    alpha = exact.smallest_alpha(epsilon, size)
    assert exact.keeps(epsilon, alpha, size)
    assert not exact.keeps(epsilon, alpha * (1 - Fraction(1, 10**12)), size)
    assert Fraction(exact.text(alpha)) == alpha


def test_the_sources_application():
    """107 rows at epsilon 2 need 16.75, not the 39.36 that Marcolin (2018) prints."""
    assert float(exact.smallest_alpha(Fraction(2), 107)) == pytest.approx(16.75, abs=5e-3)
    assert 107 / math.e == pytest.approx(39.36, abs=5e-3)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(250), Fraction(700)])
def test_extreme_epsilons_are_exact_too(epsilon):
    assert exact.keeps(epsilon, exact.smallest_alpha(epsilon, 100), 100)
