"""A study as files: one page, a picture a figure, all numbers as JSON."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from veladura.errors import FolderError
from veladura.report.render import page
from veladura.studies.study import VERDICTS, Cell, Exhibit, Study


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that has files already, unless they may be replaced."""
    if folder.exists() and any(folder.iterdir()) and not force:
        msg = (
            f"{folder} exists already.\n\nHint: name another folder with --out, or replace its"
            " files with --force."
        )
        raise FolderError(msg)


def write(study: Study, folder: Path) -> Path:
    """Write a study into a folder; return its page."""
    folder.mkdir(parents=True, exist_ok=True)
    for exhibit in study.exhibits:
        if exhibit.result is not None and exhibit.result.picture is not None:
            (folder / f"{file_name(exhibit.number)}.svg").write_bytes(exhibit.result.picture.svg)
    (folder / "figures.json").write_text(
        json.dumps(as_dict(study), indent=1, ensure_ascii=False), encoding="utf-8"
    )
    out = folder / "index.html"
    out.write_text(to_html(study), encoding="utf-8")
    return out


def file_name(number: str) -> str:
    """Return the name of a picture's file: "Figure 3.1" is figure-3-1."""
    return re.sub(r"[^a-z0-9]+", "-", number.lower()).strip("-")


def to_html(study: Study) -> str:
    """Return the page of a study: every exhibit with its verdict, table and picture."""
    pictures = {
        exhibit.number: b64encode(exhibit.result.picture.svg).decode("ascii")
        for exhibit in study.exhibits
        if exhibit.result is not None and exhibit.result.picture is not None
    }
    return page("study.html.j2", study=study, counts=counts(study), pictures=pictures)


def counts(study: Study) -> dict[str, int]:
    """Return the number of exhibits by verdict."""
    found = Counter(exhibit.verdict for exhibit in study.exhibits)
    return {verdict: found[verdict] for verdict in VERDICTS}


def as_dict(study: Study) -> dict[str, Any]:
    """Return a study as plain data."""
    return {
        "study": study.number,
        "source": study.source,
        "title": study.title,
        "settings": study.settings,
        "warnings": list(study.notes),
        "exhibits": [_plain(exhibit) for exhibit in study.exhibits],
    }


def _plain(exhibit: Exhibit) -> dict[str, Any]:
    told: dict[str, Any] = {
        "number": exhibit.number,
        "title": exhibit.title,
        "verdict": exhibit.verdict,
        "why": exhibit.why,
        "printed": dict(exhibit.printed),
    }
    if exhibit.result is not None:
        told["remark"] = exhibit.result.remark
        told["header"] = list(exhibit.result.header)
        told["rows"] = [
            [asdict(entry) if isinstance(entry, Cell) else entry for entry in row]
            for row in exhibit.result.rows
        ]
    return told
