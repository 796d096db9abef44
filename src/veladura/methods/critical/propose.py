"""Thresholds and groups read off a table: proposals that the data holder must confirm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.expression import quoted
from veladura.errors import PlanError
from veladura.methods.cart.skewed import propose_transforms
from veladura.methods.critical.groups import find_classes, find_ties, propose
from veladura.numeric.trees.variable import FEW_VALUES, check_levels

if TYPE_CHECKING:
    from veladura.methods.critical.critical import CriticalCart
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

SHARE = 0.05  # of the values are above a proposed threshold
FEWEST_ROWS = 20
MOST_COLUMNS = 6


def propose_recipe(
    cls: type[CriticalCart], table: Table, facts: Mapping[str, Facts]
) -> CriticalCart:
    """Return a recipe with a round threshold for each confidential number column, and groups.

    Sensitive columns are taken; without any, those that nobody has decided on; without any,
    the quasi-identifiers.
    """
    schema = table.schema
    text = schema.of_kind("text")
    numbers = [
        name for name in schema.of_kind("integer", "number") if facts[name].distinct > FEW_VALUES
    ]
    chosen: dict[str, str] = {}
    codes = table.codes([name for name in table.names if name not in text])
    for roles in (("sensitive",), ("undecided", "other"), ("quasi-identifier",)):
        names = [name for name in schema.of_role(*roles) if name in numbers]
        chosen = {
            name: condition for name in names if (condition := threshold(codes[name])) is not None
        }
        if chosen:
            break
    if not chosen:
        msg = (
            "no number column has enough distinct values for a threshold.\n\nHint: give critical,"
            ' for instance critical={"diagnosis": \'diagnosis in ["..."]\'}.'
        )
        raise PlanError(msg)
    chosen = dict(list(chosen.items())[:MOST_COLUMNS])
    for column in codes.values():
        check_levels(column)
    return cls(
        critical=chosen,
        groups=_groups(cls, codes, list(chosen)),
        transform=propose_transforms({name: codes[name] for name in chosen}),
    )


def _groups(cls: type[CriticalCart], codes: Codes, names: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of associated columns, as groups."""
    links = propose(find_ties(codes, names, list(codes)), cls.linked)
    classes = find_classes(links, names, list(codes))
    return tuple(
        (*class_.confidential, *class_.others)
        for class_ in classes
        if len(class_.confidential) + len(class_.others) > 1
    )


def threshold(column: Column) -> str | None:
    """Return a condition that one value in twenty meets, with a round limit; None for too few."""
    values = column.values[~column.missing].astype(np.float64)
    if values.size < FEWEST_ROWS or "`" in column.name:  # a condition cannot name such a column
        return None
    limit = rounded(float(np.quantile(values, 1 - SHARE)))
    above = values[values > limit]
    if np.unique(above).size < 2 or above.size > values.size / 3:  # noqa: PLR2004
        return None
    return f"{quoted(column.name)} > {limit:.15g}"


def rounded(number: float, digits: int = 2) -> float:
    """Return a number rounded down to so many significant digits.

    Examples
    --------
    >>> rounded(123456.0), rounded(0.04567), rounded(-17.0), rounded(0.0)
    (120000.0, 0.045, -17.0, 0.0)
    """
    if number == 0:
        return 0.0
    power = digits - 1 - math.floor(math.log10(abs(number)))
    return math.floor(number * 10.0**power) / 10.0**power
