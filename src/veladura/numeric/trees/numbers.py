"""The numbers a column can hold: how they are written, and which of them may be released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask

if TYPE_CHECKING:
    from veladura.table.codes import Column

CLOCK = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1000)
TABLE = 10_000_000


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
        """Return the grid of a column; times are on the coarsest clock that all of them fit."""
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
            1,
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


@dataclass(frozen=True, eq=False, repr=False)
class Singles:
    """The numbers that occur once in an original column, for fast lookup. Its repr shows none."""

    sorted: Floats
    low: float = 0.0
    scale: float = 0.0
    table: Mask | None = field(default=None)

    @classmethod
    def of(cls, values: Floats, decimals: int | None) -> Singles:
        """Return the numbers of a column that occur once; a lookup table where the grid is small.

        Examples
        --------
        >>> singles = Singles.of(np.array([1.0, 1.0, 2.0, 5.0]), 0)
        >>> singles.hit(np.array([1.0, 2.0, 3.0, 5.0, 9.0])).tolist()
        [False, True, False, True, False]
        """
        distinct, count = np.unique(values, return_counts=True)
        single = distinct[count == 1]
        if (
            single.size == 0
            or decimals is None
            or (single[-1] - single[0]) * 10.0**decimals > TABLE
        ):
            return cls(single)
        scale, low = 10.0**decimals, float(single[0])
        table = np.zeros(int(np.rint((single[-1] - low) * scale)) + 1, dtype=bool)
        table[np.rint((single - low) * scale).astype(np.int64)] = True
        return cls(single, low, scale, table)

    def hit(self, values: Floats) -> Mask:
        """Return which values are among them."""
        if self.sorted.size == 0:
            return np.zeros(values.shape, dtype=bool)
        if self.table is not None:
            place = np.rint((values - self.low) * self.scale)
            inside = (place >= 0) & (place < self.table.size)
            return inside & self.table[np.where(inside, place, 0).astype(np.int64)]
        place = np.minimum(np.searchsorted(self.sorted, values), self.sorted.size - 1)
        return np.asarray(self.sorted[place] == values)


@dataclass(frozen=True, eq=False, repr=False)
class AllowedNumbers:
    """The numbers of a column that may be released. Holds original values: its repr shows none.

    Attributes
    ----------
    singles
        Numbers that occur once in the original, which may not be released.
    limits
        The smallest and the largest number that the holder allows.
    range
        The smallest and the largest number of the original, within these limits.
    free
        Whether any number may be released; without one, singles cannot be guarded.
    """

    grid: NumberGrid
    singles: Singles
    limits: tuple[float, float]
    range: tuple[float, float]
    free: bool

    @classmethod
    def of(
        cls, numbers: Floats, grid: NumberGrid, limits: tuple[float, float], *, guarded: bool
    ) -> AllowedNumbers:
        """Return the numbers that may be released, given those of the original."""
        singles = Singles.of(numbers, grid.decimals) if guarded else Singles(np.empty(0))
        ends = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
        low, high = max(ends[0], limits[0]), min(ends[1], limits[1])
        allowed = cls(grid, singles, limits, (low, high), free=True)
        if not singles.sorted.size or low > high:
            return allowed
        return replace(allowed, free=allowed.nearest(low - grid.step) is not None)

    def accepted(self, places: Floats) -> Mask:
        """Return which numbers may be released."""
        inside = (places >= self.limits[0]) & (places <= self.limits[1])
        return inside & ~self.singles.hit(places) if self.free else inside

    def settle(self, places: Floats) -> Floats:
        """Return the nearest numbers that may be released, for draws that were never accepted."""
        if not self.free:
            return np.clip(places, *self.limits)
        settled = np.clip(places, *self.range)
        for i in np.flatnonzero(~self.accepted(settled)):
            near = self.nearest(float(settled[i]))
            settled[i] = settled[i] if near is None else near
        return settled

    def nearest(self, place: float) -> float | None:
        """Return the nearest number that does not occur once in the original."""
        return nearest_free(place, self.singles.hit, *self.range, self.grid.step, self.grid.written)


def nearest_free(
    number: float,
    taken: Callable[[Floats], Mask],
    low: float,
    high: float,
    step: float,
    written: Callable[[Floats], Floats] = np.asarray,
) -> float | None:
    """Return the nearest number on a grid that is not taken, or None when every one is.

    Examples
    --------
    >>> nearest_free(3.0, lambda x: np.isin(x, [2.0, 3.0, 4.0]), 0.0, 9.0, 1.0)
    1.0
    """
    reach = 16
    while True:
        offsets = np.arange(1, reach + 1)
        around = written(np.concatenate([number - offsets * step, number + offsets * step]))
        free = around[(around >= low) & (around <= high) & ~taken(around)]
        if free.size:
            return float(free[np.argmin(np.abs(free - number))])
        if number - reach * step < low and number + reach * step > high:
            return None
        reach *= 8
