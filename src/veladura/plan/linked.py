"""Linked tables in a drafted plan: the chain that files make, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli_w

from veladura.base.arrays import Ints
from veladura.errors import PlanError
from veladura.plan.commented import comment
from veladura.table.linked import LinkedTable, find_links, open_linked
from veladura.table.roles.guess import guess_roles
from veladura.table.roles.names import hints_of
from veladura.table.schema import NUMERIC, Declared
from veladura.table.table import Table

if TYPE_CHECKING:
    from veladura.table.codes import Column

_FEWEST = 20  # rows in units of several
_APART = 0.5  # of the variance of all ages


def find_linked(sources: Sequence[str]) -> list[LinkedTable]:
    """Return some files as a chain of tables, keys and units found by content."""
    if servers := [source for source in sources if "://" in source]:
        msg = f"linked tables are read from files, and {len(servers)} sources are databases."
        raise PlanError(msg)
    paths = {Path(source).stem: source for source in sources}
    if len(paths) < len(sources):
        msg = "two of the files have the same name, and tables are named after their files."
        raise PlanError(msg)
    chain = find_links(paths)
    first, last = chain[0], chain[-1]
    if len(chain) > 2 or last.key is None:  # noqa: PLR2004
        return chain
    opened = opened_with(chain, {}, plain=True)
    of_people = guess_roles(opened)[str(first.key)].role == "household"
    if not (of_people or _has_ages(opened, first, last)):
        return chain
    if f"has_{last.name}" in opened.names:  # a firm without employees: nobody's number is missing
        return [replace(first, unit="household"), last]
    return [replace(first, unit="household"), replace(last, unit="person")]


def _has_ages(opened: Table, first: LinkedTable, last: LinkedTable) -> bool:
    """Whether rows of the last table are people: each has an age, and those of one firm differ.

    The ages of a patient at each visit differ by years, and are no evidence.
    """
    own = next(link.columns for link in opened.source.links if link.name == last.name)
    _, unit = np.unique(opened.column(str(first.key)).values, return_inverse=True)
    return any(
        _varies(opened.column(name), unit.reshape(-1))
        for name in own
        if "age" in hints_of(name) and opened.schema[name].kind in NUMERIC
    )


def _varies(column: Column, unit: Ints) -> bool:
    """Whether numbers differ within units nearly as much as among all rows."""
    given = ~column.missing
    values, unit = column.values[given].astype(np.float64), unit[given]
    rows = np.maximum(np.bincount(unit), 1)
    within = values - (np.bincount(unit, weights=values) / rows)[unit]
    several = rows[unit] > 1
    spread = float(np.var(values))
    left = float(np.mean(within[several] ** 2 * (rows / np.maximum(rows - 1, 1))[unit][several]))
    return several.sum() >= _FEWEST and left > _APART * spread > 0


def opened_with(
    chain: Sequence[LinkedTable], columns: Mapping[str, Declared], *, plain: bool = False
) -> Table:
    """Return linked tables as one; ``plain`` for no roles of keys, so that they can be guessed."""
    opened = open_linked(*chain, columns=columns)
    if not plain:
        return opened
    fields = tuple(replace(field, role="other") for field in opened.schema)
    return replace(opened, schema=replace(opened.schema, fields=fields))


def linked_text(chain: Sequence[LinkedTable], home: Path) -> str:
    """Return linked tables as a plan has them."""
    lines = comment(
        "Linked tables: key numbers the rows of a table, each once; parent is the table that rows"
        " belong to, and link the column that holds its key. Found by content: every value of a"
        " link is a key. unit says whether rows are people or households."
    )
    for table in chain:
        plain: dict[str, Any] = {"name": table.name}
        plain["path"] = Path(os.path.relpath(str(table.path), home)).as_posix()
        for setting in ("key", "parent", "link", "unit"):
            if (value := getattr(table, setting)) is not None:
                plain[setting] = value
        lines += ["[[table]]", tomli_w.dumps(plain)]
    return "\n".join(lines)
