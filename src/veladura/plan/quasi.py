"""Quasi-identifiers are declared once: a step takes them from the roles of the columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from veladura.core import registry
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.core.recipe import Recipe
    from veladura.table.schema import Declared

SETTING = "quasi_identifiers"
# Roles that say the opposite: nobody outside knows the column, or it is not released at all.
CONTRADICTING = (
    "identifier",
    "dropped",
    "person",
    "household",
    "episode",
    "lookup",
    "sensitive",
    "weight",
    "replicate weight",
    "harmless",
)


def from_roles(columns: Mapping[str, Declared]) -> list[str]:
    """Return the quasi-identifiers that the roles of the columns declare."""
    return [name for name, declared in columns.items() if declared.role == "quasi-identifier"]


def completed(step: Any, columns: Mapping[str, Declared]) -> Any:
    """Return a step of a plan with its quasi-identifiers, from the roles where it has none.

    The pairs of the step are quasi-identifiers too. A hierarchy of a column that is none any more
    is not needed.
    """
    if not isinstance(step, dict) or SETTING in step or not _takes(step.get("method")):
        return step
    pairs = [list(pair) for pair in step.get("pairs", ()) if isinstance(pair, list)]
    paired = [name for pair in pairs for name in pair]
    names = [name for name in columns if name in {*from_roles(columns), *paired}]
    names += [name for name in paired if name not in names]
    if not names:
        msg = (
            f"{step['method']} has no quasi-identifiers: neither the step nor a column names"
            ' one.\n\nHint: [columns.NAME] role = "quasi-identifier" for every column that an'
            " intruder may know."
        )
        raise PlanError(msg)
    step = {**step, SETTING: names}
    if isinstance(step.get("hierarchies"), dict):
        needed = {*names, *(", ".join(map(str, pair)) for pair in pairs)}
        given = step["hierarchies"]
        step["hierarchies"] = {name: given[name] for name in given if name in needed}
    return step


def _takes(method: object) -> bool:
    """Whether a method has quasi-identifiers among its settings."""
    if not isinstance(method, str) or method not in registry.METHODS:
        return False
    return SETTING in [field.name for field in fields(registry.find(method))]


def refuse_contradictions(steps: Iterable[Recipe], columns: Mapping[str, Declared]) -> None:
    """Refuse steps whose quasi-identifiers are not those that the roles declare."""
    listing = [step for step in steps if _takes(step.method)]
    if not listing:
        return
    listed = {name for step in listing for name in step.changes(())}
    method = listing[0].method
    if wrong := {
        name: columns[name].role
        for name in sorted(listed)
        if name in columns and columns[name].role in CONTRADICTING
    }:
        said = ", ".join(f"{name} ({role})" for name, role in wrong.items())
        msg = (
            f"{method} lists quasi-identifiers whose role says something else: {said}.\n\nHint:"
            ' change the role to "quasi-identifier", or take the column out of the step.'
        )
        raise PlanError(msg)
    if omitted := [name for name in from_roles(columns) if name not in listed]:
        msg = (
            f"columns have the role quasi-identifier, but {method} leaves them out:"
            f" {omitted}.\n\nHint: delete {SETTING} from the step, which then takes them from the"
            " roles; or change the roles."
        )
        raise PlanError(msg)
