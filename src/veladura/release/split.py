"""The linked tables of a release as files of their own."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pyarrow as pa

from veladura.core.linked import PartsWarning, tables_of_parts
from veladura.errors import FolderError
from veladura.release.files import write_data
from veladura.release.package import load

STRANGE = re.compile(r"[^\w-]+")


def write_tables(
    folder: Path, out: Path, *, large: bool = False, force: bool = False
) -> list[tuple[Path, int]]:
    """Write every linked table of every dataset as CSV; return the files and their rows.

    Names of tables come from a manifest that anyone may have written: nothing but letters, digits,
    hyphens and underscores of them is used.
    """
    release = load(folder, large=large)
    if parts := tables_of_parts(release):
        warnings.warn(
            f"{' and '.join(parts)}: keys hold within one equivalence class. Whoever has rows in"
            " several classes has a key, and a row, in each: rows of these tables may be parts of"
            " people or households, and their number is no number of people.",
            PartsWarning,
            stacklevel=2,
        )
    home = out.absolute()
    if any((place / "manifest.json").exists() for place in (home, *home.parents)):
        msg = f"{out} is inside a release: its files would no longer be those of the manifest."
        raise FolderError(msg)
    frames = {
        out / f"{STRANGE.sub('_', name)}-{number + 1}.csv": frame
        for number in range(len(release.tables))
        for name, frame in release.linked(number).items()
    }
    if not force and (there := [path.name for path in frames if path.exists()]):
        msg = f"{there} exist already.\n\nHint: name another folder with --out, or add --force."
        raise FolderError(msg)
    out.mkdir(parents=True, exist_ok=True)
    for path, frame in frames.items():
        write_data(pa.Table.from_pandas(frame, preserve_index=False), path, "csv")
    return [(path, len(frame)) for path, frame in frames.items()]
