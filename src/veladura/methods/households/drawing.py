"""Draw the members of units one after the other, again where they break a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Ints, Mask
from veladura.base.context import Context
from veladura.errors import DataError
from veladura.methods.households.children import (
    SIZE,
    Children,
    Columns,
    counts,
    ranks_in,
    taken,
    whole_numbers,
)
from veladura.methods.households.rules import MemberRules
from veladura.table.codes import Column

MEMBER_TRIES, UNIT_TRIES = 10, 20  # draws again of a member, and of all members of a unit


@dataclass(frozen=True, eq=False, repr=False)
class Family:
    """The rows of units, with what holds between them.

    Attributes
    ----------
    rules
        Rules across members; None where there are none.
    """

    children: Children
    rules: MemberRules | None

    def drawn(
        self,
        replicate: int,
        units: Columns,
        number: int,
        context: Context,
        room: Ints | None = None,
    ) -> tuple[Ints, dict[str, Column]]:
        """Return the rows of some units: for each its unit, in order, and its columns.

        Members that break a rule are drawn again, given those before them; then all members of
        the unit; at last its size too. The law is that of the model, given that the rules hold.

        Parameters
        ----------
        room
            Most rows of each unit, where some have fewer places than others.
        """
        size = self.children.sizes(replicate, units, number, context, None)
        size = size if room is None else np.minimum(size, room)
        unit, columns, wrong = self._members(replicate, units, size, context, None)
        for attempt in range(UNIT_TRIES):
            if not wrong.size:
                return unit, columns
            label = f"again {attempt}"
            some = {name: column.take(wrong) for name, column in units.items()}
            again = size[wrong]
            if attempt >= UNIT_TRIES // 2:
                again = self.children.sizes(replicate, some, wrong.size, context, label)
                again = again if room is None else np.minimum(again, room[wrong])
            inner, redrawn, still = self._members(replicate, some, again, context, label)
            size[wrong] = again
            unit, columns = _exchanged(unit, columns, wrong, wrong[inner], redrawn)
            wrong = wrong[still]
        if wrong.size:
            msg = (
                f"{wrong.size} of {number} artificial households break a rule across members"
                f" however often they are drawn ({UNIT_TRIES} times).\n\nHint: remove the rule that"
                " the households of the original break oftenest, or correct it."
            )
            raise DataError(msg)
        return unit, columns

    def _members(
        self, replicate: int, units: Columns, size: Ints, context: Context, chunk: str | None
    ) -> tuple[Ints, dict[str, Column], Ints]:
        """Return members of units of given sizes, and the units that break a rule."""
        drawing = _Drawing(self, replicate, units, size, context, chunk)
        drawing.run()
        return drawing.unit, drawing.columns, drawing.wrong()


class _Drawing:
    """The members of some units while they are drawn: what they are first, then their columns."""

    def __init__(
        self,
        family: Family,
        replicate: int,
        units: Columns,
        size: Ints,
        context: Context,
        chunk: str | None,
    ) -> None:
        self.children, self.rules = family.children, family.rules
        self.replicate, self.context, self.chunk = replicate, context, chunk
        self.size = size
        self.units = units
        self.given = {**units, SIZE: whole_numbers(SIZE, size)}
        # every unit has as many places as it has members, one after the other
        self.unit = np.repeat(np.arange(size.size), size)
        self.start = np.cumsum(size) - size
        self.position = np.arange(self.unit.size) - self.start[self.unit] + 1
        self.columns: dict[str, Column] = {}

    def run(self) -> None:
        """Draw all members."""
        most, kind = int(self.size.max(initial=0)), self.children.kind
        if kind is not None:
            for position in range(1, most + 1):
                self._kinds(kind, position)
            place = self.children.place_of(self.columns[kind], self.position)
            sort = np.lexsort((place, self.unit))
            self.columns = {name: column.take(sort) for name, column in self.columns.items()}
            made = counts(self.columns[kind], self.unit, self.children.levels, self.size.size)
            self.given = {**self.given, **made}
        known = None if kind is None else self.columns[kind]
        groups = self.children.group_of(known, self.unit, self.position)
        place = self.children.place_of(known, self.position)
        steps = place * (most + 1) + ranks_in(place, self.unit)
        of_step = dict(zip(steps.tolist(), groups.tolist(), strict=True))
        times = Counter(of_step.values())
        for step in sorted(of_step):
            group = of_step[step]
            if self.children.bodies[group] is not None:
                here = np.flatnonzero(steps == step)
                self._bodies(group, here, None if times[group] == 1 else f"at {step}")

    def _kinds(self, kind: str, position: int) -> None:
        """Draw what the members at one position are."""
        here = np.flatnonzero(self.position == position)
        drawn = self.children.kind_at(
            self.replicate,
            position,
            {name: column.take(self.unit[here]) for name, column in self.given.items()},
            self._earlier(here, [kind]),
            self.context,
            self.chunk,
        )
        self._enter({kind: drawn}, here)

    def _bodies(self, group: int, here: Ints, place: str | None) -> None:
        """Draw the columns of some members, again where they break a rule."""
        chunk = None if place is None and self.chunk is None else f"{place} {self.chunk}"
        self._enter(self._once(group, here, chunk), here)
        if self.rules is None:
            return
        for attempt in range(MEMBER_TRIES):
            here = here[self._broken(here)]
            if not here.size:
                return
            label = f"{chunk} member {place} again {attempt}"
            self._enter(self._once(group, here, label), here)

    def _once(self, group: int, here: Ints, chunk: str | None) -> dict[str, Column]:
        given = {name: column.take(self.unit[here]) for name, column in self.given.items()}
        kind = self.children.kind
        if kind is not None:
            given[kind] = self.columns[kind].take(here)
        names = [name for name in self.children.columns if name != kind]
        earlier = self._earlier(here, names)
        position = self.position[here]
        return self.children.body(
            self.replicate, group, given, earlier, position, self.context, chunk
        )

    def _earlier(self, here: Ints, names: Sequence[str]) -> list[dict[str, Column]]:
        """Return the first member, the second and the one before; missing where there is none."""
        place, start = self.position[here], self.start[self.unit[here]]
        rows = [
            np.where(place > 1, start, -1),
            np.where(place > 2, start + 1, -1),  # noqa: PLR2004
            np.where(place > 2, here - 1, -1),  # noqa: PLR2004
        ]
        known = [name for name in names if name in self.columns]
        return [{name: taken(self.columns[name], at) for name in known} for at in rows]

    def _enter(self, drawn: Mapping[str, Column], here: Ints) -> None:
        """Write drawn columns of some members into those of all."""
        for name, column in drawn.items():
            if name not in self.columns:
                values = np.zeros(self.unit.size, dtype=column.values.dtype)
                missing = np.zeros(self.unit.size, dtype=bool)
                self.columns[name] = column.with_values(values, missing)
            whole = self.columns[name]
            whole.values[here], whole.missing[here] = column.values, column.missing

    def _broken(self, here: Ints) -> Mask:
        """Return which of some members are in units that break a rule, as far as they are drawn."""
        assert self.rules is not None  # noqa: S101  # asked only with rules
        units, place = np.unique(self.unit[here], return_inverse=True)
        last = np.zeros(self.size.size, dtype=np.int64)
        last[self.unit[here]] = self.position[here]
        rows = np.flatnonzero(self.position <= last[self.unit])
        home = np.searchsorted(units, self.unit[rows])
        known = self._known(rows)
        broken = self.rules.broken(known, home, units.size, complete=False) > 0
        return broken[place.reshape(-1)]

    def _known(self, rows: Ints) -> dict[str, Column]:
        own = {name: column.take(rows) for name, column in self.columns.items()}
        return {n: c.take(self.unit[rows]) for n, c in self.units.items()} | own

    def wrong(self) -> Ints:
        """Return the units that break a rule."""
        if self.rules is None:
            return np.empty(0, dtype=np.int64)
        known = self._known(np.arange(self.unit.size))
        return np.flatnonzero(self.rules.broken(known, self.unit, self.size.size))


def _exchanged(
    unit: Ints, columns: Mapping[str, Column], wrong: Ints, other: Ints, new: Mapping[str, Column]
) -> tuple[Ints, dict[str, Column]]:
    """Return the members of units with those of some units exchanged."""
    keep = np.flatnonzero(~np.isin(unit, wrong))
    both = np.concatenate([unit[keep], other])
    sort = np.argsort(both, kind="stable")
    taken = {n: joined([columns[n].take(keep), new[n]]).take(sort) for n in columns}
    return both[sort], taken


def joined(columns: Sequence[Column]) -> Column:
    """Return columns of the same kind one below the other."""
    values = np.concatenate([column.values for column in columns])
    return columns[0].with_values(values, np.concatenate([column.missing for column in columns]))
