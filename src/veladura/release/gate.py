"""The gate of a plan: a release that fails one of its limits is not written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from veladura.base.limits import Limit, Verdict
from veladura.errors import GateError, PlanError
from veladura.measures.assessment import Assessment
from veladura.measures.measure import LAZY
from veladura.measures.registry import figure_names, is_figure, meaning_of

__all__ = ["Limit", "Verdict", "check_gate", "gate", "refuse_gate", "require"]


def check_gate(names: Iterable[str]) -> None:
    """Refuse figures that no measure of the library gives."""
    for name in names:
        if not is_figure(name):
            what = "gate figure"
            raise PlanError.unknown(what, name, figure_names())


def refuse_gate() -> NoReturn:
    """Refuse a gate on a differentially private release: the decision itself would disclose."""
    msg = (
        "a differentially private release cannot have a gate: whether it passes would disclose"
        " something about the data.\n\nHint: leave [gate] out."
    )
    raise PlanError(msg)


def gate(assessment: Assessment, limits: Mapping[str, Limit]) -> list[Verdict]:
    """Return the verdict on every figure of a gate.

    The less favourable end of the interval is compared: the upper end with ``max``, the lower end
    with ``min``. A figure that does not apply to the release fails, with the reason.
    """
    check_gate(name for name in limits if name not in assessment.figures)
    if limits and assessment.private:
        refuse_gate()
    return [_judge(assessment, name, limit) for name, limit in limits.items()]


def with_defaults(
    limits: Mapping[str, Limit], defaults: Mapping[str, Limit], assessment: Assessment
) -> dict[str, Limit]:
    """Return the limits of a plan with those that hold by default, where their figure applies."""
    figures = assessment.figures
    also = {
        name: limit
        for name, limit in defaults.items()
        if name in figures and figures[name].estimate is not None
    }
    return {**also, **limits}


def not_judged(limits: Iterable[str], assessment: Assessment) -> list[str]:
    """Return the figures with a limit for which released rows would have to be in memory."""
    figures = assessment.figures
    return [name for name in limits if name in figures and figures[name].why == LAZY]


def _judge(assessment: Assessment, name: str, limit: Limit) -> Verdict:
    figure = assessment.figures.get(name)
    if figure is None or figure.estimate is None:
        return Verdict(
            name, None, limit, passed=False, why=figure.why if figure else "it was not measured"
        )
    return Verdict(name, figure.estimate, limit, passed=limit.admits(figure.estimate))


def require(verdicts: Iterable[Verdict]) -> None:
    """Refuse a release that fails a limit."""
    if failed := [verdict for verdict in verdicts if not verdict.passed]:
        lines = "\n".join(f"  {_in_words(verdict)}" for verdict in failed)
        limits = "1 limit" if len(failed) == 1 else f"{len(failed)} limits"
        msg = (
            f"the release fails {limits} of the gate:\n{lines}\n\nHint: choose stronger protection"
            " in [[step]], or change [gate] in the plan. A limit that is looser than the default"
            " needs a reason in it."
        )
        raise GateError(msg)


def _in_words(verdict: Verdict) -> str:
    """Return a failed limit, with the meaning of its figure."""
    return (
        f"{verdict}\n    {meaning_of(verdict.figure)}"
        if is_figure(verdict.figure)
        else str(verdict)
    )
