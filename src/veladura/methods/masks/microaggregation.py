"""Microaggregation: rows in groups of at least k, each replaced by the mean of its group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.base.checks import check_columns
from veladura.base.context import Context
from veladura.core.gates import MASKED
from veladura.core.promise import GROUP_SIZE, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import DataError, PlanError
from veladura.table.schema import NUMERIC, check_kinds
from veladura.table.variation import standard_deviation

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

AVERAGED = (*NUMERIC, "date")
FURTHER_DECIMALS = 2
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]
Groups = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Recipe):
    """Replace rows by the means of groups of at least k similar rows (MDAV).

    The columns are standardised, then grouped together: every combination of their released
    values is shared by k rows or more. Means of whole numbers and dates are rounded to whole
    ones, means of other numbers to two decimals more than the source has.

    Rows with missing values are grouped among those missing in the same columns. A pattern of
    missing values that fewer than k rows share is merged with the one that costs the fewest
    cells: both then miss what either missed. So a missing cell stays missing, and a few others
    may turn missing.

    Parameters
    ----------
    columns
        The number and date columns to mask, all together.
    k
        Fewest rows in a group. Time grows with the square of the number of rows, over k.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]})
    >>> vd.Microaggregation(columns=["x"], k=3).protect(table).datasets[0]["x"].tolist()
    [2.0, 2.0, 2.0, 12.0, 12.0, 12.0]

    References
    ----------
    Domingo-Ferrer, J. and Mateo-Sanz, J. M. (2002). Practical data-oriented microaggregation for
    statistical disclosure control. IEEE Transactions on Knowledge and Data Engineering 14(1),
    189-201.
    Domingo-Ferrer, J. and Torra, V. (2005). Ordinal, continuous and heterogeneous k-anonymity
    through microaggregation. Data Mining and Knowledge Discovery 11(2), 195-212 (MDAV-generic).
    """

    method = "microaggregation"
    sentence = (
        "Rows were put into small groups of similar ones, and each value was replaced by that"
        " of its group."
    )
    caution = "values are group means; their variance is too small, and so are standard errors"
    checks = {"group-size": GROUP_SIZE}
    gate = MASKED
    random = False

    columns: tuple[str, ...]
    k: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the number columns to average")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:  # noqa: PLR2004
            msg = (
                f"k ({self.k}) must be a whole number of at least 2: a group of one is its own"
                " mean."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedMicroaggregation:  # noqa: ARG002
        """Group the rows."""
        check_kinds(table.schema, self.columns, AVERAGED, "recode or Pram mask categories.")
        codes = table.codes(self.columns)
        numbers = np.column_stack([codes[name].numbers() for name in self.columns])
        if len(numbers) < self.k:
            msg = (
                f"no solution exists: groups of k = {self.k} rows were asked for, and the table has"
                f" {len(numbers)}."
            )
            raise DataError(msg)
        blank = merged_patterns(np.isnan(numbers), self.k)
        return FittedMicroaggregation(
            self, table, codes, numbers, blank, _grouped(numbers, blank, self.k)
        )

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Microaggregation:
        """Suggest every number column that varies, but for weights; dates where there is none."""
        for kinds in (NUMERIC, ("date",)):
            names = [
                f.name
                for f in schema
                if f.kind in kinds and f.role != "weight" and facts[f.name].distinct > 1
            ]
            if names and max(found.present for found in facts.values()) >= cls.k:
                return cls(columns=tuple(names))
        msg = (
            f"the table has no number or date column that varies over {cls.k} rows or more:"
            " microaggregation has nothing to do."
        )
        raise PlanError(msg)


@dataclass(frozen=True, eq=False, repr=False)
class FittedMicroaggregation(Fitted[Microaggregation]):
    """The rows in groups, and the cells that are missing in the release."""

    numbers: Matrix
    blank: Mask
    groups: Groups

    def draw(self, context: Context) -> Drawn:
        """Return the masked table."""
        return Drawn(
            datasets=self._datasets(context), changed=self.changed(), promises=self.promises()
        )

    def _datasets(self, context: Context) -> Sequence[Draw]:  # noqa: ARG002
        """Replace each row by the mean of its group; nothing is drawn."""
        size = np.bincount(self.groups)
        columns = {}
        for j, name in enumerate(self.recipe.columns):
            total = np.bincount(
                self.groups, weights=np.where(self.blank[:, j], 0.0, self.numbers[:, j])
            )
            columns[name] = _written(
                self.codes[name], (total / size)[self.groups], self.blank[:, j]
            )
        return [Draw(columns)]

    def changed(self) -> tuple[str, ...]:
        """Return the averaged columns."""
        return self.recipe.columns

    def promises(self) -> tuple[Promise, ...]:
        """Promise groups of k rows, missing values counted as a value."""
        k, names = self.recipe.k, list(self.recipe.columns)
        return (
            Promise(
                "group-size",
                f"Every combination of {', '.join(names)} is shared by at least {k} rows.",
                "package",
                {"columns": names, "k": k},
            ),
        )


def merged_patterns(missing: Mask, k: int) -> Mask:
    """Return which cells are missing after rare patterns of missing values are merged with others.

    While a pattern has fewer than k rows, the rarest is merged with the pattern for which the
    fewest cells turn missing; of equals, the first in order of the columns.

    Examples
    --------
    >>> merged_patterns(np.array([[True, False], [False, False], [False, False]]), 2).tolist()
    [[True, False], [True, False], [True, False]]
    """
    patterns, which, size = np.unique(missing, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    target = np.arange(len(patterns))
    while len(patterns) > 1 and size.min() < k:
        rare = int(np.argmin(size))
        union = patterns | patterns[rare]
        cost = size * (union & ~patterns).sum(axis=1) + size[rare] * (union & ~patterns[rare]).sum(
            axis=1
        )
        cost[rare] = np.iinfo(np.int64).max
        merged = patterns.copy()
        merged[[rare, int(np.argmin(cost))]] = union[int(np.argmin(cost))]
        patterns, place = np.unique(merged, axis=0, return_inverse=True)
        target = place.reshape(-1)[target]
        size = np.bincount(place.reshape(-1), weights=size).astype(np.int64)
    blank: Mask = patterns[target[which]]
    return blank


def _grouped(numbers: Matrix, blank: Mask, k: int) -> Groups:
    """Return the group of each row; rows that miss different columns are never in one group."""
    from veladura.methods.masks.kernels import mdav

    points = standardised(numbers)
    patterns, which = np.unique(blank, axis=0, return_inverse=True)
    groups = np.empty(len(numbers), dtype=np.int64)
    first = 0
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.reshape(-1) == i)
        found = mdav(np.ascontiguousarray(points[np.ix_(rows, ~pattern)]), k)
        groups[rows] = first + found
        first += int(found.max()) + 1
    return groups


def standardised(numbers: Matrix) -> Matrix:
    """Return each column with mean 0 and sample standard deviation 1; 0 throughout for one that is constant."""
    scales = np.array([standard_deviation(column) for column in numbers.T])
    points = np.zeros_like(numbers)
    for j in np.flatnonzero(scales > 0):
        scaled = numbers[:, j] / scales[j]
        points[:, j] = scaled - np.nanmean(scaled)
    return points


def _written(column: Column, means: Matrix, blank: Mask) -> Column:
    """Return a column with means in place of its values, written with few decimals."""
    if column.values.dtype.kind != "f":
        return column.rounded(np.where(blank, np.nan, means))
    if column.decimals is not None:
        means = np.round(means, column.decimals + FURTHER_DECIMALS) + 0.0  # no negative zero
    return column.with_values(np.where(blank, 0.0, means), blank)
