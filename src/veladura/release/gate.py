"""Thresholds of a plan: a release that misses one is not packaged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from veladura.assessment import Assessment
from veladura.errors import GateError, PlanError
from veladura.inference.estimate import Estimate
from veladura.measure import figure_names
from veladura.recipe import PRIVATE


@dataclass(frozen=True)
class Limit:
    """What a figure may be.

    Parameters
    ----------
    min, max
        The lowest and the highest value allowed; at least one of them.

    Examples
    --------
    >>> str(Limit(max=0.2))
    'at most 0.2'
    """

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        given = [end for end in (self.min, self.max) if end is not None]
        if not given:
            msg = "a gate needs min or max."
            raise PlanError(msg)
        if any(isinstance(end, bool) or not isinstance(end, (int, float)) or not math.isfinite(end) for end in given):
            msg = f"min and max of a gate must be finite numbers, got {given}."
            raise PlanError(msg)
        if len(given) > 1 and given[0] > given[1]:
            msg = f"min ({given[0]}) is above max ({given[1]}): nothing would pass."
            raise PlanError(msg)

    def admits(self, estimate: Estimate) -> bool:
        """Whether the unfavourable end of the interval is within the limit; what is not a number never is."""
        low = self.min is None or estimate.lower >= self.min
        high = self.max is None or estimate.upper <= self.max
        return low and high and not math.isnan(estimate.value)

    def __str__(self) -> str:
        ends = [f"{word} {end:g}" for word, end in (("at least", self.min), ("at most", self.max)) if end is not None]
        return " and ".join(ends)


@dataclass(frozen=True)
class Verdict:
    """A figure against its limit."""

    figure: str
    estimate: Estimate | None
    limit: Limit
    passed: bool
    why: str = ""

    def __str__(self) -> str:
        got = f"does not apply ({self.why})" if self.estimate is None else f"is {self.estimate}"
        return f"{self.figure} {got}; the plan allows {self.limit}"


def check_gate(names: Iterable[str]) -> None:
    """Refuse figures that no measure gives."""
    what, known = "gate figure", figure_names()
    for name in names:
        if name not in known:
            raise PlanError.unknown(what, name, known)


def refuse_gate() -> NoReturn:
    """Refuse a gate on a private release: the decision itself would disclose."""
    msg = "a differentially private release has no gate: whether it passes would tell something of the data.\n\nHint: leave [gate] out."
    raise PlanError(msg)


def gate(assessment: Assessment, limits: Mapping[str, Limit]) -> list[Verdict]:
    """Return the verdict on every figure of a gate.

    The unfavourable end of the interval is compared: the upper one with ``max``, the lower one
    with ``min``. A figure that does not apply to the release fails, with its reason.
    """
    check_gate(limits)
    if limits and assessment.rule in PRIVATE:
        refuse_gate()
    return [_judge(assessment, name, limit) for name, limit in limits.items()]


def _judge(assessment: Assessment, name: str, limit: Limit) -> Verdict:
    figure = assessment.figures.get(name)
    if figure is None or figure.estimate is None:
        return Verdict(name, None, limit, passed=False, why=figure.why if figure else "it was not measured")
    return Verdict(name, figure.estimate, limit, passed=limit.admits(figure.estimate))


def require(verdicts: Iterable[Verdict]) -> None:
    """Refuse a release that misses a limit."""
    if missed := [verdict for verdict in verdicts if not verdict.passed]:
        told = "\n".join(f"  {verdict}" for verdict in missed)
        msg = f"the release misses {len(missed)} of its limits:\n{told}\n\nHint: protect more, or change [gate] in the plan."
        raise GateError(msg)
