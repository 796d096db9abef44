"""Results kept by plan and data: the same recipe on the same table is measured once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import veladura
from veladura.base.private_files import private_folder, write_private
from veladura.comparison.candidate import Candidate, Job
from veladura.measures.registry import figure_names
from veladura.plan.steps import recipe_to
from veladura.table.files.digest import file_digest

if TYPE_CHECKING:
    from veladura.table.table import Table

FOLDER = "comparisons"
LONGEST_PATH = 1000  # longer settings are no paths


class Cache:
    """Candidates in a custodian's folder, one file each; without a folder nothing is kept."""

    def __init__(self, custodian: Path | None) -> None:
        self.folder = None if custodian is None else custodian / FOLDER

    def look(self, job: Job, data: str | None) -> Candidate | None:
        """Return the kept candidate of a job, or None."""
        path = self._path(job, data)
        if path is None or not path.exists():
            return None
        try:
            return Candidate.from_json(
                {**json.loads(path.read_text(encoding="utf-8")), "name": job.name}
            )
        except (ValueError, KeyError, TypeError):  # of another version, or cut off
            return None

    def keep(self, job: Job, data: str | None, candidate: Candidate) -> None:
        """Keep a candidate; an older file is replaced."""
        if (path := self._path(job, data)) is None:
            return
        private_folder(path.parent)
        part = path.with_suffix(".part")
        write_private(part, json.dumps(candidate.to_json()))
        part.replace(path)

    def _path(self, job: Job, data: str | None) -> Path | None:
        return (
            None if self.folder is None or data is None else self.folder / f"{key(job, data)}.json"
        )


def key(job: Job, data: str) -> str:
    """Return the hash of everything that the figures depend on.

    That is the data, declarations, recipe, files that it names, seed, version and measures.
    """
    plain = recipe_to(job.recipe)
    declared = {name: str(value) for name, value in job.columns.items()}
    files = [file_digest(Path(path)) for path in sorted(_files(plain))]
    intruders = [who.to_plain() for who in job.intruders]
    parts = [
        veladura.__version__,
        figure_names(),
        data,
        declared,
        plain,
        files,
        job.seed,
        intruders,
        list(job.models),
        "losses by column",
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def _files(plain: Any) -> Iterator[str]:
    """Return the files that settings name: their content counts, not their name."""
    if isinstance(plain, dict):
        plain = list(plain.values())
    if isinstance(plain, (list, tuple)):
        for item in plain:
            yield from _files(item)
    elif isinstance(plain, str) and _is_file(plain):
        yield plain


def _is_file(text: str) -> bool:
    return len(text) < LONGEST_PATH and "\0" not in text and Path(text).is_file()


def data_hash(table: Table) -> str | None:
    """Return the hash of a file or frame; None for a database, whose rows may change unseen."""
    if table.source.file is not None:
        return file_digest(table.source.file)
    if table.frame is None:
        return None
    digest = hashlib.sha256(repr(table.arrow.schema).encode())
    for column in table.arrow.combine_chunks().columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                digest.update(b"" if buffer is None else memoryview(buffer))
    return digest.hexdigest()
