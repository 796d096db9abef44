"""Replaceability of critical cells: how many donors the pool of each cell holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from veladura.base.estimate import Estimate
from veladura.errors import NotApplicable
from veladura.measures.measure import Meaning, Measure, Subject
from veladura.methods.critical.pools import FIGURES

if TYPE_CHECKING:
    from veladura.core.release import Release


@dataclass(frozen=True)
class Replaceability:
    """The pools of donors of all critical cells.

    Attributes
    ----------
    two_donors
        Share of critical cells whose pool holds at least two different values.
    donors
        Number of different values in the pool of a cell, median over cells.
    range
        Range of the pool of a cell over that of all critical values, median over cells.
    widened
        Share of cells whose pool had to be taken from more people than those with the same
        critical columns.
    """

    two_donors: Estimate
    donors: Estimate
    range: Estimate
    widened: Estimate


def replaceability(release: Release) -> Replaceability:
    """Return what the manifest of a release says about the pools of its critical cells.

    Parameters
    ----------
    release
        A release that `CriticalCart` made.
    """
    for step in release.steps:
        if "replaceability" in step.settings:
            overall = step.settings["replaceability"]["overall"]
            return Replaceability(*(Estimate.exact(overall[name]) for name in FIGURES))
    msg = "no critical cells were replaced."
    raise NotApplicable(msg)


def measure(subject: Subject) -> dict[str, Estimate]:
    """Return the figures over all columns."""
    pools = replaceability(subject.release)
    return {name: getattr(pools, name) for name in FIGURES}


MEASURE = Measure(
    "utility.replaceability",
    figures={
        "two_donors": Meaning(
            "Replaceable critical cells: those whose pool of donors holds at least two different"
            " values.",
            "high",
            "share",
            headline=True,
        ),
        "donors": Meaning(
            "Donors: different values in the pool of a critical cell, median over cells.", "high"
        ),
        "range": Meaning(
            "Range of the pool of a critical cell, as a share of the range of all critical values,"
            " median over cells.",
            "neither",
            "share",
        ),
        "widened": Meaning(
            "Widened pools: critical cells whose donors include people with other critical"
            " columns.",
            "low",
            "share",
        ),
    },
    function=measure,
)
