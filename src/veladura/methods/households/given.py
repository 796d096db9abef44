"""Fit columns given those of a unit, its composition, and earlier rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.base.context import Context
from veladura.methods.cart.fit import fit_codes
from veladura.methods.cart.order import late
from veladura.methods.households.children import NUMBER_OF, Columns, renamed
from veladura.methods.households.effects import target_of
from veladura.numeric.association import coarse_codes, cramer, evenly_spaced
from veladura.table.codes import Codes, Column
from veladura.table.schema import Schema
from veladura.table.table import Table

if TYPE_CHECKING:
    from veladura.methods.cart.cart import Cart
    from veladura.methods.cart.fitted import FittedCart
    from veladura.methods.households.household_cart import HouseholdCart

LAGGED = 4  # columns of each earlier row that predict a column, beside the same column there
FEWEST_DIVIDED = 200  # rows of units with a member of a kind, and without, that have own models
# earlier rows bring many terms: with fewer rows for each (Harrell 2015, sec. 4.4) a linear score of
# a kind fits chance, and new rows with other scores fall to leaves of another law
ROWS_PER_TERM = 10.0


def fit_given(
    recipe: HouseholdCart,
    kept: Columns,
    own: Columns,
    context: Context,
    coded: Sequence[str],
    before: Mapping[str, Columns] | None = None,
    people: Ints | None = None,
    *,
    all_move: bool = False,
    clusters: Ints | None = None,
    everyone: Columns | None = None,
) -> FittedCart:
    """Return the models of some columns, given columns of the unit and of earlier rows.

    Parameters
    ----------
    clusters
        The cluster of each row, where its effects are predictors. They have one value in a cluster:
        a leaf of one cluster would learn its chance.
    everyone
        The same columns of members of all kinds.
    """
    rows = next(iter(own.values())).size
    kept = {name: column for name, column in kept.items() if target_of(name) in (None, *own)}
    predictors: dict[str, tuple[str, ...]] = {}
    lagged: dict[str, Column] = {}
    order = late(Codes(own, np.arange(rows)), list(own))
    coarse = {
        prefix: {name: _coarse(column) for name, column in columns.items()}
        for prefix, columns in (before or {}).items()
    }
    for i, name in enumerate(order):
        chosen: list[str] = []
        target = _coarse(own[name]) if before else np.empty(0, dtype=np.int64)
        for prefix, columns in (before or {}).items():
            names = strongest(name, target, coarse[prefix])
            lagged |= renamed({other: columns[other] for other in names}, prefix)
            chosen += [prefix + other for other in names]
        seen = [other for other in kept if target_of(other) in (None, name)]
        predictors[name] = (*seen, *chosen, *order[:i])
    columns = {**kept, **lagged, **own}
    cart = recipe.cart(
        list(own),
        known=[*kept, *own],
        order=order,
        predictors=predictors,
        strata=_dividing(kept),
    )
    return fit_columns(
        cart,
        columns,
        context,
        people,
        coded,
        all_move=all_move,
        clusters=clusters,
        rows_per_term=ROWS_PER_TERM,
        everyone=everyone,
    )


def _dividing(kept: Columns) -> list[str]:
    """Return the column of the composition that divides rows into models of their own, if any.

    Whether there is a partner changes the whole law of the head's age, and its mean but little: a
    split by it is found late, or never. Enough rows must be on both sides.
    """
    least = {
        name: int(np.bincount(column.values, minlength=2).min())
        for name, column in kept.items()
        if name.startswith(NUMBER_OF) and column.values.max(initial=0) == 1
    }
    best = max(least, key=lambda name: least[name], default=None)
    return [] if best is None or least[best] < FEWEST_DIVIDED else [best]


def fit_columns(
    cart: Cart,
    columns: Columns,
    context: Context,
    people: Ints | None,
    coded: Sequence[str],
    *,
    all_move: bool = False,
    clusters: Ints | None = None,
    rows_per_term: float = 0.0,
    everyone: Columns | None = None,
) -> FittedCart:
    """Return a synthesis fitted to columns that are in a canonical order already."""
    fields = tuple(column.field for column in columns.values())
    empty = [pa.array([], field.type) for field in fields]
    arrow = pa.Table.from_arrays(empty, names=[field.name for field in fields])
    size = next(iter(columns.values())).size
    codes = Codes(dict(columns), np.arange(size))
    table = Table(Schema(fields), arrow)
    names = [name for name in coded if name in columns]
    return fit_codes(
        cart,
        table,
        codes,
        context,
        people=people,
        coded=names,
        all_move=all_move,
        clusters=clusters,
        rows_per_term=rows_per_term,
        everyone=everyone,
    )


def _coarse(column: Column) -> Ints:
    """Return a column in a few classes, on at most 5,000 rows: enough to rank associations."""
    return coarse_codes(column.key()[evenly_spaced(column.size)])


def strongest(target: str, codes: Ints, others: Mapping[str, Ints]) -> list[str]:
    """Return the columns of an earlier row that predict a column: the same one, and a few more.

    They are those with the largest Cramér's V.
    """
    ties = {name: cramer(other, codes) for name, other in others.items() if name != target}
    best = sorted(ties, key=lambda name: -ties[name])[:LAGGED]
    return [name for name in others if name in best or name == target]
