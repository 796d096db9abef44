"""What a release of replaced cells promises: only critical cells changed, and no critical value came out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.expression import parse
from veladura.base.settings import to_plain
from veladura.core.promise import Check, Evidence, Promise, source_column
from veladura.methods.cart.cart import Bounds
from veladura.methods.critical.cells import Cells, read_conditions
from veladura.table.codes import label_texts
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.methods.critical.fitted import FittedCritical
    from veladura.table.codes import Column

Mask = NDArray[np.bool_]


def promises_of(fitted: FittedCritical) -> tuple[Promise, ...]:
    """Return the promises; what they need of conditions and rows is kept from the recipient."""
    recipe, names = fitted.recipe, fitted.changed()
    private = {
        "critical": to_plain(recipe.critical),
        "rows": _kept_rows(fitted),
        "left": _left(fitted),
        "shared": _shared(fitted),
    }
    looked = {name for condition in fitted.cells.conditions.values() for name in condition.columns}
    if isinstance(recipe.rows, str):
        looked |= set(parse(recipe.rows).columns)
    also = sorted(looked - set(names))
    made = []

    def promise(name: str, claim: str, about: list[str]) -> None:
        if about:
            settings = {"columns": [*about, *also], "about": about}
            made.append(
                Promise(name, claim.format(", ".join(about)), "source", settings, private=private)
            )

    if recipe.others == "keep":
        promise("critical-cells", "In {}, only critical cells were changed.", list(names))
    by_guard = {
        guard: [name for name in names if fitted.terms[name].guard == guard]
        for guard in ("values", "own")
    }
    promise(
        "critical-values",
        "No critical value of the original {} stands in a replaced cell.",
        by_guard["values"],
    )
    promise("critical-own", "No critical cell of {} kept its own value.", by_guard["own"])
    if recipe.keep_inside:
        inside = [name for name in names if fitted.cells.conditions[name].expression is not None]
        promise("critical-inside", "Every replaced value of {} is critical too.", inside)
    return tuple(made)


def _kept_rows(fitted: FittedCritical) -> str | list[bool] | None:
    """Return the mask of rows in the order that records point into, which only the content of the source decides."""
    rows = fitted.recipe.rows
    if rows is None or isinstance(rows, str):
        return rows
    return [rows[i] for i in fitted.table.codes([]).rows]


def _left(fitted: FittedCritical) -> dict[str, list[int]]:
    """Return the cells that nothing could replace, in that order."""
    if not any(terms.fixed.any() for terms in fitted.terms.values()):
        return {}
    order = fitted.table.codes([]).rows
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return {
        name: sorted(int(row) for row in place[fitted.codes.rows[terms.fixed]])
        for name, terms in fitted.terms.items()
        if terms.fixed.any()
    }


def _shared(fitted: FittedCritical) -> dict[str, list[float]]:
    """Return the values that many rows share and that stay as they are, where whole columns are replaced."""
    found = {}
    for name, terms in fitted.terms.items():
        subject = terms.subject
        if subject.spikes is not None and subject.spikes.size and subject.grid is not None:
            found[name] = [float(value) for value in subject.grid.values(subject.spikes)]
    return found


class _Original:
    """The critical cells found again in the original, in its own order of rows."""

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
        self.cells = Cells.of(conditions, self.columns, self._mask(rows))

    def _mask(self, rows: str | list[bool] | None) -> Mask | None:
        if rows is None or isinstance(rows, str):
            return None if rows is None else holds(parse(rows), self.columns)
        mask = np.zeros(self.size, dtype=bool)
        mask[self._order()] = rows
        return mask

    def _order(self) -> NDArray[np.int64]:
        assert self.evidence.original is not None  # noqa: S101
        return self.evidence.original.codes([]).rows

    def replaced(self, name: str) -> Mask:
        """Return, for each row of the original, whether its cell had to be replaced."""
        mark = self.cells.marks[name].copy()
        if left := self.settings["left"].get(name):
            mark[self._order()[left]] = False
        return mark

    def link(self) -> NDArray[np.int64]:
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
    """Return how many cells changed that are not critical."""
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


def critical_values_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many replaced cells hold a critical value of the original column."""
    original = _Original(evidence, settings)
    found = 0
    for name in settings["about"]:
        before, after, replaced = (
            original.columns[name],
            evidence.column(name),
            original.replaced(name),
        )
        known = before.values[original.cells.marks[name] & ~before.missing]
        known = known[~np.isin(known, settings["shared"].get(name, []))]
        here = replaced[original.link()] & ~after.missing
        found += int(np.count_nonzero(np.isin(after.values[here], known)))
    return found


def kept_own(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many replaced cells kept their own value."""
    original = _Original(evidence, settings)
    found = 0
    for name in settings["about"]:
        before, after = original.columns[name].take(original.link()), evidence.column(name)
        free = (
            original.replaced(name)[original.link()]
            & ~before.missing
            & ~np.isin(before.values, settings["shared"].get(name, []))
        )
        found += int(np.count_nonzero(_same(before, after) & free))
    return found


def outside_condition(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many replaced values do not meet the condition, the other columns being as in the original."""
    original = _Original(evidence, settings)
    found = 0
    for name in settings["about"]:
        after = evidence.column(name)
        known = {
            other: column.take(original.link()) for other, column in original.columns.items()
        } | {name: after}
        here = original.replaced(name)[original.link()]
        found += int(np.count_nonzero(here & ~original.cells.conditions[name].marks(known)))
    return found


CHECKS = {
    "critical-cells": Check(changed_elsewhere),
    "critical-values": Check(critical_values_out),
    "critical-own": Check(kept_own),
    "critical-inside": Check(outside_condition),
}
