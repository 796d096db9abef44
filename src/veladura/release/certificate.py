"""The certificate of a release folder."""

from __future__ import annotations

from pathlib import Path

from veladura.release.folder import SUMS, file_hash, read_hashes
from veladura.release.package import load
from veladura.report.certificate import Files, sheet


def certificate(folder: str | Path) -> str:
    """Return the certificate of a saved release as one page of HTML that prints to one A4 sheet.

    It is made from the folder alone, so that anyone who has the files can make it again.
    """
    path = Path(folder)
    release = load(path)
    files = Files(SUMS, file_hash(path / SUMS), read_hashes(path))
    return sheet(release, release.prove(), files)
