"""Sampling weights in measures: the column that a table declares, and estimates with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.table.counts import Counts
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.table.table import Table


def weight_name(table: Table) -> str | None:
    """Return the column that is declared as the sampling weight, if it holds numbers."""
    names = [name for name in table.schema.of_role("weight") if table.schema[name].kind in NUMERIC]
    return names[0] if names else None


def weights_of(table: Table) -> Floats | None:
    """Return the sampling weight of each row; None where a table has no usable one.

    They are scaled to a mean of 1. Rows must be in memory, and weights be finite and not negative:
    a row without a weight cannot be counted.
    """
    name = weight_name(table)
    if name is None or not table.in_memory:
        return None
    column = table.column(name)
    weights = np.where(column.missing, np.nan, column.values.astype(np.float64))
    usable = bool(np.all(np.isfinite(weights)) and np.all(weights >= 0) and weights.sum() > 0)
    return weights * (weights.size / weights.sum()) if usable else None


def weighted_note(name: str | None) -> str:
    """Say that rows count with their sampling weight, where they do."""
    return "" if name is None else f"Weighted by {name}."


def weighted_mean(values: Floats, weights: Floats) -> tuple[float, float]:
    """Return a weighted mean and its variance, linearised.

    v = n / (n - 1) sum w_i^2 (x_i - mean)^2 / (sum w_i)^2 (Hansen, Hurwitz and Madow 1953; Binder
    1983): rows are drawn with replacement, so that it is a little too large for a large sample.

    Examples
    --------
    >>> weighted_mean(np.array([1.0, 2.0, 6.0]), np.array([1.0, 1.0, 2.0]))[0]
    3.75
    """
    total = float(weights.sum())
    mean = float(weights @ values) / total
    rows = values.size
    spread = float(weights**2 @ (values - mean) ** 2) / total**2
    return mean, spread * rows / (rows - 1) if rows > 1 else float("nan")


def effective_rows(weights: Floats) -> float:
    """Return the effective sample size, (sum w)^2 / sum w^2 (Kish 1965, sec. 11.7).

    Examples
    --------
    >>> effective_rows(np.array([1.0, 1.0, 2.0])).__round__(3)
    2.667
    """
    squares = float(weights @ weights)
    return float(weights.sum()) ** 2 / squares if squares > 0 else 0.0


def weighted_profile(table: Table, name: str, weights: Floats) -> Counts:
    """Return the distinct values of a column, in order, with the sums of their weights."""
    column = table.column(name)
    present, missing = np.flatnonzero(~column.missing), np.flatnonzero(column.missing)
    _, first, group = np.unique(column.values[present], return_index=True, return_inverse=True)
    size = np.bincount(group, weights=weights[present], minlength=first.size)
    places = np.concatenate([present[first], missing[:1]])
    size = np.concatenate([size, np.full(missing[:1].size, weights[missing].sum())])
    counted = size > 0  # who has no weight is not in the population
    return Counts((column.take(places[counted]),), size[counted])
