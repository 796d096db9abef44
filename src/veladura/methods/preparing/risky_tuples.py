"""Cells to blank by risk in a table that is not held: decided by tuples, found row by row.

What becomes of a row depends on the tuple of its known values only. Tuples are counted where the
rows live; a row that passes in a chunk finds its own among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.methods.preparing.risky_cells import cells_of
from veladura.numeric.individual_risk import negative_binomial_risk
from veladura.table.codes import Column, relabelled
from veladura.table.tuple_sums import TupleSums, tuple_sums

if TYPE_CHECKING:
    from veladura.table.table import Table
    from veladura.table.whole import Whole


def risky_rows_shown(
    table: Table, known: Sequence[str], blanked: Sequence[str], weight: str | None, most: float
) -> int:
    """Return how many rows above the risk show one of the columns, counted where they live."""
    sums = tuple_sums(table, known, blanked, weight)
    return int(sums.shown[_at_risk(sums, sums.columns, most)].sum())


def _at_risk(sums: TupleSums, columns: Sequence[Column], most: float) -> Mask:
    """Return which tuples have an individual risk above a limit."""
    cells, number = cells_of(columns)
    size = np.bincount(cells, sums.size, number)
    total = np.bincount(cells, sums.weight, number).astype(np.float64)
    # as for rows in memory: risks that equal the limit stay
    risky: Mask = negative_binomial_risk(size.astype(np.int64), total) > most * (1 + 1e-9)
    return risky[cells]


@dataclass(frozen=True, eq=False)
class RiskyTuples:
    """Which tuples of known values lose cells. Its repr shows none.

    Attributes
    ----------
    known
        The columns.
    values
        The distinct values of each column in order.
    keys
        For each column the numbers of the tuples of all columns up to it, in order: the number of
        the tuple before times the values of the column, plus the place of its value.
    gone
        For each tuple whether its cells are blanked.
    """

    known: tuple[str, ...]
    values: tuple[Ints, ...] = field(repr=False)
    keys: tuple[Ints, ...] = field(repr=False)
    gone: Mask = field(repr=False)

    @classmethod
    def of(
        cls,
        whole: Whole,
        known: Sequence[str],
        blanked: Sequence[str],
        weight: str | None,
        most: float,
    ) -> RiskyTuples:
        """Return the tuples to blank: until no row above the limit shows one of the columns."""
        sums = tuple_sums(whole.table, known, blanked, weight)
        labels = whole.labels
        given = [
            relabelled(one, labels[one.name]) if one.name in labels else one for one in sums.columns
        ]
        columns, gone = list(given), np.zeros(sums.size.size, dtype=bool)
        while (found := _at_risk(sums, columns, most) & ~gone).any():
            gone |= found
            columns = [
                one.with_values(one.values, one.missing | gone) if one.name in blanked else one
                for one in given
            ]
        values = tuple(np.unique(one.values[~one.missing]) for one in given)
        index = cls(tuple(known), values, (), gone)
        number, keys = np.zeros(gone.size, dtype=np.int64), []
        for one, distinct in zip(given, values, strict=True):
            pairs = number * (distinct.size + 1) + _places(one, distinct)
            level, number = np.unique(pairs, return_inverse=True)
            keys.append(level)
        by_tuple = np.zeros(keys[-1].size, dtype=bool)
        by_tuple[number] = gone
        return replace(index, keys=tuple(keys), gone=by_tuple)

    def among(self, columns: Mapping[str, Column]) -> Mask:
        """Return which rows hold a tuple that loses cells, categories numbered as in all rows."""
        number: Ints = np.zeros(columns[self.known[0]].size, dtype=np.int64)
        for name, distinct, keys in zip(self.known, self.values, self.keys, strict=True):
            pairs = number * (distinct.size + 1) + _places(columns[name], distinct)
            number = np.minimum(np.searchsorted(keys, pairs), keys.size - 1)
        return np.asarray(self.gone[number])


def _places(column: Column, distinct: Ints) -> Ints:
    """Return the place of each value among the distinct ones; missing is last."""
    return np.where(column.missing, distinct.size, np.searchsorted(distinct, column.values))
