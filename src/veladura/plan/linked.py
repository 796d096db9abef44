"""Linked tables in a drafted plan: the chain that files make, and how it is written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli_w

from veladura.errors import PlanError
from veladura.plan.commented import comment
from veladura.table.linked import LinkedTable, find_links, open_linked
from veladura.table.roles.guess import guess_roles
from veladura.table.schema import Declared
from veladura.table.table import Table


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
    guessed = guess_roles(opened_with(chain, {}, plain=True))
    if len(chain) == 2 and last.key is not None and guessed[str(first.key)].role == "household":  # noqa: PLR2004
        return [replace(first, unit="household"), replace(last, unit="person")]
    return chain


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
