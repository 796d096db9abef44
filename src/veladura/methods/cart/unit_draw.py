"""One unit of one dataset: its columns drawn again until the rules between columns hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Ints, Mask
from veladura.base.expression import Expression
from veladura.errors import DataError
from veladura.methods.cart.order import Unit
from veladura.methods.cart.rules import decide, decision_on
from veladura.numeric.trees.model import Recipients, Values
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import Column
from veladura.table.conditions import holds

if TYPE_CHECKING:
    from veladura.methods.cart.fitted import FittedCart

REDRAWS = 25
CANDIDATES = 500


class UnitModel(Protocol):
    """What draws the columns of a unit."""

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return states and numbers for each column of the unit."""


@runtime_checkable
class Reweighted(Protocol):
    """A model that is fitted again for each dataset."""

    def weighted(self, rng: Generator) -> UnitModel:
        """Return the model of one dataset."""


@dataclass(frozen=True, eq=False, repr=False)
class UnitDraw:
    """One unit of one dataset, drawn under the rules that bind it.

    Attributes
    ----------
    margin
        The model without predictors, for rows in which the usual one keeps breaking a rule.
    drawn
        The columns that stay and those drawn before.
    """

    fitted: FittedCart
    unit: Unit
    model: UnitModel
    margin: UnitModel
    drawn: Mapping[str, Column]

    def run(self, rng: Generator, recipients: Recipients) -> list[Column]:
        """Draw the unit until its rules hold.

        Rows that break a rule are drawn again, then from the margin, then searched one by one.
        """
        rules = [rule for name in self.unit.columns for rule in self.fitted.rules.get(name, ())]
        weights = recipients.weights or rng
        usual = self.model.weighted(weights) if isinstance(self.model, Reweighted) else self.model
        columns = self._once(usual, rng, recipients, np.arange(recipients.rows.size))
        if not rules:
            return columns
        for attempt in range(2 * REDRAWS):
            wrong = np.flatnonzero(~self._kept(rules, columns))
            if not wrong.size:
                return columns
            model = usual if attempt < REDRAWS else self.margin
            again = self._once(model, rng, recipients.at(wrong), wrong)
            columns = [_patched(old, new, wrong) for old, new in zip(columns, again, strict=True)]
        return self._searched(rng, rules, columns)

    def _once(
        self, model: UnitModel, rng: Generator, recipients: Recipients, rows: Ints
    ) -> list[Column]:
        """Draw the columns once, with the values that rules decide written in."""
        columns: list[Column] = []
        for name, values in zip(self.unit.columns, model.draw(rng, recipients), strict=True):
            column = self.fitted.variables[name].assemble(*values)
            decisions = [
                decision
                for rule in self.fitted.rules.get(name, ())
                if (decision := decision_on(rule, name)) is not None
            ]
            if decisions:
                others = [name for rule in decisions for name in rule.condition.columns]
                given = {n: self.drawn[n].take(rows) for n in others if n in self.drawn}
                given |= {done.name: done for done in columns}
                ready = [rule for rule in decisions if set(rule.condition.columns) <= set(given)]
                column = decide(column, ready, given)
            columns.append(column)
        return columns

    def _kept(
        self, rules: Sequence[Expression], columns: Sequence[Column], rows: Ints | None = None
    ) -> Mask:
        """Return the rows that keep the rules."""
        needed = {name for rule in rules for name in rule.columns if name in self.drawn}
        given = {
            name: self.drawn[name] if rows is None else self.drawn[name].take(rows)
            for name in needed
        }
        given |= {column.name: column for column in columns}
        kept: Mask = np.logical_and.reduce([holds(rule, given) for rule in rules])
        return kept

    def _searched(
        self, rng: Generator, rules: Sequence[Expression], columns: list[Column]
    ) -> list[Column]:
        """Try original values in the rows that are left; refuse where none fits."""
        wrong = np.flatnonzero(~self._kept(rules, columns))
        rows = self.fitted.codes.rows.size
        tried = rng.permutation(rows)[: min(rows, CANDIDATES)]
        variables = [self.fitted.variables[name] for name in self.unit.columns]
        offered = [_offered(variable, rng, tried) for variable in variables]
        failed = 0
        for row in wrong:
            fits = np.flatnonzero(self._kept(rules, offered, np.full(tried.size, row)))
            failed += not fits.size
            if fits.size:
                columns = [
                    _patched(old, new.take(fits[:1]), np.array([row]))
                    for old, new in zip(columns, offered, strict=True)
                ]
        if failed:
            texts = "; ".join(repr(rule.text) for rule in rules)
            msg = (
                f"in {failed} rows no value of {list(self.unit.columns)} keeps the rules {texts},"
                " given the columns drawn before.\n\nHint: change order, or put the columns of the"
                " rule into one of groups."
            )
            raise DataError(msg)
        return columns


def _offered(variable: Variable, rng: Generator, rows: Ints) -> Column:
    """Return the values of some rows as they may be released: numbers that few share are moved."""
    if variable.places is None or variable.law is None:
        return variable.column.take(rows)
    places = variable.law.alone(rows).drawn(rng, np.arange(rows.size))
    return variable.assemble(variable.state[rows], np.clip(places, *variable.limits))


def _patched(old: Column, new: Column, rows: Ints) -> Column:
    values, missing = old.values.copy(), old.missing.copy()
    values[rows], missing[rows] = new.values, new.missing
    return old.with_values(values, missing)
