"""A first domain for `veladura init`: the values seen, to be confirmed from public knowledge before anything is released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.table.codes import label_text
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MANY = 30
_RANK = {"sensitive": 0, "quasi-identifier": 1}


def settings(
    table: Table, facts: Mapping[str, Facts], *, cells: int, columns: int
) -> dict[str, Any]:
    """Return columns, domain and missing for a private recipe of at most so many cells.

    The values come from the data, so the plan names them as not confirmed: a category that only
    one person holds would be told by the list itself.
    """
    chosen: list[str] = []
    product = 1
    for name, width in _candidates(table, facts):
        if len(chosen) < columns and product * width <= cells:
            chosen.append(name)
            product *= width
    if not chosen:
        msg = f"the table has no column of 2 to {min(MANY, cells)} categories to release."
        raise PlanError(msg)
    names = [name for name in table.names if name in chosen]
    return {
        "columns": tuple(names),
        "domain": {name: seen(table, name) for name in names},
        "missing": tuple(name for name in names if facts[name].present < table.rows),
        "epsilon": 1.0,
    }


def _candidates(table: Table, facts: Mapping[str, Facts]) -> list[tuple[str, int]]:
    """Return the columns of few values with how many they have, the telling ones first."""
    found = []
    for field in table.schema:
        fact = facts[field.name]
        few = 1 < fact.distinct <= MANY
        if (
            few
            and (field.kind in ("category", "ordered") or field.kind == "integer")
            and field.role not in ("weight", "identifier")
        ):
            found.append(
                (_RANK.get(field.role, 2), fact.distinct + (fact.present < table.rows), field.name)
            )
    return [(name, width) for _, width, name in sorted(found, key=lambda one: one[0])]


def seen(table: Table, name: str) -> tuple[Any, ...]:
    """Return the values of a column: in the declared order, or sorted."""
    field = table.schema[name]
    if field.order:
        return field.order
    column = table.counts([name]).columns[0]
    if field.kind in LABELLED and column.labels is not None:
        return tuple(label_text(label) for label in column.labels.to_pylist())
    return tuple(sorted({int(value) for value in column.values[~column.missing].tolist()}))
