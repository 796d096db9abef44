"""Rare levels of a whole column: when so many people change category, the holder is told."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from veladura.errors import VeladuraWarning
from veladura.methods.masks.number_codes import find_codes
from veladura.numeric.trees.values import Values
from veladura.table.table import Table
from veladura.table.units import person_numbers

MOST = 0.05  # share of people whose category may change before the holder is told


class RareLevelsWarning(VeladuraWarning):
    """Many people change category, because few share theirs."""


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
