"""What is promised of critical cells: only they changed, and what few people hold was moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base import shapes
from veladura.base.arrays import Ints, Mask
from veladura.base.bounds import Bounds
from veladura.base.expression import parse
from veladura.base.settings import to_plain
from veladura.core.moved_numbers import is_apart, people_of
from veladura.core.promise import Check, Evidence, Promise
from veladura.core.violations import source_column
from veladura.methods.cart.promises import plain_values, rare_values
from veladura.methods.critical.cells import Cells, read_conditions
from veladura.numeric.chance import own_numbers
from veladura.numeric.trees.law import MIN_PEOPLE
from veladura.table.codes import label_texts
from veladura.table.conditions import holds
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.methods.critical.fitted import FittedCritical
    from veladura.table.codes import Column

CLAIMS = {
    "critical-cells": "In {}, only critical cells were changed.",
    "critical-moved": (
        "Every critical number of {} that fewer than {people} people share was moved at random:"
        " numbers of one person come out as often as the numbers around them."
    ),
    "critical-rare": (
        "No critical cell of {} is replaced by a value that fewer than {people} people hold."
    ),
    "critical-inside": "Every replaced value of {} meets the condition for critical values too.",
}


def promises_of(fitted: FittedCritical) -> tuple[Promise, ...]:
    """Return the promises; the conditions and rows that prove them are kept from the recipient."""
    recipe, names = fitted.recipe, fitted.confidential
    conditions = fitted.cells.conditions
    about = {
        "critical-cells": list(names) if recipe.others == "keep" else [],
        "critical-moved": fitted.moved,
        "critical-rare": fitted.merged,
        "critical-inside": [
            name for name in names if recipe.keep_inside and conditions[name].expression is not None
        ],
    }
    read = {name for condition in conditions.values() for name in condition.columns}
    if isinstance(recipe.rows, str):
        read |= set(parse(recipe.rows).columns)
    also = sorted(read - set(names))
    private = {
        "critical": to_plain(recipe.critical),
        "rows": _rows(fitted),
        "left": _left(fitted),
        **({} if recipe.mask is None else {"cells": _marked(fitted)}),
    }
    return tuple(
        Promise(
            promise,
            "source",
            {"columns": [*columns, *also], "about": columns, **_people(promise, recipe.min_people)},
            private=private if promise != "critical-rare" else {**private, **_rare(fitted)},
        )
        for promise, columns in about.items()
        if columns
    )


def _people(promise: str, people: int) -> dict[str, int]:
    """Return how many people must share a value, where a promise is about that."""
    return {"people": people} if promise in ("critical-moved", "critical-rare") else {}


def _rare(fitted: FittedCritical) -> dict[str, dict[str, list[Any]]]:
    """Return the rare values of each column, where more rows than those at hand were counted."""
    levels = fitted.rare.levels
    rare = {name: plain_values(levels[name]).tolist() for name in fitted.merged if name in levels}
    return {"rare": rare} if rare else {}


def _rows(fitted: FittedCritical) -> str | list[bool] | None:
    """Return the mask of rows in canonical order, which only the content of the source decides."""
    rows = fitted.recipe.rows
    if rows is None or isinstance(rows, str):
        return rows
    return [rows[i] for i in fitted.table.codes([]).rows]


def _marked(fitted: FittedCritical) -> dict[str, list[int]]:
    """Return the critical rows of each column in canonical order, where a mask decides."""
    order = fitted.table.codes([]).rows
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return {
        name: sorted(int(row) for row in place[fitted.codes.rows[mark]])
        for name, mark in fitted.cells.marks.items()
    }


def _left(fitted: FittedCritical) -> dict[str, list[int]]:
    """Return the rows of cells that could not be replaced, numbered in canonical order."""
    if not any(constraints.fixed.any() for constraints in fitted.constraints.values()):
        return {}
    order = fitted.table.codes([]).rows
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return {
        name: sorted(int(row) for row in place[fitted.codes.rows[constraints.fixed]])
        for name, constraints in fitted.constraints.items()
        if constraints.fixed.any()
    }


class _Original:
    """The critical cells, identified again in the original, in its own order of rows."""

    def __init__(self, evidence: Evidence, settings: Mapping[str, Any]) -> None:
        assert evidence.original is not None  # noqa: S101  # the caller asked
        self.evidence, self.settings = evidence, settings
        conditions = read_conditions(
            {
                name: given if isinstance(given, str) else Bounds(**given)
                for name, given in settings["critical"].items()
            }
        )
        rows = settings["rows"]
        named = {
            *conditions,
            *(name for c in conditions.values() for name in c.columns),
            *(parse(rows).columns if isinstance(rows, str) else ()),
        }
        self.columns = {name: source_column(evidence, name) for name in named}
        self.size = next(iter(self.columns.values())).size
        self.cells = Cells.of(conditions, self.columns, self._mask(rows), self._masks())

    def _mask(self, rows: str | list[bool] | None) -> Mask | None:
        if rows is None or isinstance(rows, str):
            return None if rows is None else holds(parse(rows), self.columns)
        mask = np.zeros(self.size, dtype=bool)
        mask[self._order()] = rows
        return mask

    def _masks(self) -> dict[str, Mask] | None:
        """Return the critical cells that a mask decided."""
        if (given := self.settings.get("cells")) is None:
            return None
        masks = {name: np.zeros(self.size, dtype=bool) for name in given}
        for name, rows in given.items():
            masks[name][self._order()[rows]] = True
        return masks

    def _order(self) -> Ints:
        assert self.evidence.original is not None  # noqa: S101
        return self.evidence.original.codes([]).rows

    def replaced(self, name: str) -> Mask:
        """Return, for each row of the original, whether its cell had to be replaced."""
        mark = self.cells.marks[name].copy()
        if left := self.settings["left"].get(name):
            mark[self._order()[left]] = False
        return mark

    def link(self) -> Ints:
        """Return the original row of each released one."""
        assert self.evidence.rows is not None  # noqa: S101  # proofs against the source are linked
        return self.evidence.rows


def _same(before: Column, after: Column) -> Mask:
    """Return which cells are equal, missing ones too."""
    if before.labels is None or after.labels is None:
        equal = before.values == after.values
    else:
        texts = [np.array(label_texts(column) or [""], dtype=object) for column in (before, after)]
        equal = texts[0][before.values] == texts[1][after.values]
    return np.asarray(
        np.where(before.missing | after.missing, before.missing & after.missing, equal), dtype=bool
    )


def changed_elsewhere(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of changed cells that are not critical."""
    original = _Original(evidence, settings)
    return sum(
        int(
            np.count_nonzero(
                ~_same(original.columns[name].take(original.link()), evidence.column(name))
                & ~original.replaced(name)[original.link()]
            )
        )
        for name in settings["about"]
    )


