"""Rare levels of a whole column: when so many people change category, the holder is told."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from veladura.base.arrays import Ints
from veladura.errors import VeladuraWarning
from veladura.methods.masks.number_codes import find_codes
from veladura.numeric.trees.values import Values
from veladura.numeric.trees.variable import FEW_VALUES, is_few
from veladura.table.codes import Column
from veladura.table.schema import LABELLED
from veladura.table.table import Table
from veladura.table.units import person_numbers

MOST = 0.05  # share of people whose category may change before the holder is told


class RareLevelsWarning(VeladuraWarning):
    """Many people change category, because few share theirs."""


def is_nominal(column: Column, *, coded: bool) -> bool:
    """Whether the levels of a column have no order."""
    return coded or (column.field.kind in LABELLED and column.field.kind != "ordered")


def has_levels(
    column: Column,
    people: Ints | None,
    least: int,
    *,
    coded: bool,
    holders: Ints | None = None,
) -> bool:
    """Whether a column has levels: categories, codes, or numbers that are in effect categories.

    Parameters
    ----------
    people
        Whose row each is; every row is a person by default.
    least
        Fewest people who hold a level.
    coded
        Whether its numbers are codes.
    holders
        People who hold each value, where they were counted in more rows than these.
    """
    if is_nominal(column, coded=coded) or column.labels is not None:
        return True
    found = Values.of_column(column)
    if found.distinct.size > FEW_VALUES:
        return False
    if holders is None:
        holders = found.held_by(people, ~column.missing).holders
    return is_few(holders, least)


def warn_of_rare(table: Table, merged: Sequence[str], least: int) -> None:
    """Warn of categories without an order that many people hold and few share.

    A level with an order is merged into its neighbour, which changes little.

    Parameters
    ----------
    merged
        The columns in which levels were merged.
    least
        Fewest people who hold a level.
    """
    if not merged:
        return
    people, codes = person_numbers(table), table.codes(tuple(merged))
    told = []
    coded = find_codes(table, codes, tuple(merged))
    for name in merged:
        if name not in coded and codes[name].field.kind not in ("category", "text"):
            continue
        present = ~codes[name].missing
        found = Values.of_column(codes[name]).held_by(people, present)
        rare = found.holders < least
        moved = np.unique(people[present][rare[found.place[present]]]).size
        if moved > MOST * table.people:
            told.append(
                f"{name}: {np.count_nonzero(rare):,} of {rare.size:,} categories, held by"
                f" {moved:,} of {table.people:,} people"
            )
    if told:
        warnings.warn(
            f"categories that fewer than {least} people hold are merged into others"
            f" ({'; '.join(told)}): these people get another category, and shares of the"
            " categories that take them are too large.\n\nHint: group the categories first, by a"
            ' recode step before this one: groups = {"A00-A09" = ["A01.0", "A02.1"]}, or keep ='
            ' ["M01.1", "I01.0"] with other = "other".',
            RareLevelsWarning,
            stacklevel=4,
        )
