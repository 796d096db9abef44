"""Two-sided geometric noise (discrete Laplace), drawn on whole numbers: no floating point."""

from __future__ import annotations

from fractions import Fraction

from veladura.methods.private.urn import Bits


def discrete_laplace(bits: Bits, scale: Fraction) -> int:
    """Return a draw z with probability proportional to exp(-|z| / scale), exactly.

    A magnitude is a geometric number with parameter exp(-1 / scale), made of whole and partial
    steps; a random sign follows, and a negative zero is drawn again (Canonne, Kamath and Steinke
    2020, algorithm 2).
    """
    top, bottom = scale.numerator, scale.denominator
    while True:
        part = bits.below(top)
        if not _exponential_coin(bits, Fraction(part, top)):
            continue
        whole = 0
        while _exponential_coin(bits, Fraction(1)):
            whole += 1
        magnitude = (part + top * whole) // bottom
        if not bits.below(2):
            return magnitude
        if magnitude:
            return -magnitude


def _exponential_coin(bits: Bits, gamma: Fraction) -> bool:
    """Return True with probability exp(-gamma), for gamma from 0 to 1 (ibid., algorithm 1)."""
    step = 1
    while bits.below(gamma.denominator * step) < gamma.numerator:
        step += 1
    return step % 2 == 1
