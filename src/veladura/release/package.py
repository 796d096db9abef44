"""The release folder: data, codebook, manifest and report, written and read back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.private_files import private_folder, write_private
from veladura.base.visible import look_alikes
from veladura.core.lost_design import design_in
from veladura.core.promise import Proof
from veladura.core.release import Dataset, Release
from veladura.errors import PlanError
from veladura.release import custodian as keeper
from veladura.release.data import open_datasets
from veladura.release.door import read_codebook, read_manifest
from veladura.release.files import check_format, write_rows, write_stream
from veladura.release.folder import (
    SUMS,
    check_folder,
    file_hash,
    new_folder,
    write_hashes,
    write_json,
)
from veladura.release.implied import implied_by
from veladura.release.manifest import (
    build_codebook,
    build_manifest,
    fields_of,
    promises_of,
    rule_of,
    steps_of,
)
from veladura.release.risky import risky_people
from veladura.table.database.scratch import scratch_folder
from veladura.table.parts import check_rows_per_file, rows_a_part, rows_of
from veladura.table.table import from_arrow
from veladura.table.write import stored_table, write_parquet

if TYPE_CHECKING:
    from veladura.base.limits import Verdict
    from veladura.core.standing import Standing
    from veladura.measures.assessment import Assessment
    from veladura.report.facts import Audience, Facts
    from veladura.table.table import Table


@dataclass(frozen=True)
class Pages:
    """What the two reports have in common: proved, drawn and measured once."""

    proofs: list[Proof]
    drawings: Mapping[str, bytes] = field(repr=False)
    assessment: Assessment | None
    verdicts: tuple[Verdict, ...]

    def render(self, release: Release, audience: Audience) -> str:
        """Return the page of a release for one audience."""
        from veladura.report.render import render

        return render(self.facts(release, audience))

    def facts(self, release: Release, audience: Audience) -> Facts:
        """Return what the page of a release says to one audience."""
        from veladura.report.gather import gather

        return gather(
            release,
            self.assessment,
            self.proofs,
            verdicts=self.verdicts,
            audience=audience,
            drawings=self.drawings,
        )


def save(
    release: Release,
    folder: Path,
    custodian: Path | None = None,
    *,
    format: str = "parquet",  # noqa: A002
    force: bool = False,
    rows_per_file: int | None = None,
    assessment: Assessment | None = None,
    verdicts: tuple[Verdict, ...] = (),
    plan: str | None = None,
    standing: Standing | None = None,
) -> Path:
    """Write a release for its recipient, and its record for the custodian.

    Parameters
    ----------
    folder
        The release folder. It appears whole or not at all.
    custodian
        Where seed, source and row order are kept. By default below ``VELADURA_CUSTODIAN`` or the
        user's state folder.
    format
        "parquet", or "csv" with an apostrophe before text that a spreadsheet would run.
    force
        Replace a release folder that exists.
    rows_per_file
        A dataset with more rows is written in parts; by default one of more cells than are held
        in memory.
    standing
        What the plan says of the release as a whole.
    """
    from veladura.measures.assessment import assess
    from veladura.report.gather import public_drawings

    check_format(format)
    check_rows_per_file(rows_per_file)
    refuse_look_alikes(release.tables[0].table.units.names)
    check_folder(folder, force=force)
    record_folder = keeper.place(folder, custodian)
    keeper.refuse_existing(record_folder, force=force)
    if assessment is None and release.original is not None:
        assessment = assess(release.original, release)
    pages = Pages(release.prove(), public_drawings(release), assessment, verdicts)
    order = [file_order(release, i) for i in range(len(release.tables))]
    shuffled = replace(
        release,
        standing=standing,
        tables=tuple(_infile_order(d, o) for d, o in zip(release.tables, order, strict=True)),
    )
    with new_folder(folder, force=force) as fresh:
        written, pages = write_package(shuffled, fresh, format, pages, rows_per_file)
        if release.original is not None:
            digest = file_hash(fresh / SUMS)
            kept = tuple(
                d if d.table.in_memory else w
                for d, w in zip(release.tables, written.tables, strict=True)
            )
            _write_record(
                replace(release, tables=kept, standing=standing),
                order,
                record_folder,
                digest,
                pages,
                plan,
            )
    return folder


def refuse_look_alikes(names: Sequence[str]) -> None:
    """Refuse columns that people take for one: a promise on one would be read as on the other."""
    if twins := look_alikes(names):
        msg = (
            f"columns have names that look alike: {', '.join(map(ascii, twins))}. A reader would"
            " take one for the other.\n\nHint: rename one of them in the source, or drop it."
        )
        raise PlanError(msg)


def write_package(
    release: Release,
    folder: Path,
    format_: str,
    pages: Pages,
    rows_per_file: int | None = None,
) -> tuple[Release, Pages]:
    """Write data, codebook, manifest, report and hashes into an empty folder.

    Return what was written and what its pages show. A lazy dataset is proved again from its file:
    the database may have changed since it was drawn.
    """
    (folder / "data").mkdir()
    files = [folder / "data" / f"dataset-{i}.{format_}" for i in range(1, len(release.tables) + 1)]
    written = [
        write_dataset(d, file, format_, rows_per_file)
        for d, file in zip(release.tables, files, strict=True)
    ]
    tables, parts = tuple(dataset for dataset, _ in written), [rows for _, rows in written]
    if any(new is not old for new, old in zip(tables, release.tables, strict=True)):
        release = replace(release, tables=tables)
        pages = replace(pages, proofs=release.prove())
    manifest = build_manifest(release, format_, pages.assessment, parts)
    write_json(
        folder / "codebook.json",
        build_codebook([dataset.table.units for dataset in release.tables]),
    )
    write_json(folder / "manifest.json", manifest)
    report = pages.render(replace(release, saved_manifest=manifest), "public")
    (folder / "report.html").write_text(report, encoding="utf-8")
    write_hashes(folder)
    return release, pages


def write_dataset(
    dataset: Dataset, path: Path, format_: str, most: int | None
) -> tuple[Dataset, list[int]]:
    """Write one dataset; return it as written, and the rows of its parts (none for one file).

    Rows of a lazy one never come into memory.
    """
    table = dataset.table
    if table.in_memory:
        whole = table.units.arrow
        return dataset, write_rows(whole, path, format_, most or rows_a_part(whole.num_columns))
    place = path if format_ == "parquet" else scratch_folder() / f"{secrets.token_hex(8)}.parquet"
    written = write_parquet(table, place, most)
    if format_ != "parquet":
        write_stream(written, path)
    parts = rows_of(written) if written.is_dir() else []
    return dataset if table.stored is not None else Dataset(stored_table(table, written)), parts


def _write_record(
    release: Release,
    order: list[Ints | None],
    folder: Path,
    digest: str,
    pages: Pages,
    plan: str | None,
) -> None:
    """Write the custodian's record: the place of every released row in the source."""
    assert release.original is not None  # noqa: S101  # the caller asked
    rows: list[Ints | None] = [None for _ in order]
    risky = None
    if release.rows is not None:
        source_order = keeper.row_order(release.original)
        place = np.empty_like(source_order)
        place[source_order] = np.arange(source_order.size)
        rows = [
            place[np.asarray(d.rows)[np.asarray(o)]]
            for d, o in zip(release.tables, order, strict=True)
        ]
        risky = risky_people(release, pages.assessment, place)
    keeper.write_record(
        folder,
        keeper.build_record(release, plan, digest),
        rows,
        pages.render(release, "custodian"),
        risky,
    )
    for name, text in release.records.items():
        write_private(folder / name, text)


