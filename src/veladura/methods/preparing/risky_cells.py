"""Which rows have a high individual risk, and which cells to blank so that none shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.errors import DataError
from veladura.numeric.coding import common_codes, dense
from veladura.numeric.individual_risk import class_risks
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


def rows_at_risk(table: Table, known: Sequence[str], weight: str | None, most: float) -> Mask:
    """Return which rows have an individual risk above a limit (`veladura.risk.individual`)."""
    return _at_risk(table, [table.column(name) for name in known], weight, most)


def _at_risk(table: Table, known: Sequence[Column], weight: str | None, most: float) -> Mask:
    cells, number = cells_of(known)
    persons = person_numbers(table) if table.person else None
    weights = np.ones(cells.size) if weight is None else table.column(weight).numbers()
    if not (weights > 0).all():
        msg = f"weight {weight!r} must hold numbers above 0, none missing."
        raise DataError(msg)
    # risks that equal the limit stay, whatever the last digit of a sum
    risky: Mask = class_risks(cells, number, persons, weights).risk > most * (1 + 1e-9)
    return risky[cells]


def cells_of(columns: Sequence[Column]) -> tuple[Ints, int]:
    """Return the class of each row; missing counts as a value of its own."""
    cells, number = np.zeros(columns[0].size, dtype=np.int64), 1
    for column in columns:
        codes, levels = common_codes([column])
        cells, number = dense(cells * levels + codes, number * levels)
    return cells, number


def blanked_by_risk(
    table: Table, known: Sequence[str], blanked: Sequence[str], weight: str | None, most: float
) -> dict[str, Mask]:
    """Return by column the cells to blank, in the order of the table.

    Blanked rows join a class of others, whose risk is computed anew, until no row above the limit
    shows one of the columns.
    """
    columns = {name: table.column(name) for name in dict.fromkeys([*known, *blanked])}
    gone = np.zeros(table.rows, dtype=bool)
    while True:
        risky = _at_risk(table, [columns[name] for name in known], weight, most)
        shows = np.logical_or.reduce([~columns[name].missing for name in blanked])
        if not (found := risky & shows).any():
            return {name: gone & ~table.column(name).missing for name in blanked}
        gone |= found
        for name in blanked:
            column = table.column(name)
            columns[name] = column.with_values(column.values, column.missing | gone)
