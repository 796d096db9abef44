"""Rules between columns: the values they decide, and rules that a table seems to follow."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.arrays import Mask
from veladura.base.expression import (
    Both,
    Compare,
    Expression,
    Missing,
    Name,
    Node,
    as_text,
    quoted,
)
from veladura.errors import DataError, PlanError, VeladuraWarning
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import Column, label_texts
from veladura.table.conditions import as_number, holds

MOST_BROKEN = 0.05  # share of the rows: more, and the rule is refused
FEWEST_ROWS, SHARED, FEW_VALUES, MOST_PROPOSED = 50, 0.05, 5, 20
STRANGERS = 0.05  # share of rows: dates in two years of their own need no rule


class RuleWarning(VeladuraWarning):
    """Rows of the original break a rule that every row of the release will keep."""


@dataclass(frozen=True)
class Decision:
    """Where a condition holds, a column has one value; None for missing."""

    condition: Expression
    value: str | float | bool | None


def decision_on(rule: Expression, column: str) -> Decision | None:
    """Return what a rule decides of a column: ``condition implies column == value``, else None."""
    node = rule.node
    if not isinstance(node, Both) or node.word != "implies":
        return None
    condition = Expression(rule.text, node.left)
    if column in condition.columns:
        return None
    value = _decided(node.right, column)
    return None if value is _OPEN else Decision(condition, value)


_OPEN: Any = object()


def _decided(node: Node, column: str) -> Any:
    match node:
        case Compare(Name(name), "==", value) if name == column and not isinstance(value, Name):
            return value
        case Missing(Name(name)) if name == column:
            return None
    return _OPEN


def decide(column: Column, decisions: Sequence[Decision], columns: Mapping[str, Column]) -> Column:
    """Return the column with the decided values written in."""
    values, missing = column.values.copy(), column.missing.copy()
    for decision in decisions:
        here = holds(decision.condition, columns)
        missing[here] = decision.value is None
        values[here] = 0 if decision.value is None else _coded(column, decision.value)
    return column.with_values(values, missing)


def _coded(column: Column, value: str | float | bool) -> Any:  # noqa: FBT001
    """Return a literal as the column holds it."""
    if column.labels is None:
        return as_number(column, value)
    texts = label_texts(column)
    word = as_text(value)
    if word not in texts:
        msg = (
            f"a rule gives column {column.name!r} a category that does not occur in it.\n\nHint:"
            " check the spelling of the category in the rule."
        )
        raise PlanError(msg)
    return texts.index(word)


def check_rules(rules: Sequence[Expression], columns: Mapping[str, Column]) -> None:
    """Warn of rules that a few rows of the original break; refuse those that more rows break.

    The release keeps a rule in every row, also where some rows of the original do not.
    """
    rows = next(iter(columns.values())).size if columns else 0
    broken = {rule.text: int(np.count_nonzero(~holds(rule, columns))) for rule in rules}
    if refused := [
        f"{text!r} in {count} of {rows} rows"
        for text, count in broken.items()
        if count > MOST_BROKEN * rows
    ]:
        msg = (
            f"the original contradicts these rules: {'; '.join(refused)}.\n\nHint: correct or"
            f" remove a rule that more than {MOST_BROKEN:.0%} of the rows break."
        )
        raise DataError(msg)
    if few := [f"{text!r} in {count} rows" for text, count in broken.items() if count]:
        warnings.warn(
            "some rows of the original break rules that every row of the release will keep:"
            f" {'; '.join(few)}.",
            RuleWarning,
            stacklevel=2,
        )


def check_limits(variable: Variable) -> None:
    """Refuse limits that leave out a value which many people share: such values stay as they are.

    Any other number beyond the limits is drawn anew within them.
    """
    if variable.spikes is None:
        return
    low, high = variable.limits
    beyond = 1 + np.flatnonzero((variable.spikes < low) | (variable.spikes > high))
    if people := int(np.isin(variable.state, beyond).sum()):
        msg = (
            f"the limits of {variable.column.name!r} leave out values that many people share"
            f" ({people} of {variable.state.size} rows), and such values stay as they are.\n\nHint:"
            " widen the limits, declare such a code as missing, or change it first (TopCode,"
            " Recode)."
        )
        raise DataError(msg)


def find_rules(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Return rules that a table seems to follow: a category implies one value of a number column.

    The category has at least 50 rows, at most one in a thousand of them has another value, and half
    of all rows with that value are of that category. Or a date is never after another, which the
    dates of strangers would break. They are proposals for the holder.
    """
    rules = _dates_in_order([c for c in columns.values() if c.field.kind == "date"])
    for target in columns.values():
        if target.labels is not None or target.field.kind == "date":
            continue
        values, count = np.unique(target.values[~target.missing], return_counts=True)
        shared = (
            values[(count >= FEWEST_ROWS) & (count >= SHARED * max(target.size, 1))]
            if values.size > FEW_VALUES
            else values[:0]
        )
        for value in shared:
            here = (target.values == value) & ~target.missing
            rules += [
                f'{quoted(other.name)} == "{text}" implies {quoted(target.name)} == {value:g}'
                for other in columns.values()
                if other.labels is not None
                for text in _levels_with(other, here)
            ]
    return tuple(rules[:MOST_PROPOSED])


def _dates_in_order(dates: Sequence[Column]) -> list[str]:
    """Return which dates are never after which others, where those of strangers would be."""
    order = {
        (one.name, other.name)
        for one in dates
        for other in dates
        if one is not other and _never_after(one, other)
    }
    return [  # one that follows from two others is left out
        f"{quoted(one)} <= {quoted(other)}"
        for one, other in sorted(order)
        if not any((one, c.name) in order and (c.name, other) in order for c in dates)
    ]


def _never_after(one: Column, other: Column) -> bool:
    """Whether at most one row in a thousand has the second date before the first."""
    given = ~(one.missing | other.missing)
    if one.values.dtype != other.values.dtype or given.sum() < FEWEST_ROWS:
        return False
    first, second = one.values[given], other.values[given]
    strangers = np.mean(np.sort(first)[::-1] > np.sort(second))  # the most that can be broken
    return bool(
        np.count_nonzero(first > second) <= first.size // 1000
        and np.any(first < second)
        and strangers > STRANGERS
    )


def _levels_with(column: Column, here: Mask) -> list[str]:
    """Return the categories whose rows are nearly all in a set of rows, and are half of it."""
    texts = label_texts(column)
    rows = np.bincount(column.values[~column.missing], minlength=len(texts))
    inside = np.bincount(column.values[~column.missing & here], minlength=len(texts))
    fits = (
        (rows >= FEWEST_ROWS)
        & (rows - inside <= rows // 1000)
        & (inside >= here.sum() / 2)
        & (rows < 0.9 * column.size)
    )
    return [texts[i] for i in np.flatnonzero(fits) if '"' not in texts[i]]
