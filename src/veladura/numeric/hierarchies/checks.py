"""What a declared hierarchy is refused for: above all, levels that do not nest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.numeric.hierarchies.hierarchy import Hierarchy

PERIODS = {  # in months
    "month": 1,
    "quarter": 3,
    "year": 12,
    "5 years": 60,
    "decade": 120,
    "20 years": 240,
    "50 years": 600,
}
ROUNDING = 1e-9  # of the ratio of two widths
MOST_SIZES = 40  # of cells: the largest would be a billion times as wide as the smallest


def check_rule(rule: str, hierarchy: Hierarchy) -> None:
    """Refuse a rule whose settings cannot be a hierarchy."""
    if rule in _CHECKS:
        _CHECKS[rule](hierarchy)


def _check_rows(hierarchy: Hierarchy) -> None:
    rows = hierarchy.rows
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        msg = f"rows of a hierarchy differ in the number of levels: {sorted(lengths)}."
        raise PlanError(msg)
    if min(lengths) < 2:  # noqa: PLR2004  # a value and at least one generalisation
        msg = "rows of a hierarchy need a value and at least one level above it."
        raise PlanError(msg)
    if repeated := len(rows) - len({row[0] for row in rows}):
        msg = (
            f"{repeated} values stand more than once in level 0 of a hierarchy, with different"
            " levels above them."
        )
        raise PlanError(msg)
    if len({row[-1] for row in rows}) > 1:
        msg = "the last level of a hierarchy must be one value, such as *."
        raise PlanError(msg)
    for level in range(1, len(rows[0]) - 1):
        _check_nested(rows, level)
    _check_cycles(pair for row in rows for pair in pairwise(row))


def _check_nested(rows: tuple[tuple[str, ...], ...], level: int) -> None:
    parents: dict[str, set[str]] = {}
    for row in rows:
        parents.setdefault(row[level], set()).add(row[level + 1])
    if torn := sum(len(above) > 1 for above in parents.values()):
        msg = (
            f"levels {level} and {level + 1} of a hierarchy do not nest: {torn} values have more"
            " than one value above them."
        )
        raise PlanError(msg)


def _check_masked(hierarchy: Hierarchy) -> None:
    if not isinstance(hierarchy.masked, int) or hierarchy.masked < 1:
        msg = f"masked ({hierarchy.masked}) must be a whole number of at least 1."
        raise PlanError(msg)


def _check_widths(hierarchy: Hierarchy) -> None:
    if not all(0 < width < math.inf for width in hierarchy.widths):
        msg = "widths of intervals must be finite numbers above 0."
        raise PlanError(msg)
    if isinstance(hierarchy.origin, tuple):
        msg = "origin of intervals must be one number; two are for the cells of a pair."
        raise PlanError(msg)
    ratios = [wide / narrow for narrow, wide in pairwise(hierarchy.widths)]
    if any(not 1 < r < math.inf or abs(r - round(r)) > ROUNDING for r in ratios):
        msg = (
            f"widths {list(hierarchy.widths)} do not nest: each must be a whole multiple of the one"
            " before."
        )
        raise PlanError(msg)


def _check_cells(hierarchy: Hierarchy) -> None:
    for setting, pair in (("cell", hierarchy.sides), ("origin", hierarchy.corner)):
        if len(pair) != 2 or not all(map(math.isfinite, pair)):  # noqa: PLR2004
            msg = f"{setting} of a grid must be one number, or one for each of two coordinates."
            raise PlanError(msg)
    if min(hierarchy.sides) <= 0:
        msg = "cell, the side of the smallest cells of a grid, must be above 0."
        raise PlanError(msg)
    sizes = hierarchy.sizes
    if isinstance(sizes, bool) or not isinstance(sizes, int) or not 1 <= sizes <= MOST_SIZES:
        msg = f"levels of a grid ({sizes}) must be a whole number from 1 to {MOST_SIZES}."
        raise PlanError(msg)


def _check_cuts(hierarchy: Hierarchy) -> None:
    for level in hierarchy.cuts:
        if not level or list(level) != sorted(set(level)):
            msg = "cuts of a level must be in ascending order, each once."
            raise PlanError(msg)
    if any(not set(coarse) < set(fine) for fine, coarse in pairwise(hierarchy.cuts)):
        msg = (
            "cuts do not nest: each level must keep some of the limits of the level before, and no"
            " others."
        )
        raise PlanError(msg)


def _check_periods(hierarchy: Hierarchy) -> None:
    for period in hierarchy.periods:
        if period not in PERIODS:
            raise PlanError.unknown("period", str(period), PERIODS)
    months = [PERIODS[period] for period in hierarchy.periods]
    if any(long <= short or long % short for short, long in pairwise(months)):
        msg = (
            f"periods {list(hierarchy.periods)} do not nest: each must be a whole multiple of the"
            " one before."
        )
        raise PlanError(msg)


def _check_grouped(hierarchy: Hierarchy) -> None:
    steps = []
    for level in hierarchy.grouped:
        values = [value for members in level.values() for value in members]
        if len(set(values)) < len(values):
            msg = "a value stands in two groups of one level."
            raise PlanError(msg)
        steps += [(value, name) for name, members in level.items() for value in members]
    _check_cycles(steps)


def _check_kept(hierarchy: Hierarchy) -> None:
    for level in hierarchy.kept:
        if len(set(level)) < len(level):
            msg = "a category is named twice in one level of kept."
            raise PlanError(msg)
    if any(not set(coarse) < set(fine) for fine, coarse in pairwise(hierarchy.kept)):
        msg = (
            "kept does not nest: each level must keep some of the categories of the level before,"
            " and no others."
        )
        raise PlanError(msg)


def _check_bins(hierarchy: Hierarchy) -> None:
    bins = hierarchy.bins
    if not isinstance(bins, int) or bins < 2 or bins & (bins - 1):  # noqa: PLR2004
        msg = f"bins ({bins}) must be 2, 4, 8, 16 or another power of two, so that levels nest."
        raise PlanError(msg)


def _check_cycles(steps: Iterable[tuple[str, str]]) -> None:
    """Refuse values that become each other; a value may stay as it is."""
    above: dict[str, set[str]] = {}
    for value, coarser in steps:
        if value != coarser:
            above.setdefault(value, set()).add(coarser)
    try:
        TopologicalSorter(above).prepare()
    except CycleError as error:
        msg = (
            f"a hierarchy has a cycle: {len(error.args[1]) - 1} values become each other from level"
            " to level.\n\nHint: give coarser values names of their own."
        )
        raise PlanError(msg) from None


_CHECKS: Mapping[str, Callable[[Hierarchy], None]] = {
    "rows": _check_rows,
    "masked": _check_masked,
    "widths": _check_widths,
    "cell": _check_cells,
    "cuts": _check_cuts,
    "periods": _check_periods,
    "grouped": _check_grouped,
    "bins": _check_bins,
    "kept": _check_kept,
}
