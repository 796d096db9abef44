"""The waves of a panel: people with rows so far and rows to come, and an earlier release of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.errors import DataError, PlanError
from veladura.methods.households.children import PAST, Columns, taken
from veladura.methods.households.members import (
    is_time,
    level_codes,
)

if TYPE_CHECKING:
    from veladura.methods.households.levels import Level
    from veladura.table.codes import Column
    from veladura.table.table import Table

HINT = "\n\nHint: extend a table that has the rows of the earlier one, and those of a new wave."


@dataclass(frozen=True, eq=False, repr=False)
class Panel:
    """People and their rows so far: those of the original, or those of an earlier release.

    Attributes
    ----------
    columns
        Of rows, by person and time.
    person
        The person of each row, from 0.
    home
        The household of each person, from 0 and in this order, its members in the order in which
        they are drawn; without households every person is one.
    numbers
        The released numbers by role, "person" and "household", in the order above.
    """

    columns: Columns
    person: Ints
    home: Ints
    numbers: Mapping[str, Ints]

    @property
    def people(self) -> int:
        """Number of people."""
        return int(self.home.size)

    @property
    def homes(self) -> int:
        """Number of households."""
        return int(self.home.max(initial=-1)) + 1

    @property
    def rows_so_far(self) -> Ints:
        """How many rows each person has."""
        return np.bincount(self.person, minlength=self.people).astype(np.int64)

    def of_people(self, names: Sequence[str]) -> dict[str, Column]:
        """Return columns that are constant within people, one value each."""
        first = np.searchsorted(self.person, np.arange(self.people))
        return {name: self.columns[name].take(first) for name in names}

    def past(self, names: Sequence[str]) -> dict[str, dict[str, Column]]:
        """Return the first row of each person, the second and the last, missing where none is.

        A row is not shown twice: the last one is neither the first nor the second.
        """
        size = self.rows_so_far
        start = np.cumsum(size) - size
        rows = (
            np.where(size > 1, start, -1),
            np.where(size > 2, start + 1, -1),  # noqa: PLR2004
            start + size - 1,
        )
        return {
            prefix: {name: taken(self.columns[name], at) for name in names}
            for prefix, at in zip(PAST, rows, strict=True)
        }

    def last_waves(self, time: str) -> Ints:
        """Return the time of the last row of each person."""
        end = np.cumsum(self.rows_so_far) - 1
        return self.columns[time].values[end].astype(np.int64)

    def homes_last_waves(self, time: str) -> Ints:
        """Return the time of the last row of each household."""
        last = np.full(self.homes, np.iinfo(np.int64).min)
        np.maximum.at(last, self.home, self.last_waves(time))
        return last

    def first_members(self, time: str) -> Ints:
        """Return the first member of each household, among those of its last wave."""
        there = self.last_waves(time) == self.homes_last_waves(time)[self.home]
        people = np.flatnonzero(there)
        first: Ints = people[np.unique(self.home[people], return_index=True)[1]]
        return first


@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Rows of a dataset: their columns, and the numbers of units by role."""

    columns: Columns
    units: Mapping[str, Ints]


@dataclass(frozen=True, eq=False, repr=False)
class Waves:
    """The rows of a panel by time, and whom they are of.

    Attributes
    ----------
    columns, person, home
        Of all rows of the original, as in `Panel`.
    time
        The column that puts the rows of a person in order.
    until
        The last value of it in the earlier release.
    """

    columns: Columns
    person: Ints
    home: Ints
    time: str
    until: int

    @property
    def is_new(self) -> Mask:
        """Which rows come after the earlier release."""
        return np.asarray(self.columns[self.time].values > self.until)

    @property
    def known(self) -> Mask:
        """Which people have rows up to it."""
        size = self.home.size
        return np.bincount(self.person[~self.is_new], minlength=size).astype(bool)

    @property
    def known_home(self) -> Mask:
        """Which households have."""
        homes = int(self.home.max(initial=-1)) + 1
        return np.bincount(self.home[self.known], minlength=homes).astype(bool)

    def so_far(self) -> Panel:
        """Return the rows up to the earlier release."""
        rows = np.flatnonzero(~self.is_new)
        people, person = np.unique(self.person[rows], return_inverse=True)
        home = np.unique(self.home[people], return_inverse=True)[1]
        columns = {name: column.take(rows) for name, column in self.columns.items()}
        return Panel(columns, person.reshape(-1), home.reshape(-1).astype(np.int64), {})

    def coming_back(self, enough: int) -> Ints:
        """Return the last waves after which enough people come back, or go on."""
        panel = self.so_far()
        new = np.bincount(self.person[self.is_new], minlength=self.home.size)[self.known] > 0
        waves, people = np.unique(panel.last_waves(self.time)[new], return_counts=True)
        back: Ints = waves[people >= enough]
        return back


def find_waves(
    levels: Sequence[Level], columns: Columns, earlier: Sequence[Table], members: Sequence[str]
) -> Waves:
    """Return the waves of a table whose earlier ones were released; refuse one without any.

    Parameters
    ----------
    members
        The columns that the recipe names for an order; the wave is among them, or found.
    """
    if len(levels) < 2 or not levels[-2].is_person:  # noqa: PLR2004
        msg = (
            "an earlier release is extended by new rows of the same people, and no person has"
            ' several rows.\n\nHint: declare the column that numbers people: role = "person".'
        )
        raise PlanError(msg)
    rows, people = levels[-1], levels[-2]
    held = {name: column.take(rows.row) for name, column in columns.items()}
    times = [name for name in rows.columns if is_time(held[name], rows.parent)]
    named = [name for name in members if name in times]
    if not times:
        msg = (
            "no column puts the rows of a person in order: a date or a whole number that never"
            " repeats within a person, and is never missing where one has several rows.\n\nHint:"
            " add the number or the year of the wave."
        )
        raise PlanError(msg)
    time = min(named or times, key=lambda name: np.unique(held[name].values).size)
    until = _until(earlier, held[time])
    sort = np.lexsort((held[time].values, rows.parent))
    home = people.parent if len(levels) > 2 else np.arange(people.units)  # noqa: PLR2004
    held = {name: column.take(sort) for name, column in held.items()}
    return Waves(held, rows.parent, home, time, until)


def _until(earlier: Sequence[Table], time: Column) -> int:
    """Return the last wave that was released; refuse a table without these, or without a new one.

    Only a date that never came out with a wave of its own may be absent: dates are moved.
    """
    if time.missing.any():
        msg = (
            f"the column {time.name!r}, which puts the rows of a person in order, is missing in"
            f" {int(time.missing.sum())} rows.\n\nHint: leave these rows out of the source."
        )
        raise DataError(msg)
    released = [table.column(time.name) for table in earlier]
    if any(column.missing.any() for column in released):
        msg = f"the column {time.name!r} is missing in rows of the earlier release.{HINT}"
        raise PlanError(msg)
    seen = np.unique(np.concatenate([column.values for column in released]))
    waves, until = np.unique(time.values), int(seen.max())
    if np.setdiff1d(seen, waves).size and (level_codes(time) is not None or waves[0] > until):
        msg = (
            f"the table lacks waves of the earlier release: {time.name!r} has"
            f" {np.setdiff1d(seen, waves).size} of its {seen.size} values no more.{HINT}"
        )
        raise PlanError(msg)
    if not np.any(waves > until):
        msg = (
            f"the table has no wave after those of the earlier release: no value of {time.name!r}"
            f" is later.{HINT}"
        )
        raise PlanError(msg)
    return until
