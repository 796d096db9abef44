"""Tables that rows look up: hospitals of visits, regions of patients, products of sales.

Such a table has no unit: its columns are joined to the rows that hold its key, and the key has the
role "lookup". It is drawn anew in a release, or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from veladura.errors import PlanError
from veladura.table.link_checks import check_key, places_above, refuse_absent
from veladura.table.roles.names import hints_of
from veladura.table.table import Link

if TYPE_CHECKING:
    from veladura.table.linked import LinkedTable

Offer = tuple[float, str, str, str, str]  # how well, the table below and above, key and link
_LARGER = 2.0  # times as many rows: of patients and hospitals the patients


def described_tables(tables: Sequence[LinkedTable]) -> list[LinkedTable]:
    """Return the tables that are not looked up; refuse one that is, where it cannot be."""
    chain = [table for table in tables if table.describes is None]
    names = [table.name for table in chain]
    for table in (table for table in tables if table.describes is not None):
        if table.key is None or table.parent is not None or table.unit is not None:
            msg = (
                f"table {table.name!r} describes rows of another: it has a key, and neither parent"
                " nor unit."
            )
            raise PlanError(msg)
        if table.describes not in names:
            msg = (
                f"table {table.name!r} describes {table.describes!r}, which is none of the tables"
                f" {names}.\n\nHint: a table that is looked up describes one that is not; write"
                " the columns of what it looks up itself into it first."
            )
            raise PlanError(msg)
    if len(chain) < len(tables) and len({table.name for table in tables}) < len(tables):
        msg = f"linked tables have different names, got {[table.name for table in tables]}."
        raise PlanError(msg)
    return chain


def attached(
    chain: Sequence[LinkedTable],
    lookups: Sequence[LinkedTable],
    read: Mapping[str, pa.Table],
) -> tuple[dict[str, pa.Table], list[Link]]:
    """Return the rows of all tables, those of lookups joined to the rows that hold their keys.

    Columns get names that no other table has, so that they stay what they are called here.

    Parameters
    ----------
    read
        The rows of every table, by its name.
    """
    rows = dict(read)
    links: list[Link] = []
    for table in lookups:
        child = next(one for one in chain if one.name == table.describes)
        check_key(rows[table.name], table)
        link = _refuse_used(rows[child.name], child, chain, table)
        at = places_above(rows[table.name], rows[child.name], link, table, child)
        _refuse_twice(link, table, child, {one.name: rows[one.name] for one in chain})
        others = [n for one in chain if one is not child for n in rows[one.name].column_names]
        own = rows[child.name].column_names
        key = f"{link}_{child.name}" if link in others else link
        joined = rows[child.name].rename_columns([key if n == link else n for n in own])
        kept = [name for name in rows[table.name].column_names if name != table.key]
        named = [f"{n}_{table.name}" if n in {*others, *own} else n for n in kept]
        for name, new in zip(kept, named, strict=True):
            joined = joined.append_column(new, rows[table.name].column(name).take(pa.array(at)))
        rows[child.name] = joined
        links.append(Link(table.name, tuple(named), key, lookup_of=child.name))
    return rows, links


def _refuse_twice(
    link: str, table: LinkedTable, child: LinkedTable, rows: Mapping[str, pa.Table]
) -> None:
    """Refuse a key that a second table holds too: it is drawn anew in one of them only."""
    held = [n for n, one in rows.items() if n != child.name and link in one.column_names]
    if held:
        msg = (
            f"the column {link!r} of {held} seems to hold keys of {table.name!r} too, as that of"
            f" {child.name!r} does: keys are drawn anew in one table, and the others would show the"
            f" old ones.\n\nHint: rename the column of {held} where it is something else, or leave"
            " it out of that file."
        )
        raise PlanError(msg)


def _refuse_used(
    rows: pa.Table, child: LinkedTable, chain: Sequence[LinkedTable], table: LinkedTable
) -> str:
    """Return the column that holds the key of a lookup; refuse one that is a key already."""
    link = table.link or str(table.key)
    refuse_absent(rows, child, [link])
    above = next((one.key for one in chain if one.name == child.parent), None)
    if link in (child.key, child.link or above):
        msg = (
            f"table {table.name!r} is looked up by {link!r}, which is the key or the link of"
            f" {child.name!r}.\n\nHint: name the column of {child.name!r} that holds keys of"
            f" {table.name!r}: link."
        )
        raise PlanError(msg)
    return link


def find_lookups(offers: Sequence[Offer], rows: Mapping[str, pa.Table]) -> dict[str, Offer]:
    """Return the tables that are looked up, each with the link that fits best.

    Rows of visits hold keys of patients and of hospitals, which belong to nothing themselves: one
    of the two holds the people, by its name or by its size, and the other is looked up. Rows of
    prescriptions belong to visits, which belong to patients, and look up drugs.
    """
    best: dict[tuple[str, str], float] = {}
    for score, child, parent, *_ in offers:
        best[child, parent] = max(score, best.get((child, parent), 0.0))
    above = {
        child: [p for c, p in best if c == child and best[c, p] > best.get((p, c), 0.0)]
        for child in rows
    }
    found: dict[str, Offer] = {}
    for child, parents in above.items():
        further = {name for parent in parents for name in _all_above(parent, above)}
        near = [parent for parent in parents if parent not in further]
        tops = [parent for parent in near if not above[parent]]
        if len(near) < 2 or not tops:  # noqa: PLR2004
            continue
        people = _of_people(child, tops, rows) if len(tops) == len(near) else None
        for name in (name for name in tops if name != people):
            offer = max(o for o in offers if o[1:3] == (child, name))
            if name not in found or offer > found[name]:
                found[name] = offer
    for name, offer in found.items():
        _refuse_second_holder(name, offer, rows)
    return found


def _all_above(name: str, above: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the tables above one, and those above them: an event's home is above its person."""
    seen: set[str] = set()
    rest = list(above[name])
    while rest:
        if (parent := rest.pop()) not in seen:
            seen.add(parent)
            rest += above[parent]
    return seen


def _refuse_second_holder(name: str, offer: Offer, rows: Mapping[str, pa.Table]) -> None:
    """Refuse a lookup whose keys stand in two tables: only those of one would be drawn anew."""
    _, child, _, key, link = offer
    held = [t for t in rows if t not in (name, child) and {key, link} & {*rows[t].column_names}]
    if held:
        msg = (
            f"rows of {child!r} and of {' and '.join(map(repr, held))} hold keys of {name!r}: a"
            " table is looked up by one.\n\nHint: leave the column out of all tables but one."
        )
        raise PlanError(msg)


def _of_people(child: str, tops: Sequence[str], rows: Mapping[str, pa.Table]) -> str:
    """Return the table that holds the people, of several that rows belong to."""
    named = [top for top in tops if "person" in hints_of(top)]
    if len(named) == 1:
        return named[0]
    first, second, *_ = sorted(tops, key=lambda top: -rows[top].num_rows)
    if rows[first].num_rows >= _LARGER * rows[second].num_rows:
        return first
    msg = (
        f"rows of {child!r} belong to {' and to '.join(map(repr, tops))}, and neither names nor"
        " numbers of rows say which of them holds people.\n\nHint: write [[table]] into the plan by"
        f' hand, with describes = "{child}" for the table that only describes rows of {child!r}, as'
        " a table of hospitals describes visits."
    )
    raise PlanError(msg)
