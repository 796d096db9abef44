"""What columns tell: people alone with their values, and values of other columns given back.

Counted where the rows live: a lazy table answers one query for each figure, and Spark one query for
many of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Ints
from veladura.table.class_sizes import (
    ClassSizes,
    count_sizes_ahead,
    exact_sizes,
    sizes_of_rows,
)
from veladura.table.codes import encode
from veladura.table.counts import MOST_VALUES, Counts, count_sets
from veladura.table.database.connection import fetch_one, is_spark
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    from veladura.table.table import Table

_LARGEST = 1 << 62
_MOST_CELLS = 1 << 20  # of the tables that one query counts ahead
_FEW_PER_CASE = 4  # so many cells per case are counted faster than cases are sorted


class Telling:
    """Figures about what some columns of a table tell; each column is coded once.

    Parameters
    ----------
    table
        The table, with the column that says which rows are of the same person.
    person
        That column. Without it every row is a person of its own.
    """

    def __init__(self, table: Table, person: str | None = None) -> None:
        self.table, self.person = table, person
        self._coded: dict[str, Ints] = {}
        self._kept: dict[tuple[str, ...], int] = {}  # answers given before
        self._cells: dict[tuple[str, ...], Counts] = {}  # two-way tables that were counted ahead

    @cached_property
    def people(self) -> int:
        """The number of people."""
        if self.person is None:
            return self.table.rows
        if self.table.in_memory:
            return int(self._codes([self.person]).max()) + 1
        return self._ask(self.table.expression, lambda rows: rows[self._at(self.person)].nunique())

    def alone(self, columns: Sequence[str]) -> int:
        """Return how many people hold values of some columns that nobody else holds."""
        key = ("alone", *columns)
        if key not in self._kept:
            self._kept[key] = self._alone(columns)
        return self._kept[key]

    def _alone(self, columns: Sequence[str]) -> int:
        if not self.table.in_memory:
            return self._alone_lazily(columns)
        values = self._codes(columns)
        if self.person is None:
            return int(np.count_nonzero(np.bincount(values) == 1))
        person = self._codes([self.person])
        pairs = np.unique(np.column_stack([values, person]), axis=0)
        alone = np.bincount(pairs[:, 0]) == 1
        return int(np.unique(pairs[alone[pairs[:, 0]], 1]).size)

    def rarer(self, columns: Sequence[str], k: int) -> int:
        """Return how many combinations of some columns fewer than k rows share."""
        if self.table.in_memory:
            return int(np.count_nonzero(np.bincount(self._codes(columns)) < k))
        found = exact_sizes(self.table, columns)  # a proof: the rows may be a stranger's
        return int(found.number[found.size < k].sum())

    def told(self, columns: Sequence[str], target: str) -> float:
        """Return the share of people whose value of another column follows from some columns.

        Of each combination those count who hold its commonest value of the target, where at least
        two do: a person alone with a combination says nothing about a rule. It is the share of
        right guesses behind the measure of Goodman and Kruskal (1954, section 5).
        """
        if (cells := self._cells.get((*columns, target))) is not None:
            return _told_by(cells)
        if not self.table.in_memory:
            return self._told_lazily(columns, target)
        values, held = self._codes(columns), self._codes([target])
        if self.person is not None:
            rows = np.column_stack([values, held, self._codes([self.person])])
            values, held, _ = np.unique(rows, axis=0).T
        most = _largest_cells(values, held)
        return float(most[most > 1].sum() / values.size)

    def count_ahead(self, names: Iterable[str]) -> None:
        """Count single columns by one query where a query is costly: on Spark."""
        if self.person is None:
            count_sizes_ahead(self.table, names)

    def cross_ahead(self, pairs: Iterable[tuple[Sequence[str], str]]) -> None:
        """Count what `told` will be asked for by a few queries, where each is costly: on Spark.

        Tables of many cells stay there: they are asked for one by one.
        """
        if self.person is not None or self.table.in_memory or not is_spark(self.table.expression):
            return
        batch: list[tuple[str, ...]] = []
        room = _MOST_CELLS
        for columns, target in pairs:
            cells = self.levels(columns) * self.levels([target])
            if cells > MOST_VALUES:
                continue
            if cells > room:
                self._cells.update(count_sets(self.table, batch))
                batch, room = [], _MOST_CELLS
            batch.append((*columns, target))
            room -= cells
        self._cells.update(count_sets(self.table, batch))

    def most_told(self, columns: Sequence[str], target: str) -> float:
        """Return a share that `told` cannot exceed, from counts of the single columns.

        People alone with their values are told nothing, and each combination tells one value.
        """
        if self.person is not None:
            return 1.0
        shared = 1 - self.alone(columns) / self.people
        if not self.table.in_memory:
            largest = self._sizes([target]).in_largest(self.levels(columns))
            return min(shared, largest / self.people)
        sizes = np.sort(self.table.counts([target]).size)[::-1]
        return min(shared, float(sizes[: self.levels(columns)].sum()) / self.people)

    def levels(self, columns: Sequence[str]) -> int:
        """Return the number of combinations of values that occur."""
        key = ("levels", *columns)
        if key not in self._kept:
            self._kept[key] = self._levels(columns)
        return self._kept[key]

    def _levels(self, columns: Sequence[str]) -> int:
        if self.table.in_memory:
            return int(self._codes(columns).max()) + 1
        return self._sizes(columns).classes

    def _sizes(self, columns: Sequence[str]) -> ClassSizes:
        """Return the sizes of classes of rows, whoever they are of."""
        return sizes_of_rows(self.table, columns)

    def commonest(self, target: str) -> float:
        """Return the share of people who hold the commonest value of a column."""
        if not self.table.in_memory:
            if self.person is None:
                return self._sizes([target]).in_largest(1) / self.people
            return self._told_lazily([], target)
        held = self._codes([target])
        if self.person is not None:
            held = np.unique(np.column_stack([held, self._codes([self.person])]), axis=0)[:, 0]
        return float(np.bincount(held).max() / held.size)

    def _codes(self, columns: Sequence[str]) -> Ints:
        """Return a number for the values of each row, from zero without gaps; missing is one."""
        number, most = np.zeros(self.table.rows, dtype=np.int64), 1
        for name in columns:
            own = self._column(name)
            levels = int(own.max(initial=0)) + 1
            if most * levels >= _LARGEST:  # numbers without gaps leave room for more columns
                distinct, number = np.unique(number, return_inverse=True)
                most = distinct.size
            number, most = number * levels + own, most * levels
        if len(columns) > 1:
            number = np.unique(number, return_inverse=True)[1].astype(np.int64)
        return number

    def _column(self, name: str) -> Ints:
        if name not in self._coded:
            table = self.table
            column = encode(table.data.column(table.schema.position(name)), table.schema[name])
            _, codes = np.unique(column.values, return_inverse=True)
            codes = np.where(column.missing, codes.max() + 1, codes)
            self._coded[name] = np.unique(codes, return_inverse=True)[1].astype(np.int64)
        return self._coded[name]

    def _alone_lazily(self, columns: Sequence[str]) -> int:
        if self.person is None:
            found = self._sizes(columns)
            return found.holders(found.size == 1)
        rows, places = self.table.expression, [self._at(name) for name in columns]
        person = self._at(self.person)
        groups = rows.group_by(places).aggregate(
            size=rows[person].nunique(), person=rows[person].min()
        )
        return self._ask(groups.filter(groups["size"] == 1), lambda alone: alone.person.nunique())

    def _told_lazily(self, columns: Sequence[str], target: str) -> float:
        places, held = [self._at(name) for name in columns], self._at(target)
        rows = self.table.expression.select(
            **{f"by{i}": self.table.expression[place] for i, place in enumerate(places)},
            held=self.table.expression[held],
            **({} if self.person is None else self._of_person()),
        )
        if self.person is not None:
            rows = rows.distinct()
        keys = [f"by{i}" for i in range(len(places))]
        cells = rows.group_by([*keys, "held"]).aggregate(size=rows.count())
        figures = {"most": cells["size"].max(), "people": cells["size"].sum()}
        groups = cells.group_by(keys).aggregate(**figures) if keys else cells.aggregate(**figures)
        told = (groups.most > 1).ifelse(groups.most, 0).sum()
        with without_values(self.table.source.name):
            row = fetch_one(groups, {"told": told, "people": groups.people.sum()})
        return float(row["told"]) / float(row["people"])

    def _of_person(self) -> Mapping[str, Any]:
        return {"person": self.table.expression[self._at(str(self.person))]}

    def _at(self, name: str | None) -> str:
        return f"c{self.table.schema.position(str(name))}"

    def _ask(self, rows: Any, figure: Any) -> int:
        with without_values(self.table.source.name):
            return int(fetch_one(rows, {"figure": figure(rows)})["figure"] or 0)


def _told_by(cells: Counts) -> float:
    """Return the share of people told by a two-way table, the target in its last column."""
    _, rows = np.unique(cells.codes[:, :-1], axis=0, return_inverse=True)
    most = np.zeros(int(rows.max()) + 1, dtype=np.int64)
    np.maximum.at(most, rows.reshape(-1), cells.size)
    return float(most[most > 1].sum() / cells.size.sum())


def _largest_cells(rows: Ints, columns: Ints) -> Ints:
    """Return the largest cell of every row of a two-way table, from the codes of each case."""
    height, width = int(rows.max()) + 1, int(columns.max()) + 1
    number = rows * width + columns
    if height * width <= _FEW_PER_CASE * rows.size:
        table: Ints = np.bincount(number, minlength=height * width).reshape(height, width)
        largest: Ints = table.max(axis=1)
        return largest
    cells, size = np.unique(number, return_counts=True)
    most = np.zeros(height, dtype=np.int64)
    np.maximum.at(most, cells // width, size)
    return most
