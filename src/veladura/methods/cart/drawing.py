"""One unit of one dataset, drawn under the rules that bind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.expression import Expression
from veladura.errors import DataError
from veladura.methods.cart.models import Model, Reweighted
from veladura.methods.cart.order import Unit
from veladura.methods.cart.rules import decide, decision_on
from veladura.numeric.trees.model import Where
from veladura.table.codes import Column
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
REDRAWS = 25
CANDIDATES = 500


@dataclass(frozen=True, eq=False, repr=False)
class Drawing:
    """One unit of one dataset being drawn under its rules."""

    fitted: FittedCart
    unit: Unit
    model: Model
    spare: Model
    drawn: Mapping[str, Column]

    def run(self, rng: Generator, where: Where) -> list[Column]:
        """Draw the unit; rows that break a rule are drawn anew, then from the whole column, then by search."""
        rules = [rule for name in self.unit.columns for rule in self.fitted.rules.get(name, ())]
        usual: Model = (
            self.model.weighted(rng) if isinstance(self.model, Reweighted) else self.model
        )
        columns = self._once(usual, rng, where, np.arange(where.rows.size))
        if not rules:
            return columns
        for attempt in range(2 * REDRAWS):
            wrong = np.flatnonzero(~self._kept(rules, columns))
            if not wrong.size:
                return columns
            model = usual if attempt < REDRAWS else self.spare
            fresh = self._once(model, rng, where.at(wrong), wrong)
            columns = [_patched(old, new, wrong) for old, new in zip(columns, fresh, strict=True)]
        return self._searched(rng, rules, columns)

    def _once(self, model: Model, rng: Generator, where: Where, rows: Ints) -> list[Column]:
        """Draw the columns once, with the values that rules decide written in."""
        found = model.draw_all(rng, where)
        columns: list[Column] = []
        for name, (state, places) in zip(self.unit.columns, found, strict=True):
            column = self.fitted.subjects[name].assemble(state, places)
            decisions = [
                d
                for rule in self.fitted.rules.get(name, ())
                if (d := decision_on(rule, name)) is not None
            ]
            if decisions:
                known = {
                    other: self.drawn[other].take(rows)
                    for d in decisions
                    for other in d.condition.columns
                    if other in self.drawn
                }
                known |= {done.name: done for done in columns}
                column, _ = decide(
                    column, [d for d in decisions if set(d.condition.columns) <= set(known)], known
                )
            columns.append(column)
        return columns

    def _kept(
        self, rules: Sequence[Expression], columns: Sequence[Column], rows: Ints | None = None
    ) -> Mask:
        needed = {name for rule in rules for name in rule.columns}
        known = {
            name: self.drawn[name] if rows is None else self.drawn[name].take(rows)
            for name in needed
            if name in self.drawn
        }
        known |= {column.name: column for column in columns}
        kept: Mask = np.logical_and.reduce([holds(rule, known) for rule in rules])
        return kept

    def _searched(
        self, rng: Generator, rules: Sequence[Expression], columns: list[Column]
    ) -> list[Column]:
        """Try values of the original one by one in the rows that are left; refuse where none fits."""
        wrong = np.flatnonzero(~self._kept(rules, columns))
        rows = self.fitted.codes.rows.size
        tried = rng.permutation(rows)[: min(rows, CANDIDATES)]
        donors = [self.fitted.subjects[name] for name in self.unit.columns]
        allowed = np.logical_and.reduce(
            [
                (
                    s.accepted(s.places[tried])
                    if s.places is not None
                    else np.ones(tried.size, dtype=bool)
                )
                for s in donors
            ]
        )
        tried = tried[allowed]
        failed = 0
        for row in wrong:
            offered = [subject.column.take(tried) for subject in donors]
            fits = np.flatnonzero(self._kept(rules, offered, np.full(tried.size, row)))
            failed += not fits.size
            if fits.size:
                one = [column.take(fits[:1]) for column in offered]
                columns = [
                    _patched(old, new, np.array([row]))
                    for old, new in zip(columns, one, strict=True)
                ]
        if failed:
            told = "; ".join(repr(rule.text) for rule in rules)
            msg = (
                f"in {failed} rows no value of {list(self.unit.columns)} keeps the rules {told},"
                " given the columns drawn before.\n\nHint: change the order, or draw the columns"
                " of the rule as a group."
            )
            raise DataError(msg)
        return columns


def _patched(old: Column, new: Column, rows: Ints) -> Column:
    values, missing = old.values.copy(), old.missing.copy()
    values[rows], missing[rows] = new.values, new.missing
    return old.with_values(values, missing)
