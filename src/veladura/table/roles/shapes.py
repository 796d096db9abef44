"""The shape of a column: what its values look like by themselves, whatever their kind."""

from __future__ import annotations

import numpy as np

from veladura.table.roles import numbers, texts
from veladura.table.roles.evidence import Evidence

_BIRTH_DAYS = 25 * 365  # dates over so many days may be those of birth


def shape_of(column: Evidence) -> str:
    """Return what the values of a column look like, by themselves."""
    if column.distinct == 0:
        return "empty"
    if column.distinct == 1:
        return "constant"
    if column.field.kind == "date":
        levels = column.levels if column.levels is not None else np.zeros(1)
        return "birth date" if levels[-1] - levels[0] >= _BIRTH_DAYS else "date"
    if column.levels is None:
        return texts.shape_of(column)
    return numbers.shape_of(column)
