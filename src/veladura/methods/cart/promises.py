"""What a synthesis promises: numbers of few people were moved, rare levels merged, rules hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base import shapes
from veladura.base.arrays import Ints, Mask
from veladura.base.bounds import Bounds, bounds_of
from veladura.base.expression import parse
from veladura.core.moved_numbers import MOVED_NUMBERS, PEOPLE
from veladura.core.promise import LIMITS, Check, Evidence, Promise, limit_promises, listed
from veladura.core.violations import source_column
from veladura.table.codes import Column, label_texts
from veladura.table.conditions import holds
from veladura.table.units import people_per_cell, person_numbers


def promises_of(
    moved: Sequence[str],
    merged: Sequence[str],
    people: int,
    rules: Sequence[str],
    limits: Mapping[str, Bounds],
) -> tuple[Promise, ...]:
    """Return the promises of a synthesis.

    Parameters
    ----------
    moved
        Columns in which numbers that fewer people share were moved.
    merged
        Columns with levels that fewer people held.
    people
        Fewest people who share a number that stays, or a level.
    """
    promises = [
        Promise(name, "source", {"columns": list(columns), "people": people})
        for name, columns in (("moved-numbers", moved), ("rare-levels", merged))
        if columns
    ]
    if rules:
        columns = dict.fromkeys(name for rule in rules for name in parse(rule).columns)
        settings = {"rules": list(rules), "columns": list(columns)}
        promises.append(Promise("rules", "package", settings))
    return (*promises, *limit_promises(limits))


def rare_values_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released values are held by few people in the original."""
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, violations = person_numbers(evidence.original), 0
    for name in settings["columns"]:
        before, released = source_column(evidence, name), plain_values(evidence.column(name))
        rare, every = rare_values(before, people, settings["people"])
        if not every:  # where all levels are rare, neighbours were merged
            violations += int(np.count_nonzero(np.isin(released, rare)))
    return violations


def rare_values(column: Column, people: Ints, least: int) -> tuple[NDArray[Any], bool]:
    """Return the values of a column that fewer people hold, and whether these are all it has."""
    distinct, place = np.unique(plain_values(column), return_inverse=True)
    holders = people_per_cell(place.reshape(-1), people[~column.missing], distinct.size)
    rare = holders < least
    return distinct[rare], bool(rare.all())


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
    """Return the promises that the settings of a manifest imply."""
    limits = {name: bounds_of(ends, "limits") for name, ends in settings.get("limits", {}).items()}
    return promises_of(
        settings.get("moved_numbers_in", ()),
        settings.get("rare_levels_merged_in", ()),
        settings["min_people"],
        settings.get("rules", ()),
        limits,
    )


def _in_every_row(settings: Mapping[str, Any]) -> str:
    return f"In every row: {'; '.join(settings['rules'])}."


def _rare_levels(settings: Mapping[str, Any]) -> str:
    people = settings["people"]
    return (
        f"No value of {listed(settings)} that fewer than {people} people hold is released; where"
        " every value of a column is as rare, groups of them are released under one of theirs."
    )


_RULES = shapes.table({"columns": shapes.names, "rules": shapes.listed(shapes.text, 1)})
CHECKS = {
    "limits": LIMITS,
    "rules": Check(rows_against_rules, _in_every_row, _RULES),
    "moved-numbers": MOVED_NUMBERS,
    "rare-levels": Check(rare_values_out, _rare_levels, PEOPLE, linked=False),
}
