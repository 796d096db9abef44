"""What a source is, so that its privacy budget stays the same under another name or folder."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from veladura.table.files.digest import content_digest, file_digest

if TYPE_CHECKING:
    from veladura.table.table import Table


USUAL_PORT = 5432
SAME_HOST = {"127.0.0.1": "localhost", "::1": "localhost"}


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
    names
        A hash of each column's name, without case: so do sources that share most of them, as an
        extract of some columns does.
    """

    name: str
    keys: tuple[str, ...]
    columns: str = ""
    names: tuple[str, ...] = ()


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
        keys.append(f"database:{_place(source.url)}#{_plain_table(source.table or '')}")
    elif source.file is not None:
        keys.append(f"file:{Path(source.file).resolve()}")
        if digest := file_digest(source.file):
            keys.append(f"content:{digest}")
    if digest := content_digest(table, sorted(table.names)):  # in another file, order or format
        keys.append(f"rows:{digest}")
    names = tuple(_hash(name.strip().casefold()) for name in table.names)
    return Identity(source.name, tuple(keys), columns, names)


def _place(url: str) -> str:
    """Return where a database is, however it is written: without user, options and usual port."""
    scheme, _, rest = url.partition("://")
    if scheme in ("duckdb", "sqlite"):
        return str(Path(rest.removeprefix("/")).resolve())
    parts = urlsplit(url)
    host = (parts.hostname or "localhost").casefold()
    return f"{SAME_HOST.get(host, host)}:{parts.port or USUAL_PORT}{parts.path}"


def _plain_table(table: str) -> str:
    """Return the name of a table without the schema that is taken where none is named."""
    return re.sub(r"^(public|main)\.", "", table.casefold())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
