"""Rows of several tables as points: categories compared by equality, numbers by ranks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.context import thread_count
from veladura.errors import PlanError
from veladura.numeric.coding import common_codes

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

MISSING, BLOCK = -1e9, 50
EQUAL = 1e-12  # mean distances that differ by less are the same


@dataclass(frozen=True, eq=False)
class Near:
    """The nearest row of each point: its number, its distance per column, and its ties."""

    index: Ints = field(repr=False)
    distance: Floats = field(repr=False)
    ties: Ints = field(repr=False)


def positions(
    tables: Sequence[Table], names: Sequence[str], reference: Sequence[int]
) -> list[Floats]:
    """Return each table as points, one row a row.

    The place of a number is the share of the reference tables' values below it, in between by
    straight lines and outside by the range: a difference is then the share of rows between two
    values, whatever their scale and tails. Categories are whole numbers, and missing is a number
    far from all others: where two values differ by more than 1 the distance is 1.
    """
    if not names:
        msg = "there is no column to compare rows by."
        raise PlanError(msg)
    parts = []
    for name in names:
        columns = [table.column(name) for table in tables]
        labelled = any(column.labels is not None for column in columns)
        parts.append(_codes(columns) if labelled else _places(columns, reference))
    sizes = np.cumsum([table.rows for table in tables])[:-1]
    return [np.ascontiguousarray(part) for part in np.split(np.column_stack(parts), sizes)]


def _codes(columns: Sequence[Column]) -> Floats:
    codes, levels = common_codes(columns)
    return np.where(codes == levels - 1, MISSING, codes.astype(np.float64))


def _places(columns: Sequence[Column], reference: Sequence[int]) -> Floats:
    values = np.concatenate([column.values.astype(np.float64) for column in columns])
    missing = np.concatenate([column.missing for column in columns])
    given = np.concatenate(
        [columns[i].values[~columns[i].missing].astype(np.float64) for i in reference]
    )
    if given.size == 0:
        return np.where(missing, MISSING, 0.0)
    distinct, count = np.unique(given, return_counts=True)
    share = (np.cumsum(count) - count / 2) / given.size
    width = distinct[-1] - distinct[0]
    outside = np.maximum(values - distinct[-1], 0.0) - np.maximum(distinct[0] - values, 0.0)
    places = np.interp(values, distinct, share) + outside / (width if width > 0 else 1.0)
    return np.where(missing, MISSING, places)


def nearest_rows(points: Floats, others: Floats, skip: Ints | None = None) -> Near:
    """Return the nearest of the other rows for each point; the distance is the mean over columns.

    Columns that tell rows apart best come first: a row is skipped as soon as it is farther than the
    nearest so far. Blocks of points are searched in threads, each by itself.
    """
    from veladura.numeric.nearest_kernels import nearest

    size = points.shape[0]
    index, ties, distance = (
        np.full(size, -1, dtype=np.int64),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
    )
    left_out = np.full(size, -1, dtype=np.int64) if skip is None else skip.astype(np.int64)
    sharp = np.argsort(
        -np.minimum(np.abs(others - np.roll(others, 1, axis=0)), 1.0).mean(axis=0), kind="stable"
    )
    ours, theirs = np.ascontiguousarray(points[:, sharp]), np.ascontiguousarray(others[:, sharp])

    def block(start: int) -> None:
        nearest(ours, theirs, left_out, index, distance, ties, start, min(start + BLOCK, size))

    with ThreadPoolExecutor(thread_count()) as pool:
        list(pool.map(block, range(0, size, BLOCK)))
    return Near(index, distance / points.shape[1], ties)


def own_distance(points: Floats, others: Floats) -> Floats:
    """Return the distance of each point from the other row with its number, mean over columns."""
    from veladura.numeric.nearest_kernels import paired

    total = paired(np.ascontiguousarray(points), np.ascontiguousarray(others))
    return np.asarray(total / points.shape[1])
