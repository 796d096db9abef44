"""The numbers a column can hold: how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.trees.habits import CANDIDATES

if TYPE_CHECKING:
    from veladura.table.codes import Column

CLOCK = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1000)


@dataclass(frozen=True)
class NumberGrid:
    """How the numbers of a column are written.

    Whole numbers are steps from a base; others have their decimals.
    """

    base: int
    unit: int
    decimals: int | None
    whole: bool

    @classmethod
    def of(cls, column: Column) -> NumberGrid:
        """Return the grid of a column; times are on the coarsest clock that all of them fit.

        Where all whole numbers are in fives, tens, fifties and so on, so are the released ones: one
        that is not would show that it was moved.
        """
        if column.values.dtype.kind == "f":
            return cls(0, 1, column.decimals, whole=False)
        values = column.values[~column.missing]
        if not values.size:
            return cls(0, 1, 0, whole=True)
        step = next(
            (
                unit
                for unit in CLOCK
                if column.field.kind == "date" and not np.any(values % unit) and np.any(values)
            ),
            1 if column.field.kind == "date" else _rounded_to(values),
        )
        base = int(values.min())
        return cls(base, step, 0, whole=True)

    def places(self, values: Ints | Floats) -> Floats:
        """Return numbers as the places on the grid that trees and kernels see."""
        return (
            ((values - self.base) // self.unit).astype(np.float64)
            if self.whole
            else values.astype(np.float64)
        )

    def written(self, places: Floats) -> Floats:
        """Round places as the column is written."""
        return places if self.decimals is None else np.round(places, self.decimals) + 0.0

    def values(self, places: Floats) -> Ints | Floats:
        """Return places as the numbers of the column."""
        return np.rint(places).astype(np.int64) * self.unit + self.base if self.whole else places

    @property
    def step(self) -> float:
        """The distance of neighbours."""
        return 1e-9 if self.decimals is None else 10.0**-self.decimals


def _rounded_to(values: Ints) -> int:
    """Return the largest of 1, 5, 10, 50, 100, ... that divides all numbers; 1 for zeros.

    Examples
    --------
    >>> _rounded_to(np.array([0, 1500, 250])), _rounded_to(np.array([3, 6]))
    (50, 1)
    """
    divisor = int(np.gcd.reduce(values))
    units: list[int] = [unit for unit in CANDIDATES if divisor and divisor % unit == 0]
    return max([1, *units])
