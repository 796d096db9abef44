"""Levels that few people hold, merged into others before trees are grown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from veladura.base.arrays import Ints
from veladura.methods.cart.cart import Cart
from veladura.methods.cart.drawn_as import distinct_values
from veladura.methods.cart.rare import has_levels, is_nominal
from veladura.numeric.trees.levels import merge_rare
from veladura.numeric.trees.variable import FEW_VALUES
from veladura.table.codes import Codes, Column
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.whole import Whole


def merged_levels(
    recipe: Cart,
    codes: Codes,
    replaced: Sequence[str],
    coded: Sequence[str],
    people: Ints | None,
    holders: Mapping[str, Ints],
) -> dict[str, Column]:
    """Return the replaced columns that had levels held by fewer people than a level needs.

    Categories, codes, and numbers that are in effect categories. The custodian knows which levels.

    Parameters
    ----------
    holders
        People who hold each value of a column, where they were counted in more rows than these.
    """
    merged: dict[str, Column] = {}
    for name in replaced:
        column, least, counted = codes[name], recipe.people_in_level, holders.get(name)
        if not has_levels(column, people, least, coded=name in coded, holders=counted):
            continue
        others = [codes[other] for other in codes if other != name]
        ordered = not is_nominal(column, coded=name in coded)
        one = merge_rare(column, people, least, others, ordered=ordered, holders=counted)
        if one is not None:
            merged[name] = one
    return merged


def holders_of(
    codes: Codes, replaced: Sequence[str], coded: Sequence[str], whole: Whole
) -> dict[str, Ints]:
    """Return how many people of all hold each value of the columns whose levels may be merged."""
    return {
        name: whole.holders(codes[name])
        for name in replaced
        if name in coded
        or codes[name].labels is not None
        or codes[name].field.kind in LABELLED
        or distinct_values(codes[name]) <= FEW_VALUES
    }
