"""Linked tables in a release: referential integrity as a promise, and the tables by themselves."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Ints, Mask
from veladura.core.linking import HOUSEHOLDS, linked_keys
from veladura.core.lookups import (
    broken_lookup,
    lookup_settings,
    lookup_words,
    own_columns,
    split_joined,
    split_lookups,
)
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.violations import unit_of
from veladura.errors import NotApplicable, PlanError, VeladuraWarning
from veladura.table.codes import label_texts

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

NAME = "linked-tables"
STAR = "*"  # a suppressed value


def with_links(release: Release) -> Release:
    """Return a release of linked tables with the promise that they fit together.

    Refuses a method that leaves out a key: its rows would belong to nothing.
    """
    links = () if release.original is None else release.original.source.links
    if not links:
        return release
    for dataset in release.tables:
        if absent := [key for key in linked_keys(links) if key not in dataset.table.units.names]:
            does = "; ".join(
                f"{step.method} {step.recipe.linked_tables}"
                for step in release.steps
                if step.recipe is not None
            )
            msg = (
                f"the keys {absent} of linked tables are not in the release ({does}): rows of one"
                f" table would belong to nothing in the other.\n\nHint: {HOUSEHOLDS}"
            )
            raise PlanError(msg)
    _warn_of_parts(release)
    released = set(release.tables[0].table.names)
    tables = [
        {key: value for key, value in asdict(link).items() if value is not None}
        | {"columns": [name for name in link.columns if name in released]}
        for link in links
        if link.lookup_of is None
    ]
    columns = [name for table in tables for name in table["columns"]]
    tables += [lookup_settings(link, release) for link in links if link.lookup_of is not None]
    promise = Promise(NAME, "package", {"columns": columns, "tables": tables})
    others = tuple(one for one in release.promises if one.name != NAME)
    return replace(release, promises=(*others, promise))


class PartsWarning(VeladuraWarning):
    """A table of the release has a row for each part of a unit, not for each unit."""


def _warn_of_parts(release: Release) -> None:
    """Warn of a table with more keys than units: who is in several classes has one in each."""
    source, dataset = release.original, release.tables[0]
    if source is None or dataset.rows is None:
        return
    keys = linked_keys(source.source.links)
    for link in (link for link in source.source.links if link.key in keys):
        made = np.unique(dataset.table.units.column(str(link.key)).values).size
        units = np.unique(source.units.column(str(link.key)).values[dataset.rows]).size
        if made > units:
            msg = (
                f"the released table {link.name} has {made:,} rows for {units:,} of the original:"
                " keys hold within one equivalence class, and whoever has rows in several classes"
                " has a key in each. Numbers of rows below one key, and counts of rows of"
                f' {link.name}, are not those of the original.\n\nHint: the method "households"'
                " keeps one row for each; fewer quasi-identifiers among the columns of tables"
                " below make fewer parts."
            )
            warnings.warn(msg, PartsWarning, stacklevel=2)


def tables_of_parts(release: Release) -> list[str]:
    """Return the linked tables whose keys hold within one equivalence class only."""
    tables: list[dict[str, Any]] = next(
        (p.settings["tables"] for p in release.promises if p.name == NAME), []
    )
    counted = any(unit_of(promise.settings) is not None for promise in release.promises)
    return [one["name"] for one in tables if counted and _has_below(one, tables)]


def unlinked_rows(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many rows contradict that each table is one: keys and what hangs on them.

    A key is never missing, tells one row of its table, and one key of the table above; a row
    without rows below has nothing in their columns, and a row of one of several tables nothing in
    those of the others.
    """
    table, wrong = evidence.released, 0
    tables, above = settings["tables"], list[str]()
    names = table.units.names
    for one in tables:
        if "lookup_of" in one:
            wrong += broken_lookup(table, one)
            continue
        if "present" in one and one["present"] in names:
            wrong += _not_empty(table, one)
        if "row_of" in one:
            if one["row_of"] not in names:
                return table.rows
            wrong += _elsewhere(table, one)
        if not _has_below(one, tables):
            continue
        if one["key"] not in names:
            return table.rows
        above += one["columns"] + ([one["parent_key"]] if "parent_key" in one else [])
        key = table.units.column(one["key"])
        number = np.unique(key.values, return_inverse=True)[1].reshape(-1)
        wrong += int(np.count_nonzero(key.missing))
        wrong += int(np.count_nonzero(_differs(table, above, number)))
    return wrong


