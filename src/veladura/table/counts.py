"""Distinct tuples with counts: small arrays, counted where the data lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.table.codes import Column, encode
from veladura.table.database.connection import fetch
from veladura.table.database_errors import without_values
from veladura.table.order import canonical_order

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_VALUES = 65_536
_FEW_PER_ROW = 4  # so many cells per row are counted faster than rows are sorted
_LARGEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct tuples of some columns, each with the number of rows that hold it."""

    columns: tuple[Column, ...] = field(repr=False)
    size: NDArray[np.int64] = field(repr=False)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The tuples as a matrix of codes, -1 where missing; one row per tuple."""
        return np.column_stack([_dense(column) for column in self.columns])


def counts(table: Table, columns: Sequence[str]) -> Counts:
    """Return the distinct tuples of some columns with their counts, in their canonical order."""
    table.schema.check("columns", columns)
    if not columns:
        msg = "counts needs at least one column, got none.\n\nHint: name the columns to count."
        raise PlanError(msg)
    return (_in_memory if table.in_memory else _lazy)(table, columns)


def _in_memory(table: Table, columns: Sequence[str]) -> Counts:
    """Number the tuples of all rows in their canonical order, and count the numbers."""
    coded = {
        name: encode(table.data.column(table.schema.position(name)), table.schema[name])
        for name in dict.fromkeys(columns)
    }
    number, most = _numbered(list(coded.values()))
    if most <= _FEW_PER_ROW * number.size:
        size = np.bincount(number, minlength=most)
        row = np.empty(most, dtype=np.int64)
        row[number] = np.arange(number.size)  # any row that holds the tuple
        size, rows = size[size > 0], row[size > 0]
    else:
        order = np.argsort(number)
        starts = np.flatnonzero(np.diff(number[order], prepend=-1))
        size, rows = np.diff(starts, append=number.size), order[starts]
    return Counts(tuple(coded[name].take(rows) for name in columns), size.astype(np.int64))


def _numbered(columns: Sequence[Column]) -> tuple[NDArray[np.int64], int]:
    """Return a number for the tuple of each row, in the order of tuples, and a bound for it."""
    number, most = np.zeros(columns[0].size, dtype=np.int64), 1
    for column in columns:
        place, levels = _places(column)
        if most * levels >= _LARGEST:  # numbers without gaps leave room for more columns
            distinct, number = np.unique(number, return_inverse=True)
            most = distinct.size
        number, most = number * levels + place, most * levels
    return number, most


def _places(column: Column) -> tuple[NDArray[np.int64], int]:
    """Return the place of each value in the order of values, missing last, and a bound for it."""
    present = column.values[~column.missing]
    if present.size == 0:
        return np.zeros(column.size, dtype=np.int64), 1
    low, high = present.min(), present.max()
    if present.dtype.kind != "f" and int(high) - int(low) <= _FEW_PER_ROW * column.size:
        places, levels = column.values - low, int(high) - int(low) + 1
    else:
        distinct = np.unique(present)
        places, levels = np.searchsorted(distinct, column.values), distinct.size
    return np.where(column.missing, levels, places), levels + 1


def _lazy(table: Table, columns: Sequence[str]) -> Counts:
    """Group rows where they live, and put the distinct tuples in their canonical order."""
    positions = {name: table.schema.position(name) for name in columns}
    expression = table.expression
    with without_values(table.source.name):
        groups = expression.group_by([f"c{position}" for position in positions.values()])
        grouped = fetch(groups.aggregate(size=expression.count()))
    coded = tuple(
        encode(
            _cast(grouped.column(f"c{positions[name]}"), table.schema[name].type),
            table.schema[name],
        )
        for name in columns
    )
    size = grouped.column("size").cast(pa.int64()).to_numpy()
    order = _order(coded, size.size)
    return Counts(tuple(column.take(order) for column in coded), size[order])


def _order(columns: Sequence[Column], size: int) -> NDArray[np.int64]:
    """Return distinct tuples in their canonical order; values of one column need one sort only."""
    keys = list(columns[0].keys()) if len(columns) == 1 else []
    if len(keys) == 1:
        return np.argsort(keys[0])
    return canonical_order((key for column in columns for key in column.keys()), size)  # noqa: SIM118


def thinned(counts: Counts, most: int = MOST_VALUES) -> Counts:
    """Return the counts of one column of numbers or dates, neighbours merged until few are left.

    The lowest value stays by itself. Every other value stands for those between it and the value
    before it, so that quantiles and cumulative shares are off by at most one part in ``most``.
    """
    column, size = counts.columns[0], counts.size
    if column.labels is not None or size.size <= most:
        return counts
    present, missing = np.flatnonzero(~column.missing), np.flatnonzero(column.missing)
    reached = np.cumsum(size[present])
    marks = np.linspace(reached[0], reached[-1], most - 1 - missing.size)
    ends = np.unique(np.searchsorted(reached, marks))
    merged = np.diff(reached[ends], prepend=0)
    places = np.concatenate([present[ends], missing])
    return Counts((column.take(places),), np.concatenate([merged, size[missing]]))


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == type_ else column.cast(type_)


def _dense(column: Column) -> NDArray[np.int64]:
    """Return the rank of each value among those that occur, -1 where missing."""
    ranks = np.full(column.size, -1, dtype=np.int64)
    present = ~column.missing
    ranks[present] = np.unique(column.values[present], return_inverse=True)[1]
    return ranks
