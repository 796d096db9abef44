"""Distinct tuples with counts: small arrays, counted where the data lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.table.codes import Column, encode
from veladura.table.database.connection import fetch
from veladura.table.database_errors import without_values
from veladura.table.order import canonical_order

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_VALUES = 65_536


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
    grouped = _grouped(table, {name: table.schema.position(name) for name in columns})
    coded = tuple(
        encode(
            _cast(grouped.column(f"c{table.schema.position(name)}"), table.schema[name].type),
            table.schema[name],
        )
        for name in columns
    )
    size = grouped.column("size").cast(pa.int64()).to_numpy()
    order = _order(coded, size.size)
    return Counts(tuple(column.take(order) for column in coded), size[order])


def _grouped(table: Table, positions: dict[str, int]) -> pa.Table:
    """Return distinct tuples, in any order, with a last column ``size``."""
    places = [f"c{position}" for position in positions.values()]
    if table.in_memory:
        columns = [_comparable(table.data.column(position)) for position in positions.values()]
        grouped = pa.table(columns, names=places).group_by(places).aggregate([([], "count_all")])
        return grouped.rename_columns([*places, "size"])
    with without_values(table.source.name):
        expression = table.expression
        return fetch(expression.group_by(places).aggregate(size=expression.count()))


def _comparable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return floats without negative zeros and NaN: Arrow would count them as values apart."""
    if not pa.types.is_floating(column.type):
        return column
    zero = pa.scalar(0.0, column.type)
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, zero))


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
