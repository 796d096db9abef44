"""Homes: the different places of a person. Rows of one person at one place share a home."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.methods.geography.located import Places
    from veladura.table.codes import Codes
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Homes:
    """The homes of the people of a table. Holds who has moved: never released.

    Attributes
    ----------
    of_row
        The home of each row that has a place.
    first
        The first row of each home, numbered among the rows that have a place.
    before
        The home that the same person had before; -1 where there is none.
    """

    of_row: Ints = field(repr=False)
    first: Ints = field(repr=False)
    before: Ints = field(repr=False)

    @classmethod
    def of_rows(cls, rows: int) -> Homes:
        """Return one home a row: nobody has two rows."""
        each = np.arange(rows, dtype=np.int64)
        return cls(each, each, np.full(rows, -1, dtype=np.int64))

    @classmethod
    def of_people(cls, people: Ints, x: Floats, y: Floats, order: Floats | Ints) -> Homes:
        """Return the homes of people: their different places, in the order of first appearance.

        Examples
        --------
        >>> place, year = np.array([1.0, 1.0, 3.0, 2.0]), np.array([0, 1, 2, 0])
        >>> homes = Homes.of_people(np.array([7, 7, 7, 8]), place, place, year)
        >>> homes.of_row.tolist(), homes.first.tolist(), homes.before.tolist()
        ([0, 0, 1, 2], [0, 2, 3], [-1, 0, -1])
        """
        in_time = np.lexsort((order, people))
        keys = np.column_stack([people, x, y])[in_time]
        _, first, same = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        ranked = np.argsort(first)  # homes by person and time of the first row
        rank = np.empty_like(ranked)
        rank[ranked] = np.arange(ranked.size)
        of_row = np.empty(people.size, dtype=np.int64)
        of_row[in_time] = rank[same.ravel()]
        first_row = in_time[first[ranked]]
        person = people[first_row]
        later = np.append(False, person[1:] == person[:-1])
        before = np.where(later, np.arange(person.size) - 1, -1)
        return cls(of_row, first_row.astype(np.int64), before.astype(np.int64))

    @property
    def number(self) -> int:
        """The number of homes."""
        return int(self.first.size)

    @property
    def shared(self) -> bool:
        """Whether some home has several rows, or somebody several homes."""
        return self.number < self.of_row.size or bool((self.before >= 0).any())


def homes_of(table: Table, codes: Codes, places: Places, time: str | None = None) -> Homes:
    """Return the homes of a table: a row each, unless a person column is declared.

    Parameters
    ----------
    time
        The column that orders the rows of a person; without it the order of the table does.
    """
    if table.person is None or table.people == table.rows:
        return Homes.of_rows(places.x.size)
    people = person_numbers(table)[codes.rows][places.placed]
    order: Floats | Ints = codes.rows
    if time is not None:
        column = codes[time]
        late = column.values.max(initial=0) + 1
        order = np.where(column.missing, late, column.values)
    return Homes.of_people(people, places.x, places.y, order[places.placed])
