"""Intervals as a setting: the smallest and the largest number that a column may hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veladura.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Smallest and largest number a column may hold; None for no limit on that side."""

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        if self.min is not None and self.max is not None and self.min > self.max:
            msg = f"min ({self.min:g}) must not be above max ({self.max:g})."
            raise PlanError(msg)


def bounds_of(given: Any, setting: str) -> Bounds:
    """Return bounds from a pair, from a table of min and max, or from bounds.

    Examples
    --------
    >>> bounds_of([0, None], "limits")
    Bounds(min=0.0, max=None)
    """
    if isinstance(given, Bounds):
        return given
    if isinstance(given, Sequence) and len(given) == 2:  # noqa: PLR2004
        low, high = (None if end is None or math.isinf(end) else float(end) for end in given)
        return Bounds(min=low, max=high)
    if isinstance(given, Mapping) and set(given) <= {"min", "max"}:
        return Bounds(**given)
    msg = (
        f"{setting}: each column needs a min, a max, or both, got {type(given).__name__}.\n\nHint:"
        ' write {"age": {"min": 0, "max": 110}}, for instance.'
    )
    raise PlanError(msg)
