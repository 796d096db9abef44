"""People in the last of three linked tables: firms, departments and employees.

Rows of two levels of units above people have no role of their own. So firms are the units that
people share, and departments are what employees look up: employees belong to firms by the firm of
their department.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.errors import PlanError
from veladura.table.link_checks import check_key, places_above, refuse_absent

if TYPE_CHECKING:
    from veladura.table.linked import LinkedTable

THREE = 3


def with_middle_looked_up(
    tables: Sequence[LinkedTable], chain: Sequence[LinkedTable], read: Mapping[str, pa.Table]
) -> tuple[list[LinkedTable], dict[str, pa.Table]]:
    """Return a chain of three with people in the last as one of two, and the middle looked up.

    Others are returned as they are.

    Parameters
    ----------
    tables, chain
        All tables, and those that are not looked up from the first down.
    read
        The rows of each.
    """
    if len(chain) != THREE or chain[2].unit != "person" or chain[2].parent != chain[1].name:
        return list(tables), dict(read)
    first, middle, last = chain
    _refuse_more_units(tables, first, middle, last, read)
    link, own = middle.link or str(first.key), last.link or str(middle.key)
    refuse_absent(read[middle.name], middle, [link])
    refuse_absent(read[last.name], last, [own])
    check_key(read[middle.name], middle)
    above = places_above(read[first.name], read[middle.name], link, first, middle)
    at = above[places_above(read[middle.name], read[last.name], own, middle, last)]
    rows = dict(read)
    key = read[first.name].column(str(first.key)).take(pa.array(at))
    rows[last.name] = read[last.name].append_column(str(first.key), key)
    rows[middle.name] = read[middle.name].drop_columns([link])
    # a firm without employees: nobody's number is missing; without numbers rows are people
    everywhere = np.unique(at).size == read[first.name].num_rows
    numbered = last.key is not None and everywhere
    made = [
        replace(first, unit="household"),
        replace(last, parent=first.name, link=None, unit="person" if numbered else None),
        replace(middle, parent=None, link=own, describes=last.name),
    ]
    return [*made, *(table for table in tables if table.describes is not None)], rows


def _refuse_more_units(
    tables: Sequence[LinkedTable],
    first: LinkedTable,
    middle: LinkedTable,
    last: LinkedTable,
    read: Mapping[str, pa.Table],
) -> None:
    """Refuse a second table of people, what middle rows look up, and a key that stands twice."""
    if middle.unit is not None or first.unit == "person":
        msg = (
            f"rows of table {last.name!r} are people, and a table above it has a unit too.\n\nHint:"
            f' unit = "person" for {last.name!r} alone; {first.name!r} may have unit = "household".'
        )
        raise PlanError(msg)
    if describing := [table.name for table in tables if table.describes == middle.name]:
        msg = (
            f"{describing} describe {middle.name!r}, which rows of {last.name!r} look up: what is"
            f" looked up looks nothing up.\n\nHint: write their columns into {middle.name!r} first."
        )
        raise PlanError(msg)
    if first.key in read[last.name].column_names:
        msg = (
            f"table {last.name!r} has a column {first.key!r}, named like the key of {first.name!r}:"
            f" rows belong to it by their {middle.name!r}.\n\nHint: leave the column out, or rename"
            " it where it is something else."
        )
        raise PlanError(msg)
