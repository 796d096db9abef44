"""Risk and utility of a release, in memory or saved, against its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Progress, silent
from veladura.base.limits import Limit
from veladura.core.gates import default_limits
from veladura.errors import PlanError, VeladuraError
from veladura.measures.assessment import Assessment
from veladura.measures.assessment import assess as assess_linked
from veladura.measures.knowledge import Scenario
from veladura.measures.measure import Measure
from veladura.release import custodian as keeper
from veladura.release.gate import Verdict, check_gate, gate, refuse_gate, with_defaults
from veladura.release.package import load
from veladura.table.files.dialect import Dialect
from veladura.table.files.digest import content_digest, file_digest
from veladura.table.source import open as open_table

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table


def assess(
    table: Any,
    release: Release,
    *,
    limits: Mapping[str, Limit] | None = None,
    control: Any = None,
    record: str | Path | None = None,
    intruders: Iterable[Scenario] = (),
    models: Iterable[str] = (),
    measures: Iterable[Measure] = (),
    threads: int | None = None,
    progress: Progress = silent,
) -> Assessment:
    """Return risk and utility of a release against its original.

    Parameters
    ----------
    table
        The original: anything `veladura.open` takes. Identifiers and columns that were not
        released are left out.
    release
        The release made from it, in memory or loaded from a package. Without the link between rows
        the figures that need it are listed with the reason.
    limits
        Limits on figures, as in the plan's ``[gate]``: those figures get a traffic light. Not for a
        differentially private release.
    control
        The control group: people of the same population who are not in the original. Attacks and
        distances are judged against it.
    record
        The custodian's record of a loaded release: it links the released rows to those of the
        table.
    intruders
        Who looks for people, and what they know: `veladura.risk.Scenario`, as ``[[intruder]]`` in
        a plan. By default a register and an acquaintance, by the roles of the columns.
    models
        Formulas of your own, as ``[utility] models`` in a plan: see `veladura.utility.slopes`.
    measures
        Measures of your own (`veladura.measures.measure.Measure`), beside those of the library.
    threads
        Measures run side by side; figures never depend on the number of threads.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 50, "income": range(100)})
    >>> figures = vd.assess(people, vd.Noise(columns=["income"]).protect(people, seed=1))
    >>> int(figures["risk.uniqueness.sample_uniques"]) <= 100
    True
    """
    if record is not None:
        release = with_source(release, table, record)
    return assess_linked(
        table,
        release,
        limits=limits,
        control=control,
        intruders=intruders,
        models=models,
        measures=measures,
        threads=threads,
        progress=progress,
    )


@dataclass(frozen=True)
class Reassessed:
    """A loaded release with its figures and the verdicts of a gate."""

    release: Release
    assessment: Assessment
    verdicts: tuple[Verdict, ...] = ()

    def page(self) -> str:
        """Return the custodian's report."""
        from veladura.report.gather import gather
        from veladura.report.render import render

        return render(
            gather(
                self.release,
                self.assessment,
                self.release.prove(),
                verdicts=self.verdicts,
                audience="custodian",
            )
        )


def reassess(
    folder: str | Path,
    source: Any,
    record: str | Path | None = None,
    *,
    limits: Mapping[str, Limit] | None = None,
    intruders: Iterable[Scenario] = (),
    models: Iterable[str] = (),
    progress: Progress = silent,
) -> Reassessed:
    """Return risk and utility of a release folder against its source.

    Parameters
    ----------
    source
        The table that was protected: anything `veladura.open` takes.
    record
        The custodian's record. It links released rows to rows of the source; without it the
        figures that need the link are listed with the reason.
    limits
        Limits on figures, as in a plan's ``[gate]``; those that hold by default are added.
    intruders
        Who looks for people, as in a plan's ``[[intruder]]``.
    models
        Formulas, as in a plan's ``[utility]``.
    """
    release = load(folder)
    check_gate(limits or {})
    if limits and release.rule.private:
        refuse_gate()
    if record is not None:
        release = with_source(release, source, record)
        source = release.original
    assessment = assess(source, release, intruders=intruders, models=models, progress=progress)
    if limits is None:
        return Reassessed(release, assessment, ())
    defaults = default_limits(step.recipe for step in release.steps if step.recipe is not None)
    whole = with_defaults(limits, defaults, assessment)
    assessment = replace(assessment, limits=whole)
    return Reassessed(release, assessment, tuple(gate(assessment, whole)))


def with_source(release: Release, source: Any, record: str | Path) -> Release:
    """Return a loaded release with its original, every released row linked to its original row.

    Figures that need linked rows can then be computed for a package too.

    Parameters
    ----------
    release
        A release that `veladura.load` gave.
    source
        The table that was protected: anything `veladura.open` takes. It is opened as the record
        describes.
    record
        The ``record.json`` of the custodian's folder, with ``rows.parquet`` beside it.
    """
    content, places = keeper.read_record(Path(record))
    if same_source(source, content) is False:
        msg = (
            "the source is not the table that the record describes: names, kinds or values"
            " differ.\n\nHint: give the table that was protected, unchanged."
        )
        raise PlanError(msg)
    original = open_source(source, content).without_identifiers()
    if not places:  # synthetic rows have no link
        return replace(release, original=original)
    original = original.fetched()  # links are row numbers of these very rows
    sizes = [dataset.table.rows for dataset in release.tables]
    if [rows.size for rows in places] != sizes or max(
        int(rows.max(initial=-1)) for rows in places
    ) >= original.rows:
        msg = (
            "the record does not belong to this release and source: it links"
            f" {sum(rows.size for rows in places)} rows in {len(places)} datasets, the release has"
            f" {sum(sizes)} in {len(sizes)}, and the source has {original.rows} rows.\n\nHint: give"
            " the record that was written with this release."
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
    about = record["source"]
    dialect = (
        Dialect(**{**about["dialect"], "missing": tuple(about["dialect"]["missing"])})
        if about["dialect"]
        else None
    )
    return open_table(
        source,
        about["columns"],
        table=about["table"],
        name=about["name"],
        dialect=dialect,
        counts=about.get("counts"),
    )


def same_source(source: Any, record: dict[str, Any]) -> bool | None:
    """Whether a source is the table that a record describes; None where nothing can tell.

    A file of the same format must be the same to the byte. Another file, or a frame, is the same
    table if names, kinds and values are, in any order of rows; identifiers are not compared.
    """
    about = record.get("source") or {}
    file = Path(source) if isinstance(source, (str, Path)) else None
    digest = file_digest(file) if file is not None and "\0" not in str(file) else None
    if digest is not None and about.get("sha256") is not None:
        alike = file is not None and file.suffix == Path(about.get("file") or "").suffix
        if digest == about["sha256"] or alike or about.get("content") is None:
            return bool(digest == about["sha256"])
    if about.get("content") is None:
        return None
    try:
        original = open_source(source, record).without_identifiers().fetched()
        return bool(content_digest(original, about["released_from"]) == about["content"])
    except VeladuraError:  # columns that are not there, values that are of another kind
        return False
