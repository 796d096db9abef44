"""Distinct tuples with counts: small arrays, counted where the data lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.table.codes import Column, canonical_order, encode
from veladura.table.faults import told_without_values

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct tuples of some columns, each with the number of rows that hold it."""

    columns: tuple[Column, ...] = field(repr=False)
    size: NDArray[np.int64] = field(repr=False)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The tuples as a matrix of codes, -1 where missing; one row a tuple."""
        return np.column_stack([np.where(column.missing, -1, np.unique(column.key(), return_inverse=True)[1]) for column in self.columns])


def counts(table: Table, columns: Sequence[str]) -> Counts:
    """Return the distinct tuples of some columns with their counts."""
    table.schema.check("columns", columns)
    places = [f"c{table.schema.position(name)}" for name in columns]
    with told_without_values(table.source.name):
        grouped = table.expression.group_by(places).aggregate(size=table.expression.count()).to_pyarrow()
    coded = tuple(encode(grouped.column(place).cast(table.schema[name].type), table.schema[name]) for place, name in zip(places, columns, strict=True))
    size = grouped.column("size").cast(pa.int64()).to_numpy()
    order = canonical_order((column.key() for column in coded), size.size)
    return Counts(tuple(column.take(order) for column in coded), size[order])
