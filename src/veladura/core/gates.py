"""Limits on figures that a drafted plan proposes, by kind of method.

Starting points, not standards: the holder knows what the release is for.
"""

from __future__ import annotations

from collections.abc import Mapping

from veladura.base.limits import Limit

PROSECUTOR: Mapping[str, Limit] = {"risk.uniqueness.average_prosecutor": Limit(max=0.2)}
GENERALISED: Mapping[str, Limit] = {
    "risk.classes.at_risk": Limit(max=0.05),
    "utility.generalisation.completeness": Limit(min=0.95),
    "utility.generalisation.precision": Limit(min=0.5),
}
HOLES: Mapping[str, Limit] = {"risk.holes.ratio": Limit(max=1.25)}
# Chance moves the ratio by 0.07; a method that never releases people's own numbers has 2 and more.
NO_HOLES: Mapping[str, Limit] = {"risk.holes.ratio": Limit(max=1.5)}
NUMBERS: Mapping[str, Limit] = {
    "risk.spikes.ratio": Limit(max=1.25),
    "risk.nearest.nearer": Limit(max=0.6),
    "risk.extremes.lone": Limit(max=0),
}
SYNTHETIC: Mapping[str, Limit] = {
    **HOLES,
    "utility.pmse.ratio": Limit(max=10),
    "utility.tables.two": Limit(max=0.1),
    "utility.overlap.mean": Limit(min=0.5),
    "utility.prediction.lost": Limit(max=0.1),
}
MASKED: Mapping[str, Limit] = {
    **PROSECUTOR,
    **HOLES,
    "risk.unchanged.rows": Limit(max=0.5),
    "utility.columns.worst": Limit(max=0.1),
    "utility.correlations.largest": Limit(max=0.1),
}
