"""The certificate of a release folder."""

from __future__ import annotations

from pathlib import Path

from veladura.release.folder import SUMS, file_hash, read_hashes
from veladura.release.package import load
from veladura.release.verify import refuse_broken
from veladura.report.certificate import Files, sheet


def certificate(folder: str | Path, *, large: bool = False) -> str:
    """Return the certificate of a saved release as one page of HTML that prints to one A4 sheet.

    It is made from the folder alone, so that anyone who has the files can make it again. A folder
    that does not verify has none.
    """
    path = Path(folder)
    refuse_broken(path, "No certificate was made.", large=large)
    release = load(path, large=large)
    files = Files(SUMS, file_hash(path / SUMS), read_hashes(path))
    return sheet(release, release.prove(), files)
