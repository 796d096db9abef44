"""Two releases whose rows are people: joined on the columns that are the same in both.

Whoever has two noisy or synthetic values of the same person takes their mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.table.codes import label_text
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.core.release import Dataset, Release
    from veladura.table.table import Table

NEAR = 0.1  # of the true number: the p-% rule


@dataclass(frozen=True)
class Linked:
    """What the join of two releases tells.

    Attributes
    ----------
    by
        The columns that are the same in both.
    people
        People of both whose values in them are alone in either file: their rows are linked.
    near_one, near_both
        Of linked people, those whose number is within 10 % of the released one, and within 10 % of
        the mean of both, in the column where the mean gains most.
    column
        That column; empty where no number was changed in both.
    """

    by: tuple[str, ...]
    people: int
    near_one: int = 0
    near_both: int = 0
    column: str = ""


def linked(first: Release, second: Release, source: Table, by: tuple[str, ...]) -> Linked | None:
    """Return what two releases of one source tell together; None where rows are nobody's.

    Parameters
    ----------
    source
        The source, as both releases have its rows.
    by
        The columns that are the same in both.
    """
    if first.rows is None or second.rows is None:
        return None
    data = [release.tables[0] for release in (first, second)]
    where = [np.asarray(dataset.rows) for dataset in data]
    both = np.intersect1d(where[0], where[1])
    if not by or not both.size:
        return Linked(by, 0)
    at = [_places(rows, both) for rows in where]
    single = np.ones(both.size, dtype=bool)
    for dataset, place in zip(data, at, strict=True):
        single &= (_sizes(dataset.table, by) == 1)[place]
    column, one, mean = _nearer(data, at, source, both, single)
    return Linked(by, int(single.sum()), one, mean, column)


def _places(rows: Ints, wanted: Ints) -> Ints:
    order = np.argsort(rows, kind="stable")
    return np.asarray(order[np.searchsorted(rows[order], wanted)])


def _sizes(table: Table, columns: Sequence[str]) -> Ints:
    """Return how many rows share the values of each row."""
    texts = [
        ["" if v is None else f"={label_text(v)}" for v in table.arrow.column(name).to_pylist()]
        for name in columns
    ]
    numbers: dict[tuple[str, ...], int] = {}
    cell = np.array([numbers.setdefault(c, len(numbers)) for c in zip(*texts, strict=True)])
    return np.asarray(np.bincount(cell)[cell], dtype=np.int64)


def _nearer(
    data: Sequence[Dataset], at: Sequence[Ints], source: Table, both: Ints, single: Mask
) -> tuple[str, int, int]:
    """Return the number that the mean of both releases tells best, before and after."""
    tables = [dataset.table for dataset in data]
    best = ("", 0, 0)
    for name in tables[0].names:
        fields = [t.schema[name] for t in (*tables, source) if name in t.names]
        if len(fields) < 3 or any(field.kind not in NUMERIC for field in fields):  # noqa: PLR2004
            continue
        truth = source.column(name).numbers()[both]
        values = [t.column(name).numbers()[p] for t, p in zip(tables, at, strict=True)]
        exact = all((value == truth).all() for value in values)
        if exact or np.array_equal(values[0], values[1], equal_nan=True):
            continue  # the mean of both tells no more than one
        middle = (values[0] + values[1]) / 2
        one, mean = (_near(value, truth, single) for value in (values[0], middle))
        if not best[0] or mean - one > best[2] - best[1]:
            best = (name, one, mean)
    return best


def _near(guess: Floats, truth: Floats, single: Mask) -> int:
    right = np.abs(guess - truth) <= NEAR * np.abs(truth)
    return int(np.count_nonzero(right & single))
