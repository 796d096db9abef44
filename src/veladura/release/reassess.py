"""Risk and utility of a release, in memory or saved, against its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Progress, silent
from veladura.base.limits import Limit
from veladura.measures.assessment import Assessment
from veladura.measures.assessment import assess as assess_linked
from veladura.measures.measure import Measure
from veladura.release.gate import Verdict, check_gate, gate, refuse_gate
from veladura.release.link import with_source
from veladura.release.package import load

if TYPE_CHECKING:
    from veladura.core.release import Release


def assess(
    table: Any,
    release: Release,
    *,
    limits: Mapping[str, Limit] | None = None,
    control: Any = None,
    record: str | Path | None = None,
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
        measures=measures,
        threads=threads,
        progress=progress,
    )


@dataclass(frozen=True)
class Reassessed:
    """A loaded release with its figures and what a gate says of them."""

    release: Release
    assessment: Assessment
    verdicts: tuple[Verdict, ...] = ()

    def page(self) -> str:
        """Return the custodian's report of it."""
        from veladura.report.facts import gather
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
    progress: Progress = silent,
) -> Reassessed:
    """Return risk and utility of a release folder beside its source.

    Parameters
    ----------
    source
        The table that was released: anything `veladura.open` takes.
    record
        The custodian's record. It links released rows to those of the source; without it the
        figures that need the link are listed with the reason.
    limits
        What figures may be, as in a plan's ``[gate]``.
    """
    release = load(folder)
    check_gate(limits or {})
    if limits and release.rule.private:
        refuse_gate()
    if record is not None:
        release = with_source(release, source, record)
        source = release.original
    assessment = assess(source, release, limits=limits, progress=progress)
    return Reassessed(release, assessment, tuple(gate(assessment, limits or {})))
