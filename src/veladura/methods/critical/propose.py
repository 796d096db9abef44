"""Thresholds and groups for a table nobody has declared any for: proposals that the holder must confirm."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import PlanError
from veladura.methods.cart.cart import MAX_LEVELS
from veladura.methods.cart.rules import quoted
from veladura.methods.critical.groups import find_classes, find_ties, propose
from veladura.numeric.trees.variable import FEW_VALUES, check_levels

if TYPE_CHECKING:
    from veladura.methods.critical.critical import CriticalCart
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

SHARE = 0.05  # of the values lie above a proposed threshold
FEWEST_ROWS = 20
MOST_COLUMNS = 6


def propose_recipe(
    cls: type[CriticalCart], table: Table, facts: Mapping[str, Facts]
) -> CriticalCart:
    """Return a recipe with a round threshold for each number column that looks confidential, and the groups they belong to.

    Sensitive columns come first, then others that are neither weights nor places; what an outsider
    may know is critical only where nothing else is.
    """
    schema = table.schema
    text = schema.of_kind("text")
    numbers = [
        name for name in schema.of_kind("integer", "number") if facts[name].distinct > FEW_VALUES
    ]
    chosen: dict[str, str] = {}
    codes = table.codes([name for name in table.names if name not in text])
    for roles in (("sensitive",), ("other",), ("quasi-identifier",)):
        names = [name for name in schema.of_role(*roles) if name in numbers]
        chosen = {
            name: condition for name in names if (condition := threshold(codes[name])) is not None
        }
        if chosen:
            break
    if not chosen:
        msg = (
            "no column of numbers has enough different values for a threshold.\n\nHint: give"
            ' critical, as in {"diagnosis": \'diagnosis in ["..."]\'}.'
        )
        raise PlanError(msg)
    chosen = dict(list(chosen.items())[:MOST_COLUMNS])
    for column in codes.values():
        check_levels(column, MAX_LEVELS)
    return cls(critical=chosen, groups=_groups(cls, codes, list(chosen)))


def _groups(cls: type[CriticalCart], codes: Codes, names: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return the classes of columns that hang together, as groups."""
    links = propose(find_ties(codes, names, list(codes)), cls.linked)
    classes = find_classes(links, names, list(codes))
    return tuple(
        (*one.confidential, *one.others)
        for one in classes
        if len(one.confidential) + len(one.others) > 1
    )


def threshold(column: Column) -> str | None:
    """Return the condition that about one known value in twenty meets, with a limit of two digits; None where too few would."""
    known = column.values[~column.missing].astype(np.float64)
    if known.size < FEWEST_ROWS or "`" in column.name:  # such a name cannot stand in a condition
        return None
    limit = rounded(float(np.quantile(known, 1 - SHARE)))
    above = known[known > limit]
    if np.unique(above).size < 2 or above.size > known.size / 3:  # noqa: PLR2004
        return None
    return f"{quoted(column.name)} > {limit:.15g}"


def rounded(number: float, digits: int = 2) -> float:
    """Return a number with so many digits that count, rounded down.

    Examples
    --------
    >>> rounded(123456.0), rounded(0.04567), rounded(-17.0), rounded(0.0)
    (120000.0, 0.045, -17.0, 0.0)
    """
    if number == 0:
        return 0.0
    power = digits - 1 - math.floor(math.log10(abs(number)))
    return math.floor(number * 10.0**power) / 10.0**power
