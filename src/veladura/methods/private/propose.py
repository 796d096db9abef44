"""A domain for `veladura init` to propose: the holder must confirm it from public knowledge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.methods.private.bins import RISING
from veladura.table.codes import label_text
from veladura.table.schema import LABELLED, NUMERIC, UNITS, WEIGHTS

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

MANY = 30
FEW = 12  # groups of a summary
NOT_AMOUNTS = (*WEIGHTS, "identifier", "dropped", "geographic", *UNITS)
_RANK = {"sensitive": 0, "quasi-identifier": 1}


def settings(
    table: Table, facts: Mapping[str, Facts], *, cells: int, columns: int
) -> dict[str, Any]:
    """Return columns, domain, missing and epsilon for a private recipe of at most so many cells.

    The values come from the data, so the plan marks them as not confirmed: the list itself would
    disclose a category that only one person has.
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
        **({"rows_per_person": 1} if table.people < table.rows else {}),
    }


def table_settings(table: Table, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Return settings of a private table: up to six columns of few values, two numbers, the weight.

    Without its weight a survey has no estimates of its population. Bounds are powers of ten around
    the values: rounder than the data, and still read off them. Within them, cuts are chosen
    privately: between bounds so wide, most people would be in the first of a few even bins.
    """
    numbers = [*_numbers(table, facts)[:2], *_weight(table, facts)]
    if not any(width <= MANY for _, width in _candidates(table, facts)) and numbers:
        given: dict[str, Any] = {"columns": (), "domain": None, "missing": (), "epsilon": 1.0}
        if table.people < table.rows:
            given["rows_per_person"] = 1
    else:
        given = settings(table, facts, cells=10**9, columns=6)
    if not numbers:
        return given
    chosen = {*given["columns"], *numbers}
    absent = {*given["missing"], *(name for name in numbers if facts[name].present < table.rows)}
    return {
        **given,
        "columns": tuple(name for name in table.names if name in chosen),
        "missing": tuple(name for name in table.names if name in absent),
        "bounds": {name: _round_bounds(table, name) for name in numbers},
        "private_cuts": tuple(name for name in table.names if name in numbers),
    }


def _numbers(table: Table, facts: Mapping[str, Facts]) -> list[str]:
    """Return the columns of amounts: numbers with many values."""
    return [
        field.name
        for field in table.schema
        if field.kind in NUMERIC
        and field.role not in NOT_AMOUNTS
        and facts[field.name].distinct > MANY
    ]


def _weight(table: Table, facts: Mapping[str, Facts]) -> list[str]:
    """Return the weight that estimates use, if it differs between people."""
    weights = table.schema.of_role("weight")[:1]
    return [n for n in weights if table.schema[n].kind in NUMERIC and facts[n].distinct > 1]


def without(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return settings of a private table that leave a column out."""
    left: dict[str, Any] = {}
    for key, given in settings.items():
        if isinstance(given, Mapping):
            left[key] = {column: value for column, value in given.items() if column != name}
        else:
            left[key] = tuple(n for n in given if n != name) if isinstance(given, tuple) else given
    return left


def summary_settings(table: Table, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Return columns, bounds, bins, groups and epsilon for a private summary; all to be confirmed.

    Bounds are powers of ten around the values: rounder than the data, and still read off them.
    Between bounds so wide, most people would be in the first of even bins: these rise.
    """
    numbers = _numbers(table, facts)[:3]
    if not numbers:
        msg = f"the table has no column of numbers with more than {MANY} values to summarise."
        raise PlanError(msg)
    groups = [name for name, width in _candidates(table, facts) if width <= FEW][:1]
    return {
        "columns": tuple(numbers),
        "bounds": {name: _round_bounds(table, name) for name in numbers},
        "bins": RISING,
        "by": tuple(groups),
        "domain": {name: seen(table, name) for name in groups} or None,
        "missing": tuple(name for name in groups if facts[name].present < table.rows),
        "epsilon": 1.0,
        **({"rows_per_person": 1} if table.people < table.rows else {}),
    }


def narrowest(table: Table, facts: Mapping[str, Facts]) -> dict[str, Any]:
    """Return the category of fewest values with its domain: it costs the fewest noisy sums."""
    widths = {name: width for name, width in _candidates(table, facts) if width <= FEW}
    names = sorted(widths, key=lambda name: widths[name])[:1]
    return {name: seen(table, name) for name in names}


def _round_bounds(table: Table, name: str) -> tuple[float, float]:
    """Return bounds of a column, each the next power of ten away from zero, or zero.

    They are read off the data, and published: the holder must confirm or replace them before a run.
    Finer steps would tell more of who has most, and gain little: cuts within them are private, or
    rise.
    """
    column = table.counts([name]).columns[0]
    values = column.values[~column.missing].astype(float)

    def away(value: float) -> float:
        return math.copysign(10.0 ** math.ceil(math.log10(abs(value))), value) if value else 0.0

    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    return away(low), away(high)


def _candidates(table: Table, facts: Mapping[str, Facts]) -> list[tuple[str, int]]:
    """Return the columns of few values and their number, sensitive columns first."""
    candidates = []
    for field in table.schema:
        fact = facts[field.name]
        few = 1 < fact.distinct <= MANY
        if (
            few
            and (field.kind in ("category", "ordered") or field.kind == "integer")
            and field.role not in (*WEIGHTS, "identifier")
        ):
            width = fact.distinct + (fact.present < table.rows)
            candidates.append((_RANK.get(field.role, 2), width, field.name))
    return [(name, width) for _, width, name in sorted(candidates, key=itemgetter(0))]


def seen(table: Table, name: str) -> tuple[Any, ...]:
    """Return the values that occur in a column: in the declared order, or sorted."""
    field = table.schema[name]
    if field.order:
        return field.order
    column = table.counts([name]).columns[0]
    if field.kind in LABELLED and column.labels is not None:
        return tuple(label_text(label) for label in column.labels.to_pylist())
    return tuple(sorted({int(value) for value in column.values[~column.missing].tolist()}))
