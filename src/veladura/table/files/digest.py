"""What a source is: the hash of its file, and that of its content wherever it is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veladura.table.files.folder import parquet_files

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


def file_digest(file: Path | None) -> str | None:
    """Return the SHA-256 of a source file or folder; None for a frame or a database."""
    if file is not None and file.is_dir():
        return _folder_digest(file)
    if file is None or not file.is_file():
        return None
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _folder_digest(folder: Path) -> str:
    """Return the SHA-256 of the names and hashes of a folder's Parquet files."""
    lines = [
        f"{file_digest(file)}  {file.relative_to(folder).as_posix()}\n"
        for file in parquet_files(folder)
    ]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def content_digest(table: Table, names: Sequence[str]) -> str | None:
    """Return a hash of names, kinds and values of columns, whatever file or order they are in.

    None for a table whose rows stay where they are: they would have to be fetched.
    """
    if not table.in_memory:
        return None
    about = [[name, table.schema[name].kind] for name in names]
    digest = hashlib.sha256(json.dumps(about).encode())
    for column in table.select(names).codes(names).columns.values():
        _add(digest, column)
    return digest.hexdigest()


def _add(digest: hashlib._Hash, column: Column) -> None:
    """Add a column: categories as text, numbers as they are, nothing where a value is missing."""
    from veladura.table.codes import label_texts

    values = np.where(column.missing, np.zeros_like(column.values), column.values)
    if column.labels is not None:
        used, places = np.unique(values, return_inverse=True)
        texts = label_texts(column)
        held = [texts[code] if code < len(texts) else "" for code in used.tolist()]
        digest.update(json.dumps(held).encode())
        values = places.reshape(-1)
    digest.update(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).tobytes())
    digest.update(column.missing.tobytes())
