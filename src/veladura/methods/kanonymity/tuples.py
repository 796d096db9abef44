"""The distinct tuples of a table's quasi-identifiers, as the recodings see them: places in hierarchies, and rows of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.numeric.hierarchies.levels import Levels, distinct_values, plain_values

if TYPE_CHECKING:
    from veladura.table.counts import Counts
    from veladura.table.table import Table

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Classes:
    """Distinct tuples in their canonical order, which is also that of the rows.

    Attributes
    ----------
    places
        Where each value stands among those of its hierarchy; a row a tuple, a column a
        quasi-identifier.
    sizes
        Rows of each tuple.
    """

    names: tuple[str, ...]
    levels: tuple[Levels, ...] = field(repr=False)
    places: Ints = field(repr=False)
    sizes: Ints = field(repr=False)
    counts: Counts = field(repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.sizes.sum())

    @property
    def heights(self) -> Ints:
        """Height of each hierarchy."""
        return np.array([level.height for level in self.levels], dtype=np.int64)

    def at(self, vector: Sequence[int]) -> Ints:
        """Return the codes of every tuple at a node."""
        columns = [
            level.codes[height][self.places[:, c]]
            for c, (level, height) in enumerate(zip(self.levels, vector, strict=True))
        ]
        return np.column_stack(columns)

    def missing_at(self, vector: Sequence[int]) -> Mask:
        """Return which cells are missing at a node; at the top of a hierarchy none is."""
        codes = self.at(vector)
        flags = [
            np.array([label is None for label in level.labels[height]])[codes[:, c]]
            for c, (level, height) in enumerate(zip(self.levels, vector, strict=True))
        ]
        return np.column_stack(flags)

    def of_rows(self) -> Ints:
        """Return the tuple of every row, rows in their canonical order."""
        return np.repeat(np.arange(self.sizes.size), self.sizes)

    def old(self) -> pa.Table:
        """Return the tuples as they stand in the table."""
        return pa.table(
            [column.to_arrow() for column in self.counts.columns], names=list(self.names)
        )


def classes_of(table: Table, names: Sequence[str], levels: Sequence[Levels]) -> Classes:
    """Return the distinct tuples of a table, counted where the data lives.

    A hierarchy may hold values that the table does not, so values are found by what they are.
    """
    counts = table.counts(list(names))
    places = np.empty((counts.size.size, len(names)), dtype=np.int64)
    for c, (column, level) in enumerate(zip(counts.columns, levels, strict=True)):
        place, base = distinct_values(column)
        known = {value: i for i, value in enumerate(plain_values(level.base))}
        places[:, c] = np.array([known[value] for value in plain_values(base)], dtype=np.int64)[
            place
        ]
    return Classes(tuple(names), tuple(levels), places, counts.size, counts)


def group_numbers(codes: Ints) -> Ints:
    """Return the number of each row's group: rows are together when all their codes agree.

    Examples
    --------
    >>> group_numbers(np.array([[1, 2], [1, 2], [0, 2]])).tolist()
    [1, 1, 0]
    """
    numbers = np.zeros(len(codes), dtype=np.int64)
    for c in range(codes.shape[1]):
        _, value = np.unique(codes[:, c], return_inverse=True)
        _, numbers = np.unique(
            numbers * (int(value.max(initial=0)) + 1) + value, return_inverse=True
        )
    return numbers


def group_rows(codes: Ints, sizes: Ints) -> Ints:
    """Return for each tuple how many rows share its codes."""
    numbers = group_numbers(codes)
    total: Ints = (
        np.bincount(numbers, weights=sizes).astype(np.int64)[numbers]
        if len(codes)
        else np.zeros(0, dtype=np.int64)
    )
    return total
