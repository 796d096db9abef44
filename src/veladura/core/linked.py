"""Linked tables in a release: referential integrity as a promise, and the tables by themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.core.promise import Check, Evidence, Promise
from veladura.errors import NotApplicable, PlanError

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

NAME = "linked-tables"


def with_links(release: Release) -> Release:
    """Return a release of linked tables with the promise that they fit together.

    Refuses a method that leaves out a key: its rows would belong to nothing.
    """
    links = () if release.original is None else release.original.source.links
    if not links:
        return release
    keys = [link.key for link in links[:-1]]
    for dataset in release.tables:
        if absent := [key for key in keys if key not in dataset.table.units.names]:
            recipe = release.recipe
            does = "" if recipe is None else f" ({recipe.method} {type(recipe).linked_tables})"
            msg = (
                f"the keys {absent} of linked tables are not in the release{does}: rows of one"
                " table would belong to nothing in the other.\n\nHint: use the method"
                ' "households", or protect each table by a plan of its own.'
            )
            raise PlanError(msg)
    released = set(release.tables[0].table.names)
    tables = [
        {key: value for key, value in asdict(link).items() if value is not None}
        | {"columns": [name for name in link.columns if name in released]}
        for link in links
    ]
    columns = [name for table in tables for name in table["columns"]]
    promise = Promise(NAME, "package", {"columns": columns, "tables": tables})
    others = tuple(one for one in release.promises if one.name != NAME)
    return replace(release, promises=(*others, promise))


def unlinked_rows(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many rows contradict that each table is one: keys and what hangs on them.

    A key is never missing, tells one row of its table, and one key of the table above; a row
    without rows below has nothing in their columns.
    """
    table, wrong = evidence.released, 0
    tables, above = settings["tables"], list[str]()
    names = table.units.names
    for one in tables:
        if "present" in one and one["present"] in names:
            wrong += _not_empty(table, one)
        if "key" not in one or one is tables[-1]:
            continue
        if one["key"] not in names:
            return table.rows
        above += one["columns"] + ([one["parent_key"]] if "parent_key" in one else [])
        key = table.units.column(one["key"])
        number = np.unique(key.values, return_inverse=True)[1].reshape(-1)
        wrong += int(np.count_nonzero(key.missing))
        wrong += int(np.count_nonzero(_differs(table, above, number)))
    return wrong


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
    held = [table.column(name) for name in one["columns"] if name in table.names]
    return sum(int(np.count_nonzero(empty & ~part.missing)) for part in held)


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
        msg = "the release holds one table: nothing is linked."
        raise NotApplicable(msg)
    frame = release.tables[dataset].fetched().to_pandas()
    frames: dict[str, Any] = {}
    for one in promise.settings["tables"]:
        keys = [one[k] for k in ("key", "parent_key") if one.get(k) in frame.columns]
        part = frame
        if one.get("present") in frame.columns:
            part = part[part[one["present"]] == "yes"]
        part = part[[*keys, *one["columns"]]]
        last = one is promise.settings["tables"][-1]
        frames[one["name"]] = (part if last else part.drop_duplicates(keys[0])).reset_index(
            drop=True
        )
    return frames


def _sentence(settings: Mapping[str, Any]) -> str:
    names = [one["name"] for one in settings["tables"]]
    keys = [one["key"] for one in settings["tables"][:-1]]
    return (
        f"Linked tables: every row of {' and '.join(names[1:])} belongs to one row of the table"
        f" before it, by {' and '.join(keys)}; each key has one row in its own table."
    )


_TABLE = shapes.table(
    {"name": shapes.name, "columns": shapes.listed(shapes.name)},
    {"key": shapes.name, "parent_key": shapes.name, "present": shapes.name},
)
CHECKS = {
    NAME: Check(
        unlinked_rows,
        _sentence,
        shapes.table({"columns": shapes.names, "tables": shapes.listed(_TABLE, 2)}),
    )
}
