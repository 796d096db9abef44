"""Tables that rows look up, in a release: tables of their own, or joined to the rows for good."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Mask
from veladura.errors import VeladuraWarning

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Link, Table


class JoinedWarning(VeladuraWarning):
    """A table that rows look up stays joined to them."""


def lookup_settings(link: Link, release: Release) -> dict[str, Any]:
    """Return what a release promises of a table that is looked up: with its key, if it has one."""
    tables = [dataset.table for dataset in release.tables]
    columns = [name for name in link.columns if name in tables[0].names]
    about: dict[str, Any] = {"name": link.name, "columns": columns, "lookup_of": link.lookup_of}
    if all(link.key in table.units.names for table in tables):
        about["key"] = link.key
    return about


def telling_keys(release: Release) -> list[str]:
    """Return the keys of lookups that a release must not have.

    Rows that hold one key and differ in the columns that are looked up, because each was changed by
    itself, would tell the original by their mean or by their commonest value. And a key without
    columns is no table.
    """
    links = () if release.original is None else release.original.source.links
    tables = [dataset.table for dataset in release.tables]
    telling = []
    for link in (link for link in links if link.lookup_of is not None):
        about = {"key": link.key, "columns": link.columns}
        if any(link.key in t.units.names and _is_no_table(t, about) for t in tables):
            telling.append(str(link.key))
    return telling


def _is_no_table(table: Table, about: Mapping[str, Any]) -> bool:
    return not {*about["columns"]} & {*table.names} or differing_rows(table, about) > 0


def differing_rows(table: Table, about: Mapping[str, Any]) -> int:
    """Return how many rows hold other values than another row that looks up the same key."""
    key = table.units.column(about["key"])
    given = np.flatnonzero(~key.missing)
    number = np.unique(key.values[given], return_inverse=True)[1].reshape(-1)
    last = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    last[number] = given
    other = last[number]
    differs: Mask = np.zeros(given.size, dtype=bool)
    for name in (name for name in about["columns"] if name in table.names):
        column = table.column(name)
        value = np.where(column.missing, 0, column.values)
        differs |= value[given] != value[other]
        differs |= column.missing[given] != column.missing[other]
    return int(np.count_nonzero(differs))


def broken_lookup(table: Table, about: Mapping[str, Any]) -> int:
    """Return the rows that contradict that a table which is looked up is one of its own."""
    if "key" not in about:
        return 0
    if about["key"] not in table.units.names or not {*about["columns"]} <= {*table.names}:
        return table.rows
    return differing_rows(table, about)


def lookup_words(about: Mapping[str, Any]) -> str:
    """Return in a sentence whether a table that is looked up is a table of its own."""
    name, rows = about["name"], about["lookup_of"]
    if "key" in about:
        return f"{name} is looked up by {about['key']} of {rows}, and each key has one row in it."
    return f"{name} stays joined to {rows}: its key is not released."


def own_columns(one: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the columns of a table by itself: of what it looks up the key, or all if it has none.

    Parameters
    ----------
    tables
        All tables of the promise.
    """
    apart = [a for a in tables if a.get("lookup_of") == one["name"] and "key" in a]
    elsewhere = {name for about in apart for name in about["columns"]}
    keys = [about["key"] for about in apart]
    return [*keys, *(name for name in one["columns"] if name not in elsewhere)]


def split_lookups(frame: Any, tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables that rows look up under released keys, as frames."""
    frames = {}
    for about in (about for about in tables if "lookup_of" in about and "key" in about):
        part = frame[[about["key"], *about["columns"]]].dropna(subset=[about["key"]])
        part = part.drop_duplicates(about["key"]).sort_values(about["key"])
        frames[about["name"]] = part.reset_index(drop=True)
    return frames


def split_joined(frames: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the tables with those that stay joined taken out, by their released values.

    Of these the key is not released. Rows with the same released values look up one row, under a
    number of that combination: nothing but the release is used, so that nothing more is told.
    """
    apart = dict(frames)
    for about in (about for about in tables if "lookup_of" in about and "key" not in about):
        rows, columns = apart[about["lookup_of"]], list(about["columns"])
        if not columns:
            warnings.warn(lookup_words(about), JoinedWarning, stacklevel=4)
            continue
        number = _free(f"{about['name']}_row", rows.columns)
        groups = rows.groupby(columns, dropna=False, sort=True, observed=True)
        numbered = rows.assign(**{number: groups.ngroup() + 1})
        looked_up = numbered[[number, *columns]].drop_duplicates(number).sort_values(number)
        apart[about["lookup_of"]] = numbered[[number, *rows.columns.drop(columns)]]
        apart[about["name"]] = looked_up.reset_index(drop=True)
        msg = (
            f"{lookup_words(about)} The table {about['name']} that is split off has a row for each"
            f" combination of released values ({len(looked_up):,}), under {number}: their number is"
            f" not that of {about['name']}."
        )
        warnings.warn(msg, JoinedWarning, stacklevel=4)
    return apart


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else _free(f"{name}_", taken)