def _has_below(one: Mapping[str, Any], tables: Sequence[Mapping[str, Any]]) -> bool:
    """Whether rows of other tables belong to those of one."""
    return "key" in one and any(other.get("parent_key") == one["key"] for other in tables)


def _elsewhere(table: Table, one: Mapping[str, Any]) -> int:
    """Return the rows of other tables that hold something of one."""
    column = table.column(one["row_of"])
    texts = label_texts(column) if column.labels is not None else []
    own = np.array([text == one["name"] for text in texts] + [False])
    other = ~own[np.where(column.missing, len(texts), column.values)]
    return _cells_held(table, one, other)


def _differs(table: Table, names: list[str], number: Ints) -> Ints:
    """Return the rows that differ from another of the same key."""
    last = np.zeros(int(number.max(initial=-1)) + 1, dtype=np.int64)
    last[number] = np.arange(number.size)
    differs = np.zeros(number.size, dtype=np.int64)
    for name in (name for name in names if name in table.units.names):
        column = table.units.column(name)
        key = np.where(column.missing, 0, column.values)
        other = last[number]
        differs |= (key != key[other]) | (column.missing != column.missing[other])
    return differs


def _not_empty(table: Table, one: Mapping[str, Any]) -> int:
    """Return the rows that say they have none below, and hold something of it."""
    from veladura.base.expression import Compare, Expression, Name
    from veladura.table.conditions import holds

    column = table.units.column(one["present"])
    none = Expression("", Compare(Name(column.name), "==", "no"))
    empty = holds(none, {column.name: column})
    return _cells_held(table, one, empty)


def _cells_held(table: Table, one: Mapping[str, Any], rows: Mask) -> int:
    """Return how many cells of a table some rows hold; a suppressed one (``*``) holds nothing."""
    cells = 0
    for name in (name for name in one["columns"] if name in table.names):
        column = table.column(name)
        labels = [] if column.labels is None else label_texts(column)
        given = np.array([text != STAR for text in labels] + [True])
        place = column.values if labels else np.zeros(column.size, dtype=np.int64)
        at = np.where(column.missing, len(labels), place)
        cells += int(np.count_nonzero(rows & ~column.missing & given[at]))
    return cells


def split(release: Release, dataset: int = 0) -> dict[str, Any]:
    """Return the linked tables of one dataset by name, as pandas frames.

    Parameters
    ----------
    dataset
        Which of the m datasets, zero-based.

    Returns
    -------
    A frame for each table, its key first, then the key of the table above.
    """
    promise = next((one for one in release.promises if one.name == NAME), None)
    if promise is None:
        msg = (
            "the release holds one table: nothing is linked.\n\nHint: its files are in the folder"
            " data; in Python, release.datasets holds them."
        )
        raise NotApplicable(msg)
    frame = release.tables[dataset].fetched().to_pandas()
    frames: dict[str, Any] = {}
    tables = promise.settings["tables"]
    for one in (one for one in tables if "lookup_of" not in one):
        keys = [one[k] for k in ("key", "parent_key") if one.get(k) in frame.columns]
        part = frame
        if one.get("present") in frame.columns:
            part = part[part[one["present"]] == "yes"]
        if one.get("row_of") in frame.columns:
            part = part[part[one["row_of"]] == one["name"]]
        part = part[[*keys, *own_columns(one, tables)]]
        several = _has_below(one, tables)
        frames[one["name"]] = (part.drop_duplicates(keys[0]) if several else part).reset_index(
            drop=True
        )
    return split_joined(frames | split_lookups(frame, tables), tables)


def _sentence(settings: Mapping[str, Any]) -> str:
    tables = [one for one in settings["tables"] if "lookup_of" not in one]
    lookups = [lookup_words(one) for one in settings["tables"] if "lookup_of" in one]
    names = [one["name"] for one in tables]
    keys = [one["key"] for one in tables if _has_below(one, tables)]
    above = "table before it" if "row_of" not in tables[-1] else "table above"
    linked = (
        f"Linked tables: every row of {' and '.join(names[1:])} belongs to one row of the {above},"
        f" by {' and '.join(keys)}; each key has one row in its own table."
    )
    return " ".join([linked, *lookups])


_TABLE = shapes.table(
    {"name": shapes.name, "columns": shapes.listed(shapes.name)},
    {
        "key": shapes.name,
        "parent_key": shapes.name,
        "present": shapes.name,
        "row_of": shapes.name,
        "lookup_of": shapes.name,
    },
)
CHECKS = {
    NAME: Check(
        unlinked_rows,
        _sentence,
        shapes.table({"columns": shapes.names, "tables": shapes.listed(_TABLE, 2)}),
    )
}
