"""The certificate: a release on one sheet of paper, for the archive and the people who sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veladura.measures.risk.recount import recount
from veladura.report import words
from veladura.report.gather import WITHHELD, promise_facts, sentence_of
from veladura.report.opening import (
    NO_REASON,
    called,
    loosened_limits,
    risk_sentence,
    risks_of,
    tells,
)
from veladura.report.render import page

if TYPE_CHECKING:
    from veladura.core.promise import Proof
    from veladura.core.release import Release

TOLD = ("purpose", "recipient", "made")  # by the plan
NOT_STATED = "not stated"  # a committee sees what the holder left open
MOST_EXACT = 6
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

    Who prepared and approved it is printed where the plan says so. Signatures, and names that it
    does not say, are left blank to be written by hand.
    """
    manifest = release.manifest
    names = [column["name"] for column in manifest["columns"]]
    more = len(names) - MOST_COLUMNS
    rows = list(dict.fromkeys(f"{rows:,}" for rows in manifest["rows"]))
    facts: dict[str, Any] = {
        **{key.capitalize(): manifest.get(key) or NOT_STATED for key in TOLD},
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
        promises=promise_facts(release, proofs),
        facts=facts,
        risk=_risk(release),
        exact=_exact(manifest, release.exact),
        loosened=loosened_limits(manifest),
        draft=manifest.get("unconfirmed", ()),
        people=[manifest.get(key, "") for key in ("prepared_by", "approved_by")],
    )


def _risk(release: Release) -> str:
    """Return how many people were at risk and how many are now, in one sentence."""
    if release.rule.private:
        return WITHHELD
    risks = risks_of(release.manifest, None)
    if not risks:
        return "Not measured."
    told = [called(risk["intruder"]) for risk in risks if recount(release, risk) is None]
    also = f", and what {words.enumerated(told)} finds now" if told else ""
    return f"{risk_sentence(risks)} (As the holder counted: people before{also}.)"


def _names(manifest: Mapping[str, Any]) -> set[str]:
    return {column["name"] for column in manifest.get("exact", ())}


def _exact(manifest: Mapping[str, Any], exact: Sequence[str]) -> list[str]:
    """Return what is exact and why, one line a column; those with most to tell first.

    A column that the manifest is silent about is listed too.
    """
    silent = [{"name": name} for name in exact if name not in _names(manifest)]
    listed = sorted(
        [*manifest.get("exact", ()), *silent], key=lambda column: -(column.get("unique") or 0)
    )
    lines = [
        f"{column['name']}: {column.get('reason') or NO_REASON} ({tells(column)})"
        for column in listed[:MOST_EXACT]
    ]
    rest = [column["name"] for column in listed[MOST_EXACT:]]
    return [*lines, *([f"also {words.enumerated(rest)}"] if rest else [])]
