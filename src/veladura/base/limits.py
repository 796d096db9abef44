"""Limits of a plan's gate, and the verdict on a figure against one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from veladura.base.estimate import Estimate
from veladura.errors import PlanError

Light = Literal["green", "amber", "red"]


@dataclass(frozen=True)
class Limit:
    """The lowest and the highest value that a figure may have.

    Parameters
    ----------
    min, max
        The limits themselves are allowed. At least one of the two must be given.
    reason
        Why the holder accepts it: needed where it is looser than a limit that holds by default.

    Examples
    --------
    >>> str(Limit(max=0.2))
    'at most 0.2'
    """

    min: float | None = None
    max: float | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        given = [end for end in (self.min, self.max) if end is not None]
        if not given:
            msg = "a gate needs min or max, got neither.\n\nHint: write {max = 0.2}, for instance."
            raise PlanError(msg)
        if any(
            isinstance(end, bool) or not isinstance(end, (int, float)) or not math.isfinite(end)
            for end in given
        ):
            msg = f"min and max of a gate must be finite numbers, got {given}."
            raise PlanError(msg)
        if len(given) > 1 and given[0] > given[1]:
            msg = f"min ({given[0]}) is above max ({given[1]}), so that no release can pass."
            raise PlanError(msg)

    def looser_than(self, other: Limit) -> bool:
        """Whether it admits a value that another limit does not.

        Examples
        --------
        >>> Limit(max=2).looser_than(Limit(max=1.25)), Limit(max=1).looser_than(Limit(max=1.25))
        (True, False)
        """
        lower = other.min is not None and (self.min is None or self.min < other.min)
        higher = other.max is not None and (self.max is None or self.max > other.max)
        return lower or higher

    def admits(self, estimate: Estimate) -> bool:
        """Whether the less favourable end of the interval is within the limit; NaN never is."""
        low = self.min is None or estimate.lower >= self.min
        high = self.max is None or estimate.upper <= self.max
        return low and high and not math.isnan(estimate.value)

    def light(self, estimate: Estimate | None) -> Light:
        """Return the traffic light of a figure.

        Green: the whole interval is within the limit. Amber: only the value is. Red: neither, or
        there is no figure.
        """
        if estimate is None or math.isnan(estimate.value):
            return "red"
        if self.admits(estimate):
            return "green"
        return "amber" if self.admits(Estimate.exact(estimate.value)) else "red"

    def __str__(self) -> str:
        ends = [
            f"{word} {end:g}"
            for word, end in (("at least", self.min), ("at most", self.max))
            if end is not None
        ]
        return " and ".join(ends)


@dataclass(frozen=True)
class Verdict:
    """A figure against its limit."""

    figure: str
    estimate: Estimate | None
    limit: Limit
    passed: bool
    why: str = ""

    @property
    def light(self) -> Light:
        """Green, amber where only the interval crosses the limit, or red."""
        return self.limit.light(self.estimate)

    def __str__(self) -> str:
        got = f"does not apply ({self.why})" if self.estimate is None else f"is {self.estimate}"
        return f"{self.figure} {got}; allowed: {self.limit}"
