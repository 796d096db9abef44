"""The custodian's folder: seed, source and row order. It is private and never published."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import veladura
from veladura.base.arrays import Ints
from veladura.base.private_files import FILE_MODE, private_file, private_folder, write_private
from veladura.errors import FolderError, PlanError
from veladura.release.files import write_data
from veladura.release.risky import RISKY
from veladura.table.database.scratch import custodian_home
from veladura.table.files.digest import content_digest, file_digest

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Source, Table

RECORD, ROWS, REPORT = "record.json", "rows.parquet", "report-custodian.html"


def place(release: Path, custodian: Path | None) -> Path:
    """Return the custodian folder for a release; refuse one that could be published with it.

    Inside, around or beside the release folder it would be copied along with it.
    """
    folder = custodian or custodian_home() / "records" / f"{release.name}-{secrets.token_hex(4)}"
    try:
        inner, outer = folder.resolve(), release.resolve()
        home = inner if custodian else custodian_home().resolve()
        (folder / RECORD).exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long a name, no permission, ...
        circle = isinstance(error, RuntimeError)
        why = "links lead in a circle" if circle else getattr(error, "strerror", "a NUL character")
        msg = f"the custodian folder cannot be used: {why}.\n\nHint: name another folder."
        raise FolderError(msg) from None
    for candidate in (inner, home):
        if (
            candidate == outer
            or outer in candidate.parents
            or candidate in outer.parents
            or candidate.parent == outer.parent
        ):
            msg = (
                f"the custodian folder {folder} is the release folder, or is inside, around or"
                " beside it: it could be published by mistake.\n\nHint: name another folder with"
                " custodian=..., [custodian] folder, or VELADURA_CUSTODIAN."
            )
            raise FolderError(msg)
    return folder


def refuse_existing(folder: Path, *, force: bool) -> None:
    """Refuse a custodian folder with a record: a published release may have no other."""
    if (folder / RECORD).exists() and not force:
        msg = (
            f"{folder} already holds a record.\n\nHint: name another custodian folder, or use"
            " --force (the old record is kept under another name)."
        )
        raise FolderError(msg)


def write_record(
    folder: Path,
    record: dict[str, Any],
    rows: list[Ints | None],
    report: str,
    risky: pa.Table | None = None,
) -> None:
    """Write the record, its row order, the custodian's report and the people at risk.

    An older record is set aside.
    """
    private_folder(folder)
    if (folder / RECORD).exists():
        aside = folder / f"superseded-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
        private_folder(aside)
        for name in (RECORD, ROWS, REPORT, RISKY):
            if (folder / name).exists():
                (folder / name).rename(aside / name).chmod(FILE_MODE)
    if linked := [order for order in rows if order is not None]:
        sets = np.repeat(np.arange(len(linked)), [order.size for order in linked])
        with private_file(folder / ROWS) as stream:
            pq.write_table(pa.table({"dataset": sets, "row": np.concatenate(linked)}), stream)
    if risky is not None:
        with private_file(folder / RISKY) as stream:
            write_data(risky, stream, "csv")
    write_private(folder / REPORT, report)
    part = folder / f"{RECORD}.part"
    write_private(part, json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    part.replace(folder / RECORD)  # last: a record is whole or absent


def build_record(release: Release, plan: str | None, digest: str) -> dict[str, Any]:
    """Return what is needed to repeat and to prove a release: seed, source and settings."""
    source = release.original.source if release.original is not None else None
    return {
        "format": "veladura-record",
        "version": 1,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "library": f"veladura {veladura.__version__}",
        "entropy": str(release.streams.entropy) if release.streams else None,
        "source": None if source is None else _describe_source(source, release.original),
        "recipe": repr(release.recipe),
        "plan": plan,
        "standing": None if release.standing is None else release.standing.to_json(),
        "proofs": [dict(promise.private) for promise in release.promises],  # for the holder only
        "release": digest,
        "rows": (
            ROWS
            if release.rows is not None
            else "no link: the released rows are synthetic, or were recoded in the database"
        ),
    }


def _describe_source(source: Source, original: Table | None) -> dict[str, Any]:
    """Return how the source was opened, so that it can be opened again to prove a release."""
    return {
        "name": source.name,
        "file": source.file.name if source.file else None,
        "sha256": file_digest(source.file),
        "content": None if original is None else content_digest(original, original.names),
        "released_from": [] if original is None else original.names,
        "table": source.table,
        "counts": source.counts,
        "columns": {name: asdict(declared) for name, declared in source.columns.items()},
        "dialect": asdict(source.dialect) if source.dialect else None,
    }


def row_order(original: Table) -> Ints:
    """Return the rows of a source in an order that depends on their values only.

    Records point into this order, so that they fit the same table from another file or server.
    """
    return original.codes([]).rows


def read_record(path: Path) -> tuple[dict[str, Any], list[Ints]]:
    """Return a record and, for each dataset, the place of every released row in the source."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        msg = (
            f"{path} cannot be read as a record.\n\nHint: name the record.json in the custodian"
            " folder."
        )
        raise PlanError(msg) from None
    if record.get("format") != "veladura-record":
        msg = (
            f"{path} is not the record of a veladura release.\n\nHint: name the record.json in the"
            " custodian folder."
        )
        raise PlanError(msg)
    if not (path.parent / ROWS).exists():
        return record, []
    links = pq.read_table(path.parent / ROWS)
    sets, rows = links["dataset"].to_numpy(), links["row"].to_numpy()
    return record, [rows[sets == i] for i in range(int(sets.max()) + 1)]
