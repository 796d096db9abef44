"""The door: what a release folder of a stranger must look like before anything else reads it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from veladura.base import shapes
from veladura.errors import PromiseError
from veladura.release.files import Format, type_from_text
from veladura.release.folder import read_json
from veladura.table.parts import MOST_PARTS
from veladura.table.schema import LABELLED, Kind, Role, kind_of

FORMAT, VERSION = "veladura-release", 1
MOST_DATASETS = 10_000
_TEXTS = shapes.listed(shapes.text)
_OBJECT = shapes.table({}, more=True)
_COLUMN = {
    "name": shapes.name,
    "kind": shapes.one_of(*get_args(Kind)),
    "role": shapes.one_of(*get_args(Role)),
}
_STEP = shapes.table(
    {"method": shapes.text, "changed": shapes.listed(shapes.name), "settings": _OBJECT}
)
_PROMISE = shapes.table(
    {"name": shapes.text, "proof": shapes.one_of("package", "source"), "settings": _OBJECT},
    {"claim": shapes.text, "datasets": shapes.listed(shapes.whole(1, MOST_DATASETS))},
)
_EXACT = shapes.table(
    {"name": shapes.name},
    {
        "reason": shapes.text,
        "unique": shapes.either(shapes.nothing, shapes.whole()),
        "gives_back": shapes.listed(shapes.name),
    },
)
_LOOSENED = shapes.table(dict.fromkeys(("figure", "limit", "default", "reason"), shapes.text))
_RISK = shapes.table(
    {
        "intruder": shapes.text,
        "knows": shapes.listed(shapes.text),
        "people": shapes.whole(),
        "before": shapes.whole(),
        "after": shapes.whole(),
    },
    {
        "within": shapes.mapped(shapes.either(shapes.number(), shapes.text)),
        "counted": shapes.flag,
        "by_chance": shapes.either(shapes.nothing, shapes.whole()),
    },
)
_PARTS = shapes.listed(shapes.listed(shapes.whole(1), 0, MOST_PARTS), 1, MOST_DATASETS)
_FILES = {"parts": _PARTS, "text_disarmed": shapes.flag}
_NEEDED: dict[str, shapes.Shape] = {
    "format": shapes.text,
    "version": shapes.whole(),
    "library": shapes.text,
    "name": shapes.text,
    "datasets": shapes.whole(1, MOST_DATASETS),
    "rows": shapes.listed(shapes.whole(), 1, MOST_DATASETS),
    "columns": shapes.listed(shapes.table(_COLUMN), 1, 100_000),
    "steps": shapes.listed(_STEP, 1, 1000),
    "rule": shapes.text,
    "promises": shapes.listed(_PROMISE, 0, 10_000),
    "files": shapes.table({"format": shapes.one_of(*get_args(Format))}, _FILES, more=True),
}
_OPTIONAL: dict[str, shapes.Shape] = {
    "rule_settings": _OBJECT,
    "status": shapes.one_of("draft", "confirmed"),
    "unconfirmed": _TEXTS,
    "exact": shapes.listed(_EXACT),
    "loosened": shapes.listed(_LOOSENED),
    "risk": shapes.listed(_RISK),
    "design_not_released": _TEXTS,
    "replication": shapes.mapped(shapes.text, keys=shapes.name),
    "units": shapes.mapped(shapes.text, keys=shapes.name),
    **dict.fromkeys(("purpose", "recipient", "prepared_by", "approved_by", "made"), shapes.text),
}
MANIFEST = shapes.table(_NEEDED, _OPTIONAL, more=True)  # a newer version may tell more
_VALUE = shapes.either(shapes.nothing, shapes.text, shapes.flag, shapes.number())
CODEBOOK = shapes.listed(
    shapes.table(
        {**_COLUMN, "type": shapes.text, "missing": shapes.whole()},
        {
            "lowest": _VALUE,
            "highest": _VALUE,
            "distinct": shapes.whole(),
            "categories": shapes.listed(_VALUE),
            "labels": shapes.mapped(shapes.text),
        },
    ),
    1,
    100_000,
)


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a folder, after a check of everything that others rely on."""
    manifest = read_json(folder / "manifest.json")
    check_manifest(manifest)
    return dict(manifest)


def check_manifest(manifest: Any) -> None:
    """Refuse a manifest that this version cannot read, or that is none."""
    if not isinstance(manifest, Mapping) or manifest.get("format") != FORMAT:
        msg = (
            "manifest.json is not the manifest of a veladura release.\n\nHint: name a folder that"
            " veladura run wrote."
        )
        raise PromiseError(msg)
    if manifest.get("version") != VERSION:
        msg = (
            f"the manifest has another version than {VERSION}, which this version of veladura"
            " reads.\n\nHint: install a newer veladura."
        )
        raise PromiseError(msg)
    wrong = MANIFEST(manifest) or shapes.plain(manifest)
    if not wrong and len(manifest["rows"]) != manifest["datasets"]:
        wrong = f"rows: expected {manifest['datasets']} entries, got {len(manifest['rows'])}"
    if not wrong and not _add_up(manifest["rows"], manifest["files"].get("parts")):
        wrong = "files: parts that do not add up to the rows"
    names = [] if wrong else [column["name"] for column in manifest["columns"]]
    if len(set(names)) < len(names):
        wrong = "columns: a name that occurs twice"
    if wrong:
        msg = f"manifest.json was cut off or edited: {wrong}."
        raise PromiseError(msg)


def foreign_entries(manifest: Mapping[str, Any], rule_settings: Iterable[str]) -> int:
    """Return how many entries a manifest has that no release of this version has.

    A folder is read in spite of them, but whole tables could be hidden there.
    """
    told = manifest.get("rule_settings", {})
    return sum(
        len(set(entries) - set(known))
        for entries, known in (
            (manifest, (*_NEEDED, *_OPTIONAL)),
            (manifest["files"], ("format", *_FILES)),
            (told, rule_settings),
        )
    )


def _add_up(totals: list[int], parts: list[list[int]] | None) -> bool:
    """Whether the rows of parts are those of their datasets; one file has no parts."""
    if parts is None:
        return True
    return len(parts) == len(totals) and all(
        not rows or sum(rows) == total for rows, total in zip(parts, totals, strict=True)
    )


def read_codebook(folder: Path) -> list[dict[str, Any]]:
    """Return the codebook of a folder, after a check of every column."""
    codebook = read_json(folder / "codebook.json")
    wrong = CODEBOOK(codebook)
    if not wrong:
        names = [about["name"] for about in codebook]
        wrong = "a name that occurs twice" if len(set(names)) < len(names) else ""
    wrong = wrong or next(filter(None, map(_wrong_type, codebook)), "")
    if wrong:
        msg = f"codebook.json was cut off or edited: {wrong}."
        raise PromiseError(msg)
    return list(codebook)


def _wrong_type(about: Mapping[str, Any]) -> str:
    """Return what is wrong with the type of a column."""
    try:
        type_ = type_from_text(about["type"])
    except (ValueError, KeyError, TypeError, pa.ArrowException):
        return "a type that is not known"
    zone = getattr(type_, "tz", None)
    if zone is not None and not re.fullmatch(
        r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+)*|[+-]\d\d:\d\d", zone
    ):
        return "a time zone that is not known"
    natural = kind_of(type_)
    fits = natural is not None if about["kind"] in LABELLED else natural == about["kind"]
    return "" if fits else "a type that does not fit its kind"
