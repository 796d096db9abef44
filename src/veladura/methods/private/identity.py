"""What a source is, so that its privacy budget stays the same under another name or folder."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.table.files.digest import file_digest

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True)
class Identity:
    """What a source is.

    Attributes
    ----------
    name
        For people.
    keys
        What it is known by: sources that share one of them share a budget.
    columns
        A hash of its columns: two sources with the same ones look alike.
    """

    name: str
    keys: tuple[str, ...]
    columns: str = ""


def identity_of(table: Table, data_id: str | None = None) -> Identity:
    """Return what a table is: its declared data id, its file and content, or its database.

    Parameters
    ----------
    data_id
        The holder's own number of the data, which holds wherever they are.
    """
    source = table.source
    columns = _hash(json.dumps([[field.name, field.kind] for field in table.schema]))
    keys = [f"name:{source.name.casefold()}:{columns}"]
    if data_id is not None:
        keys.append(f"data:{data_id.strip().casefold()}")
    if source.url is not None:
        keys.append(f"database:{source.url}#{(source.table or '').casefold()}")
    elif source.file is not None:
        keys.append(f"file:{Path(source.file).resolve()}")
        if digest := file_digest(source.file):
            keys.append(f"content:{digest}")
    return Identity(source.name, tuple(keys), columns)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
