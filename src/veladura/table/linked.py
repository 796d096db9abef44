"""Linked tables: a chain of tables, each row of one belonging to a row of the one above.

They are opened as one table: a row for each row of the last table, with the columns of those above
beside it, and one for each row above that has none. Several tables may be last (the visits and the
prescriptions of a patient): their rows stand one below the other, and ``row_of`` says of which each
is. The keys are the units (household, person, episode), so that every method counts people, and
draws or renumbers whole units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.base.arrays import Ints
from veladura.errors import DataError, PlanError
from veladura.table.link_checks import check_key, places_above, refuse_absent
from veladura.table.linked_people import are_people, has_ages
from veladura.table.lookups import attached, described_tables
from veladura.table.people_last import with_middle_looked_up
from veladura.table.roles.names import hints_of
from veladura.table.schema import Declared, Role, describe
from veladura.table.source import Columns, open_unwarned
from veladura.table.table import Link, Table

MOST_LEVELS, MOST_TABLES = 3, 8


@dataclass(frozen=True, kw_only=True)
class LinkedTable:
    """One table among several that belong together.

    Parameters
    ----------
    name
        What it is called.
    path
        A file; in Python also a frame.
    key
        The column that numbers its rows, each once. A table with others below it needs one.
    parent
        The name of the table that its rows belong to; none for the first.
    link
        The column that holds the key of the parent's row; by default named like that key.
    unit
        What its rows are: "household" or "person". By default the table above the last one has a
        row for each person. In a chain of three names and content say which it is: homes with
        persons, patients with visits (whose keys have the role "episode"), or firms with
        departments (which are looked up) and employees.
    describes
        Of a table that is looked up, such as the hospitals of visits: the table whose rows hold its
        key, in their column ``link``. It has no parent and no unit.
    """

    name: str
    path: Any
    key: str | None = None
    parent: str | None = None
    link: str | None = None
    unit: Literal["household", "person"] | None = None
    describes: str | None = None


def open_linked(
    *tables: LinkedTable, columns: Columns | None = None, name: str | None = None
) -> Table:
    """Return linked tables as one, their keys checked.

    Parameters
    ----------
    tables
        A chain of two or three: the first has no parent, each other has the one before it. Several
        tables may have the same parent if nothing is below them. Besides, tables that their rows
        look up (``describes``).
    columns
        Roles and kinds, as for `veladura.open`; keys have the roles "household", "person" and
        "episode".
    name
        What the source is called in records; by default the name of the first table.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"who": [1, 2, 3], "sex": ["f", "m", "f"]})
    >>> visits = pd.DataFrame({"who": [1, 1, 3], "cost": [10, 20, 15]})
    >>> vd.open_linked(
    ...     vd.LinkedTable(name="people", path=people, key="who"),
    ...     vd.LinkedTable(name="visits", path=visits, parent="people"),
    ... ).names
    ['who', 'sex', 'has_visits', 'cost']
    """
    arrow, links, roles = joined(with_people(tables))
    declared = describe(columns or {}, arrow.column_names)
    for key, role in roles.items():
        declared[key] = replace(declared.get(key, Declared()), role=role)
    opened = open_unwarned(arrow, declared, name=name or chain_of(tables)[0].name)
    return replace(opened, source=replace(opened.source, links=links), frame=None)


def chain_of(tables: Sequence[LinkedTable]) -> list[LinkedTable]:
    """Return the tables from the first down, those of one parent last; refuse what is no chain.

    Tables that are looked up are left out.
    """
    tables = described_tables(tables)
    names = [table.name for table in tables]
    if not 2 <= len(tables) <= MOST_TABLES or len(set(names)) < len(names):  # noqa: PLR2004
        msg = (
            f"two to {MOST_TABLES} linked tables with different names are wanted, in at most"
            f" {MOST_LEVELS} levels, got {names}."
        )
        raise PlanError(msg)
    chain = [table for table in tables if table.parent is None]
    levels, below = 1, chain
    while len(below) == 1:
        below = [table for table in tables if table.parent == chain[-1].name]
        chain, levels = chain + below, levels + bool(below)
    if len(chain) < len(tables):
        msg = (
            f"the tables {names} are no chain: one has no parent, and each other has the parent"
            " before it.\n\nHint: several tables may have the same parent, if none has others below"
            " it; what hangs together in another way is protected by a plan each."
        )
        raise PlanError(msg)
    if sum(table.parent is None for table in tables) != 1 or levels > MOST_LEVELS:
        msg = (
            f"the tables {names} are no chain of at most {MOST_LEVELS} levels under one first"
            " table.\n\nHint: a key is one column: where only two together have every value once,"
            " put them into one first, in all tables. Protect what hangs together in another way by"
            " a plan each."
        )
        raise PlanError(msg)
    above = {table.parent for table in chain}
    if lacking := [table.name for table in chain if table.name in above and table.key is None]:
        msg = f"tables {lacking} have others below them and no key.\n\nHint: name the column."
        raise PlanError(msg)
    return chain


def joined(tables: Sequence[LinkedTable]) -> tuple[pa.Table, tuple[Link, ...], dict[str, Role]]:
    """Return the rows of all tables as one table, what is whose, and the roles of keys."""
    chain = chain_of(tables)
    read = {table.name: read_whole(table) for table in tables}
    check_key(read[chain[0].name], chain[0])
    tables, read = with_middle_looked_up(tables, chain, read)
    chain = chain_of(tables)
    read, looked_up = attached(chain, [t for t in tables if t.describes is not None], read)
    whole = read[chain[0].name]
    own = [name for name in whole.column_names if name != chain[0].key]
    links = [Link(chain[0].name, tuple(own), chain[0].key)]
    last = [table for table in chain if table.parent == chain[-1].parent]
    roles = _roles(chain, last)
    for above, table in pairwise(chain[: len(chain) - len(last) + (len(last) == 1)]):
        rows, column = _read_below(above, table, read[table.name], whole.column_names)
        has_below = any(other.parent == table.name for other in chain)
        whole, present = _beside(whole, rows, column, above, table, roles, has_below=has_below)
        kept = [n for n in rows.column_names if n not in (column, table.key)]
        links.append(Link(table.name, tuple(kept), table.key, above.key, present))
    if len(last) > 1:
        whole, below = stacked(whole, chain[-len(last) - 1], last, read)
        links += below
    roles |= {str(link.key): "lookup" for link in looked_up}
    left = [key for table in chain if (key := table.key) is not None and key not in roles]
    left = [name for name in left if name in whole.column_names]
    return whole.drop_columns(left), (*links, *looked_up), roles


def with_people(tables: Sequence[LinkedTable]) -> list[LinkedTable]:
    """Return linked tables of which a chain of three says who the people are.

    Where the holder names no unit, names and content of the first two tables do.
    """
    chain = chain_of(tables)
    whole = [*chain, *(table for table in tables if table.describes is not None)]
    above = [table for table in chain if any(other.parent == table.name for other in chain)]
    if len(above) < 2 or any(table.unit for table in chain):  # noqa: PLR2004
        return whole
    first, second, *rest = whole
    arrow, links, _ = joined((first, second))
    if are_people(open_unwarned(arrow), first, second, links[-1].columns):
        return [replace(first, unit="household"), replace(second, unit="person"), *rest]
    if (
        "person" not in hints_of(first.name) | hints_of(str(first.key))
        and len(chain) == len(above) + 1
    ):
        arrow, links, _ = joined((replace(second, parent=None), rest[0]))
        if has_ages(open_unwarned(arrow), str(second.key), links[-1].columns):
            return [
                replace(first, unit="household"),
                second,
                replace(rest[0], unit="person"),
                *rest[1:],
            ]
    return [replace(first, unit="person"), second, *rest]


def _read_below(
    above: LinkedTable, table: LinkedTable, rows: pa.Table, taken: Sequence[str]
) -> tuple[pa.Table, str]:
    """Return the rows of a table under names of their own, and its column of keys above."""
    if table.key is not None:
        check_key(rows, table)
    column = table.link or str(above.key)
    refuse_absent(rows, table, [column])
    return _renamed(rows, taken, column, table.name), column


def stacked(
    above: pa.Table,
    parent: LinkedTable,
    tables: Sequence[LinkedTable],
    read: Mapping[str, pa.Table],
) -> tuple[pa.Table, list[Link]]:
    """Return the rows of several tables of one parent, one below the other, and what is whose.

    A row of one has nothing in the columns of the others.
    """
    taken = list(above.column_names)
    parts: list[tuple[LinkedTable, pa.Table, str, Ints]] = []
    for table in tables:
        if table.unit is not None:
            msg = (
                f"table {table.name!r} has a unit, and others have the same parent: rows of one"
                " table only can be people.\n\nHint: leave out unit."
            )
            raise PlanError(msg)
        rows, column = _read_below(parent, table, read[table.name], taken)
        if table.key is not None:
            rows = rows.drop_columns([table.key])
        taken += [name for name in rows.column_names if name != column]
        parts.append((table, rows, column, places_above(above, rows, column, parent, table)))
    row_of, present = (_free(name, taken) for name in ("row_of", "has_rows"))
    childless = np.setdiff1d(np.arange(above.num_rows), np.concatenate([at for *_, at in parts]))
    places = pa.array(np.concatenate([*(at for *_, at in parts), childless]))
    columns = {name: above.column(name).take(places) for name in above.column_names}
    if childless.size:
        some = len(places) - childless.size
        columns[present] = pa.array(["yes"] * some + ["no"] * childless.size)
    names = [table.name for table, *_, at in parts for _ in range(at.size)]
    columns[row_of] = pa.array([*names, *[None] * childless.size], pa.string())
    links, before = [], 0
    for table, rows, column, at in parts:
        after = len(places) - before - at.size
        own = pa.array([*[None] * before, *range(at.size), *[None] * after], pa.int64())
        kept = [name for name in rows.column_names if name != column]
        columns |= {name: rows.column(name).take(own) for name in kept}
        before += at.size
        shown = present if childless.size else None
        links.append(Link(table.name, tuple(kept), None, parent.key, shown, row_of))
    return pa.table(columns), links


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)


def _roles(chain: Sequence[LinkedTable], last: Sequence[LinkedTable]) -> dict[str, Role]:
    """Return the roles of keys; that of the last table is a unit only where the holder says so."""
    above = chain[: -len(last)]
    usual: list[Role] = ["household", "person"]
    usual = usual[-len(above) :]
    if above[0].unit == "person" and len(above) > 1:
        usual = ["person", "episode"]  # a patient's visits, each with rows below
    roles: dict[str, Role] = {
        str(table.key): table.unit or role for table, role in zip(above, usual, strict=True)
    }
    only = last[0] if len(last) == 1 else None
    if only is not None and only.key is not None and only.unit is not None:
        roles[only.key] = only.unit
    return roles


def read_whole(table: LinkedTable) -> pa.Table:
    """Return all rows of a table; refuse one without the key that is declared."""
    path = Path(table.path) if isinstance(table.path, str) else table.path
    rows = open_unwarned(path).fetched().arrow
    refuse_absent(rows, table, [] if table.key is None else [table.key])
    return rows


def _renamed(rows: pa.Table, taken: Sequence[str], link_: str, table: str) -> pa.Table:
    """Return rows whose columns have other names than those above, the link apart."""
    return rows.rename_columns(
        [f"{n}_{table}" if n in taken and n != link_ else n for n in rows.column_names]
    )


def _beside(
    above: pa.Table,
    rows: pa.Table,
    column: str,
    parent: LinkedTable,
    table: LinkedTable,
    units: Mapping[str, Role],
    *,
    has_below: bool,
) -> tuple[pa.Table, str | None]:
    """Return rows with those above beside them, and the column that says which have none."""
    at = places_above(above, rows, column, parent, table)
    childless = np.setdiff1d(np.arange(above.num_rows), at)
    places = pa.array(np.concatenate([at, childless]))
    taken = {name: above.column(name).take(places) for name in above.column_names}
    own = pa.array([*range(rows.num_rows), *[None] * childless.size], pa.int64())
    present = None
    if childless.size and units.get(str(table.key)) is not None and not has_below:
        msg = (
            f"{childless.size} rows of table {parent.name!r} have no row in {table.name!r}, whose"
            " key would be missing.\n\nHint: leave these rows out of the source."
        )
        raise DataError(msg)
    if childless.size:
        present = f"has_{table.name}"
        taken[present] = pa.array(["yes"] * at.size + ["no"] * childless.size)
    for name in rows.column_names:
        if name != column:
            taken[name] = rows.column(name).take(own)
    if childless.size and has_below:
        taken[str(table.key)] = _all_numbered(taken[str(table.key)])
    return pa.table(taken), present


def _all_numbered(key: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a key with a value of its own for each row that has none.

    It stands for nothing below, as the column that says so tells, and is drawn anew as all are.
    """
    missing = np.flatnonzero(key.is_null().to_numpy(zero_copy_only=False))
    if pa.types.is_integer(key.type):
        free = range(pc.max(key).as_py() + 1, pc.max(key).as_py() + 1 + missing.size)
        spare = pa.array(list(free), key.type)
    else:
        longest = pc.max(pc.utf8_length(key.cast(pa.string()))).as_py()
        spare = pa.array([f"{at:0{longest + 1}d}" for at in range(missing.size)]).cast(key.type)
    at = np.full(len(key), -1)
    at[missing] = np.arange(missing.size)
    return pc.coalesce(key, spare.take(pa.array(at, mask=at < 0)))
