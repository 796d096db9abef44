"""Which columns a drafted plan proposes to transform: positive numbers with a very long tail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from veladura.numeric.trees.variable import FEW_VALUES, SPIKE_PEOPLE, SPIKE_SHARE
from veladura.table.schema import NUMERIC, WEIGHTS

if TYPE_CHECKING:
    from veladura.numeric.transforms import TransformName
    from veladura.table.codes import Column

FEWEST_ROWS = 100
LONG = 20.0  # 99 % point over the median: 5 of normal numbers, 10 of log-normal ones with sigma 1


def propose_transforms(columns: Mapping[str, Column]) -> dict[str, TransformName]:
    """Return the logarithm for columns of numbers whose 99 % point is twenty times the median.

    From there on a tail that is fitted on the log scale keeps the mean and the high percentiles
    better (docs/methods/cart.md). Values that many rows share, such as zero, do not count: they
    are spikes. Columns with zeros get log(1 + x), which takes them whatever becomes of the spike.
    Weights stay as they are.
    """
    found = {
        name: _transform(column)
        for name, column in columns.items()
        if column.field.kind in NUMERIC and column.field.role not in WEIGHTS
    }
    return {name: transform for name, transform in found.items() if transform is not None}


def _transform(column: Column) -> TransformName | None:
    if column.labels is not None or column.field.labels:
        return None
    numbers = column.values[~column.missing].astype(np.float64)
    distinct, place, count = np.unique(numbers, return_inverse=True, return_counts=True)
    if distinct.size <= FEW_VALUES or distinct[0] < 0 or not np.isfinite(distinct).all():
        return None
    spike = (count >= SPIKE_PEOPLE) & (count >= SPIKE_SHARE * numbers.size)
    rest = numbers[~spike[place.reshape(-1)]]
    if rest.size < FEWEST_ROWS:
        return None
    middle, high = np.quantile(rest, (0.5, 0.99))
    if high < LONG * middle or middle <= 0:
        return None
    return "log" if distinct[0] > 0 else "log1p"
