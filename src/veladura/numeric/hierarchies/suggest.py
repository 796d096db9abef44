"""A hierarchy for a column without a declared one: round limits, never the data's extremes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from veladura.base.arrays import Floats
from veladura.numeric.hierarchies.grid import points_of
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import plain_values
from veladura.table.codes import Column, label_text

NICE = (1.0, 2.0, 5.0)
FEW_BINS = 12
GRID_CELLS = 100  # across a region, of the smallest size
CORNER = 16  # cells: the origin of a suggested grid is a multiple of so many


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


def suggest_grid(base: Column) -> Hierarchy:
    """Return a grid for a pair of coordinates: round cells, from about 100 across the region.

    The origin is a round point outside the middle of the region, so that large cells do not part
    it. Both come from the middle of the data, with one digit: no single person moves them.
    """
    points = [point for point in points_of(base) if None not in point]
    if not points:
        return Hierarchy.star()
    places = np.array(points, dtype=float)
    low, high = np.quantile(places, [0.02, 0.98], axis=0)
    spread = float(np.max(high - low))
    if spread <= 0:
        return Hierarchy.star()
    cell = _nice_above(spread / GRID_CELLS)
    origin = np.floor(low / (cell * CORNER)) * cell * CORNER
    across = float(np.max(high - origin)) / cell
    levels = max(1, math.ceil(math.log2(across)))  # the largest cells still part the region
    digits = max(0, 1 - math.floor(math.log10(cell)))
    return Hierarchy.grid(cell, levels, [round(float(end), digits) for end in origin])


def _nice_above(width: float) -> float:
    """Return the next round number, 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(width))
    digit = next(nice for nice in (*NICE, 10.0) if nice * 10.0**power >= width)
    return round(digit * 10.0**power, max(0, 1 - power))


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
