"""Rare levels of critical cells: categories that few people hold, merged before anything is drawn.

Cells that are not critical keep theirs: the release holds them as they are.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints, Mask
from veladura.base.blas import one_thread
from veladura.methods.cart.rare import has_levels, is_nominal
from veladura.methods.critical.cells import Cells, CriticalWarning
from veladura.methods.critical.critical import CriticalCart
from veladura.numeric.trees.levels import merge_rare
from veladura.numeric.trees.values import Values
from veladura.table.codes import Codes, Column
from veladura.table.whole import Whole


@dataclass(frozen=True, eq=False, repr=False)
class RareLevels:
    """The confidential columns in which rare levels were merged. Holds original values: no repr.

    Attributes
    ----------
    columns
        By name, the merged column that donors are taken from.
    cells
        By name, the cells whose level was merged into another.
    levels
        By name, the rare levels, where people were counted in more rows than these.
    left
        Columns with critical cells that keep a rare level: no other one meets their condition.
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    cells: Mapping[str, Mask] = field(default_factory=dict)
    levels: Mapping[str, Column] = field(default_factory=dict)
    left: Sequence[str] = ()

    @property
    def merged(self) -> list[str]:
        """The columns of which no rare level comes out in a critical cell."""
        return [name for name in self.columns if name not in self.left]


@dataclass(frozen=True, eq=False, repr=False)
class LevelMerger:
    """Merges the rare levels of confidential columns.

    Attributes
    ----------
    people
        Whose row each is; None where every row is a person.
    coded
        The columns of numbers that hold codes.
    whole
        All rows, where these are only those with a critical cell: people are counted there.
    """

    recipe: CriticalCart
    codes: Codes
    cells: Cells
    people: Ints | None
    coded: Sequence[str]
    whole: Whole | None = None

    def merge(self) -> RareLevels:
        """Return the columns that have rare levels, merged."""
        columns, changed, levels, left = {}, {}, {}, []
        for name in self.cells.marks:
            column = self.codes[name]
            rare = self._rare(column)
            if not rare.size:
                continue
            if self.whole is not None:
                levels[name] = column.with_values(rare, np.zeros(rare.size, dtype=bool))
            with one_thread():  # more threads change last digits
                merged = self._merged(column)
            columns[name], changed[name] = merged, merged.values != column.values
            here = self.cells.marks[name] & ~merged.missing
            if np.isin(merged.values[here], rare).any():
                left.append(name)
        return RareLevels(columns, changed, levels, left)

    def _rare(self, column: Column) -> NDArray[np.generic]:
        """Return the levels that too few people hold; none of a column of amounts."""
        least, coded = self.recipe.min_people, column.name in self.coded
        if not has_levels(column, self.people, least, coded=coded):
            return column.values[:0]
        distinct = Values.of_column(column).distinct
        return np.asarray(distinct[self._holders(column, column) < least])

    def _holders(self, column: Column, part: Column) -> Ints:
        """Return how many people hold each level that some rows of a column have."""
        if self.whole is not None:
            return self.whole.holders(part)
        found = Values.of_column(column).held_by(self.people, ~column.missing)
        return found.holders[np.isin(found.distinct, Values.of_column(part).distinct)]

    def _merged(self, column: Column) -> Column:
        """Return a column whose rare levels are merged, in the rows that may be donors.

        A level that its row's condition needs stays, and so do those of a condition that only rare
        levels meet.
        """
        values, inside = column.values.copy(), self._inside(column.name)
        for mark in self._parts(column.name):
            rows = np.flatnonzero(mark)
            part = column.take(rows)
            holders = self._holders(column, part)
            if inside and (holders < self.recipe.min_people).all():
                continue
            merged = merge_rare(
                part,
                None if self.people is None else self.people[rows],
                self.recipe.min_people,
                [self.codes[name].take(rows) for name in self.codes if name != column.name],
                ordered=not is_nominal(column, coded=column.name in self.coded),
                holders=holders,
            )
            if merged is not None:
                values[rows] = merged.values
        if inside:
            rows = np.flatnonzero((values != column.values) & self.cells.marks[column.name])
            fits = self.cells.conditions[column.name].fits(self.codes, rows, values[rows])
            values[rows[~fits]] = column.values[rows[~fits]]
        return column.with_values(values, column.missing)

    def _inside(self, name: str) -> bool:
        """Whether a new value has to meet a condition on the column itself."""
        return self.recipe.keep_inside and name in self.cells.conditions[name].columns

    def _parts(self, name: str) -> list[Mask]:
        """Return the rows whose levels are merged among each other: a condition parts them."""
        mark = self.cells.marks[name]
        if not self._inside(name):
            return [np.ones(mark.size, dtype=bool)]
        return [mark, ~mark] if self.recipe.others == "replace" else [mark]


def warn_of_left(rare: RareLevels, fixed: Mapping[str, Mask], least: int) -> None:
    """Warn of rare levels that no other one can stand for; cells that are fixed are told anyway."""
    if left := [name for name in rare.left if not fixed[name].any()]:
        warnings.warn(
            f"critical values of {left} that fewer than {least} people hold come out: no"
            " value that more people hold meets the condition.\n\nHint: widen the condition, or use"
            " keep_inside=False.",
            CriticalWarning,
            stacklevel=3,
        )
