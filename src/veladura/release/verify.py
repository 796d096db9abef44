"""Recompute everything a release folder claims; with source and record, the rest as well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from veladura.core.promise import Evidence, Promise, prove
from veladura.core.release import Release
from veladura.errors import PlanError, VeladuraError
from veladura.release import custodian as keeper
from veladura.release.link import same_source, with_source
from veladura.release.manifest import build_codebook
from veladura.release.package import SUMS, file_hash, listed_files, load, read_json

Status = Literal["holds", "broken", "attested"]


@dataclass(frozen=True)
class Line:
    """One claim and what became of it."""

    claim: str
    status: Status
    detail: str = ""


def verify(folder: str | Path, source: Any = None, record: str | Path | None = None) -> list[Line]:
    """Return every claim of a release folder with its proof.

    Parameters
    ----------
    source, record
        The original table and the custodian's record. With both, what only the original can
        prove is proved again too; without them it is listed as attested.
    """
    if (source is None) != (record is None):
        msg = (
            "source and record go together: the record links the released rows to those of the"
            " source."
        )
        raise PlanError(msg)
    path = Path(folder)
    lines = [_hashes(path)]
    try:
        release = load(path)
    except VeladuraError as error:
        return [
            *lines,
            Line("The folder can be read as a release.", "broken", str(error).split("\n")[0]),
        ]
    lines += [_shape(release), _codebook(release, path)]
    evidence, promises = release.evidence(), release.promises
    if source is not None and record is not None:
        evidence, found = _with_source(release, path, source, Path(record))
        promises = _with_private(promises, Path(record))
        lines += found
    for promise in promises:
        proofs = [
            prove(promise, one, release.checks)
            for i, one in enumerate(evidence)
            if promise.concerns(i)
        ]
        worst: Status = next(
            (
                status
                for status in ("broken", "attested")
                if any(p.status == status for p in proofs)
            ),
            "holds",
        )
        violations = sum(proof.violations for proof in proofs)
        lines.append(Line(promise.claim, worst, f"{violations} violations" if violations else ""))
    return lines


def release_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it is a release, else the releases in it."""
    if not folder.is_dir():
        msg = f"{folder} is not a folder.\n\nHint: name a release folder, or a folder of them."
        raise PlanError(msg)
    found = (
        [folder]
        if (folder / "manifest.json").exists()
        else sorted(p.parent for p in folder.glob("*/manifest.json"))
    )
    return found or [folder]


def holds(lines: list[Line]) -> bool:
    """Whether nothing is broken."""
    return all(line.status != "broken" for line in lines)


def _hashes(folder: Path) -> Line:
    """Compare every file with its hash; a file more or less breaks the claim too."""
    claim = "Every file is the one that was released."
    try:
        pairs = [
            line.split("  ", 1) for line in (folder / SUMS).read_text(encoding="utf-8").splitlines()
        ]
        listed = {name: digest for digest, name in pairs}
    except (OSError, ValueError):
        return Line(claim, "broken", f"{SUMS} is missing or cannot be read")
    found = listed_files(folder)
    if strange := sorted(set(found) ^ set(listed)):
        return Line(claim, "broken", f"missing or added: {', '.join(strange)}")
    changed = [name for name in found if file_hash(folder / name) != listed[name]]
    return Line(
        claim,
        "broken" if changed else "holds",
        f"changed: {', '.join(changed)}" if changed else f"{len(found)} files",
    )


def _shape(release: Release) -> Line:
    told = release.manifest
    rows = [dataset.table.rows for dataset in release.tables]
    names = [column["name"] for column in told["columns"]]
    right = rows == told["rows"] and all(dataset.table.names == names for dataset in release.tables)
    return Line("Rows and columns are as the manifest tells.", "holds" if right else "broken")


def _codebook(release: Release, folder: Path) -> Line:
    fits = build_codebook([dataset.table for dataset in release.tables]) == read_json(
        folder / "codebook.json"
    )
    return Line(
        "The codebook describes the released values and no others.", "holds" if fits else "broken"
    )


def _with_source(
    release: Release, folder: Path, source: Any, record: Path
) -> tuple[list[Evidence], list[Line]]:
    """Return the evidence with the original beside each dataset, and what the record itself proves."""
    told, _ = keeper.read_record(record)
    lines = [
        _line(
            "The record belongs to this release.",
            lambda: told["release"] == file_hash(folder / SUMS),
        ),
        _line("The source is the one that was released.", lambda: same_source(source, told)),
    ]
    if any(line.status == "broken" for line in lines):
        return release.evidence(), lines
    return with_source(release, source, record).evidence(), lines


def _with_private(promises: tuple[Promise, ...], record_path: Path) -> tuple[Promise, ...]:
    """Return the promises with what the record keeps of them."""
    kept = keeper.read_record(record_path)[0].get("proofs", [])
    if len(kept) != len(promises):
        return promises
    return tuple(
        replace(promise, private=private) for promise, private in zip(promises, kept, strict=True)
    )


def _line(claim: str, check: Callable[[], bool]) -> Line:
    return Line(claim, "holds" if check() else "broken")
