"""A hierarchy for a column without a declared one: round limits, never the data's extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veladura.base.arrays import Floats
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import plain_values
from veladura.table.codes import Column, label_text

NICE = (1.0, 2.0, 5.0)
FEW_BINS = 12


def suggest_hierarchy(base: Column) -> Hierarchy:
    """Return a hierarchy for a column without one: round limits, never the data's extremes."""
    kind, values = base.field.kind, [value for value in plain_values(base) if value is not None]
    if kind == "date":
        return Hierarchy.dates(
            ("month", "year", "5 years", "decade", "50 years")
            if len(values) > FEW_BINS
            else ("year", "decade")
        )
    if kind in ("integer", "number") and len(set(values)) > 1:
        numbers = np.array(values, dtype=float)
        widths = _merging(_nice_widths(numbers), numbers)
        return Hierarchy.intervals(widths) if widths else Hierarchy.star()
    texts = {label_text(value) for value in values}
    lengths = {len(text) for text in texts}
    if (
        len(lengths) == 1
        and len(texts) > 1
        and all(text.isdigit() for text in texts)
        and max(lengths) > 2  # noqa: PLR2004
    ):
        return Hierarchy.mask(max(lengths))
    return Hierarchy.star()


def _merging(widths: Sequence[float], values: Floats) -> list[float]:
    """Return the widths at which some intervals merge, and more than one is left."""
    left, kept = len(set(values)), []
    for width in widths:
        intervals = len(set(np.floor(values / width)))
        if 1 < intervals < left:
            kept.append(width)
            left = intervals
    return kept


def _nice_widths(values: Floats) -> tuple[float, ...]:
    """Return round widths that double, from about a dozen intervals over the middle of the data."""
    low, high = np.quantile(values, [0.05, 0.95])
    spread = max(high - low, np.ptp(values) / 50, 1e-12)
    size = 10.0 ** math.floor(math.log10(spread / FEW_BINS))
    width = next(nice * size for nice in (*NICE, 10.0) if nice * size >= spread / FEW_BINS)
    if np.array_equal(values, np.round(values)):
        width = width if width > 1 else 2.0
    return tuple(width * factor for factor in (1, 2, 4, 8))
