"""A saved release beside its source again: the figures of a package, when its holder asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.context import Progress, silent
from veladura.base.limits import Limit
from veladura.measures.assessment import Assessment, assess
from veladura.release.gate import Verdict, check_gate, gate, refuse_gate
from veladura.release.link import with_source
from veladura.release.package import load

if TYPE_CHECKING:
    from veladura.core.release import Release


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
