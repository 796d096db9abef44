"""The shape of numbers: codes, ages, years, parts of dates, scales, counts, amounts."""

from __future__ import annotations

from math import gcd
from typing import Literal

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.roles.arithmetic import (
    is_flat,
    is_nominal,
    is_rounded,
    is_unimodal,
)
from veladura.table.roles.evidence import Evidence
from veladura.table.roles.reserved import without_reserved

NumberShape = Literal[
    "binary",
    "sequence",
    "long code",
    "running number",
    "nominal code",
    "scale",
    "count",
    "month",
    "day",
    "age",
    "year",
    "birth year",
    "date",
    "birth date",
    "amount",
    "measure",
]

_FEW = 12  # values of a scale or a short list
_SHORT = 31  # the largest value of a short list
_DAYS, _MONTHS = 31, 12
_OLDEST = 115
_DIGIT = 10  # ages of less than ten years may be groups of age
_YEARS = (1880, 2040)
_DECADES = 25
_LONG_CODE = 6  # digits
_VERY_LONG = 9
_FEWEST_CODES = 15
_FEWEST_COUNTS = 4  # fewer numbers from zero are codes
_MANY_CODES = 100
_FAR_APART = 20
_HEAVY = 2.0  # skewness
_EVEN = 1.2  # of Kolmogorov's distance, over the square root of n


def shape_of(column: Evidence) -> NumberShape:
    """Return the shape of a column of numbers with at least two values."""
    if not column.whole:
        return "amount" if is_heavy(column.numbers) else "measure"
    if column.distinct == 2:  # noqa: PLR2004
        return "binary"
    if is_sequence(column):
        return "sequence"
    levels, sizes = without_reserved(whole_levels(column), column.sizes)
    if levels.size < 2:  # noqa: PLR2004
        return "nominal code"
    shape = _aged(column, levels) or _dated(levels) or _short(levels, sizes)
    if shape == "scale" and levels.size < column.distinct:
        return "nominal code"  # the order of "no answer" is not that of the scale
    return shape or _long(column, levels, sizes)


def is_scale(column: Evidence) -> bool:
    """Whether whole numbers are a scale, apart from values kept for "no answer"."""
    if not column.whole:
        return False
    levels, sizes = without_reserved(whole_levels(column), column.sizes)
    return levels.size > 2 and _short(levels, sizes) == "scale"  # noqa: PLR2004


def _long(column: Evidence, levels: Ints, sizes: Ints) -> NumberShape:
    """Return the shape of whole numbers over a wide range."""
    if is_long_code(column):
        return "long code"
    if is_running(column):
        return "running number"
    if is_nominal(levels, sizes):
        return "nominal code"
    span, numbers = int(levels[-1] - levels[0]), np.repeat(levels.astype(float), sizes)
    of_life = levels[0] >= 0 and levels[-1] <= _OLDEST and span >= _DECADES
    if of_life and skewness(numbers) <= _HEAVY:  # the old are far above the middle of families
        return "age"
    if span < _DECADES:  # what is counted begins at zero or one, and leaves no gaps
        return "nominal code"
    return "amount" if is_heavy(numbers) else "measure"


def are_codes(column: Evidence, shape: str) -> bool:
    """Whether whole numbers are codes of categories, for which arithmetic means nothing.

    Codes of industries or places are as even and as long as numbers of units. They are codes of
    categories where rows share them as no amount is shared; units are looked for elsewhere.
    """
    if shape in ("long code", "running number"):
        return is_nominal(*without_reserved(whole_levels(column), column.sizes))
    return shape in ("binary", "nominal code")


def whole_levels(column: Evidence) -> Ints:
    """Return the distinct values of a column of whole numbers."""
    levels = column.levels if column.levels is not None else np.empty(0)
    whole: Ints = levels.astype(np.int64)
    return whole


