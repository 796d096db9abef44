"""The values of one column with their numbers of rows, in memory or in a database.

Pictures and plain estimates need nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.table.codes import Column
from veladura.table.profiles import LARGEST, Profile

if TYPE_CHECKING:
    from veladura.table.table import Table

# Where pictures of numbers begin and end: asked for together, as each question costs a sort.
SPREAD = (0.01, 0.1, 0.9, 0.99)


@dataclass(frozen=True, eq=False)
class Tally:
    """A column row by row or, of a lazy table, its distinct values with their numbers of rows."""

    column: Column
    size: Ints
    known_moments: tuple[int, float, float] | None = None

    @property
    def labels(self) -> Any:
        """The categories, if it has any."""
        return self.column.labels

    @property
    def present(self) -> tuple[NDArray[Any], Ints]:
        """The values that are not missing, and their numbers of rows."""
        given = ~self.column.missing
        return self.column.values[given], self.size[given]

    @property
    def lacking(self) -> int:
        """Rows without a value."""
        return int(self.size[self.column.missing].sum())

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.size.sum())

    def quantiles(self, shares: Sequence[float]) -> list[Any]:
        """Return quantiles, each a value that occurs."""
        values, size = self.present
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(size[order])
        places = [
            int(np.searchsorted(reached, _rank(share, int(reached[-1])), side="right"))
            for share in shares
        ]
        return [values[order[place]] for place in places]

    def below(self, limits: Floats) -> list[int]:
        """Return how many values are below each limit."""
        values, size = self.present
        numbers = values.astype(np.float64)
        return [int(size[numbers < limit].sum()) for limit in limits]

    def moments(self) -> tuple[int, float, float]:
        """Return how many numbers there are, their mean and their variance (NaN without any)."""
        if self.known_moments is not None:
            return self.known_moments
        values, size = self.present
        fit = np.abs(values.astype(np.float64)) < LARGEST
        numbers, size = values[fit].astype(np.float64), size[fit]
        rows = int(size.sum())
        mean = float(numbers @ size) / rows if rows else math.nan
        return (
            rows,
            mean,
            float(((numbers - mean) ** 2) @ size) / (rows - 1) if rows > 1 else math.nan,
        )

    def label_sizes(self) -> dict[str, int]:
        """Return the number of rows of each category that occurs."""
        labels = (
            [str(label) for label in self.labels.to_pylist()] if self.labels is not None else []
        )
        codes, size = self.present
        sizes = np.bincount(codes, weights=size, minlength=len(labels)).astype(np.int64).tolist()
        return {label: size for label, size in zip(labels, sizes, strict=True) if size}


def _rank(share: float, present: int) -> int:
    """Return the zero-based rank of the smallest value that a share of the rows does not exceed."""
    return min(max(math.ceil(share * present) - 1, 0), present - 1)


def tally_of(table: Table, name: str) -> Tally:
    """Return a column to be counted, in memory or where the data lives."""
    if table.in_memory:
        column = table.column(name)
        return Tally(column, np.ones(column.size, dtype=np.int64))
    counts = table.profile(name)
    moments = counts.moments if isinstance(counts, Profile) else None
    return Tally(counts.columns[0], counts.size, moments)
