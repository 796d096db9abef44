"""Check everything that a release folder claims; with source and record, also against those."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from veladura.core.promise import Evidence, Promise, prove
from veladura.core.release import Release
from veladura.errors import PlanError, VeladuraError
from veladura.release import custodian as keeper
from veladura.release.folder import SUMS, file_hash, listed_files, read_hashes, read_json
from veladura.release.manifest import build_codebook
from veladura.release.package import load
from veladura.release.reassess import same_source, with_source

Status = Literal["holds", "broken", "attested", "draft"]


@dataclass(frozen=True)
class Line:
    """One claim, whether it holds, and a detail."""

    claim: str
    status: Status
    detail: str = ""


def verify(folder: str | Path, source: Any = None, record: str | Path | None = None) -> list[Line]:
    """Return every claim of a release folder with the result of its check.

    Parameters
    ----------
    source, record
        The original table and the custodian's record. With both, promises about the original are
        checked too; without them they are listed as attested.
    """
    if (source is None) != (record is None):
        msg = (
            "source and record must be given together: the record links the released rows to rows"
            " of the source."
        )
        raise PlanError(msg)
    path = Path(folder)
    lines = [_hashes(path)]
    try:
        release = load(path)
    except VeladuraError as error:
        return [
            *lines,
            Line("The folder is a readable release.", "broken", str(error).split("\n")[0]),
        ]
    lines += [*_standing(release), _shape(release), _codebook(release, path)]
    evidence, promises = release.evidence(), release.promises
    if source is not None and record is not None:
        evidence, own_lines = _with_source(release, path, source, Path(record))
        promises = _with_private(promises, Path(record))
        lines += own_lines
    for promise in promises:
        proofs = [
            prove(promise, beside, release.checks)
            for i, beside in enumerate(evidence)
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
        detail = "1 violation" if violations == 1 else f"{violations} violations"
        lines.append(Line(promise.claim, worst, detail if violations else ""))
    return lines


def release_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it is a release, else the releases in it."""
    if not folder.is_dir():
        msg = f"{folder} is not a folder.\n\nHint: name a release folder, or a folder of releases."
        raise PlanError(msg)
    if (folder / "manifest.json").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/manifest.json")) or [folder]


def holds(lines: list[Line]) -> bool:
    """Whether nothing is broken."""
    return all(line.status != "broken" for line in lines)


def is_draft(lines: list[Line]) -> bool:
    """Whether the holder has not confirmed everything yet."""
    return any(line.status == "draft" for line in lines)


def _standing(release: Release) -> list[Line]:
    """Return what is said of a draft; nothing for a release that is confirmed, or has no plan."""
    if release.manifest.get("status") != "draft":
        return []
    points = release.manifest.get("unconfirmed", [])
    return [Line("The holder has not confirmed this release.", "draft", "; ".join(points))]


def _hashes(folder: Path) -> Line:
    """Compare every file with its checksum; an additional or missing file breaks the claim too."""
    claim = "All files match their checksums."
    try:
        listed = read_hashes(folder)
    except (OSError, ValueError):
        return Line(claim, "broken", f"{SUMS} is missing or cannot be read")
    names = listed_files(folder)
    if different := sorted(set(names) ^ set(listed)):
        return Line(claim, "broken", f"missing or added: {', '.join(different)}")
    if changed := [name for name in names if file_hash(folder / name) != listed[name]]:
        return Line(claim, "broken", f"changed: {', '.join(changed)}")
    return Line(claim, "holds", f"{len(names)} files")


def _shape(release: Release) -> Line:
    manifest = release.manifest
    tables = [dataset.table.units for dataset in release.tables]
    names = [column["name"] for column in manifest["columns"]]
    fits = [table.rows for table in tables] == manifest["rows"] and all(
        table.names == names for table in tables
    )
    return _line("Rows and columns match the manifest.", holds=fits)


def _codebook(release: Release, folder: Path) -> Line:
    fits = build_codebook([dataset.table.units for dataset in release.tables]) == read_json(
        folder / "codebook.json"
    )
    return _line("The codebook matches the released values.", holds=fits)


def _with_source(
    release: Release, folder: Path, source: Any, record: Path
) -> tuple[list[Evidence], list[Line]]:
    """Return the evidence with the original beside each dataset, and checks of the record."""
    content, _ = keeper.read_record(record)
    lines = [
        _line(
            "The record belongs to this release.",
            holds=content["release"] == file_hash(folder / SUMS),
        ),
        _line("The source is the table that was protected.", holds=same_source(source, content)),
    ]
    if any(line.status == "broken" for line in lines):
        return release.evidence(), lines
    return with_source(release, source, record).evidence(), lines


def _with_private(promises: tuple[Promise, ...], record_path: Path) -> tuple[Promise, ...]:
    """Return the promises with the private settings that the record keeps."""
    kept = keeper.read_record(record_path)[0].get("proofs", [])
    if len(kept) != len(promises):
        return promises
    return tuple(
        replace(promise, private=private) for promise, private in zip(promises, kept, strict=True)
    )


def _line(claim: str, *, holds: bool) -> Line:
    return Line(claim, "holds" if holds else "broken")