def file_order(release: Release, number: int) -> Ints | None:
    """Return the released rows in the order of the file: sorted by what they hold, then shuffled.

    Sorted first, so that nothing of the source's order is left: not for one who guesses the seed.
    None for a lazy table: it is written in the order of a hash of each row.
    """
    table = release.tables[number].table
    if not table.in_memory:
        return None
    order = content_order(table)
    if release.streams is None:
        return order
    shuffled: Ints = order[release.streams("package", "shuffle", number).permutation(order.size)]
    return shuffled


def content_order(table: Table) -> Ints:
    """Return the rows sorted by what a file shows of them, new numbers of units included."""
    return table.units.without_identifiers().codes([]).rows


def _infile_order(dataset: Dataset, order: Ints | None) -> Dataset:
    if order is None:
        return dataset
    whole = dataset.table.units
    arrow = whole.arrow.take(pa.array(order))
    rows = None if dataset.rows is None else dataset.rows[order]
    shuffled = from_arrow(arrow, whole.schema, whole.source)
    return Dataset(shuffled.without_identifiers(), rows)


def leave_report(
    release: Release, folder: Path, assessment: Assessment, verdicts: tuple[Verdict, ...]
) -> Path:
    """Write the custodian's report of a release that was refused; return its path."""
    from veladura.report.render import render

    path = private_folder(folder) / "refused.html"
    write_private(path, render(custodian_facts(release, assessment, verdicts)))
    return path


def custodian_facts(
    release: Release, assessment: Assessment, verdicts: tuple[Verdict, ...]
) -> Facts:
    """Return what the custodian's report says of a release that is not written."""
    from veladura.report.gather import public_drawings

    pages = Pages(release.prove(), public_drawings(release), assessment, verdicts)
    return pages.facts(release, "custodian")


def load(folder: str | Path, *, large: bool = False, lazy: bool | None = None) -> Release:
    """Return a saved release: its datasets, manifest and promises.

    The folder may come from a stranger: what does not look like a release is refused.

    Parameters
    ----------
    large
        Read data that unfold to much more than their files, or to more than memory holds.
    lazy
        Whether rows stay in their files and are counted there. By default those of more than 25
        million cells (rows times columns) do, or of more than ``VELADURA_MEMORY`` allows to hold.
        ``release.datasets`` gives frames all the same, as long as they fit.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> import veladura as vd
    >>> release = vd.Noise(columns=["x"]).protect(pd.DataFrame({"x": range(40)}), seed=1)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     saved = release.save(f"{home}/out/release", custodian=f"{home}/safe/record")
    ...     vd.load(saved).datasets[0].shape
    (40, 1)
    """
    path = Path(folder)
    manifest = read_manifest(path)
    fields = fields_of(read_codebook(path), manifest)
    tables = tuple(
        Dataset(table.without_identifiers())
        for table in open_datasets(path, manifest, fields, large=large, lazy=lazy)
    )
    steps = steps_of(manifest)
    person = tables[0].table.person
    for step in steps:
        implied_by(step, len(tables), person)  # refuses settings that cannot be read
    return Release(
        tables,
        None,
        steps,
        promises_of(manifest),
        rule_of(manifest, steps),
        saved_manifest=manifest,
        units=manifest.get("units", {}),
        lost_design=design_in(manifest),
    )
