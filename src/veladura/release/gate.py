"""Thresholds of a plan: a release that misses one is not packaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from veladura.base.estimate import Estimate
from veladura.base.limits import Light, Limit
from veladura.errors import GateError, PlanError
from veladura.measures.assessment import Assessment
from veladura.measures.registry import figure_names, is_figure

__all__ = ["Limit", "Verdict", "check_gate", "gate", "refuse_gate", "require"]


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
        """Green, amber when only the interval reaches beyond the limit, or red."""
        return self.limit.light(self.estimate)

    def __str__(self) -> str:
        got = f"does not apply ({self.why})" if self.estimate is None else f"is {self.estimate}"
        return f"{self.figure} {got}; the plan allows {self.limit}"


def check_gate(names: Iterable[str]) -> None:
    """Refuse figures that no measure of the library gives."""
    for name in names:
        if not is_figure(name):
            what = "gate figure"
            raise PlanError.unknown(what, name, figure_names())


def refuse_gate() -> NoReturn:
    """Refuse a gate on a private release: the decision itself would disclose."""
    msg = (
        "a differentially private release has no gate: whether it passes would tell something of"
        " the data.\n\nHint: leave [gate] out."
    )
    raise PlanError(msg)


def gate(assessment: Assessment, limits: Mapping[str, Limit]) -> list[Verdict]:
    """Return the verdict on every figure of a gate.

    The unfavourable end of the interval is compared: the upper one with ``max``, the lower one
    with ``min``. A figure that does not apply to the release fails, with its reason.
    """
    check_gate(name for name in limits if name not in assessment.figures)
    if limits and assessment.private:
        refuse_gate()
    return [_judge(assessment, name, limit) for name, limit in limits.items()]


def _judge(assessment: Assessment, name: str, limit: Limit) -> Verdict:
    figure = assessment.figures.get(name)
    if figure is None or figure.estimate is None:
        return Verdict(
            name, None, limit, passed=False, why=figure.why if figure else "it was not measured"
        )
    return Verdict(name, figure.estimate, limit, passed=limit.admits(figure.estimate))


def require(verdicts: Iterable[Verdict]) -> None:
    """Refuse a release that misses a limit."""
    if missed := [verdict for verdict in verdicts if not verdict.passed]:
        told = "\n".join(f"  {verdict}" for verdict in missed)
        msg = (
            f"the release misses {len(missed)} of its limits:\n{told}\n\nHint: protect more, or"
            " change [gate] in the plan."
        )
        raise GateError(msg)
