"""The search behind match risk: arrays for the compiled kernels, and figures from their counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.estimate import Estimate
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.measures.risk.intruder import Intruder
from veladura.numeric.coding import common_cells, dense
from veladura.numeric.proportions import mean_share, sample_rows, share
from veladura.table.schema import LABELLED
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_RELEASES = 20
ROUNDING = 1e-9  # of a value: 23.1 - 0.3 is 22.800000000000001, and 22.8 is within 0.3 of 23.1


@dataclass(frozen=True, eq=False)
class MatchRisk:
    """Match risk: whom an intruder re-identifies.

    Attributes
    ----------
    emr
        EMR / n, the expected match risk over the number of targets: the mean of ``per_record``.
    tmr
        True match rate: share of targets for whom one row is the most likely, and is theirs.
    fmr
        False match rate: of the targets for whom one row is the most likely, the share for whom it
        is somebody else's; 0 without any.
    claimed, unmatched
        Share of targets for whom one row is the most likely, and for whom no row matches.
    targets
        The original rows of the targets.
    per_record
        I / c for each target: the probability to pick the right row among the c most likely ones.
    ties
        c for each target: the rows that share the largest probability; 0 without a match.
    """

    emr: Estimate
    tmr: Estimate
    fmr: Estimate
    claimed: Estimate
    unmatched: Estimate
    targets: Ints = field(repr=False)
    per_record: Floats = field(repr=False)
    ties: Ints = field(repr=False)


def search(
    original: Table,
    released: Sequence[tuple[Table, Ints]],
    intruder: Intruder,
    targets: int | None = None,
) -> MatchRisk:
    """Return the match risk of opened tables.

    Parameters
    ----------
    released
        Each released table with the original row of each of its rows.
    targets
        How many people are targets, drawn from a fixed stream; all of them by default.
    """
    from veladura.measures.risk import match_kernels as kernels

    if len(released) > MOST_RELEASES:
        msg = f"match risk takes at most {MOST_RELEASES} datasets, got {len(released)}."
        raise PlanError(msg)
    if original.rows == 0:
        msg = "the table has no rows: there is nobody to re-identify."
        raise DataError(msg)
    people = None if intruder.population is None else open_quietly(intruder.population)
    tables = [original, *(table for table, _ in released)]
    rough = rough_columns(tables, intruder)
    cells, number = exact_cells(tables, intruder, rough)
    numbers = [rough_numbers(table, rough) for table in tables]
    chosen = sample_rows(original.rows, targets, "match", "targets")
    low, high = windows(numbers[0], rough, intruder, original)
    lead = sharpest(numbers[0], low, high)
    numbers, low, high = [part[lead] for part in numbers], low[lead], high[lead]
    order = chosen[np.lexsort((numbers[0][0, chosen], cells[0][chosen]))]
    low, high = np.ascontiguousarray(low[:, order]), np.ascontiguousarray(high[:, order])
    rows, values, starts = laid_out(
        [links for _, links in released], cells[1:], numbers[1:], number
    )
    ties, hits = np.zeros(order.size, dtype=np.int64), np.zeros(order.size, dtype=np.int64)
    counted = (
        np.zeros(order.size)
        if people is None
        else population_counts(original, people, intruder, order).astype(np.float64)
    )
    inside, rest = cells[0][order], (counted, intruder.decline, original.rows, ties, hits)
    if len(rough) <= 1:
        kernels.slide(rows, values[0], starts, order, inside, low[0], high[0], *rest)
    else:
        kernels.scan(rows, values, starts, order, inside, low, high, *rest)
    back = np.argsort(order)
    return _risk(order[back], ties[back], hits[back], original.rows)


def _risk(targets: Ints, ties: Ints, hits: Ints, rows: int) -> MatchRisk:
    """Return the figures from the rows that are most likely for each target."""
    each = np.divide(hits, ties, out=np.zeros(ties.size), where=ties > 0)
    alone = ties == 1
    claims, wrong = int(np.count_nonzero(alone)), int(np.count_nonzero(alone & (hits == 0)))
    whole = targets.size == rows
    false = Estimate.exact(wrong / claims if claims else 0.0) if whole else share(wrong, claims)
    right, claimed, none = (
        mean_share(np.asarray(flags, dtype=np.float64), rows)
        for flags in (alone & (hits == 1), alone, ties == 0)
    )
    return MatchRisk(mean_share(each, rows), right, false, claimed, none, targets, each, ties)


def rough_columns(tables: Sequence[Table], intruder: Intruder) -> list[str]:
    """Return the sensitive columns that are known within a radius; all tables must have them."""
    for table in tables:
        table.schema.check("known", intruder.known)
        table.schema.check("sensitive", intruder.sensitive)
    rough = [name for name in intruder.sensitive if tables[0].schema[name].kind not in LABELLED]
    if recoded := [
        name for name in rough if any(table.schema[name].kind in LABELLED for table in tables)
    ]:
        msg = (
            f"columns whose numbers were recoded to categories: {recoded}. A radius cannot"
            " be applied to them."
        )
        raise NotApplicable(msg)
    return rough


def exact_cells(
    tables: Sequence[Table], intruder: Intruder, rough: Sequence[str]
) -> tuple[list[Ints], int]:
    """Return the cell of the values that must be equal, for each row of each table.

    They are the known columns, the categories, and whether a rough number is missing.
    """
    cells, number = common_cells(
        tables, [*intruder.known, *(name for name in intruder.sensitive if name not in rough)]
    )
    for name in rough:
        missing = [table.column(name).missing for table in tables]
        flat, number = dense(np.concatenate(cells) * 2 + np.concatenate(missing), number * 2)
        cells = np.split(flat, np.cumsum([part.size for part in cells])[:-1])
    return cells, number


def rough_numbers(table: Table, rough: Sequence[str]) -> Floats:
    """Return the rough columns, one a row, 0 where missing; a row of zeros if there are none."""
    columns = [np.nan_to_num(table.column(name).numbers()) for name in rough]
    return np.array(columns) if columns else np.zeros((1, table.rows))


def windows(
    numbers: Floats, rough: Sequence[str], intruder: Intruder, original: Table
) -> tuple[Floats, Floats]:
    """Return the ends of the values an intruder considers possible, widened by rounding errors."""
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
    """Return what a radius of 1 is in the numbers of a column: a day is so many microseconds."""
    field_ = original.schema[name]
    return 86_400e6 if field_.kind == "date" and str(field_.type).startswith("timestamp") else 1.0


def sharpest(numbers: Floats, low: Floats, high: Floats) -> Ints:
    """Return the order of the columns, first the one whose windows hold the fewest values."""
    if numbers.shape[0] == 1:
        return np.zeros(1, dtype=np.int64)
    some = slice(None, None, max(numbers.shape[1] // 1000, 1))
    held = []
    for values, lower, upper in zip(np.sort(numbers, axis=1), low, high, strict=True):
        ends = np.searchsorted(values, upper[some], "right")
        held.append(float(np.mean(ends - np.searchsorted(values, lower[some]))))
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
    """Return how many people of a population match each target, by the columns it has."""
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
    matches: Ints = tally(
        values,
        starts[0],
        cells[0][targets],
        np.ascontiguousarray(low[:, targets]),
        np.ascontiguousarray(high[:, targets]),
    )
    return matches
