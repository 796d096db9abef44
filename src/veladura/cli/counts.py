"""Contingency tables of a release, as CSV files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.errors import FolderError

if TYPE_CHECKING:
    from veladura.core.release import Release


def write_counts(
    release: Release, columns: Sequence[str] | None, out: Path, *, force: bool
) -> list[Path]:
    """Write the counts of every dataset; return the files. Several get a number each."""
    frames = release.counts(columns)
    paths = paths_of(out, len(frames), force=force)
    for path, frame in zip(paths, frames, strict=True):
        frame.to_csv(path, index=False)
    return paths


def paths_of(out: Path, number: int, *, force: bool) -> list[Path]:
    """Return a file for each dataset, numbered if there are several; refuse those that exist."""
    paths = [out] if number == 1 else [out.with_stem(f"{out.stem}-{i + 1}") for i in range(number)]
    if there := [path for path in paths if path.exists() and not force]:
        msg = (
            f"{there[0]} exists already.\n\nHint: name another file with --out, or replace it with"
            " --force."
        )
        raise FolderError(msg)
    return paths
