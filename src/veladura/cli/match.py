"""Options of ``assess`` on the intruder of match risk: what he knows, and the curve over it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.measures.knowledge import Scenario, asked_intruders
from veladura.table.source import open_quietly

if TYPE_CHECKING:
    from veladura.measures.assessment import Assessment
    from veladura.table.table import Table


def knowing(
    original: Any, within: Sequence[str], intruders: Sequence[Scenario]
) -> tuple[Table, tuple[Scenario, ...]]:
    """Return the original, opened, and the intruders with the one that options describe."""
    reaches: dict[str, float | str] = {}
    for text in within:
        name, sign, reach = text.rpartition("=")
        if not sign or not name.strip():
            msg = (
                f"--within takes a column and a distance, got {text!r}.\n\nHint: write --within"
                " income=5000, or --within 'income=10 %'."
            )
            raise PlanError(msg)
        reaches[name.strip()] = reach.strip()
    table = open_quietly(original)
    return table, asked_intruders(reaches, intruders, table.schema)


def draw_curve(assessment: Assessment, path: Path) -> None:
    """Draw the match risk over the radius, if it was measured."""
    from veladura.measures.risk.match import MatchCurve

    detail = assessment.details.get("risk.match")
    if not isinstance(detail, MatchCurve):
        msg = (
            "there is no match curve: match risk was not measured, or no changed column holds"
            " numbers.\n\nHint: link the rows with --record; risk.match says why it does not apply."
        )
        raise PlanError(msg)
    detail.curve.plot(path)
