"""How many rows hold each number of a column, counted where the rows live.

Whoever treats a part of the rows must know which numbers few people of all share, and how far these
are from others. One query a column says it: the distinct numbers, and how often each occurs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.memory import cells_within
from veladura.table.codes import Column, encode
from veladura.table.database.connection import fetch, fetch_one
from veladura.table.database_errors import without_values
from veladura.table.held import HELD_CELLS
from veladura.table.table import cast

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Frequencies:
    """The distinct numbers of a column over all rows. Its repr shows none.

    Attributes
    ----------
    column
        The distinct numbers in order; none is missing.
    rows
        How many rows hold each.
    """

    column: Column = field(repr=False)
    rows: Ints = field(repr=False)

    def of(self, column: Column) -> Ints:
        """Return how many rows hold each distinct value of a part of the rows, in order."""
        wanted, known = np.unique(column.values[~column.missing]), self.column.values
        if not known.size:
            return np.zeros(wanted.size, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        return np.asarray(np.where(known[place] == wanted, self.rows[place], 0))


def counted_in(column: Column) -> Frequencies:
    """Return the distinct numbers of a column that is held, with their frequencies."""
    values, rows = np.unique(column.values[~column.missing], return_counts=True)
    distinct = column.with_values(values, np.zeros(values.size, dtype=bool))
    return Frequencies(distinct, rows.astype(np.int64))


def most_numbers() -> int:
    """Return how many distinct numbers of a column are held: as many as cells of a table."""
    within = cells_within()
    return HELD_CELLS if within is None else within


def frequencies(table: Table, name: str) -> Frequencies | None:
    """Return the distinct numbers of a column with their frequencies; None for too many to hold.

    Numbers, and not hashes of them, are grouped: they come back in any order and are sorted here,
    so that every engine gives the same.
    """
    rows = table.expression
    place = rows[f"c{table.schema.position(name)}"]
    with without_values(table.source.name):
        if table.rows > most_numbers():
            distinct = fetch_one(rows, {"distinct": place.nunique()})["distinct"]
            if distinct > most_numbers():
                return None
        some = rows.select(v=place)
        some = some.filter(some["v"].notnull())
        counted = fetch(some.group_by("v").aggregate(size=some.count()))
    field_ = table.schema[name]
    column = encode(cast(counted.column("v"), field_.type), field_)
    size = counted.column("size").cast(pa.int64()).to_numpy()
    present = ~column.missing  # a NaN is missing
    values, size = column.values[present], size[present]
    order = np.argsort(values, kind="stable")
    values, size = values[order], size[order]
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: values.size])
    if first.size < values.size:  # both signs of zero are one number
        values, size = values[first], np.add.reduceat(size, first)
    return Frequencies(column.with_values(values, np.zeros(values.size, dtype=bool)), size)
