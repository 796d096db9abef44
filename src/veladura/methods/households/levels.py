"""The levels of a table: households, their people, the rows of a person; and columns by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.methods.households.members import (
    Members,
    find_order,
    is_surely_time,
    kind_in,
    kinds_in_order,
    sort_keys,
)
from veladura.numeric.distinct import places
from veladura.table.order import canonical_order
from veladura.table.units import Hashes, row_hashes, unit_hashes

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table

Arrays = Mapping[str, "Column"]


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """One level of a table: its units, in an order that depends on their contents only.

    Attributes
    ----------
    name
        The column of their numbers; None where every row is a unit.
    row
        One row of the table for each unit.
    parent
        The place of its parent, in the order of the level above; all 0 at the top.
    position
        Its place among the units of its parent, from 1.
    columns
        The columns that are constant within its units and not within those above.
    is_person
        Whether its units are people, or episodes of one: what is below them follows in time.
    kind
        The column that says what a unit is in the one above: head, partner, child; or a wave.
    kinds
        Its values, in the order in which units stand in the one above.
    times
        Columns of the rows of a person that never repeat within one.
    """

    name: str | None
    row: Ints
    parent: Ints
    position: Ints
    columns: tuple[str, ...]
    is_person: bool = False
    kind: str | None = None
    kinds: tuple[float, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def units(self) -> int:
        """Number of units."""
        return int(self.row.size)

    def sizes(self, parents: int) -> Ints:
        """Return how many units each parent has."""
        return np.bincount(self.parent, minlength=parents).astype(np.int64)


def find_levels(table: Table, columns: Arrays, order: Sequence[str] = ()) -> list[Level]:
    """Return the levels of a table, from households or people down to rows.

    A level whose units have one row each is the level of rows itself.

    Parameters
    ----------
    columns
        All released columns, in the order of the table.
    order
        The columns by which the members of a unit come one after the other, found by default.
    """
    names, numbers = _units_of(table)
    hashes = row_hashes(list(columns.values()))
    left = list(columns)
    levels: list[Level] = []
    place = np.zeros(table.rows, dtype=np.int64)  # of each row among the units of the level above
    for name, number in zip(names, numbers, strict=True):
        fixed = [c for c in left if name is None or is_constant(columns[c], number)]
        left = [c for c in left if c not in fixed]
        unit = unit_hashes(hashes, number)
        row = np.zeros(unit.size, dtype=np.int64)
        row[number[::-1]] = np.arange(number.size)[::-1]  # the first row of each
        own = {c: columns[c].take(row) for c in fixed}
        if levels:
            level, sort = _members_of(levels[-1], own, row, place[row], unit, order)
        else:  # by their columns first, so that a column appended to rows moves no draw
            keys = [key for column in own.values() for key in column.keys()]  # noqa: SIM118
            sort = canonical_order([*keys, unit], unit.size)
            zeros = np.zeros(unit.size, dtype=np.int64)
            level = Level(None, row[sort], zeros, zeros + 1, tuple(fixed))
        # rows of a visit follow one another too, and are no members of a family
        is_person = name is not None and name in (table.person, table.units.schema.episode)
        levels.append(replace(level, name=name, is_person=is_person))
        rank = np.empty(sort.size, dtype=np.int64)
        rank[sort] = np.arange(sort.size)
        place = rank[number]
    return levels


def _members_of(
    above: Level, own: Arrays, row: Ints, parent: Ints, hashes: Hashes, order: Sequence[str]
) -> tuple[Level, Ints]:
    """Return the units below others, by these and in the order of members; and how they sort."""
    members = Members(own, parent, above.is_person)
    sorting = [name for name in order if name in own] or find_order(members)
    sort = np.lexsort((hashes, *sort_keys(members, sorting)[::-1], parent))
    parent = parent[sort]
    position = np.arange(sort.size) - np.searchsorted(parent, parent) + 1
    times: tuple[str, ...] = ()
    if above.is_person:
        times = tuple(c for c in sorting if is_surely_time(members.columns[c], members.unit))
    level = Level(None, row[sort], parent, position, tuple(own), times=times)
    if (kind := kind_in(members, sorting)) is not None:
        level = replace(level, kind=kind, kinds=kinds_in_order(members, kind))
    return level, sort


def _units_of(table: Table) -> tuple[list[str | None], list[Ints]]:
    """Return the columns of units, from the largest, and the unit of every row by each."""
    whole, rows = table.units, table.rows
    names: list[str | None] = []
    numbers: list[Ints] = []
    for name in (whole.schema.household, whole.schema.person, whole.schema.episode):
        if name is None:
            continue
        column = whole.column(name)
        number = places(column.values)[1].astype(np.int64)
        if column.missing.any():  # who has no number is a unit alone
            number[column.missing] = rows + np.flatnonzero(column.missing)
            number = places(number)[1].astype(np.int64)
        if number.max(initial=-1) + 1 < rows:  # else they are the rows
            names.append(name)
            numbers.append(number)
    return [*names, None], [*numbers, np.arange(rows, dtype=np.int64)]


def is_constant(column: Column, unit: Ints) -> bool:
    """Whether all rows of every unit hold the same value, or all none."""
    key = np.where(column.missing, 0, column.values)
    row = np.zeros(int(unit.max(initial=-1)) + 1, dtype=np.int64)
    row[unit] = np.arange(unit.size)
    other = row[unit]
    return bool(np.all((key == key[other]) & (column.missing == column.missing[other])))
