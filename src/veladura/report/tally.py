"""The values of one column with their numbers of rows, wherever the table lives: what pictures and plain estimates need."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.table.codes import Column, encode
from veladura.table.counts import Counts
from veladura.table.quantiles import LARGEST, Spread, spread

if TYPE_CHECKING:
    from veladura.table.table import Table

SPREAD = (
    0.01,
    0.1,
    0.9,
    0.99,
)  # shares at which pictures of numbers begin and end: asked for together, as asking costs a sort


@dataclass(frozen=True, eq=False)
class Tally:
    """A column row by row or, of a lazy table, its distinct values with the number of rows of each."""

    column: Column
    size: NDArray[np.int64]

    @property
    def labels(self) -> Any:
        """The categories, if it has any."""
        return self.column.labels

    @property
    def known(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The values that are not missing, and their numbers of rows."""
        present = ~self.column.missing
        return self.column.values[present], self.size[present]

    @property
    def lacking(self) -> int:
        """Rows without a value."""
        return int(self.size[self.column.missing].sum())

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.size.sum())

    def quantiles(self, shares: Sequence[float]) -> list[Any]:
        """Return values at some shares of the rows, each one that occurs."""
        values, size = self.known
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(size[order])
        places = [
            int(np.searchsorted(reached, _rank(share, int(reached[-1])), side="right"))
            for share in shares
        ]
        return [values[order[place]] for place in places]

    def below(self, limits: NDArray[np.float64]) -> list[int]:
        """Return how many known values are below each limit."""
        values, size = self.known
        numbers = values.astype(np.float64)
        return [int(size[numbers < limit].sum()) for limit in limits]

    def moments(self) -> tuple[int, float, float]:
        """Return how many numbers are known, their mean and their variance; not a number where there is none."""
        values, size = self.known
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
        codes, size = self.known
        sizes = np.bincount(codes, weights=size, minlength=len(labels)).astype(np.int64).tolist()
        return {label: size for label, size in zip(labels, sizes, strict=True) if size}


@dataclass(frozen=True, eq=False)
class FarTally(Tally):
    """The numbers of a lazy table, asked for where they are; its column is an empty one of the same form."""

    spread: Spread

    @property
    def lacking(self) -> int:
        """Rows without a value."""
        return self.spread.rows - self.spread.known

    @property
    def rows(self) -> int:
        """All rows."""
        return self.spread.rows

    def quantiles(self, shares: Sequence[float]) -> list[Any]:
        """Return values at some shares of the rows, each one that occurs."""
        return self.spread.at_ranks([_rank(share, self.spread.known) for share in shares])

    def below(self, limits: NDArray[np.float64]) -> list[int]:
        """Return how many known values are below each limit."""
        return self.spread.below(limits.tolist())

    def moments(self) -> tuple[int, float, float]:
        """Return how many numbers are known, their mean and their variance."""
        return self.spread.moments()


def _rank(share: float, known: int) -> int:
    """Return the place, from nought, of the first value at or above which a share of the rows is reached."""
    return min(max(math.ceil(share * known) - 1, 0), known - 1)


def tally_of(table: Table, name: str) -> Tally:
    """Return a column to be counted, in memory or where the data lives."""
    if table.in_memory:
        column = encode(table.arrow.column(name), table.schema[name])
        return Tally(column, np.ones(column.size, dtype=np.int64))
    if (far := spread(table, name)) is not None:
        return FarTally(
            encode(pa.array([], table.schema[name].type), table.schema[name]),
            np.zeros(0, dtype=np.int64),
            far,
        )
    counts: Counts = table.profile(name)
    return Tally(counts.columns[0], counts.size)
