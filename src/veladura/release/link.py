"""A saved release joined again to the rows it was made of, by the source and the custodian's record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.release import custodian as keeper

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table


def with_source(release: Release, source: Any, record: str | Path) -> Release:
    """Return a loaded release with its original, each released row linked to the row it was made of.

    Figures that need aligned rows can then be taken of a package as of a release in memory.

    Parameters
    ----------
    release
        A release that `veladura.load` gave.
    source
        The table it was made of: anything `veladura.open` takes. It is opened as the record tells.
    record
        The ``record.json`` of the custodian's folder, with ``rows.parquet`` beside it.
    """
    told, places = keeper.read_record(Path(record))
    if not same_source(source, told):
        msg = (
            "the source is not the file that the record tells of.\n\nHint: give the table that was"
            " protected, as it was then."
        )
        raise PlanError(msg)
    original = open_source(source, told).without_identifiers()
    if not places:  # new rows: the original stands beside them without a link
        return replace(release, original=original)
    original = original.fetched()  # links are row numbers of these very rows
    sizes = [dataset.table.rows for dataset in release.tables]
    if [rows.size for rows in places] != sizes or max(
        int(rows.max(initial=-1)) for rows in places
    ) >= original.rows:
        msg = (
            f"the record does not belong to this release and source: {len(places)} datasets, and"
            " rows that do not fit."
        )
        raise PlanError(msg)
    order = keeper.row_order(original)
    linked = tuple(
        replace(dataset, rows=order[rows])
        for dataset, rows in zip(release.tables, places, strict=True)
    )
    return replace(release, original=original, tables=linked)


def open_source(source: Any, record: dict[str, Any]) -> Table:
    """Open the source as it was declared when the release was made."""
    from veladura.table.files.dialect import Dialect
    from veladura.table.source import open as open_table

    known = record["source"]
    dialect = (
        Dialect(**{**known["dialect"], "missing": tuple(known["dialect"]["missing"])})
        if known["dialect"]
        else None
    )
    return open_table(
        source, known["columns"], table=known["table"], name=known["name"], dialect=dialect
    )


def same_source(source: Any, record: dict[str, Any]) -> bool:
    """Compare hashes where both sides are files of the same kind; otherwise the proofs decide."""
    known = (record.get("source") or {}).get("sha256")
    if (
        known is None
        or not isinstance(source, (str, Path))
        or Path(source).suffix != Path(record["source"]["file"]).suffix
    ):
        return True
    return bool(keeper.source_hash(Path(source)) == known)