def is_sequence(column: Evidence) -> bool:
    """Whether whole numbers, each of one row, leave hardly a gap: 1, 2, 3, or 10, 20, 30, ..."""
    if not column.whole or not column.nearly_unique:
        return False
    levels = whole_levels(column)
    step = gcd(*np.diff(levels).tolist())
    return int(levels[-1] - levels[0]) < 1.5 * step * column.distinct


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


def _aged(column: Evidence, levels: Ints) -> NumberShape | None:
    """Return the shape of ages that a name calls so: also of pupils, whose ages are few."""
    aged = "age" in column.hints and levels[0] >= 0 and _DIGIT <= levels[-1] <= _OLDEST
    return "age" if aged else None


def _dated(levels: Ints) -> NumberShape | None:
    """Return the shape of years, and of dates such as 19800229."""
    if _are_days(levels):
        years = int(levels[-1] // 10_000 - levels[0] // 10_000)
        return "birth date" if years >= _DECADES else "date"
    if levels[0] < _YEARS[0] or levels[-1] > _YEARS[1]:
        return None
    decades = int(levels[-1] - levels[0]) >= _DECADES and levels.size > _DECADES / 2
    return "birth year" if decades else "year"


def _are_days(levels: Ints) -> bool:
    """Whether whole numbers are dates: year, month and day one after the other."""
    year, month, day = levels // 10_000, levels // 100 % 100, levels % 100
    years = (year >= _YEARS[0]) & (year <= _YEARS[1])
    days = (month >= 1) & (month <= _MONTHS) & (day >= 1) & (day <= _DAYS)
    return levels.size >= _FEWEST_CODES and bool(np.all(years & days))


def _short(levels: Ints, sizes: Ints) -> NumberShape | None:
    """Return the shape of a short run without gaps: a list, a scale, a count, part of a date."""
    low, high = int(levels[0]), int(levels[-1])
    if low not in (0, 1) or levels.size < 0.8 * (high - low + 1) or high > _SHORT:
        return None
    if low == 1 and levels.size == high and is_flat(sizes):
        if high == _DAYS:
            return "day"
        if high == _MONTHS:
            return "month"
    codes = levels.size > _FEW if low == 1 else levels.size < _FEWEST_COUNTS
    if codes or not is_unimodal(sizes):
        return "nominal code"
    return "scale" if low == 1 else "count"


def is_long_code(column: Evidence) -> bool:
    """Whether whole numbers look like those of a register: long, of one width, not round."""
    levels = whole_levels(column)
    if levels.size < _FEWEST_CODES or levels[0] < 0:
        return False
    low_width, width = len(str(int(np.quantile(levels, 0.05)))), len(str(int(levels[-1])))
    fixed = low_width == width
    rounded = float(np.mean(levels % 10 == 0))
    if fixed and width >= _VERY_LONG and rounded < 0.5:  # noqa: PLR2004
        return True
    few = column.distinct < 0.02 * column.rows
    if few or rounded > 0.25 or is_rounded(levels, column.sizes):  # noqa: PLR2004
        return False
    return fixed and width >= _LONG_CODE and abs(skewness(levels.astype(float))) < _HEAVY


def is_running(column: Evidence) -> bool:
    """Whether whole numbers may be running ones with gaps: even, and not far apart."""
    levels = whole_levels(column)
    if levels.size < _FEWEST_CODES or levels[0] < 0 or "sensitive" in column.hints:
        return False
    if float(np.mean(levels % 10 == 0)) > 0.25 or is_rounded(levels, column.sizes):  # noqa: PLR2004
        return False
    span = int(levels[-1] - levels[0])
    near = span < _FAR_APART * levels.size or levels.size > _MANY_CODES
    return span > _OLDEST and near and is_even(levels.astype(float))


def is_even(levels: Floats) -> bool:
    """Whether values are spread evenly over their range, as running numbers are.

    Kolmogorov's distance from the uniform distribution, with room for gaps.
    """
    place = (levels - levels[0]) / max(levels[-1] - levels[0], 1.0)
    distance = np.max(np.abs(place - np.arange(levels.size) / max(levels.size - 1, 1)))
    return bool(distance < 0.06 + _EVEN / np.sqrt(levels.size))
