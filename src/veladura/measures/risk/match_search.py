"""The arrays that the kernels of match risk take: cells, windows, and released rows in their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.measures.measure import NotApplicable
from veladura.measures.risk.intruder import Intruder
from veladura.numeric.coding import Ints, column_of, common_cells, dense
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.table import Table

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # of a value: 23.1 - 0.3 is 22.800000000000001, and 22.8 is within 0.3 of 23.1


def rough_columns(tables: Sequence[Table], intruder: Intruder) -> list[str]:
    """Return the sensitive columns that are known within a radius, after checking that all tables hold all columns."""
    for table in tables:
        table.schema.check("known", intruder.known)
        table.schema.check("sensitive", intruder.sensitive)
    rough = [name for name in intruder.sensitive if tables[0].schema[name].kind not in LABELLED]
    if recoded := [
        name for name in rough if any(table.schema[name].kind in LABELLED for table in tables)
    ]:
        msg = (
            f"columns whose numbers were recoded to categories: {recoded}. No radius applies to"
            " them."
        )
        raise NotApplicable(msg)
    return rough


def exact_cells(
    tables: Sequence[Table], intruder: Intruder, rough: Sequence[str]
) -> tuple[list[Ints], int]:
    """Return the cell of what must be equal: known columns, categories, and where a rough number is missing."""
    cells, number = common_cells(
        tables, [*intruder.known, *(name for name in intruder.sensitive if name not in rough)]
    )
    for name in rough:
        missing = [column_of(table, name).missing for table in tables]
        flat, number = dense(np.concatenate(cells) * 2 + np.concatenate(missing), number * 2)
        cells = np.split(flat, np.cumsum([part.size for part in cells])[:-1])
    return cells, number


def rough_numbers(table: Table, rough: Sequence[str]) -> Floats:
    """Return the rough columns, one a row, 0 where missing; a row of noughts when there is none."""
    columns = [np.nan_to_num(column_of(table, name).numbers()) for name in rough]
    return np.array(columns) if columns else np.zeros((1, table.rows))


def windows(
    numbers: Floats, rough: Sequence[str], intruder: Intruder, original: Table
) -> tuple[Floats, Floats]:
    """Return the ends of what the intruder takes for possible, with a guard against the rounding of decimals."""
    if not rough:
        return numbers, numbers
    half = np.array(
        [
            intruder.reach(name)
            * (
                np.abs(values)
                if intruder.is_relative(name)
                else np.full(values.size, _unit(original, name))
            )
            for name, values in zip(rough, numbers, strict=True)
        ]
    )
    guard = ROUNDING * (np.abs(numbers) + half)
    return numbers - half - guard, numbers + half + guard


def _unit(original: Table, name: str) -> float:
    """Return what one of the radius is in the numbers of a column: a day of a time is so many microseconds."""
    field_ = original.schema[name]
    return 86_400e6 if field_.kind == "date" and str(field_.type).startswith("timestamp") else 1.0


def sharpest(numbers: Floats, low: Floats, high: Floats) -> Ints:
    """Return the columns with the one first whose windows hold the fewest original values: its window is looked through."""
    if numbers.shape[0] == 1:
        return np.zeros(1, dtype=np.int64)
    some = slice(None, None, max(numbers.shape[1] // 1000, 1))
    held = []
    for values, lower, upper in zip(np.sort(numbers, axis=1), low, high, strict=True):
        held.append(
            float(
                np.mean(
                    np.searchsorted(values, upper[some], "right")
                    - np.searchsorted(values, lower[some])
                )
            )
        )
    return np.argsort(held, kind="stable")


def laid_out(
    links: Sequence[Ints], cells: Sequence[Ints], numbers: Sequence[Floats], number: int
) -> tuple[Ints, Floats, Ints]:
    """Return all released rows by release, cell and first number, and where each cell begins."""
    rows, values, starts, base = [], [], [], 0
    for link, cell, part in zip(links, cells, numbers, strict=True):
        order = np.lexsort((part[0], cell))
        rows.append(link[order])
        values.append(part[:, order])
        starts.append(base + np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=number))]))
        base += link.size
    return (
        np.concatenate(rows).astype(np.int64),
        np.ascontiguousarray(np.hstack(values)),
        np.array(starts, dtype=np.int64),
    )


def population_counts(original: Table, people: Table, intruder: Intruder, targets: Ints) -> Ints:
    """Return how many of a population match each target, by those of the intruder's columns that it has."""
    from veladura.measures.risk.match_kernels import tally

    people.schema.check("known", intruder.known)
    seen = [name for name in intruder.sensitive if name in people.names]
    tables = [original, people]
    narrower = Intruder(
        known=intruder.known,
        sensitive=tuple(seen),
        radius=intruder.radius,
        relative=intruder.relative,
    )
    rough = rough_columns(tables, narrower)
    cells, number = exact_cells(tables, narrower, rough)
    numbers = [rough_numbers(table, rough) for table in tables]
    low, high = windows(numbers[0], rough, narrower, original)
    _, values, starts = laid_out([np.arange(people.rows)], cells[1:], numbers[1:], number)
    found: Ints = tally(
        values,
        starts[0],
        cells[0][targets],
        np.ascontiguousarray(low[:, targets]),
        np.ascontiguousarray(high[:, targets]),
    )
    return found
