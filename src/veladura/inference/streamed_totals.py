"""Means, totals and ratios of rows that stream by: sums in one pass, their variance in another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.inference.weight_columns import check_weights, weight_numbers
from veladura.table.codes import label_text
from veladura.table.pieces import pieces

if TYPE_CHECKING:
    from veladura.table.table import Table

Part = tuple[Floats, Floats]  # numerator and denominator of each row
Rows = tuple[Floats, Floats, Floats, Ints]  # the same, with weight and group; -1 outside all groups


def streamed_totals(
    table: Table,
    parts: Callable[[pa.Table], Part],
    columns: Sequence[str],
    by: str | None,
    groups: Sequence[str],
    weights: str | None,
    *,
    divide: bool,
) -> tuple[Floats, Floats, float]:
    """Return the estimate of every group, its variance, and their degrees of freedom.

    Rows are independent draws: each is a cluster of its own, and all are in one stratum. The
    variance is n / (n - 1) times the sum of squared deviations of the scores (Binder 1983).
    """
    number = max(len(groups), 1)
    used = list(dict.fromkeys([*columns, *([by] if by else []), *([weights] if weights else [])]))

    def rows() -> Iterator[Rows]:
        for piece in pieces(table, used):
            above, below = parts(piece)
            load = _load(piece, weights)
            yield above, below, load, _groups_of(piece, by, groups)

    above_total, below_total = np.zeros(number), np.zeros(number)
    size = 0
    for above, below, load, group in rows():
        size += above.size
        above_total += _summed(load * above, group, number)
        below_total += _summed(load * below, group, number)
    if divide and not below_total.all():
        msg = "a dataset has no row for one of the estimates.\n\nHint: merge rare groups."
        raise DataError(msg)
    estimate = above_total / below_total if divide else above_total
    # scores of a mean or ratio add up to 0, those of a total to the total
    middle = np.zeros(number) if divide else above_total / size
    squares, outside = np.zeros(number), np.full(number, size, dtype=np.int64)
    for above, below, load, group in rows():
        inside = group >= 0
        own = group[inside]
        scores = load[inside] * above[inside]
        if divide:
            scores = load[inside] * (above[inside] - estimate[own] * below[inside])
            scores = scores / below_total[own]
        squares += _summed((scores - middle[own]) ** 2, own, number)
        outside -= np.bincount(own, minlength=number)
    squares += outside * middle**2  # rows outside a group have a score of 0
    return estimate, squares * size / max(size - 1, 1), float(max(size - 1, 1))


def _load(piece: pa.Table, weights: str | None) -> Floats:
    if weights is None:
        return np.ones(piece.num_rows)
    load = weight_numbers(piece.column(weights), weights)
    check_weights(load, weights)
    return load


def _groups_of(piece: pa.Table, by: str | None, groups: Sequence[str]) -> Ints:
    """Return the group of each row, -1 where there is none."""
    if by is None:
        return np.zeros(piece.num_rows, dtype=np.int64)
    coded = piece.column(by).combine_chunks().dictionary_encode()
    place = {text: i for i, text in enumerate(groups)}
    numbers = np.array([place[label_text(v)] for v in coded.dictionary.to_pylist()] or [0])
    codes = coded.indices.fill_null(-1).to_numpy()
    return np.where(codes < 0, -1, numbers[codes]).astype(np.int64)


def _summed(values: Floats, group: Ints, number: int) -> Floats:
    inside = group >= 0
    summed = np.bincount(group[inside], weights=values[inside], minlength=number)
    return summed.astype(np.float64)
