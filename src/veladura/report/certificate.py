"""The certificate: a release on one sheet of paper, for the archive and the people who sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.report import words
from veladura.report.facts import promise_facts, sentence_of
from veladura.report.render import page

if TYPE_CHECKING:
    from veladura.core.promise import Proof
    from veladura.core.release import Release

MOST_FILES, MOST_COLUMNS = 14, 24  # what fits on the sheet; of the others it gives the number


@dataclass(frozen=True)
class Files:
    """The files of a package.

    Attributes
    ----------
    list_name, list_hash
        The name of the file that lists all others, and its SHA-256.
    hashes
        The SHA-256 of every other file, by its path inside the package.
    """

    list_name: str
    list_hash: str
    hashes: Mapping[str, str]


def sheet(release: Release, proofs: Sequence[Proof], files: Files) -> str:
    """Return the certificate as one page of HTML: name, size, methods, promises, hashes.

    Who approved the release, and when, is left blank to be written by hand.
    """
    manifest = release.manifest
    names = [column["name"] for column in manifest["columns"]]
    more = len(names) - MOST_COLUMNS
    rows = list(dict.fromkeys(f"{rows:,}" for rows in manifest["rows"]))
    facts: dict[str, Any] = {
        "Datasets": str(manifest["datasets"]),
        "Rows": words.enumerated(rows),
        "Columns": words.enumerated([*names[:MOST_COLUMNS], *([f"{more} more"] * (more > 0))]),
        "Combining rule": words.rule(release.rule),
        "Made with": str(manifest["library"]),
        "Manifest": f"{manifest['format']}, version {manifest['version']}",
    }
    return page(
        "certificate.html.j2",
        name=manifest["name"],
        whole=files.list_hash,
        sums=files.list_name,
        files=list(files.hashes.items())[:MOST_FILES],
        more=max(len(files.hashes) - MOST_FILES, 0),
        methods=[
            (step.method, sentence_of(step), words.enumerated(step.changed))
            for step in release.steps
        ],
        promises=promise_facts(manifest, list(proofs)),
        facts=facts,
        draft=manifest.get("unconfirmed", ()),
    )
