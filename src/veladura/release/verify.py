"""Check everything that a release folder claims; with source and record, also against those.

The sentences are made here, from the names and settings of promises: what a manifest says in words
is compared with them, never printed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from veladura.base.visible import look_alikes
from veladura.core.promise import Check, Evidence, Promise, Proof, claim_of, prove
from veladura.core.release import Release
from veladura.errors import PlanError, PromiseError, VeladuraError
from veladura.release import custodian as keeper
from veladura.release.compared import extension_lines
from veladura.release.contents import active_content, beside_rows
from veladura.release.data import rows_in
from veladura.release.door import foreign_entries, read_codebook, read_manifest
from veladura.release.files import data_files
from veladura.release.folder import (
    SIGNATURE,
    SUMS,
    file_hash,
    is_plain,
    listed_files,
    read_hashes,
    say_set_aside,
)
from veladura.release.head_counts import exact_lines, risk_lines
from veladura.release.implied import misfits, missing_promises
from veladura.release.line import Line, Status, few
from veladura.release.manifest import build_codebook
from veladura.release.package import load
from veladura.release.reassess import same_source, with_source
from veladura.release.signature import read_signature, signed_by
from veladura.table.equal_values import Twins

OWN = re.compile(
    r"data/dataset-[1-9][0-9]*(/part-[0-9]{5})?\.(parquet|csv)"
    r"|(codebook|manifest)\.json|report\.html"
)
# What code may raise that meets settings which do not fit the data: told as a broken promise.
UNFIT = (
    VeladuraError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    pa.ArrowException,
)


def verify(
    folder: str | Path,
    source: Any = None,
    record: str | Path | None = None,
    *,
    key: str | Path | None = None,
    digest: str | None = None,
    earlier: str | Path | None = None,
    large: bool = False,
) -> list[Line]:
    """Return every claim of a release folder with the result of its check.

    A claim *holds* if the files prove it, whoever sent them; it is *attested* if it rests on the
    holder's word. Only a signature (``key``) or a digest that was told by another way shows that
    the folder is what the holder released.

    Parameters
    ----------
    source, record
        The original table and the custodian's record. With both, promises about the original are
        checked too; without them they are listed as attested.
    key
        The file of the holder's public key: the folder must be signed with it.
    digest
        The digest of the release, as its holder told it: that of ``SHA256SUMS``.
    earlier
        The folder of the release that this one says it extends: rows are compared.
    large
        Read data that unfold to much more than their files.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import veladura as vd
    >>> release = vd.Recode(columns={"x": {"round": 10}}).protect(pd.DataFrame({"x": range(40)}))
    >>> with tempfile.TemporaryDirectory() as home:
    ...     saved = release.save(f"{home}/out/release", custodian=f"{home}/safe/record")
    ...     [line.status for line in vd.verify(saved)][-1]
    'holds'
    """
    if (source is None) != (record is None):
        msg = (
            "source and record must be given together: the record links the released rows to rows"
            " of the source."
        )
        raise PlanError(msg)
    path = Path(folder)
    lines = [*_signed(path, key, digest), _hashes(path)]
    try:
        release = load(path, large=large)
    except VeladuraError as error:
        detail = str(error).split("\n", maxsplit=1)[0]
        return [*lines, Line("The folder is a readable release.", "broken", detail)]
    lines += [*_standing(release), _shape(release, path), _codebook(release, path)]
    lines += [_contents(release, path), _names(release), *exact_lines(release)]
    beside, promises = release, release.promises
    if source is not None and record is not None:
        beside, own_lines = _with_source(release, path, source, Path(record))
        promises = _with_private(promises, Path(record))
        lines += own_lines
    lines += [*risk_lines(beside), *_steps(release)]
    lines += [] if earlier is None else extension_lines(release, Path(earlier), large=large)
    return [*lines, *_promises(release, promises, beside.evidence())]


def release_folders(folder: Path) -> list[Path]:
    """Return the folder itself if it is a release, else the releases in it."""
    if not folder.is_dir():
        msg = (
            f"{folder} is not a folder.{say_set_aside(folder)}\n\nHint: name a release folder, or a"
            " folder of releases."
        )
        raise PlanError(msg)
    if (folder / "manifest.json").exists():
        return [folder]
    return sorted(path.parent for path in folder.glob("*/manifest.json")) or [folder]


def holds(lines: Sequence[Line]) -> bool:
    """Whether nothing is broken."""
    return all(line.status != "broken" for line in lines)


def is_draft(lines: Sequence[Line]) -> bool:
    """Whether the holder has not confirmed everything yet."""
    return any(line.status == "draft" for line in lines)


def refuse_broken(folder: Path, outcome: str, *, large: bool = False) -> None:
    """Refuse a folder that does not verify; the outcome says what was not done."""
    read_manifest(folder)  # says in words what is no release at all
    broken = [line for line in verify(folder, large=large) if line.status == "broken"]
    if broken:
        first = broken[0]
        detail = f" ({first.detail})" if first.detail else ""
        msg = (
            f"{folder} does not verify: {len(broken)} of its claims are broken, first:"
            f" {first.claim}{detail} {outcome}\n\nHint: veladura verify {folder} lists them all."
        )
        raise PromiseError(msg)


def _signed(folder: Path, key: str | Path | None, digest: str | None) -> list[Line]:
    """Return whether the folder is the one that its holder signed, or told the digest of."""
    lines = []
    if key is not None:
        wrong = signed_by(folder, key)
        claim = "The holder of the key signed exactly this folder."
        lines.append(Line(claim, "broken" if wrong else "holds", wrong))
    elif (folder / SIGNATURE).is_symlink() or (folder / SIGNATURE).exists():
        lines.append(_unchecked(folder))
    if digest is not None:
        told = digest.strip().lower().removeprefix("sha256:")
        same = is_plain(folder / SUMS) and file_hash(folder / SUMS) == told
        lines.append(_line("The digest is the one that you were told.", holds=same))
    return lines


def _unchecked(folder: Path) -> Line:
    """Return that nobody checked the signature; a file of any other content is none."""
    claim = "The folder has a signature."
    try:
        read_signature(folder)
    except PromiseError:
        return Line(claim, "broken", f"{SIGNATURE} is no signature")
    return Line(claim, "attested", "not checked: add the holder's public key with --key")


def _standing(release: Release) -> list[Line]:
    """Return what is said of a draft; nothing for a release that is confirmed, or has no plan."""
    if release.manifest.get("status") != "draft":
        return []
    points = release.manifest.get("unconfirmed", [])
    return [Line("The holder has not confirmed this release.", "draft", "; ".join(points))]


def _hashes(folder: Path) -> Line:
    """Compare every file with its checksum; an additional or missing file breaks the claim too.

    The folder holds the files of a release and nothing else, listed or not.
    """
    claim = "All files match their checksums."
    try:
        listed, names = read_hashes(folder), listed_files(folder)
    except (OSError, ValueError):
        return Line(claim, "broken", f"{SUMS} is missing or cannot be read")
    if different := sorted(set(names) ^ set(listed)):
        return Line(claim, "broken", f"missing or added: {few(different)}")
    if odd := [name for name in names if not is_plain(folder / name)]:
        return Line(claim, "broken", f"no plain files: {few(odd)}")
    changed = [name for name in names if file_hash(folder / name) != listed[name]]
    strange = sorted(name for name in names if not OWN.fullmatch(name))
    wrong = [*map("changed: {}".format, changed), *map("not part of a release: {}".format, strange)]
    return Line(claim, "broken" if wrong else "holds", few(wrong) or f"{len(names)} files")


def _shape(release: Release, folder: Path) -> Line:
    manifest = release.manifest
    tables = [dataset.table.units for dataset in release.tables]
    about = [
        {key: column[key] for key in ("name", "kind", "role")} for column in read_codebook(folder)
    ]
    files = [name for name in listed_files(folder) if name.startswith("data/")]
    named = [name for names in data_files(manifest) for name in names]
    fits = (
        [table.rows for table in tables] == manifest["rows"]
        and about == manifest["columns"]
        and files == sorted(named)
    )
    return _line("Rows and columns match the manifest.", holds=fits)


def _codebook(release: Release, folder: Path) -> Line:
    claim = "The codebook matches the released values."
    try:
        made = build_codebook([dataset.table.units for dataset in release.tables])
    except UNFIT as error:
        return Line(claim, "broken", f"the values cannot be read ({type(error).__name__})")
    return _line(claim, holds=made == read_codebook(folder))


def _contents(release: Release, folder: Path) -> Line:
    """Return whether the files hold the rows and words of a release, and nothing beside them."""
    claim = "The data files hold nothing but the released rows, and no other file a foreign part."
    wrong = []
    if foreign := foreign_entries(release.manifest, release.rule.settings()):
        wrong.append(f"manifest.json: {foreign} entries that this version does not know")
    try:
        for dataset, names in zip(release.tables, data_files(release.manifest), strict=True):
            twins = Twins()
            for name in names:
                pieces = rows_in(folder / name, dataset.table.units, alone=len(names) == 1)
                if found := beside_rows(folder / name, pieces, twins):
                    wrong.append(f"{name}: {found}")
        if found := active_content((folder / "report.html").read_text(encoding="utf-8")):
            wrong.append(f"report.html would run, load or hide something: {found}")
    except (*UNFIT, OSError, AssertionError) as error:
        wrong.append(f"a file cannot be read ({type(error).__name__})")
    return Line(claim, "broken" if wrong else "holds", few(wrong))


def _names(release: Release) -> Line:
    """Return whether two columns have names that look the same to people."""
    twins = look_alikes(release.tables[0].table.units.names)
    claim = "No two columns have names that look alike."
    return Line(claim, "broken" if twins else "holds", few([ascii(name) for name in twins]))


def _steps(release: Release) -> list[Line]:
    """Return whether steps, rule and promises fit together."""
    lines = []
    unknown = [step.method for step in release.steps if step.recipe is None]
    wrong = [f"this version does not know the method {name!r}" for name in unknown]
    wrong += misfits(release)
    wrong += [f"missing or weaker: {claim}" for claim in missing_promises(release)]
    claim = "The promises are those that the methods and their settings imply."
    lines.append(Line(claim, "broken" if wrong else "holds", " ".join(wrong)))
    written = [promise.get("claim") for promise in release.manifest["promises"]]
    texts = zip(written, release.claims, strict=True)
    if other := sum(text is not None and text != claim for text, claim in texts):
        claim = "The sentences in the manifest are those of its promises."
        lines.append(Line(claim, "broken", f"{other} of {len(written)} differ"))
    return lines


def _promises(
    release: Release, promises: Sequence[Promise], evidence: Sequence[Evidence]
) -> list[Line]:
    """Return every promise with the worst of its proofs over the datasets."""
    checks = release.checks
    lines = []
    for promise in promises:
        claim = claim_of(promise, checks)
        about = [beside for i, beside in enumerate(evidence) if promise.concerns(i)]
        outside = [number for number in promise.datasets if number > len(evidence)]
        if outside or not about:
            lines.append(Line(claim, "broken", "it is about a dataset that does not exist"))
            continue
        proofs = [_proof(promise, beside, checks) for beside in about]
        worst: Status = next(
            (s for s in ("broken", "attested") if any(p.status == s for p in proofs)), "holds"
        )
        lines.append(Line(claim, worst, _detail(proofs)))
    return lines or [Line("The release makes no promise.", "attested")]


def _proof(promise: Promise, evidence: Evidence, checks: dict[str, Check]) -> Proof:
    """Return what became of a promise; one that cannot be computed is broken."""
    if promise.name not in checks:
        return Proof(promise, "broken", fault="this version cannot check it")
    try:
        return prove(promise, evidence, checks)
    except UNFIT as error:
        fault = f"it cannot be computed from the data ({type(error).__name__})"
        return Proof(promise, "broken", fault=fault)


def _detail(proofs: Sequence[Proof]) -> str:
    faults = [proof.fault for proof in proofs if proof.fault]
    violations = sum(proof.violations for proof in proofs)
    counted = "1 violation" if violations == 1 else f"{violations} violations"
    return "; ".join(dict.fromkeys([*([counted] if violations else []), *faults]))


def _with_source(
    release: Release, folder: Path, source: Any, record: Path
) -> tuple[Release, list[Line]]:
    """Return the release with the original beside it, and checks of the record."""
    content, _ = keeper.read_record(record)
    belongs = content.get("release") == file_hash(folder / SUMS)
    same, claim = same_source(source, content), "The source is the table that was protected."
    told: dict[bool | None, Line] = {
        True: Line(claim, "holds"),
        False: Line(claim, "broken", "names, kinds or values differ"),
        None: Line(claim, "attested", "the record holds nothing to compare it by"),
    }
    lines = [_line("The record belongs to this release.", holds=belongs), told[same]]
    if any(line.status == "broken" for line in lines):
        return release, lines
    return with_source(release, source, record), lines


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
