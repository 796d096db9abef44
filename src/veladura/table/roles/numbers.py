"""The shape of numbers: codes, ages, years, parts of dates, scales, counts, amounts."""

from __future__ import annotations

from math import gcd
from typing import Literal

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.roles.evidence import FEWEST_ROWS, Evidence

NumberShape = Literal[
    "binary", "sequence", "long code", "nominal code", "scale", "count", "month", "day", "age",
    "year", "birth year", "amount", "measure",
]  # fmt: skip

_FEW = 12  # values of a scale or a short list
_OLDEST = 115
_YEARS = (1880, 2040)
_DECADES = 25
_LONG_CODE = 6  # digits
_VERY_LONG = 9
_LUMPY = 3.0  # exact repeats against near ones: a smooth distribution has about one
_HEAVY = 2.0  # skewness


def shape_of(column: Evidence) -> NumberShape:
    """Return the shape of a column of numbers with at least two values."""
    if not column.whole:
        return "amount" if is_heavy(column.numbers) else "measure"
    levels, sizes = _whole(column), column.sizes
    low, high, span = int(levels[0]), int(levels[-1]), int(levels[-1] - levels[0])
    if column.distinct == 2:  # noqa: PLR2004
        return "binary"
    if is_sequence(column):
        return "sequence"
    if _YEARS[0] <= low and high <= _YEARS[1]:
        return "birth year" if span >= _DECADES and column.distinct > _DECADES / 2 else "year"
    if short := _short(levels, sizes):
        return short
    if is_long_code(column):
        return "long code"
    if is_nominal(levels, sizes):
        return "nominal code"
    if low >= 0 and high <= _OLDEST and span >= _DECADES and not is_heavy(column.numbers):
        return "age"
    if is_heavy(column.numbers):
        return "count" if span < _DECADES else "amount"
    return "count" if span < _DECADES else "measure"


def _whole(column: Evidence) -> Ints:
    levels = column.levels if column.levels is not None else np.empty(0)
    whole: Ints = levels.astype(np.int64)
    return whole


def is_sequence(column: Evidence) -> bool:
    """Whether whole numbers, each of one row, leave hardly a gap: 1, 2, 3, ..."""
    levels = _whole(column)
    return column.nearly_unique and int(levels[-1] - levels[0]) < 1.5 * column.distinct


def is_heavy(numbers: Floats) -> bool:
    """Whether numbers have a heavy upper tail, as amounts of money do."""
    low, middle, high = np.quantile(numbers, [0.05, 0.5, 0.99])
    spread = middle - low
    return bool(
        skewness(numbers) > _HEAVY or (low >= 0 and spread > 0 and high > middle + 6 * spread)
    )


def skewness(numbers: Floats) -> float:
    """Return the third standardised moment."""
    deviation = numbers - numbers.mean()
    spread = float(np.sqrt(np.mean(deviation**2)))
    return float(np.mean(deviation**3)) / spread**3 if spread > 0 else 0.0


def _short(levels: Ints, sizes: Ints) -> NumberShape | None:
    """Return the shape of a short run without gaps: a list, a scale, a count, part of a date."""
    low, high = int(levels[0]), int(levels[-1])
    if low not in (0, 1) or levels.size < 0.8 * (high - low + 1) or high > 31:  # noqa: PLR2004
        return None
    flat = _is_flat(sizes)
    if (low, high) == (1, 31) and levels.size == 31 and flat:  # noqa: PLR2004
        return "day"
    if (low, high) == (1, 12) and levels.size == 12 and flat:  # noqa: PLR2004
        return "month"
    if _is_unimodal(sizes):
        return "scale" if low == 1 and levels.size <= _FEW else "count"
    return "nominal code"


def _is_flat(sizes: Ints) -> bool:
    """Whether values are about equally frequent."""
    return bool(sizes[:-1].min() > 0.4 * sizes.mean() and sizes.max() < 1.8 * sizes.mean())


