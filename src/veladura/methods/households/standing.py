"""An earlier release of a panel, read as its original is: members in order, values as codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.methods.households.children import Columns, places_of
from veladura.methods.households.levels import is_constant
from veladura.methods.households.members import (
    Members,
    find_order,
    kinds_in_order,
    level_codes,
)
from veladura.methods.households.waves import HINT, Panel

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class Standing:
    """The order in which members of a household stand, learnt of the original.

    Attributes
    ----------
    order
        By column the values in their order, for those with few; None for others: largest first.
    """

    order: Mapping[str, Sequence[float] | None]

    @classmethod
    def of(cls, people: Columns, home: Ints, named: Sequence[str]) -> Standing:
        """Return the order of members of the original."""
        members = Members(people, home, of_person=False)
        names = [name for name in named if name in people] or find_order(members)
        few = {name: level_codes(people[name]) is not None for name in names}
        return cls({n: kinds_in_order(members, n) if few[n] else None for n in names})

    def keys(self, columns: Columns, person: Ints) -> list[Floats]:
        """Return what people of an earlier release are sorted by, by the first row of each."""
        first = np.unique(person, return_index=True)[1]
        keys = []
        for name, order in self.order.items():
            column = columns[name].take(first)
            if order is not None:
                keys.append(places_of(column, order).astype(np.float64))
            else:
                sign = 1.0 if column.field.kind == "date" else -1.0
                values = sign * column.values.astype(np.float64)
                keys.append(np.where(column.missing, np.inf, values))
        return keys


def released_panel(
    table: Table,
    columns: Columns,
    time: str,
    units: tuple[str | None, str],
    standing: Standing,
) -> Panel:
    """Return a dataset of an earlier release as a panel, in the codes of the original.

    Rows are sorted by released numbers, never by the order of a file.

    Parameters
    ----------
    columns
        Of the original.
    units
        The columns that number households, if any, and people.
    """
    home_name, person_name = units
    whole = table.units
    held = {name: _in_codes_of(table.column(name), columns[name]) for name in columns}
    number = whole.column(person_name).values
    people, person = np.unique(number, return_inverse=True)
    person = person.reshape(-1)
    own = people if home_name is None else _one_each(whole.column(home_name).values, person)
    rank = np.lexsort((people, *standing.keys(held, person)[::-1], own))
    place = np.empty(people.size, dtype=np.int64)
    place[rank] = np.arange(people.size)
    sort = np.lexsort((held[time].values, place[person]))
    homes, home = np.unique(own[rank], return_inverse=True)
    numbers = {"person": people[rank].astype(np.int64)}
    if home_name is not None:
        numbers["household"] = homes.astype(np.int64)
    held = {name: column.take(sort) for name, column in held.items()}
    return Panel(held, place[person][sort], home.reshape(-1).astype(np.int64), numbers)


def refuse_varying(panel: Panel, names: Sequence[str], unit: Ints) -> None:
    """Refuse an earlier release in which a column varies that the table holds constant."""
    if varying := [name for name in names if not is_constant(panel.columns[name], unit)]:
        msg = (
            f"columns {varying} are constant within people or households of the table, and were"
            f" not when the earlier release was made.{HINT}"
        )
        raise PlanError(msg)


def _one_each(values: Ints, person: Ints) -> Ints:
    """Return the household of each person."""
    own = np.zeros(int(person.max(initial=-1)) + 1, dtype=np.int64)
    own[person] = values
    return own


def _in_codes_of(column: Column, original: Column) -> Column:
    """Return a released column in the codes of the original."""
    if original.labels is None or column.labels is None:
        return original.with_values(column.values.astype(original.values.dtype), column.missing)
    place = pc.index_in(column.labels.cast(original.labels.type), original.labels)
    used = place.take(np.unique(column.values[~column.missing]))
    if used.null_count:
        msg = (
            f"column {column.name!r} of the earlier release has {used.null_count} categories that"
            f" the table has not.{HINT}"
        )
        raise PlanError(msg)
    codes = place.fill_null(0).to_numpy().astype(np.int64)
    values = codes[column.values] if codes.size else np.zeros(column.size, dtype=np.int64)
    return original.with_values(np.where(column.missing, 0, values), column.missing)
