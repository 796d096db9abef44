"""Privacy parameters as exact fractions; exp(epsilon) between them is rounded to the safe side."""

from __future__ import annotations

import math
from decimal import Context as Precision
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from veladura.errors import PlanError

DIGITS = 80
# A privacy loss outside these limits is a slip of the pen; arithmetic holds well beyond them.
LEAST, MOST = Fraction(1, 10**9), Fraction(10**6)
LEAST_DELTA = Fraction(1, 10**100)
LEAST_ALPHA = Fraction(1, 10**60)  # beyond epsilon of about 140: a floating-point number holds it
_SLACK = Decimal(10) ** -60  # far above the rounding error of exp, far below what matters
SIGNIFICANT = 15  # digits of alpha: the promise is met from below within about 1e-15


def fraction(value: Any, setting: str = "epsilon") -> Fraction:
    """Return a number as the fraction that was typed: 0.1 is a tenth, not a binary number near it.

    Examples
    --------
    >>> fraction(0.1) * 10
    Fraction(1, 1)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal, str)):
        msg = f"{setting} must be a number, got {type(value).__name__}."
        raise PlanError(msg)
    try:
        return Fraction(value) if isinstance(value, (int, Fraction)) else Fraction(str(value))
    except (ValueError, ZeroDivisionError, OverflowError):
        msg = f"{setting} ({value}) must be a finite number."
        raise PlanError(msg) from None


def positive(value: Any, setting: str = "epsilon") -> Fraction:
    """Return a number above 0 as a fraction."""
    number = fraction(value, setting)
    if number <= 0:
        msg = f"{setting} ({value}) must be above 0: a privacy loss of 0 allows no release."
        raise PlanError(msg)
    if not LEAST <= number <= MOST:
        msg = (
            f"{setting} must be from 1e-9 to 1,000,000: with less, a release is noise only; with"
            " more, it protects nobody.\n\nHint: common values are from 0.1 to 10."
        )
        raise PlanError(msg)
    return number


def share(value: Any, setting: str = "delta") -> Fraction:
    """Return a number of [0, 1) as a fraction."""
    number = fraction(value, setting)
    if not 0 <= number < 1:
        msg = (
            f"{setting} ({value}) must be at least 0 and below 1: it is the probability by which"
            " the bound of epsilon may be exceeded."
        )
        raise PlanError(msg)
    if 0 < number < LEAST_DELTA:
        msg = f"{setting} must be 0, or at least 1e-100.\n\nHint: leave it out for 0."
        raise PlanError(msg)
    return number


def growth_below(epsilon: Fraction) -> Fraction:
    """Return a fraction just below exp(epsilon), the largest ratio of probabilities allowed."""
    with localcontext(Precision(prec=DIGITS)):
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp() * (1 - _SLACK)
        return Fraction(power)


def smallest_alpha(epsilon: Fraction, size: int) -> Fraction:
    """Return the least alpha that keeps epsilon for ``size`` draws, rounded up to a decimal.

    The condition is alpha >= size / (exp(epsilon) - 1), necessary and sufficient (Abowd and
    Vilhuber 2008, section 4.1; Marcolin 2018 prints it with sign and bracket misplaced).

    Examples
    --------
    >>> float(smallest_alpha(Fraction(2), 107))
    16.7473877742143
    """
    bound = max(size / (growth_below(epsilon) - 1), LEAST_ALPHA)  # more of it protects more
    digits = max(0, SIGNIFICANT - 1 - math.floor(_log10(bound)))
    scale = 10**digits
    return Fraction(math.ceil(bound * scale), scale)


def ratio(alpha: Fraction, size: int) -> Fraction:
    """Return the largest ratio of probabilities for neighbours: (size + alpha) / alpha."""
    return (size + alpha) / alpha


def keeps(epsilon: Fraction, alpha: Fraction, size: int, m: int = 1) -> bool:
    """Whether m datasets of ``size`` draws with this alpha keep epsilon; rounded against it."""
    return alpha > 0 and ratio(alpha, size) <= growth_below(epsilon / m)


def amplified(epsilon: Fraction, fraction: Fraction) -> Fraction:
    """Return the epsilon of a mechanism that sees a secret random sample, rounded up.

    log(1 + q (exp(epsilon) - 1)) for a share q of the people: a sample without replacement where
    one person is replaced, each person by an own coin where one is added or removed (Balle, Barthe
    and Gaboardi 2018, theorems 8 and 9).

    Examples
    --------
    >>> round(float(amplified(Fraction(1), Fraction(1, 10))), 4)
    0.1586
    """
    with localcontext(Precision(prec=DIGITS)):
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        sampled = Decimal(fraction.numerator) / Decimal(fraction.denominator)
        bound = (1 + sampled * (power - 1)).ln()
    digits = 10**SIGNIFICANT
    return min(epsilon, Fraction(math.ceil(Fraction(bound) * digits), digits))


def unamplified(epsilon: Fraction, fraction: Fraction) -> Fraction:
    """Return the epsilon that a sample of a share q brings down to this one."""
    with localcontext(Precision(prec=DIGITS)):
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        sampled = Decimal(fraction.numerator) / Decimal(fraction.denominator)
        return Fraction((1 + (power - 1) / sampled).ln())


def logarithm(value: Fraction) -> Decimal:
    """Return the natural logarithm of a fraction, to many digits."""
    with localcontext(Precision(prec=DIGITS)):
        return (Decimal(value.numerator) / Decimal(value.denominator)).ln()


def text(value: Fraction) -> str:
    """Return a fraction as people and JSON read it back exactly: a decimal where it is one.

    Examples
    --------
    >>> text(Fraction(1, 8)), text(Fraction(1, 3)), text(Fraction(20))
    ('0.125', '1/3', '20')
    """
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1 or value.denominator > 10**DIGITS:
        return f"{value.numerator}/{value.denominator}"
    with localcontext(Precision(prec=1000)):
        return format(Decimal(value.numerator) / Decimal(value.denominator), "f")


def _log10(value: Fraction) -> float:
    return float(logarithm(value)) / math.log(10)