def _is_unimodal(sizes: Ints) -> bool:
    """Whether frequencies rise to one top and fall after it, but for chance (three errors)."""
    top = int(np.argmax(sizes))
    steps = np.diff(sizes).astype(np.float64)
    steps[top:] *= -1  # now every step should be positive
    error = np.sqrt(sizes[:-1] + sizes[1:] + 1.0)
    return bool(np.all(steps > -3 * error))


def is_long_code(column: Evidence) -> bool:
    """Whether whole numbers look like numbers of a register.

    Long and of one width without round numbers, or spread evenly over their range.
    """
    levels = _whole(column)
    if levels.size < FEWEST_ROWS // 2 or levels[0] < 0:
        return False
    widths = np.char.str_len(levels.astype(str))
    width = int(np.median(widths))
    even = _distance_from_uniform(levels.astype(np.float64)) < 0.06 + 1.2 / np.sqrt(levels.size)
    fixed = bool(np.mean(widths == width) > 0.95)  # noqa: PLR2004
    rounded = float(np.mean(levels % 10 == 0))
    smooth = abs(skewness(levels.astype(np.float64))) < _HEAVY
    if fixed and width >= _VERY_LONG and rounded < 0.5:  # noqa: PLR2004
        return True
    if column.distinct < 0.02 * column.rows or rounded > 0.25:  # noqa: PLR2004
        return False
    span = int(levels[-1] - levels[0])
    dense = even and span < 1.5 * levels.size and span > _OLDEST
    return dense or (smooth and fixed and width >= _LONG_CODE) or (even and span > 1000)  # noqa: PLR2004


def _distance_from_uniform(levels: Floats) -> float:
    """Return Kolmogorov's distance from the uniform distribution over the range."""
    place = (levels - levels[0]) / max(levels[-1] - levels[0], 1.0)
    return float(np.max(np.abs(place - np.arange(levels.size) / max(levels.size - 1, 1))))


def is_nominal(levels: Ints, sizes: Ints) -> bool:
    """Whether whole numbers repeat exactly far more than nearly, and not because they are round.

    In a smooth distribution pairs of rows with the same value are about as many as pairs that
    differ by one step (half of them, for both directions); codes and rounded amounts repeat
    exactly, and amounts are round.
    """
    n = int(sizes.sum())
    if levels.size < 3 or levels.size > 0.6 * n:  # noqa: PLR2004
        return False
    step = gcd(*np.diff(levels).tolist()) if levels.size < 10_000 else 1  # noqa: PLR2004
    if step >= 5:  # noqa: PLR2004
        return False
    if levels.size > 0.7 * ((levels[-1] - levels[0]) // step + 1):
        return _is_jagged(sizes)
    weights = sizes * (sizes - 1.0)  # ordered pairs of rows with the same value
    near = 0.0
    for distance in (1, 2, 3):
        place = np.searchsorted(levels, levels + distance)
        inside = place < levels.size
        hit = inside & (levels[np.minimum(place, levels.size - 1)] == levels + distance)
        near += float((sizes[hit] * sizes[place[hit]]).sum()) * 2
    lumpy = weights.sum() > _LUMPY * max(near / 6, 1.0)
    heaped = float(weights[levels % 10 == 0].sum()) > 0.6 * weights.sum()
    return bool(lumpy and not heaped)


def _is_jagged(sizes: Ints) -> bool:
    """Whether frequencies of neighbours differ far more than chance allows."""
    if sizes.size < 5:  # noqa: PLR2004
        return not _is_unimodal(sizes)
    bend = sizes[1:-1] - (sizes[:-2] + sizes[2:]) / 2.0
    noise = sizes[1:-1] + (sizes[:-2] + sizes[2:]) / 4.0
    return bool(np.mean(bend**2 / np.maximum(noise, 1)) > 6)  # noqa: PLR2004