def critical_not_by_chance(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns in which critical numbers of one person do not come out by chance only."""
    original = _Original(evidence, settings)
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, columns = people_of(evidence.original), 0
    for name in settings["about"]:
        mark = np.flatnonzero(original.cells.marks[name])
        here = np.flatnonzero(original.replaced(name)[original.link()])
        own = own_numbers(
            original.columns[name].take(mark),
            [evidence.column(name).take(here)],
            None if people is None else people[mark],
            settings.get("people", MIN_PEOPLE),
        )
        columns += int(is_apart(own))
    return columns


def rare_values_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many replaced cells hold a value that few people of the original hold."""
    original = _Original(evidence, settings)
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, violations = person_numbers(evidence.original), 0
    for name in settings["about"]:
        here = np.flatnonzero(original.replaced(name)[original.link()])
        released = plain_values(evidence.column(name).take(here))
        rare = settings.get("rare", {}).get(name)
        if rare is None:
            rare = rare_values(original.columns[name], people, settings["people"])[0]
        violations += int(np.count_nonzero(np.isin(released, rare)))
    return violations


def outside_condition(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of replaced values against the condition, other columns unchanged."""
    original = _Original(evidence, settings)
    violations = 0
    for name in settings["about"]:
        after = evidence.column(name)
        columns = {
            other: column.take(original.link()) for other, column in original.columns.items()
        } | {name: after}
        here = original.replaced(name)[original.link()]
        violations += int(np.count_nonzero(here & ~original.cells.conditions[name].marks(columns)))
    return violations


def critical_rows(promise: Promise, evidence: Evidence) -> dict[str, tuple[Ints, Ints]]:
    """Return by column the rows of the original with a critical cell, and the released ones.

    Where rows are not linked new values meet the condition too: it tells the released ones.
    """
    settings = {**promise.settings, **promise.private}
    original = _Original(evidence, settings)
    marks = {name: original.cells.marks[name] for name in settings["about"]}
    if evidence.rows is not None:
        after = {name: mark[original.link()] for name, mark in marks.items()}
    else:
        beside = Evidence(evidence.released, evidence.released)
        after = dict(_Original(beside, settings).cells.marks)
    return {name: (np.flatnonzero(marks[name]), np.flatnonzero(after[name])) for name in marks}


def implied_by(settings: Mapping[str, Any]) -> tuple[Promise, ...]:
    """Return the promises that the settings of a manifest imply, as far as they tell them."""
    about = {
        "critical-cells": settings["columns"] if settings["others"] == "keep" else [],
        "critical-moved": settings.get("moved_numbers_in", []),
        "critical-rare": settings.get("rare_levels_merged_in", []),
    }
    people = settings.get("min_people")  # releases of before it was a setting say nothing of it
    return tuple(
        Promise(
            name, "source", {"about": columns, **({} if people is None else _people(name, people))}
        )
        for name, columns in about.items()
        if columns
    )


def _check(count: Callable[[Evidence, Mapping[str, Any]], int], claim: str) -> Check:
    """Return a check; its sentence is about the confidential columns."""
    return Check(
        count,
        lambda settings: claim.format(
            ", ".join(settings["about"]), people=settings.get("people", MIN_PEOPLE)
        ),
        shapes.table({"columns": shapes.names, "about": shapes.names}, {"people": shapes.whole(2)}),
        stated=("columns",),  # those of the conditions too, which stay with the holder
    )


CHECKS = {
    "critical-cells": _check(changed_elsewhere, CLAIMS["critical-cells"]),
    "critical-moved": _check(critical_not_by_chance, CLAIMS["critical-moved"]),
    "critical-rare": _check(rare_values_out, CLAIMS["critical-rare"]),
    "critical-inside": _check(outside_condition, CLAIMS["critical-inside"]),
}
