"""Samples of rows for models: a stated number, the same rows for every model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.streams import Streams

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

MOST_ROWS = 10_000  # for models whose cost grows faster than the rows
MANY_ROWS = 100_000  # for counts and linear fits


def some_rows(rows: int, most: int = MOST_ROWS) -> Ints:
    """Return all row numbers, or as many as are needed, drawn from a fixed stream.

    Tables of the same length are thinned at the same places, so that aligned rows stay aligned.

    Examples
    --------
    >>> some_rows(3).tolist(), some_rows(20_000).size
    ([0, 1, 2], 10000)
    """
    if rows <= most:
        return np.arange(rows)
    return np.sort(Streams(0)("utility", "rows").choice(rows, most, replace=False))


@dataclass(frozen=True)
class Rows:
    """The rows of an original and of a released table that are used; whether they are aligned."""

    original: Ints
    released: Ints
    aligned: bool

    def __iter__(self) -> Iterator[Ints]:
        return iter((self.original, self.released))


def matched_rows(
    original: Table, released: Table, kept: Sequence[str], most: int = MOST_ROWS
) -> Rows:
    """Return the rows to use; where a release kept some columns, aligned by these.

    A saved release is in random order: both tables are then sorted by the kept columns. Rows that
    tie may be aligned in any way.
    """
    if kept and original.rows == released.rows:
        places = some_rows(original.rows, most)
        if _equal(original, released, kept, None, None):
            return Rows(places, places, aligned=True)
        first, second = _sorted(original, kept), _sorted(released, kept)
        if _equal(original, released, kept, first, second):
            return Rows(first[places], second[places], aligned=True)
    return Rows(some_rows(original.rows, most), some_rows(released.rows, most), aligned=False)


def _sorted(table: Table, names: Sequence[str]) -> Ints:
    from veladura.table.order import canonical_order

    return canonical_order((key for name in names for key in read(table, name).keys()), table.rows)  # noqa: SIM118


def _equal(
    original: Table,
    released: Table,
    names: Sequence[str],
    first: Ints | None,
    second: Ints | None,
) -> bool:
    """Whether some columns are the same, row for row in the orders given."""

    def column(table: Table, name: str, order: Ints | None) -> pa.ChunkedArray:
        return (
            table.arrow.column(name)
            if order is None
            else table.arrow.column(name).take(pa.array(order))
        )

    return all(
        original.schema[name].type == released.schema[name].type
        and column(original, name, first).equals(column(released, name, second))
        for name in names
    )


def read(table: Table, name: str, rows: Ints | None = None) -> Column:
    """Return a column at some rows as plain arrays; other rows are not encoded."""
    from veladura.table.codes import encode

    if rows is None or (rows.size == table.rows and bool(np.all(rows[1:] > rows[:-1]))):
        return table.column(name)
    return encode(table.arrow.column(name).take(pa.array(rows)), table.schema[name])


def sample_note(*tables: Table, most: int = MOST_ROWS) -> str:
    """Say how many rows were used, where that is not all of them."""
    return (
        f"A sample of {most:,} rows of each table."
        if any(table.rows > most for table in tables)
        else ""
    )
