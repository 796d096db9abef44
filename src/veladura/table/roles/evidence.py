"""What the guesses look at: dense codes and counts of each column, in the order of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.table.codes import encode, label_texts
from veladura.table.database_errors import without_values
from veladura.table.roles.names import hints_of
from veladura.table.schema import LABELLED, Field
from veladura.table.table import Table

MOST_ROWS = 200_000  # guesses on a larger table look at so many rows from its beginning
MOST_TEXTS = 1_000  # texts whose shape is looked at
MOST_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Evidence:
    """One column: the place of each row's value among the distinct ones, and how often each occurs.

    Attributes
    ----------
    codes
        Places in the order of values, -1 where missing; rows as they stand in the source.
    sizes
        Rows that hold each distinct value.
    levels
        The distinct values as numbers (days for dates), or None for text.
    texts
        Distinct values of a text column: all, or some at equal distances.
    hints
        What the words of the name may mean.
    """

    field: Field
    codes: Ints
    sizes: Ints
    levels: Floats | None
    texts: tuple[str, ...]
    hints: frozenset[str]

    @property
    def name(self) -> str:
        """The column's name."""
        return self.field.name

    @property
    def rows(self) -> int:
        """Number of rows, with those that have no value."""
        return int(self.codes.size)

    @property
    def present(self) -> int:
        """Number of rows with a value."""
        return int(self.sizes.sum())

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return int(self.sizes.size)

    @cached_property
    def numbers(self) -> Floats:
        """The values in increasing order, without the missing ones; empty for text."""
        return np.empty(0) if self.levels is None else np.repeat(self.levels, self.sizes)

    @cached_property
    def by_row(self) -> Floats:
        """The values by row, NaN where missing; only for numbers and dates."""
        if self.levels is None or self.distinct == 0:
            return np.full(self.rows, np.nan)
        return np.where(self.codes < 0, np.nan, self.levels[np.maximum(self.codes, 0)])

    @cached_property
    def decimals(self) -> int:
        """Decimals that write nearly every value; ten for more than nine."""
        if self.levels is None:
            return 0
        for decimals in range(MOST_DECIMALS + 1):
            if np.mean(np.abs(np.round(self.levels, decimals) - self.levels) < 1e-10) > 0.99:  # noqa: PLR2004
                return decimals
        return MOST_DECIMALS + 1

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers, under whatever type they are stored."""
        return (
            self.levels is not None
            and self.field.kind != "date"
            and self.distinct > 0
            and bool(np.all(self.levels == np.floor(self.levels)))
        )

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return self.present >= FEWEST_ROWS and self.distinct >= UNIQUE_SHARE * self.present

    def at(self, rows: Ints) -> Evidence:
        """Return the evidence on some of the rows only."""
        codes = self.codes[rows]
        sizes = np.bincount(codes[codes >= 0], minlength=self.distinct)
        kept = sizes > 0
        place = np.cumsum(kept) - 1
        return replace(
            self,
            codes=np.where(codes < 0, -1, place[np.maximum(codes, 0)]) if kept.any() else codes,
            sizes=sizes[kept],
            levels=None if self.levels is None else self.levels[kept],
        )


FEWEST_ROWS = 50  # in fewer rows values may all differ by chance
UNIQUE_SHARE = 0.95


def gather(table: Table, names: Sequence[str] | None = None) -> list[Evidence]:
    """Return the evidence on some columns, by default on all."""
    wanted = table.names if names is None else list(names)
    rows = first_rows(table.select(wanted))
    return [_evidence(rows.column(i), table.schema[name]) for i, name in enumerate(wanted)]


def first_rows(table: Table) -> pa.Table:
    """Return all rows of a table, or those at the beginning of a large one."""
    if table.in_memory:
        return table.data.slice(0, MOST_ROWS)
    with without_values(table.source.name):
        return _typed(table, MOST_ROWS)


def _typed(table: Table, most: int) -> pa.Table:
    """Return the first rows of a lazy table, each column in the type of its kind."""
    if table.rows <= most:
        return table.arrow
    return replace(table, data=table.data.limit(most)).read()


def _evidence(array: pa.ChunkedArray, field: Field) -> Evidence:
    column = encode(array, field)
    present = ~column.missing
    values = column.values[present]
    codes = np.full(column.size, -1, dtype=np.int64)
    if field.kind in LABELLED:
        count = np.bincount(values, minlength=1)  # labels are counted: no need to sort rows
        levels = np.flatnonzero(count)
        codes[present], sizes = (np.cumsum(count > 0) - 1)[values], count[levels]
        texts = _some(label_texts(column), levels)
        return Evidence(field, codes, sizes, None, texts, hints_of(field.name))
    levels, codes[present], sizes = np.unique(values, return_inverse=True, return_counts=True)
    numbers = levels.astype(np.float64)
    if pa.types.is_timestamp(field.type):
        numbers = numbers / _PER_DAY[field.type.unit]
    return Evidence(field, codes, sizes, numbers, (), hints_of(field.name))


_PER_DAY = {"s": 86_400.0, "ms": 86_400e3, "us": 86_400e6, "ns": 86_400e9}


def _some(texts: Sequence[str], levels: Ints) -> tuple[str, ...]:
    """Return the texts that occur, or some of them at equal distances."""
    step = max(levels.size // MOST_TEXTS, 1)
    return tuple(texts[int(level)] for level in levels[::step])
