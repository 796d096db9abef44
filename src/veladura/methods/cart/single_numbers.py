"""Numbers that occur once in the original: the check that none of them is in the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Mask
from veladura.core.promise import Evidence, checks
from veladura.methods.masks.common import source_column
from veladura.table.codes import Column, label_text


@checks("single-numbers", linked=False)
def single_numbers(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released numbers occur once in the original column."""
    return sum(
        int(np.count_nonzero(singles_in(source_column(evidence, name), evidence.column(name))))
        for name in settings["columns"]
    )


def singles_in(before: Column, after: Column) -> Mask:
    """Return which released values, without the missing ones, occur once in the original."""
    distinct, count = np.unique(plain_values(before), return_counts=True)
    return np.isin(plain_values(after), distinct[count == 1])


def plain_values(column: Column) -> NDArray[Any]:
    """Return the values that are not missing: numbers, or the texts of categories."""
    values = column.values[~column.missing]
    if column.labels is None:
        return values
    texts = np.array([label_text(label) for label in column.labels.to_pylist()], dtype=str)
    return texts[values] if texts.size else np.empty(0, dtype=str)
