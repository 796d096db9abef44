"""Files that only their owner may read: plans, records and private pages hold values."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from veladura.errors import FolderError

FILE_MODE, FOLDER_MODE = 0o600, 0o700


def private_folder(folder: Path) -> Path:
    """Make a folder, and those above it, that only its owner may open; return it.

    One that exists is left as it is.

    Its holder may have opened it to a group on purpose. The files in it are private either way.
    """
    for path in (*reversed(folder.parents), folder):  # mkdir gives the mode to the last one only
        if not path.exists():
            path.mkdir(exist_ok=True, mode=FOLDER_MODE)
    return folder


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for writing that only its owner may read, from its first byte on."""
    with open(path, "wb", opener=_private) as stream:  # Path.open has no opener
        path.chmod(FILE_MODE)  # a file that was there keeps its mode otherwise
        yield stream


def write_private(path: Path, text: str) -> None:
    """Write a text into a file that only its owner may read."""
    with private_file(path) as stream:
        stream.write(text.encode("utf-8"))


def refuse_near_release(path: Path) -> None:
    """Refuse a place inside a release folder, or beside one: it may be sent along."""
    home = path.absolute().parent
    inside = any((folder / "manifest.json").exists() for folder in (home, *home.parents))
    if inside or any(home.glob("*/manifest.json")):
        msg = (
            f"{path} would be inside or beside a release: a private file may not leave with it."
            "\n\nHint: name a file in the custodian's folder."
        )
        raise FolderError(msg)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)
