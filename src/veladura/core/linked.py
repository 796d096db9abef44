"""Linked tables in a release: referential integrity as a promise, and the tables by themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Ints
from veladura.core.promise import Check, Evidence, Promise
from veladura.errors import NotApplicable, PlanError
from veladura.table.codes import label_texts

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
    above = {link.parent_key for link in links}
    keys = [link.key for link in links if link.key is not None and link.key in above]
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
    without rows below has nothing in their columns, and a row of one of several tables nothing in
    those of the others.
    """
    table, wrong = evidence.released, 0
    tables, above = settings["tables"], list[str]()
    names = table.units.names
    for one in tables:
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
    held = [table.column(name) for name in one["columns"] if name in table.names]
    return sum(int(np.count_nonzero(other & ~part.missing)) for part in held)


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
        if one.get("row_of") in frame.columns:
            part = part[part[one["row_of"]] == one["name"]]
        part = part[[*keys, *one["columns"]]]
        several = _has_below(one, promise.settings["tables"])
        frames[one["name"]] = (part.drop_duplicates(keys[0]) if several else part).reset_index(
            drop=True
        )
    return frames


def _sentence(settings: Mapping[str, Any]) -> str:
    tables = settings["tables"]
    names = [one["name"] for one in tables]
    keys = [one["key"] for one in tables if _has_below(one, tables)]
    above = "table before it" if "row_of" not in tables[-1] else "table above"
    return (
        f"Linked tables: every row of {' and '.join(names[1:])} belongs to one row of the {above},"
        f" by {' and '.join(keys)}; each key has one row in its own table."
    )


_TABLE = shapes.table(
    {"name": shapes.name, "columns": shapes.listed(shapes.name)},
    {
        "key": shapes.name,
        "parent_key": shapes.name,
        "present": shapes.name,
        "row_of": shapes.name,
    },
)
CHECKS = {
    NAME: Check(
        unlinked_rows,
        _sentence,
        shapes.table({"columns": shapes.names, "tables": shapes.listed(_TABLE, 2)}),
    )
}
