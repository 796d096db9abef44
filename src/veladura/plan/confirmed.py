"""The shape of a source that a holder confirmed: names, kinds and categories, never rows."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from veladura.errors import PlanError
from veladura.plan.accounting import exact_columns
from veladura.plan.sections import ConfirmedPlan
from veladura.table.codes import label_texts
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.plan.plan import Plan
    from veladura.table.table import Table

AGAIN = "\n\nHint: look at the change, then run veladura confirm again."


def confirmation_of(plan: Plan, table: Table) -> ConfirmedPlan:
    """Return the confirmation of a source as it is now."""
    kinds: dict[str, str] = {field.name: field.kind for field in table.schema}
    return ConfirmedPlan(
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        shape=shape_of(table),
        columns=kinds,
        levels={name: tuple(sorted(levels)) for name, levels in _levels(plan, table).items()},
    )


def _levels(plan: Plan, table: Table) -> dict[str, set[str]]:
    """Return hashes of the categories that would leave as they are, by column."""
    names = [n for n in exact_columns(plan, table) if table.schema[n].kind in LABELLED]
    return {name: _hashes(name, table) for name in names}


def _hashes(name: str, table: Table) -> set[str]:
    texts = label_texts(table.counts([name]).columns[0])
    return {hashlib.sha256(f"{name}\0{text}".encode()).hexdigest()[:8] for text in texts}


def shape_of(table: Table) -> str:
    """Return a hash of the names, kinds and declared levels of a source, in any order."""
    shape = sorted([field.name, field.kind, list(field.order)] for field in table.schema)
    text = json.dumps(shape, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def refuse_changed(plan: Plan, table: Table) -> None:
    """Refuse a source that is not the one which the holder confirmed."""
    if plan.confirmed is None:
        return
    if plan.confirmed.shape == shape_of(table):
        _refuse_new_levels(plan, table, plan.confirmed)
        return
    now = {field.name: field.kind for field in table.schema}
    then = plan.confirmed.columns
    changes = {
        "new columns": [name for name in now if name not in then],
        "columns that are gone": [name for name in then if name not in now],
        "columns of another kind": [n for n in now if n in then and then[n] != now[n]],
    }
    if not any(changes.values()):
        changes = {"columns with other levels": table.schema.of_kind("ordered")}
    said = "; ".join(f"{what}: {names}" for what, names in changes.items() if names)
    msg = f"the source is not the one that was confirmed on {plan.confirmed.date}: {said}.{AGAIN}"
    raise PlanError(msg)


def _refuse_new_levels(plan: Plan, table: Table, confirmed: ConfirmedPlan) -> None:
    """Refuse categories that nobody has seen, where they would be released as they are."""
    new = {
        name: len(levels - set(confirmed.levels[name]))
        for name, levels in _levels(plan, table).items()
        if name in confirmed.levels
    }
    if said := [f"{name} has {count} more" for name, count in new.items() if count]:
        msg = (
            f"the source has categories that it had not when it was confirmed on {confirmed.date},"
            f" in columns that are released exactly: {'; '.join(said)}.{AGAIN}"
        )
        raise PlanError(msg)
