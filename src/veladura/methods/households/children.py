"""The rows of units: how many, of which kinds, then each given the unit and the rows before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.table.codes import Column
from veladura.table.schema import Field

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart

SIZE, POSITION, NUMBER_OF = "(number of rows)", "(place of the row)", "(number of kind "
FIRST, SECOND, BEFORE = "first: ", "second: ", "row before: "
# of people who were released before: their rows so far, and the first member of their household
PAST = ("first so far: ", "second so far: ", "last so far: ")
MEMBER, SO_FAR, LAST = "first member: ", "(rows so far)", "(last wave so far)"
SEEN = "(new waves of the household)"
FROM, TO = "(first wave of the household)", "(last wave of the household)"

Columns = Mapping[str, Column]


@dataclass(frozen=True, eq=False, repr=False)
class Children:
    """Models of the rows of units, ready to draw. Holds original values.

    Attributes
    ----------
    size
        The number of rows, given the columns of the unit.
    kind
        The column that says what a row is in its unit (head, partner, child); None without one.
    order
        Its values, in the order in which rows stand in a unit.
    kinds
        By place (1, 2, later) the model of that column, given the unit and the kinds before.
    levels
        The kinds with models of their own: their values in that column.
    bodies
        The models of the other columns: for each of these kinds, and the rest, one for its first
        row in a unit and one for later ones; without a kind, one for first rows, one for second
        and one for later ones.
    most
        The largest number of rows that is drawn: enough units have as many.
    """

    columns: tuple[str, ...]
    size: FittedCart
    kind: str | None
    order: Sequence[float]
    kinds: Sequence[FittedCart]
    levels: Sequence[float]
    bodies: Sequence[FittedCart | None]
    most: int

    @property
    def models(self) -> list[FittedCart]:
        """The models of all columns, without that of their number."""
        return [*self.kinds, *(body for body in self.bodies if body is not None)]

    def sizes(
        self, replicate: int, units: Columns, number: int, context: Context, chunk: str | None
    ) -> Ints:
        """Draw how many rows each of some units has."""
        drawn = self.size.completed(replicate, number, units, context.within("size"), chunk)[SIZE]
        least = int(self.size.codes[SIZE].values.min(initial=1) > 0)
        return np.clip(drawn.values.astype(np.int64), least, self.most)

    def kind_at(
        self,
        replicate: int,
        position: int,
        given: Columns,
        earlier: Sequence[Columns],
        context: Context,
        chunk: str | None,
    ) -> Column:
        """Draw what the row at one position is, for units that have so many.

        Parameters
        ----------
        given
            The columns of the units, with their number of rows.
        earlier
            The kind of their first row, their second, and the one before.
        chunk
            What rows these are, where they are not all first or second ones of a dataset.
        """
        assert self.kind is not None  # noqa: S101  # asked only with kinds
        which = min(position, len(self.kinds))
        known = dict(given) | _lagged(earlier, position)
        if which > 2:  # noqa: PLR2004
            chunk = f"{position} {chunk or ''}"
        model, rows = self.kinds[which - 1], next(iter(given.values())).size
        known[POSITION] = whole_numbers(POSITION, np.full(rows, position))
        known = {name: known[name] for name in model.codes if name in known}
        inner = context.within("kind", which)
        return model.completed(replicate, rows, known, inner, chunk)[self.kind]

    def group_of(self, kind: Column | None, unit: Ints, position: Ints) -> Ints:
        """Return which model draws a row; a kind may have one for all its rows."""
        groups = groups_of(kind, unit, position, self.levels)
        if kind is None:
            return groups
        last = len(self.bodies)
        own = np.array([g < last and self.bodies[g] is not None for g in range(last + 2)])
        return np.where(own[np.minimum(groups, last)], groups, groups - groups % 2)

    def place_of(self, kind: Column | None, position: Ints) -> Ints:
        """Return when a row is drawn: by the place of its kind in units, else by its position."""
        return position - 1 if kind is None else places_of(kind, self.order)

    def body(
        self,
        replicate: int,
        group: int,
        given: Columns,
        earlier: Sequence[Columns],
        position: Ints,
        context: Context,
        chunk: str | None,
    ) -> dict[str, Column]:
        """Draw the columns of rows of one group.

        Parameters
        ----------
        given
            The columns of their units, with the number of rows, of kinds, and the kind.
        earlier
            Their first row, their second, and the one before; missing where there is none.
        chunk
            What rows these are, where they are not all of the group in a dataset.
        """
        model = self.bodies[group]
        assert model is not None  # noqa: S101  # kinds without a model are in the last group
        known = dict(given) | {POSITION: whole_numbers(POSITION, position)}
        for prefix, columns in zip((FIRST, SECOND, BEFORE), earlier, strict=True):
            known |= renamed(columns, prefix)
        none = np.full(position.size, -1)  # of units none of whose earlier rows is drawn
        for name in model.reads:
            if name not in known and name.startswith((FIRST, SECOND, BEFORE)):
                known[name] = taken(model.codes[name], none)
        known = {name: known[name] for name in model.codes if name in known}
        drawn = model.completed(
            replicate, position.size, known, context.within("body", group), chunk
        )
        return {name: drawn[name] for name in self.columns if name != self.kind}


def groups_of(kind: Column | None, unit: Ints, position: Ints, levels: Sequence[float]) -> Ints:
    """Return which model draws a row: by its kind, and whether it is the first of it in its unit.

    Without kinds, by its position. Rows of a unit follow each other, those of a kind too.
    """
    if kind is None:
        return np.minimum(position, 3) - 1
    value = kind.key()
    again = np.zeros(value.size, dtype=np.int64)
    again[1:] = (value[1:] == value[:-1]) & (unit[1:] == unit[:-1])
    groups: Ints = 2 * places_of(kind, levels) + again
    return groups


def ranks_in(place: Ints, unit: Ints) -> Ints:
    """Return which row of its kind in its unit each is, from 1; rows of a kind follow each other.

    Examples
    --------
    >>> ranks_in(np.array([0, 2, 2, 0]), np.array([0, 0, 0, 1])).tolist()
    [1, 1, 2, 1]
    """
    new = np.ones(place.size, dtype=bool)
    new[1:] = (place[1:] != place[:-1]) | (unit[1:] != unit[:-1])
    at = np.arange(place.size)
    return at - np.maximum.accumulate(np.where(new, at, 0)) + 1


def places_of(column: Column, levels: Sequence[float]) -> Ints:
    """Return the place of each value among some levels; others, and missing ones, come last."""
    place = np.full(column.size, len(levels), dtype=np.int64)
    for i, level in enumerate(levels):
        place[(column.values == level) & ~column.missing] = i
    return place


def counts(kind: Column, unit: Ints, levels: Sequence[float], number: int) -> dict[str, Column]:
    """Return how many rows of each kind a unit has: its composition."""
    place = places_of(kind, levels)
    return {
        (name := f"{NUMBER_OF}{i + 1})"): whole_numbers(
            name, np.bincount(unit[place == i], minlength=number)
        )
        for i in range(len(levels))
    }


def taken(column: Column, rows: Ints) -> Column:
    """Return a column at some rows, missing where there is none (-1)."""
    found = column.take(np.maximum(rows, 0))
    absent = rows < 0
    return found.with_values(np.where(absent, 0, found.values), found.missing | absent)


def _lagged(earlier: Sequence[Columns], position: int) -> dict[str, Column]:
    """Return the columns of earlier rows under names of their own, as far as there are any."""
    known: dict[str, Column] = {}
    several = earlier[: 3 if position > 2 else position - 1]  # noqa: PLR2004
    for prefix, columns in zip((FIRST, SECOND, BEFORE), several, strict=False):
        known |= renamed(columns, prefix)
    return known


def renamed(columns: Columns, prefix: str) -> dict[str, Column]:
    """Return columns of an earlier row under names of their own."""
    return {
        prefix + name: replace(column, field=replace(column.field, name=prefix + name))
        for name, column in columns.items()
    }


def whole_numbers(name: str, values: Ints) -> Column:
    """Return whole numbers as a column."""
    missing = np.zeros(values.size, dtype=bool)
    return Column(Field(name, "integer", pa.int64()), values.astype(np.int64), missing)
