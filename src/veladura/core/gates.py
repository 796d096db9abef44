"""Limits on figures: those that hold by default, and those that a drafted plan proposes.

What is proposed, by kind of method, are starting points, not standards: the holder knows what the
release is for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from veladura.base.limits import Limit

PROSECUTOR: Mapping[str, Limit] = {"risk.uniqueness.average_prosecutor": Limit(max=0.2)}
GENERALISED: Mapping[str, Limit] = {
    "risk.classes.at_risk": Limit(max=0.05),
    "utility.generalisation.completeness": Limit(min=0.95),
    "utility.generalisation.precision": Limit(min=0.5),
}
# Chance moves the ratio by 0.07; a method that never releases people's own numbers has 2 and more.
HOLES: Mapping[str, Limit] = {"risk.holes.ratio": Limit(max=1.25)}
# Synthetic numbers of several datasets and columns: the largest of many ratios moves further.
NO_HOLES: Mapping[str, Limit] = {"risk.holes.ratio": Limit(max=1.5)}
# Every number is drawn: numbers that stand out, or that are near to people's own, are leaks. The
# ratio of the nearest number moves by at most 0.05. An outlier within 10 % cannot be told from
# chance in one release, so that limit is proposed only; one that comes out as it is can.
NO_OWN_NUMBERS: Mapping[str, Limit] = {
    **NO_HOLES,
    "risk.spikes.ratio": Limit(max=1.5),
    "risk.nearest.ratio": Limit(max=1.25),
    "risk.extremes.own": Limit(max=0),
}
# Masks move a number by its isolation, so that an outlier that comes out as it is was not moved.
# Chance does that at most once in a thousand releases. Their other numbers are near to people's own
# by intention.
NO_OWN_EXTREMES: Mapping[str, Limit] = {**HOLES, "risk.extremes.own": Limit(max=0)}
OUTLIERS: Mapping[str, Limit] = {"risk.extremes.lone": Limit(max=0)}
SYNTHETIC: Mapping[str, Limit] = {
    "utility.pmse.ratio": Limit(max=10),
    "utility.tables.two": Limit(max=0.1),
    "utility.overlap.mean": Limit(min=0.5),
    "utility.prediction.lost": Limit(max=0.1),
}
MASKED: Mapping[str, Limit] = {
    **PROSECUTOR,
    "risk.unchanged.rows": Limit(max=0.5),
    "utility.columns.worst": Limit(max=0.1),
    "utility.correlations.largest": Limit(max=0.1),
}


class Gated(Protocol):
    """What a recipe says of its limits."""

    @property
    def private(self) -> bool:
        """Whether its figures would themselves disclose: then nothing is gated."""

    @property
    def firm_gate(self) -> Mapping[str, Limit]:
        """The limits that hold by default."""


def default_limits(recipes: Iterable[Gated]) -> dict[str, Limit]:
    """Return the limits that hold for some steps though a plan names none; the loosest of each.

    A figure that one of the steps says nothing of has no limit: what a synthesis must not release,
    a step that keeps numbers as they are does.
    """
    steps = list(recipes)
    if not steps or any(step.private for step in steps):
        return {}
    common = [name for name in steps[0].firm_gate if all(name in s.firm_gate for s in steps)]
    limits: dict[str, Limit] = {}
    for figure in common:
        for step in steps:
            limit = step.firm_gate[figure]
            if figure not in limits or limit.looser_than(limits[figure]):
                limits[figure] = limit
    return limits
