"""Numbers that occur once in the original: how many of them a release holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Mask
from veladura.core.promise import Evidence, source_column
from veladura.table.codes import Column, label_text


def single_numbers(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return how many released numbers occur once in the original column."""
    return sum(
        int(np.count_nonzero(singles_in(source_column(evidence, name), evidence.column(name))))
        for name in settings["columns"]
    )


def singles_in(before: Column, after: Column) -> Mask:
    """Return which released values, missing ones apart, occur once in the original."""
    original, released = plain_values(before), plain_values(after)
    distinct, count = np.unique(original, return_counts=True)
    return np.isin(released, distinct[count == 1])


def plain_values(column: Column) -> NDArray[Any]:
    """Return the values of a column that are not missing: numbers, or categories as text."""
    values = column.values[~column.missing]
    if column.labels is None:
        return values
    texts = np.array([label_text(label) for label in column.labels.to_pylist()], dtype=str)
    return texts[values] if texts.size else np.empty(0, dtype=str)
