"""Rules between columns: values they decide, rows they refuse, and the proof that they hold."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.expression import (
    WORDS,
    Both,
    Compare,
    Expression,
    Missing,
    Name,
    Node,
    as_text,
    parse,
)
from veladura.core.promise import Evidence, Promise
from veladura.errors import DataError, PlanError
from veladura.table.codes import Column, label_text
from veladura.table.conditions import as_number, holds

Mask = NDArray[np.bool_]
MOST_SLIPS = 0.05
FEWEST_ROWS, SHARED, FEW_VALUES, MOST_PROPOSED = 50, 0.05, 5, 20


class RuleWarning(UserWarning):
    """Rows of the original break a rule that the release will keep."""


@dataclass(frozen=True)
class Decision:
    """Where a condition holds, a column has one value; None for missing."""

    condition: Expression
    value: str | float | bool | None


def read_rules(texts: Sequence[str]) -> tuple[Expression, ...]:
    """Return rules read from text."""
    return tuple(parse(text) for text in texts)


def decision_on(rule: Expression, column: str) -> Decision | None:
    """Return what a rule decides about a column, if it has the form ``condition implies column == value``."""
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


def decide(
    column: Column, decisions: Sequence[Decision], columns: Mapping[str, Column]
) -> tuple[Column, Mask]:
    """Return the column with the decided values written in, and where."""
    decided = np.zeros(column.size, dtype=bool)
    values, missing = column.values.copy(), column.missing.copy()
    for decision in decisions:
        here = holds(decision.condition, columns)
        decided |= here
        missing[here] = decision.value is None
        values[here] = 0 if decision.value is None else _coded(column, decision.value)
    return column.with_values(values, missing), decided


def _coded(column: Column, value: str | float | bool) -> Any:  # noqa: FBT001
    """Return a literal as the column holds it."""
    if column.labels is None:
        return as_number(column, value)
    texts = [label_text(label) for label in column.labels.to_pylist()]
    word = as_text(value)
    if word not in texts:
        msg = f"a rule gives column {column.name!r} a category that it does not hold."
        raise PlanError(msg)
    return texts.index(word)


def check_rules(rules: Sequence[Expression], columns: Mapping[str, Column]) -> None:
    """Tell of rules that rows of the original break, with their number; refuse those that more than a few break.

    The release keeps a rule in every row also where the original has a few slips.
    """
    rows = next(iter(columns.values())).size if columns else 0
    broken = {rule.text: int(np.count_nonzero(~holds(rule, columns))) for rule in rules}
    if refused := [
        f"{text!r} in {count} of {rows} rows"
        for text, count in broken.items()
        if count > MOST_SLIPS * rows
    ]:
        msg = (
            f"the original contradicts these rules: {'; '.join(refused)}.\n\nHint: correct the"
            " rule."
        )
        raise DataError(msg)
    if told := [f"{text!r} in {count} rows" for text, count in broken.items() if count]:
        warnings.warn(
            "rows of the original break these rules, rows of the release will not:"
            f" {'; '.join(told)}.",
            RuleWarning,
            stacklevel=2,
        )


def find_rules(columns: Mapping[str, Column]) -> tuple[str, ...]:
    """Return rules that a table seems to follow: a category that goes with one shared value of a number column.

    The category has at least 50 rows, at most one in a thousand of them has another value, and half
    of all rows with that value are of that category. They are proposals for the holder.
    """
    found = []
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
            found += [
                f"{quoted(other.name)} == {_literal(text)} implies {quoted(target.name)} =="
                f" {value:g}"
                for other in columns.values()
                if other.labels is not None
                for text in _levels_with(other, here)
            ]
    return tuple(found[:MOST_PROPOSED])


def _levels_with(column: Column, here: Mask) -> list[str]:
    """Return the categories whose rows nearly all lie in a set of rows, and make up half of it."""
    texts = (
        [] if column.labels is None else [label_text(label) for label in column.labels.to_pylist()]
    )
    rows = np.bincount(column.values[~column.missing], minlength=len(texts))
    inside = np.bincount(column.values[~column.missing & here], minlength=len(texts))
    fits = (
        (rows >= FEWEST_ROWS)
        & (rows - inside <= rows // 1000)
        & (inside >= here.sum() / 2)
        & (rows < 0.9 * column.size)
    )
    return [texts[i] for i in np.flatnonzero(fits) if '"' not in texts[i]]


def quoted(name: str) -> str:
    """Return a column's name as a condition writes it."""
    return name if name.isidentifier() and name not in WORDS else f"`{name}`"


def _literal(text: str) -> str:
    return f'"{text}"'


def rules_promise(rules: Sequence[Expression]) -> Promise:
    """Return the promise that rules hold in every row."""
    columns = list(dict.fromkeys(name for rule in rules for name in rule.columns))
    told = "; ".join(rule.text for rule in rules)
    return Promise(
        "rules",
        f"In every row: {told}.",
        "package",
        {"rules": [rule.text for rule in rules], "columns": columns},
    )


def rows_against_rules(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many times a row breaks a rule."""
    columns = {name: evidence.column(name) for name in settings["columns"]}
    return sum(
        int(np.count_nonzero(~holds(rule, columns))) for rule in read_rules(settings["rules"])
    )
