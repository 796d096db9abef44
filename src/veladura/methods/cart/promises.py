"""What a synthesis promises: numbers of few people were moved, rare levels merged, rules hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints, Mask
from veladura.base.expression import parse
from veladura.core.promise import LIMITS, Check, Evidence, Promise, limit_promises, source_column
from veladura.numeric.chance import OwnNumbers, own_numbers
from veladura.table.codes import Column, label_texts
from veladura.table.conditions import holds
from veladura.table.units import people_per_cell, person_numbers

if TYPE_CHECKING:
    from veladura.methods.cart.cart import Cart
    from veladura.numeric.trees.variable import Variable
    from veladura.table.table import Table

FALSE_ALARM = 1e-7  # of the test that numbers of one person come out by chance only
TIMES = 1.5  # a difference from chance that matters


def promises_of(
    variables: Mapping[str, Variable], merged: Sequence[str], recipe: Cart
) -> tuple[Promise, ...]:
    """Return the promises of a synthesis.

    Parameters
    ----------
    merged
        Columns with levels that few people held.
    """
    people = recipe.people_in_level
    moved = [name for name, variable in variables.items() if variable.moves]
    promises = [*moved_promise(moved, people)]
    if merged:
        claim = f"No value of {', '.join(merged)} that fewer than {people} people hold is released."
        settings = {"columns": list(merged), "people": people}
        promises.append(Promise("rare-levels", claim, "source", settings))
    if recipe.rules:
        columns = dict.fromkeys(name for rule in recipe.rules for name in parse(rule).columns)
        settings = {"rules": list(recipe.rules), "columns": list(columns)}
        claim = f"In every row: {'; '.join(recipe.rules)}."
        promises.append(Promise("rules", claim, "package", settings))
    return (*promises, *limit_promises(recipe.limits))


def moved_promise(columns: Sequence[str], people: int) -> tuple[Promise, ...]:
    """Return the promise that numbers of few people were moved, if there are any."""
    if not columns:
        return ()
    claim = (
        f"Every number of {', '.join(columns)} that fewer than {people} people share was moved at"
        " random: numbers of one person come out as often as the numbers around them."
    )
    return (
        Promise("moved-numbers", claim, "source", {"columns": list(columns), "people": people}),
    )


def not_by_chance(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the columns in which numbers of one person come out oftener or less than by chance.

    By a factor of 1.5, and with a p-value below 1e-7.
    """
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, columns = people_of(evidence.original), 0
    for name in settings["columns"]:
        own = own_numbers(
            source_column(evidence, name), [evidence.column(name)], people, settings["people"]
        )
        columns += int(is_apart(own))
    return columns


def people_of(table: Table) -> Ints | None:
    """Return whose row each is; None if every row is a person."""
    return person_numbers(table) if table.people < table.rows else None


def is_apart(own: OwnNumbers) -> bool:
    """Whether numbers of one person come out by a factor of 1.5 oftener or less than by chance."""
    apart = max(own.hits, own.expected) > TIMES * min(own.hits, own.expected)
    return apart and own.pvalue < FALSE_ALARM


def rare_values_out(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released values are held by few people in the original."""
    assert evidence.original is not None  # noqa: S101  # proofs against the source have it
    people, violations = person_numbers(evidence.original), 0
    for name in settings["columns"]:
        before = source_column(evidence, name)
        original, released = plain_values(before), plain_values(evidence.column(name))
        distinct, place = np.unique(original, return_inverse=True)
        holders = people_per_cell(place.reshape(-1), people[~before.missing], distinct.size)
        if holders.size and holders.max() < settings["people"]:
            continue  # all levels are rare: neighbours were merged
        rare = distinct[holders < settings["people"]]
        violations += int(np.count_nonzero(np.isin(released, rare)))
    return violations


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


CHECKS = {
    "limits": LIMITS,
    "rules": Check(rows_against_rules),
    "moved-numbers": Check(not_by_chance, linked=False),
    "rare-levels": Check(rare_values_out, linked=False),
}
