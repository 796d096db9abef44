"""Which of several linked tables holds the people: homes and persons, or patients and visits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Ints
from veladura.table.roles.guess import guess_roles
from veladura.table.roles.names import hints_of
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.linked import LinkedTable
    from veladura.table.table import Table

_FEWEST = 20  # rows in units of several
_APART = 0.5  # of the variance of all ages


def are_people(opened: Table, first: LinkedTable, below: LinkedTable, own: Sequence[str]) -> bool:
    """Whether rows of the second of two linked tables are people, by names and by content.

    Visits that are taken for people make risks too low, people who are taken for visits of a home
    make them too high: where neither names nor content speak the first table holds the people.

    Parameters
    ----------
    opened
        Both tables as one, without roles.
    own
        The columns of the second table.
    """
    hints, others = (hints_of(t.name) | hints_of(str(t.key)) for t in (first, below))
    if "person" in hints and "person" not in others:
        return False
    named = "household" in hints and "person" in others
    return named or share_a_unit(opened, str(first.key), own)


def share_a_unit(opened: Table, key: str, own: Sequence[str]) -> bool:
    """Whether rows below a key are people by their content: a home's, or a firm's."""
    return guess_roles(opened)[key].role == "household" or has_ages(opened, key, own)


def has_ages(opened: Table, key: str, own: Sequence[str]) -> bool:
    """Whether rows have an age each, and those of one key differ, as in a firm.

    The ages of a patient at each visit differ by years, and are no evidence.
    """
    _, unit = np.unique(opened.column(key).values, return_inverse=True)
    return any(
        _varies(opened.column(name), unit.reshape(-1))
        for name in own
        if "age" in hints_of(name) and opened.schema[name].kind in NUMERIC
    )


def _varies(column: Column, unit: Ints) -> bool:
    """Whether numbers differ within units nearly as much as among all rows."""
    given = ~column.missing
    values, unit = column.values[given].astype(np.float64), unit[given]
    rows = np.maximum(np.bincount(unit), 1)
    within = values - (np.bincount(unit, weights=values) / rows)[unit]
    several = rows[unit] > 1
    if several.sum() < _FEWEST:
        return False
    spread = float(np.var(values))
    left = float(np.mean(within[several] ** 2 * (rows / np.maximum(rows - 1, 1))[unit][several]))
    return left > _APART * spread > 0
