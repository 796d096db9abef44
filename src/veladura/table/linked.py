"""Linked tables: a chain of tables, each row of one belonging to a row of the one above.

They are opened as one table: a row for each row of the last table, with the columns of those above
beside it, and one for each row above that has none. The keys are its units (household, person), so
that every method counts people, and draws or renumbers whole units.
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

from veladura.errors import DataError, PlanError
from veladura.table.schema import Declared, Role, describe
from veladura.table.source import Columns, open_unwarned
from veladura.table.table import Link, Table

MOST_TABLES = 3
LEAST_COVERED = 0.1  # share of the keys that a link has: an age is among running numbers too


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
        row for each person, and one above that a row for each household.
    """

    name: str
    path: Any
    key: str | None = None
    parent: str | None = None
    link: str | None = None
    unit: Literal["household", "person"] | None = None


def open_linked(
    *tables: LinkedTable, columns: Columns | None = None, name: str | None = None
) -> Table:
    """Return linked tables as one, their keys checked.

    Parameters
    ----------
    tables
        A chain of two or three: the first has no parent, each other has the one before it.
    columns
        Roles and kinds, as for `veladura.open`; keys have the roles "household" and "person".
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
    arrow, links, roles = joined(tables)
    declared = describe(columns or {}, arrow.column_names)
    for key, role in roles.items():
        declared[key] = replace(declared.get(key, Declared()), role=role)
    opened = open_unwarned(arrow, declared, name=name or chain_of(tables)[0].name)
    return replace(opened, source=replace(opened.source, links=links), frame=None)


def chain_of(tables: Sequence[LinkedTable]) -> list[LinkedTable]:
    """Return the tables from the first down; refuse what is no chain."""
    names = [table.name for table in tables]
    if not 2 <= len(tables) <= MOST_TABLES or len(set(names)) < len(names):  # noqa: PLR2004
        msg = f"two or three linked tables with different names are wanted, got {names}."
        raise PlanError(msg)
    chain = [table for table in tables if table.parent is None]
    while len(chain) == 1 or (chain and len(chain) < len(tables)):
        below = [table for table in tables if table.parent == chain[-1].name]
        if len(below) != 1:
            break
        chain += below
    if len(chain) < len(tables) or sum(table.parent is None for table in tables) != 1:
        msg = (
            f"the tables {names} are no chain: one has no parent, and each other has the parent"
            " before it.\n\nHint: tables with the same parent are protected by a plan each."
        )
        raise PlanError(msg)
    if lacking := [table.name for table in chain[:-1] if table.key is None]:
        msg = f"tables {lacking} have others below them and no key.\n\nHint: name the column."
        raise PlanError(msg)
    return chain


def joined(tables: Sequence[LinkedTable]) -> tuple[pa.Table, tuple[Link, ...], dict[str, Role]]:
    """Return the rows of all tables as one table, what is whose, and the roles of keys."""
    chain = chain_of(tables)
    whole = _read(chain[0])
    check_key(whole, chain[0])
    own = [name for name in whole.column_names if name != chain[0].key]
    links = [Link(chain[0].name, tuple(own), chain[0].key)]
    roles = _roles(chain)
    for above, table in pairwise(chain):
        rows = _read(table)
        if table.key is not None:
            check_key(rows, table)
        column = table.link or str(above.key)
        _refuse_absent(rows, table, [column])
        rows = _renamed(rows, whole.column_names, column, table.name)
        whole, present = _beside(whole, rows, column, above, table, roles)
        kept = [n for n in rows.column_names if n not in (column, table.key)]
        links.append(Link(table.name, tuple(kept), table.key, above.key, present))
    left = [key for table in chain if (key := table.key) is not None and key not in roles]
    return whole.drop_columns(left), tuple(links), roles


def _roles(chain: Sequence[LinkedTable]) -> dict[str, Role]:
    """Return the roles of keys; that of the last table is a unit only where the holder says so."""
    usual: list[Role] = ["household", "person"]
    usual = usual[-len(chain[:-1]) :]
    roles: dict[str, Role] = {
        str(table.key): table.unit or role for table, role in zip(chain, usual, strict=False)
    }
    last = chain[-1]
    if last.key is not None and last.unit is not None:
        roles[last.key] = last.unit
    return roles


def _read(table: LinkedTable) -> pa.Table:
    path = Path(table.path) if isinstance(table.path, str) else table.path
    rows = open_unwarned(path).fetched().arrow
    _refuse_absent(rows, table, [] if table.key is None else [table.key])
    return rows


def _refuse_absent(rows: pa.Table, table: LinkedTable, names: Sequence[str]) -> None:
    if absent := [name for name in names if name not in rows.column_names]:
        msg = f"table {table.name!r} has no column {absent}; it has {rows.column_names}."
        raise PlanError(msg)


def check_key(rows: pa.Table, table: LinkedTable) -> None:
    """Refuse a key that is missing or not unique."""
    column = rows.column(str(table.key))
    repeated = len(column) - column.null_count - pc.count_distinct(column).as_py()
    if column.null_count or repeated:
        msg = (
            f"the key {table.key!r} of table {table.name!r} is missing in {column.null_count} rows"
            f" and repeated in {repeated}: it numbers no rows.\n\nHint: name a column that has"
            " every value once."
        )
        raise DataError(msg)


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
) -> tuple[pa.Table, str | None]:
    """Return rows with those above beside them, and the column that says which have none."""
    held = above.column(str(parent.key)).combine_chunks()
    place = pc.index_in(rows.column(column).cast(held.type), held)
    if orphans := place.null_count:
        msg = (
            f"{orphans} rows of table {table.name!r} have a {column!r} that table {parent.name!r}"
            " does not have: they belong to nothing.\n\nHint: correct the source, or leave these"
            " rows out."
        )
        raise DataError(msg)
    at = place.combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    childless = np.setdiff1d(np.arange(above.num_rows), at)
    places = pa.array(np.concatenate([at, childless]))
    taken = {name: above.column(name).take(places) for name in above.column_names}
    own = pa.array([*range(rows.num_rows), *[None] * childless.size], pa.int64())
    present = None
    if childless.size and table.key is not None and table.key in units:
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
    return pa.table(taken), present


def find_links(paths: Mapping[str, Any]) -> list[LinkedTable]:
    """Return tables as a chain, their keys found by content.

    A key has every value once, and all values of a column of the table below are among its own.

    Parameters
    ----------
    paths
        The files by the names of their tables.
    """
    rows = {name: _read(LinkedTable(name=name, path=path)) for name, path in paths.items()}
    offers = [
        (score, child, parent, key, column)
        for child, below in rows.items()
        for parent, above in rows.items()
        if parent != child
        for key in above.column_names
        for column in below.column_names
        if (score := _fit(above.column(key), below.column(column), key == column))
    ]
    found: dict[str, tuple[str, str, str]] = {}  # of each table: parent, its key, and the link
    for _, child, parent, key, column in sorted(offers, key=lambda offer: -offer[0]):
        parents = {parent for parent, *_ in found.values()}
        if child not in found and parent not in parents and not _is_above(child, parent, found):
            found[child] = (parent, key, column)
    keys = {parent: key for parent, key, _ in found.values()}
    tables = [
        LinkedTable(
            name=name,
            path=paths[name],
            key=keys.get(name) or _own_key(rows[name], found.get(name)),
            parent=found[name][0] if name in found else None,
            link=found[name][2] if name in found else None,
        )
        for name in rows
    ]
    return chain_of(tables)


def _is_above(table: str, other: str, found: Mapping[str, tuple[str, str, str]]) -> bool:
    """Whether a table is one of those above another: they would go round in a circle."""
    while other in found:
        other = found[other][0]
        if other == table:
            return True
    return False


def _fit(key: pa.ChunkedArray, column: pa.ChunkedArray, same: bool) -> float:  # noqa: FBT001
    """Return how well a column links to a key: 0 not at all, more for the same name."""
    kinds = [pa.types.is_integer, pa.types.is_string, pa.types.is_large_string]
    if not any(kind(key.type) and kind(column.type) for kind in kinds):
        return 0.0
    distinct = pc.count_distinct(key).as_py()
    unique = distinct == len(key) and not key.null_count
    repeats = pc.count_distinct(column).as_py() < len(column)
    if not unique or not repeats or column.null_count or not len(column):
        return 0.0
    inside = pc.all(pc.is_in(column, value_set=key.combine_chunks())).as_py()
    covered = pc.count_distinct(column).as_py() / distinct
    return (1.0 + same) * covered if inside and covered >= LEAST_COVERED else 0.0


def _own_key(rows: pa.Table, found: tuple[str, str, str] | None) -> str | None:
    """Return the key of the last table: its first column, if that has every value once."""
    name = rows.column_names[0]
    column = rows.column(name)
    unique = pc.count_distinct(column).as_py() == len(column) and not column.null_count
    plain = pa.types.is_integer(column.type) or pa.types.is_string(column.type)
    return name if found is not None and name != found[2] and unique and plain else None
