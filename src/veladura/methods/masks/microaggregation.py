"""Microaggregation (MDAV): people in groups of at least k, replaced by the mean of their group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.checks import check_columns
from veladura.base.context import Context
from veladura.core.gates import MASKED, NO_OWN_EXTREMES
from veladura.core.promise import GROUP_SIZE, Promise
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.masks.law import check_min_people, law_of, moved
from veladura.methods.masks.number_codes import refuse_codes, without_codes
from veladura.numeric.trees.law import NumberLaw
from veladura.table.schema import NUMERIC, WEIGHTS, check_kinds
from veladura.table.units import refuse_repeated
from veladura.table.variation import standard_deviation

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

AVERAGED = (*NUMERIC, "date")
FURTHER_DECIMALS = 2
MIN_SHARED = 10  # with 5, groups at numbers of five people leave those beside them empty
ROWS = "the groups of k of microaggregation are rows"


@dataclass(frozen=True, kw_only=True)
class Microaggregation(Recipe):
    """Microaggregation (MDAV): groups of at least k similar people (rows) get the group's mean.

    The columns are standardised, and rows are grouped by all of them together: at least k rows
    share every combination of released values. Means of whole numbers and dates are rounded to
    whole ones, means of other numbers to two decimals more than the source has.

    Rows with missing values are grouped with rows that miss the same columns. A pattern of missing
    values that fewer than k rows share is merged with the one for which the fewest cells turn
    missing. So a missing cell stays missing, and a few others may turn missing.

    A plain mean of k neighbours leaves holes at their numbers, and the mean of a group with one
    outlier tells it: k times the mean. So numbers that fewer than ``min_people`` people share are
    moved by their own isolation (the law of the leaf, as in `Cart`) before means are taken; groups
    are those of the numbers as they were.

    Parameters
    ----------
    columns
        The number and date columns to mask, all together.
    k
        Fewest people (rows) in a group. Time grows with the square of the number of rows, divided
        by k.
    min_people
        A number that fewer people share is moved before the mean is taken; 0 for plain means. Ten,
        where other methods have five: groups draw numbers towards those that many people share.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 11.0, 12.0, 13.0]})
    >>> plain = vd.Microaggregation(columns=["x"], k=3, min_people=0)
    >>> plain.protect(table).datasets[0]["x"].tolist()
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
    linked_tables = (
        "keeps the rows of linked tables under new keys, where every row is a person of its own;"
        " keys of households are not released, and columns of a table with others below it are"
        " refused"
    )
    by_row = True
    decisive = ("k",)
    sentence = (
        "Microaggregation: people (rows) were put into small groups of similar ones, and each"
        " value was replaced by the mean of its group, for which numbers that few people share were"
        " moved at random."
    )
    caution = "microaggregation replaced values by group means; their variance is too small"
    checks = {"group-size": GROUP_SIZE}
    gate = MASKED
    firm_gate = NO_OWN_EXTREMES

    columns: Sequence[str]
    k: int = 3
    min_people: int = MIN_SHARED

    def __post_init__(self) -> None:
        super().__post_init__()
        check_columns(self.columns, "the number columns to average")
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:  # noqa: PLR2004
            msg = (
                f"k ({self.k}) must be a whole number of at least 2: a group of one is its own"
                " mean."
            )
            raise PlanError(msg)
        check_min_people(self.min_people)

    def apply(self, table: Table, context: Context) -> FittedMicroaggregation:  # noqa: ARG002
        """Group the rows."""
        check_kinds(table.schema, self.columns, AVERAGED, "use Recode or Pram for categories.")
        refuse_repeated(table, ROWS)
        codes = table.codes(self.columns)
        refuse_codes(table, codes, self.columns)
        numbers = np.column_stack([codes[name].numbers() for name in self.columns])
        if len(numbers) < self.k:
            msg = f"no solution exists: the table has {len(numbers)} rows, fewer than k = {self.k}."
            raise DataError(msg)
        blank = merged_patterns(np.isnan(numbers), self.k)
        laws = {name: law_of(codes[name], None, self.min_people) for name in self.columns}
        groups = _grouped(numbers, blank, self.k)
        return FittedMicroaggregation(self, table, codes, laws, blank, groups)

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:
        """Return the number of the household, which would link people of different groups."""
        return tuple(table.units.schema.of_role("household"))

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promise that k people share every combination: groups have k rows or more."""
        groups = {"columns": settings["columns"], "k": settings["k"]}
        return (Promise("group-size", "package", groups),)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Microaggregation:
        """Suggest every number column that varies, except weights; dates where there is none."""
        for kinds in (NUMERIC, ("date",)):
            names = [
                f.name
                for f in schema
                if f.kind in kinds and f.role not in WEIGHTS and facts[f.name].distinct > 1
            ]
            if names and max(column.present for column in facts.values()) >= cls.k:
                return cls(columns=tuple(names))
        msg = (
            f"the table has no number or date column with different values in at least {cls.k}"
            " rows: there is nothing to microaggregate."
        )
        raise PlanError(msg)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Microaggregation:
        """Suggest columns, where every row is a person; never codes that are written as numbers."""
        refuse_repeated(table, ROWS)
        return cls.suggest(without_codes(table), facts)


@dataclass(frozen=True, eq=False, repr=False)
class FittedMicroaggregation(Fitted[Microaggregation]):
    """How numbers move, the rows in groups, and the cells that are missing in the release."""

    laws: Mapping[str, NumberLaw | None]
    blank: Mask
    groups: Ints

    def draw(self, context: Context) -> Drawn:
        """Replace each row by the mean of its group, each column moved by its own stream."""
        names = self.recipe.columns
        size = np.bincount(self.groups)
        columns = {}
        for j, name in enumerate(names):
            blank = self.blank[:, j]
            stream = context.streams("microaggregation", name)
            numbers = moved(self.laws[name], self.codes[name], stream)
            means = np.bincount(self.groups, np.where(blank, 0.0, numbers)) / size
            columns[name] = _written(self.codes[name], means[self.groups], blank)
        settings = self.recipe.settings()
        return Drawn(
            datasets=[Draw(columns)], changed=names, promises=self.recipe.implied(settings, None)
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
        of_others = size * (union & ~patterns).sum(axis=1)
        of_rare = size[rare] * (union & ~patterns[rare]).sum(axis=1)
        cost = of_others + of_rare
        cost[rare] = np.iinfo(np.int64).max
        cheapest = int(np.argmin(cost))
        merged = patterns.copy()
        merged[[rare, cheapest]] = union[cheapest]
        patterns, place = np.unique(merged, axis=0, return_inverse=True)
        target = place.reshape(-1)[target]
        size = np.bincount(place.reshape(-1), weights=size).astype(np.int64)
    blank: Mask = patterns[target[which]]
    return blank


def _grouped(numbers: Floats, blank: Mask, k: int) -> Ints:
    """Return the group of each row; rows that miss different columns are never in one group."""
    from veladura.methods.masks.kernels import mdav

    points = standardised(numbers)
    patterns, which = np.unique(blank, axis=0, return_inverse=True)
    groups = np.empty(len(numbers), dtype=np.int64)
    first = 0
    for i, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.reshape(-1) == i)
        numbered = mdav(np.ascontiguousarray(points[np.ix_(rows, ~pattern)]), k)
        groups[rows] = first + numbered
        first += int(numbered.max()) + 1
    return groups


def standardised(numbers: Floats) -> Floats:
    """Return each column with mean 0 and sample standard deviation 1; 0 where it is constant."""
    scales = np.array([standard_deviation(column) for column in numbers.T])
    points = np.zeros_like(numbers)
    for j in np.flatnonzero(scales > 0):
        scaled = numbers[:, j] / scales[j]
        points[:, j] = scaled - np.nanmean(scaled)
    return points


def _written(column: Column, means: Floats, blank: Mask) -> Column:
    """Return a column with means in place of its values, written with few decimals."""
    if column.values.dtype.kind != "f":
        return column.rounded(np.where(blank, np.nan, means))
    if column.decimals is not None:
        means = np.round(means, column.decimals + FURTHER_DECIMALS) + 0.0  # no negative zero
    return column.with_values(np.where(blank, 0.0, means), blank)
