"""What a synthesis promises: no number that occurs once is released, rules and limits hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.arrays import Mask
from veladura.base.bounds import Bounds, bounds_of
from veladura.base.expression import parse
from veladura.core.promise import (
    LIMITS,
    Check,
    Evidence,
    Promise,
    limit_promises,
    listed,
    source_column,
)
from veladura.table.codes import Column, label_texts
from veladura.table.conditions import holds


def promises_of(
    guarded: Sequence[str], rules: Sequence[str], limits: Mapping[str, Bounds]
) -> tuple[Promise, ...]:
    """Return the promises of a synthesis.

    Parameters
    ----------
    guarded
        Columns in which no number that occurs once in the original may be released.
    """
    promises = []
    if guarded:
        promises.append(Promise("single-numbers", "source", {"columns": list(guarded)}))
    if rules:
        columns = dict.fromkeys(name for rule in rules for name in parse(rule).columns)
        settings = {"rules": list(rules), "columns": list(columns)}
        promises.append(Promise("rules", "package", settings))
    return (*promises, *limit_promises(limits))


def single_numbers(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released numbers occur once in the original column."""
    return sum(
        int(np.count_nonzero(singles_in(source_column(evidence, name), evidence.column(name))))
        for name in settings["columns"]
    )


def singles_in(before: Column, after: Column) -> Mask:
    """Return which released values, missing ones apart, occur once in the original."""
    original, released = plain_values(before), plain_values(after)
    distinct, count = np.unique(original, return_counts=True)
    return np.isin(released, distinct[count == 1])


def plain_values(column: Column) -> NDArray[Any]:
    """Return the values of a column that are not missing: numbers, or categories as text."""
    values = column.values[~column.missing]
    if column.labels is None:
        return values
    texts = np.array(label_texts(column), dtype=str)
    return texts[values] if texts.size else np.empty(0, dtype=str)


def rows_against_rules(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many times a row breaks a rule."""
    columns = {name: evidence.column(name) for name in settings["columns"]}
    return sum(int(np.count_nonzero(~holds(parse(rule), columns))) for rule in settings["rules"])


def implied_by(settings: Mapping[str, Any]) -> tuple[Promise, ...]:
    """Return the promises that the settings of a manifest imply: rules and limits."""
    limits = {name: bounds_of(ends, "limits") for name, ends in settings.get("limits", {}).items()}
    return promises_of((), settings.get("rules", ()), limits)


def _in_every_row(settings: Mapping[str, Any]) -> str:
    return f"In every row: {'; '.join(settings['rules'])}."


def _single_numbers(settings: Mapping[str, Any]) -> str:
    names = listed(settings)
    return f"No number that occurs once in the original {names} occurs there in the release."


_RULES = shapes.table({"columns": shapes.names, "rules": shapes.listed(shapes.text, 1)})
CHECKS = {
    "limits": LIMITS,
    "rules": Check(rows_against_rules, _in_every_row, _RULES),
    "single-numbers": Check(single_numbers, _single_numbers, linked=False),
}
