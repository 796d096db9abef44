"""The hash of a source file."""

from __future__ import annotations

import hashlib
from pathlib import Path


def file_digest(file: Path | None) -> str | None:
    """Return the SHA-256 of a source file; None for a frame or a database."""
    if file is None or not file.is_file():
        return None
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
