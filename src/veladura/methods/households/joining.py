"""Draw people who join households that were released before, and their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.methods.households.children import (
    LAST,
    MEMBER,
    PAST,
    SEEN,
    SO_FAR,
    Columns,
    renamed,
    whole_numbers,
)
from veladura.methods.households.drawing import Family, joined
from veladura.methods.households.levels import Level
from veladura.methods.households.rules import MemberRules
from veladura.methods.households.waves import Panel, Part

if TYPE_CHECKING:
    from veladura.table.codes import Column

TRIES = 10  # draws of people who join a household and break its rules


@dataclass(frozen=True, eq=False, repr=False)
class Joining:
    """People who join households, ready to draw. Holds original values.

    Attributes
    ----------
    people, rows
        Their number and columns, given the household; and their rows.
    levels, time, hidden
        As in `ExtendedHouseholds`.
    rules
        Those across members: of who was there, and of who joins.
    most
        The most members of a household.
    """

    people: Family
    rows: Family
    levels: Sequence[Level]
    time: str
    hidden: tuple[str, ...]
    rules: MemberRules
    most: int

    def drawn(self, replicate: int, panel: Panel, seen: Ints, context: Context) -> list[Part]:
        """Return the rows of those who join, under numbers that nobody has; nothing if none do.

        Parameters
        ----------
        seen
            In how many new waves each household is.
        """
        here = np.flatnonzero(seen > 0)
        units, past = predictors(self.levels, panel, self.time, self.hidden)
        units[SEEN] = whole_numbers(SEEN, seen)
        units |= renamed(past[MEMBER], MEMBER)
        home, people = self._members(replicate, panel, here, units, context)
        if not home.size:
            return []
        known = self._of_homes(panel, home) | people
        given = {name: column for name, column in known.items() if name not in self.hidden}
        inner = context.within("joined")
        person, rows = self.rows.drawn(replicate, given, home.size, inner)
        numbers = {
            "person": int(panel.numbers["person"].max(initial=0)) + 1 + person,
            "household": panel.numbers["household"][home[person]],
        }
        return [Part({n: c.take(person) for n, c in known.items()} | rows, numbers)]

    def _of_homes(self, panel: Panel, home: Ints) -> dict[str, Column]:
        """Return the columns of households, for some of their members."""
        first = panel.first_members(self.time)[home]
        return {n: c.take(first) for n, c in panel.of_people(self.levels[0].columns).items()}

    def _members(
        self, replicate: int, panel: Panel, here: Ints, units: Columns, context: Context
    ) -> tuple[Ints, dict[str, Column]]:
        """Return the household of each who joins, and columns.

        Those who break a rule with the members of their household are drawn again, their number
        too; where they keep breaking it nobody joins.
        """
        room = np.maximum(self.most - np.bincount(panel.home, minlength=panel.homes), 0)
        homes: list[Ints] = []
        drawn: list[dict[str, Column]] = []
        for attempt in range(TRIES):
            some = {name: column.take(here) for name, column in units.items()}
            inner = context.within("joining", attempt)
            unit, people = self.people.drawn(replicate, some, here.size, inner, room[here])
            home = here[unit]
            wrong = self._broken(panel, home, people)
            right = np.flatnonzero(~wrong[home])
            homes.append(home[right])
            drawn.append({name: column.take(right) for name, column in people.items()})
            here = here[wrong[here]]
            if not here.size:
                break
        every = np.concatenate(homes)
        sort = np.argsort(every, kind="stable")
        columns = {name: joined([part[name] for part in drawn]).take(sort) for name in drawn[0]}
        return every[sort], columns

    def _broken(self, panel: Panel, home: Ints, people: Columns) -> Mask:
        """Return the households that break a rule with those who join."""
        if not self.rules.relatives:
            return np.zeros(panel.homes, dtype=bool)
        new = self._of_homes(panel, home) | dict(people)
        old = panel.of_people(list(new))
        both = {name: joined([old[name], new[name]]) for name in new}
        members = np.concatenate([panel.home, home])
        return np.asarray(self.rules.broken(both, members, panel.homes) > 0)


def predictors(
    levels: Sequence[Level], panel: Panel, time: str, hidden: Sequence[str]
) -> tuple[dict[str, Column], dict[str, dict[str, Column]]]:
    """Return what predicts what becomes of households.

    Their own columns, their size and the last wave so far; and, of which the strongest are taken,
    the columns of their first member of it: what is constant, and the last row.
    """
    first = panel.first_members(time)
    fixed = panel.of_people([n for level in levels[:-1] for n in level.columns])
    homes = {n: fixed[n].take(first) for n in levels[0].columns if n not in hidden}
    homes[SO_FAR] = whole_numbers(SO_FAR, np.bincount(panel.home, minlength=panel.homes))
    homes[LAST] = whole_numbers(LAST, panel.homes_last_waves(time))
    rows = panel.past(levels[-1].columns)[PAST[-1]]
    member = {name: fixed[name].take(first) for name in levels[-2].columns}
    return homes, {MEMBER: member | {name: column.take(first) for name, column in rows.items()}}


def shared_by(sizes: Ints, people: int) -> int:
    """Return the largest size that enough units of the original have, or a larger one."""
    enough = min(people, sizes.size)
    return int(np.sort(sizes)[::-1][enough - 1])
