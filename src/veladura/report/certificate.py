"""The certificate: a release on one sheet of paper, for the archive and the people who sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from veladura.core.promise import Proof
from veladura.core.release import Release
from veladura.report import words
from veladura.report.facts import PromiseFacts, promise_facts, sentence_of
from veladura.report.render import page

MOST_FILES, MOST_COLUMNS = 14, 24  # what fits on the sheet; the rest is told by its number


def certificate(folder: str | Path) -> str:
    """Return the certificate of a saved release as one page of HTML that prints to one A4 sheet.

    It is made of what the package holds, so that anyone who has the files can make it again: name,
    size, methods, promises with what became of their proof, and the hash of every file. Who
    approved it, and when, is left blank to be written by hand.
    """
    from veladura.release.package import load

    path = Path(folder)
    release = load(path)
    return page("certificate.html.j2", **_facts(path, release, release.prove()))


def _facts(folder: Path, release: Release, proofs: list[Proof]) -> dict[str, Any]:
    from veladura.release.package import SUMS, file_hash

    manifest = release.manifest
    lines = [
        line.split("  ", 1) for line in (folder / SUMS).read_text(encoding="utf-8").splitlines()
    ]
    names = [column["name"] for column in manifest["columns"]]
    shown = [
        *names[:MOST_COLUMNS],
        *([f"{len(names) - MOST_COLUMNS} more"] if len(names) > MOST_COLUMNS else []),
    ]
    promises: tuple[PromiseFacts, ...] = promise_facts(manifest, proofs)
    return {
        "name": manifest["name"],
        "whole": file_hash(folder / SUMS),
        "files": lines[:MOST_FILES],
        "more": max(len(lines) - MOST_FILES, 0),
        "sums": SUMS,
        "methods": [
            (step.method, sentence_of(step), words.enumerated(step.changed))
            for step in release.steps
        ],
        "promises": promises,
        "facts": {
            "Datasets": str(manifest["datasets"]),
            "Rows": words.enumerated(list(dict.fromkeys(f"{rows:,}" for rows in manifest["rows"]))),
            "Columns": words.enumerated(shown),
            "Combining rule": str(manifest["rule"]),
            "Made with": str(manifest["library"]),
            "Manifest": f"{manifest['format']}, version {manifest['version']}",
        },
    }
