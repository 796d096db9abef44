"""How each column is drawn: which hold codes, and what is known of the numbers of everyone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.rules import check_limits
from veladura.methods.cart.strata import Strata
from veladura.numeric.trees.values import Values
from veladura.numeric.trees.variable import SPIKE_SHARE, Known, Smoothing, Variable, variable_of
from veladura.table.codes import Codes, Column

if TYPE_CHECKING:
    from veladura.table.whole import Whole

FEW_RANKED = 500  # numbers of one kind of people; fewer are ranked among those of all kinds
MOST_CODES = 2000  # values of a column that are looked at for being codes


def perhaps_codes(codes: Codes, names: Sequence[str]) -> list[str]:
    """Return the columns that may hold codes: labelled ones, and whole numbers with few values."""
    return [
        name
        for name in names
        if codes[name].labels is not None
        or codes[name].field.labels
        or (codes[name].decimals == 0 and distinct_values(codes[name]) <= MOST_CODES)
    ]


def distinct_values(column: Column) -> int:
    """Return how many values a column has."""
    return int(Values.of_column(column).distinct.size)


def known_among(column: Column, everyone: Column) -> Known | None:
    """Return what is known of the numbers of everyone, where these are those of a few of them."""
    given = column.values[~column.missing]
    if given.size * SPIKE_SHARE >= FEW_RANKED:
        return None  # beside a spike that all but a twentieth share there are enough
    values, count = np.unique(given, return_counts=True)
    if count[count < SPIKE_SHARE * given.size].sum() >= FEW_RANKED:
        return None
    numbers, holders = np.unique(everyone.values[~everyone.missing], return_counts=True)
    none = np.zeros(numbers.size, dtype=bool)
    return Known(
        holders[np.searchsorted(numbers, values)],
        numbers[[0, -1]],
        (everyone.with_values(numbers, none), holders),
        part=True,
    )


def _known(column: Column, whole: Whole) -> Known:
    """Return what is known of the numbers of all rows, by one query where they can be held."""
    everyone = whole.frequencies(column)
    if everyone is None:
        return Known(whole.holders(column), whole.ends(column).values)
    numbers = everyone.column.values
    return Known(everyone.of(column), numbers[[0, -1]], (everyone.column, everyone.rows))


def drawn_as(
    recipe: Cart,
    column: Column,
    people: Ints | None,
    strata: Strata | None,
    whole: Whole | None,
    *,
    coded: bool,
    all_move: bool,
    everyone: Column | None = None,
) -> Variable:
    """Return how a column is drawn; codes are never moved."""
    known = None
    if whole is not None and column.labels is None:
        known = _known(column, whole)
    if everyone is not None and column.labels is None and distinct_values(column):
        known = known_among(column, everyone)
    bounds = recipe.limits.get(column.name)
    smoothing: Smoothing = "none" if coded else recipe.smoothing_of(column.name)
    variable = variable_of(
        column,
        spikes=recipe.spikes.get(column.name),
        smoothing=smoothing,
        limits=(None, None) if bounds is None else (bounds.min, bounds.max),
        people=people,
        min_people=recipe.people_in_level,
        all_move=all_move,
        bandwidth=recipe.bandwidth,
        stratum=None if strata is None or column.name in strata.drawn else strata.place,
        transform=recipe.transform.get(column.name),
        known=known,
    )
    check_limits(variable)
    return variable
