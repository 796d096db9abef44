"""Limits of a column: the smallest and the largest value that is possible, from public knowledge.

They are a setting of the steps that draw numbers; the columns room writes them into all of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from veladura.base.bounds import Bounds
from veladura.errors import PlanError
from veladura.studio.answers import Answer, FieldError, Form, text
from veladura.studio.rooms.protect import change_steps, raw_steps

if TYPE_CHECKING:
    from veladura.studio.session import Session


def steps_with(session: Session, name: str) -> Iterator[int]:
    """Yield the numbers of the steps that draw the column between limits."""
    plan, source = session.ready
    for number, step in enumerate(plan.steps):
        has = any(setting.name == "limits" for setting in fields(step))
        if has and name in step.changes(source.table.names):
            yield number


def limits_of(session: Session, name: str) -> tuple[str, str] | None:
    """Return the limits of a column as people type them; None where no step uses them."""
    plan, _ = session.ready
    for number in steps_with(session, name):
        given: Mapping[str, Bounds] = getattr(plan.steps[number], "limits")  # noqa: B009
        bounds = given.get(name, Bounds())
        low, high = ("" if end is None else f"{end:g}" for end in (bounds.min, bounds.max))
        return low, high
    return None


def keep_limits(session: Session, name: str, form: Form) -> Answer:
    """Write the limits of a column into every step that uses them; none where both are empty."""
    ends = {end: _number(form, end) for end in ("min", "max")}
    given = {end: value for end, value in ends.items() if value is not None}
    steps, numbers = raw_steps(session), list(steps_with(session, name))
    if not numbers:
        raise FieldError("min", "no step of the plan draws this column between limits.")
    for number in numbers:
        others = {n: old for n, old in steps[number].get("limits", {}).items() if n != name}
        kept: dict[str, Any] = {**others, **({name: given} if given else {})}
        steps[number]["limits"] = kept
        if not kept:
            del steps[number]["limits"]
    try:
        change_steps(session, steps, f"limits of {name}")
    except PlanError as error:
        raise FieldError("min", str(error)) from None
    return Answer(f"The limits of {name} are in the plan.")


def _number(form: Form, end: str) -> float | None:
    given = text(form, end)
    try:
        return float(given) if given else None
    except ValueError:
        raise FieldError(end, "a limit is a number, or nothing.") from None
