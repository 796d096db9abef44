"""The Dirichlet-multinomial as a Polya urn on integers: no floating point, hence no bias."""

from __future__ import annotations

import math
import os
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

import numpy as np

from veladura.base.arrays import Ints

CHUNK = 1 << 16


class Bits:
    """Uniform integers from a source of random bytes, by rejection.

    Parameters
    ----------
    source
        Returns as many random bytes as it is asked for; by default the system's entropy.
    """

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._bytes = b""
        self._place = 0

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to ``bound`` - 1; numbers beyond are drawn again."""
        bits = bound.bit_length()
        count = (bits + 7) // 8
        drop = 8 * count - bits
        while True:
            if self._place + count > len(self._bytes):
                self._bytes, self._place = self._source(max(CHUNK, count)), 0
            end = self._place + count
            number = int.from_bytes(self._bytes[self._place : end], "little") >> drop
            self._place = end
            if number < bound:
                return number


def draw(bits: Bits, alpha: Sequence[Fraction], counts: Sequence[int], size: int) -> Ints:
    """Return the counts of ``size`` draws from a Dirichlet-multinomial, exactly.

    An urn holds weight alpha_i + x_i for cell i, and every draw adds one to its cell (Blackwell
    and MacQueen 1973). Scaled by the common denominator all weights are whole numbers. A draw that
    falls on what earlier draws added copies one of them, so a step takes the time of one search.

    Parameters
    ----------
    alpha
        One fraction above 0 a cell.
    counts
        The rows of each cell.
    size
        Number of rows to draw.
    """
    scale = math.lcm(*{a.denominator for a in alpha})
    weights = [
        a.numerator * (scale // a.denominator) + scale * int(x)
        for a, x in zip(alpha, counts, strict=True)
    ]
    bounds = list(accumulate(weights))
    base = bounds[-1]
    drawn: list[int] = []
    for step in range(size):
        point = bits.below(base + scale * step)
        drawn.append(
            bisect_right(bounds, point) if point < base else drawn[(point - base) // scale]
        )
    return np.bincount(np.array(drawn, dtype=np.int64), minlength=len(weights)).astype(np.int64)
