"""The distinct values of a column, and how many people hold each: counted once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.distinct import places
from veladura.table.units import people_per_cell

if TYPE_CHECKING:
    from veladura.table.codes import Column


@dataclass(frozen=True, eq=False, repr=False)
class Values:
    """The distinct values of a column, and who holds them. Its repr shows none.

    Attributes
    ----------
    distinct
        The distinct values in order.
    place
        Of each row among them; rows without a value have 0.
    holders
        How many people hold each.
    """

    distinct: Floats
    place: Ints
    holders: Ints

    @classmethod
    def of(cls, values: Floats, present: Mask, people: Ints | None = None) -> Values:
        """Return the distinct values of the rows that have one.

        Parameters
        ----------
        people
            Whose row each is; every row is a person by default.

        Examples
        --------
        >>> numbers, everywhere = np.array([3.0, 3.0, 3.0, 4.0]), np.ones(4, dtype=bool)
        >>> Values.of(numbers, everywhere, np.array([0, 1, 1, 2])).holders.tolist()
        [2, 1]
        """
        if present.all():
            distinct, inverse = places(values)
            place = inverse
        else:
            distinct, inverse = places(values[present])
            place = np.zeros(values.size, dtype=np.int64)
            place[present] = inverse
        if people is None:
            return cls(distinct, place, np.bincount(inverse, minlength=distinct.size))
        return cls(distinct, place, people_per_cell(inverse, people[present], distinct.size))

    @classmethod
    def of_column(cls, column: Column) -> Values:
        """Return the distinct values of a column as it holds them, with the rows that hold each.

        They are counted once: bins, codes, spikes and the law of a column all ask for them.
        """
        values = _COUNTED.get(column)
        if values is None:
            values = _COUNTED[column] = cls.of(column.values, ~column.missing)
        return values

    def held_by(self, people: Ints | None, present: Mask) -> Values:
        """Return the same values with the people who hold each.

        Parameters
        ----------
        people
            Whose row each is; every row is a person by default.
        present
            The rows that have a value.
        """
        if people is None:
            return self
        holders = people_per_cell(self.place[present], people[present], self.distinct.size)
        return replace(self, holders=holders)

    def by_row(self) -> Ints:
        """Return how many people hold the value of each row."""
        if not self.holders.size:
            return np.zeros(self.place.size, dtype=np.int64)
        return self.holders.take(self.place)

    def in_order(self, numbers: Floats, here: Mask) -> Floats:
        """Return the numbers of some rows in order, without sorting them again.

        Parameters
        ----------
        numbers
            Of all rows: they go up as their values do.

        Examples
        --------
        >>> rows, everywhere = np.array([3.0, 1.0, 3.0, 2.0]), np.ones(4, dtype=bool)
        >>> Values.of(rows, everywhere).in_order(10 * rows, rows != 2.0).tolist()
        [10.0, 30.0, 30.0]
        """
        place, number = self.place[here], np.zeros(self.distinct.size)
        number[place] = numbers[here]
        return np.repeat(number, np.bincount(place, minlength=self.distinct.size))


_COUNTED: WeakKeyDictionary[Column, Values] = WeakKeyDictionary()  # gone when the column is
