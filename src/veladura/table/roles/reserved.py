"""Numbers that are kept for "no answer": -9, 99 or 9999 among amounts, ages or marks."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.table.roles.evidence import Evidence
from veladura.table.schema import NUMERIC

_MOST_RESERVED = 3  # "refused", "does not know", "not asked"
_MOST_NEGATIVE = 4
_FAR = 1.5  # nines are kept for no answer where they are so many times the next number
_RARELY = 0.2
_OFTEN = 0.005  # share of rows of a value that was kept for "no answer"
_LARGEST = 1e15


def are_reserved(levels: Ints | Floats, sizes: Ints) -> Mask:
    """Return which of the distinct numbers, in increasing order, are kept for "no answer".

    A few negative whole ones, nines far above, or a few sevens, eights and nines after a gap in
    whole numbers.
    """
    reserved = np.zeros(levels.size, dtype=bool)
    whole = levels == np.floor(levels)
    negative = levels < 0
    if (
        0 < np.count_nonzero(negative) <= _MOST_NEGATIVE
        and levels[-1] > 0
        and whole[negative].all()
    ):
        reserved |= negative
    if levels.size > 3 and _has_digits(levels[-1], "9") and levels[-1] > _FAR * levels[-2]:  # noqa: PLR2004
        reserved[-1] = True
    left = levels[~reserved]
    gaps = np.flatnonzero(np.diff(left) > 1)
    if whole.all() and gaps.size and gaps[0] > 0:
        rest = left[gaps[0] + 1 :]
        apart = np.isin(levels, rest)
        rare = sizes[apart].sum() < _RARELY * sizes.sum()
        if rare and rest.size <= _MOST_RESERVED and all(_has_digits(r, "789") for r in rest):
            reserved |= apart
    return reserved


def _has_digits(level: float, digits: str) -> bool:
    """Whether a number is whole and written with no other digits than these."""
    return (
        level == np.floor(level) and abs(level) < _LARGEST and set(str(int(level))) <= set(digits)
    )


def without_reserved(levels: Ints, sizes: Ints) -> tuple[Ints, Ints]:
    """Return values without those kept for "no answer"."""
    kept = ~are_reserved(levels, sizes)
    return levels[kept], sizes[kept]


def no_answer(column: Evidence) -> tuple[str, ...]:
    """Return the numbers of a column that many rows hold and that are kept for "no answer"."""
    if column.levels is None or column.field.kind not in NUMERIC or column.distinct <= 2:  # noqa: PLR2004
        return ()
    often = column.sizes >= _OFTEN * column.present
    meant = are_reserved(column.levels, column.sizes) & often
    return tuple(str(int(level)) for level in column.levels[meant])
