"""What a level of a hierarchy does to a column, in words: "bands of 10", "first 3 characters"."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import Levels, figure

KEPT, GIVEN_UP = "as it is", "given up (*)"
MOST_LIMITS = 4  # that are written out


def level_words(levels: Levels, level: int) -> str:
    """Return what a column becomes at a level, with how many different values it has left.

    Values of the data are never in it; limits and periods are those that the holder declared.
    """
    if level == 0:
        return KEPT
    if level == levels.height:
        return GIVEN_UP
    left, before = (int(codes.max()) + 1 for codes in (levels.codes[level], levels.codes[0]))
    counted = f"{left:,} of {before:,} {'places' if levels.parts else 'values'} left"
    described = _RULES.get(levels.hierarchy.rule, _numbered)(levels.hierarchy, level)
    return f"{described} ({counted})"


def _numbered(hierarchy: Hierarchy, level: int) -> str:
    return f"level {level} of {hierarchy.height}"


def _masked(hierarchy: Hierarchy, level: int) -> str:
    kept, end = int(hierarchy.masked or 0) - level, "first"
    if hierarchy.side == "left":
        end = "last"
    return f"{end} character" if kept == 1 else f"{end} {kept} characters"


def _widths(hierarchy: Hierarchy, level: int) -> str:
    return f"bands of {figure(hierarchy.widths[level - 1])}"


def _cuts(hierarchy: Hierarchy, level: int) -> str:
    cuts = hierarchy.cuts[level - 1]
    if len(cuts) > MOST_LIMITS:
        return f"{len(cuts) + 1} bands"
    return f"bands with limits at {', '.join(map(figure, cuts))}"


def _bins(hierarchy: Hierarchy, level: int) -> str:
    return f"{int(hierarchy.bins or 2) >> (level - 1)} bands of about as many people"


def _periods(hierarchy: Hierarchy, level: int) -> str:
    period = hierarchy.periods[level - 1]
    if period in ("month", "quarter"):
        return f"{period} and year"
    return f"bands of {period}" if period.endswith("years") else period


def _grouped(hierarchy: Hierarchy, level: int) -> str:
    names = list(hierarchy.grouped[level - 1])
    return f"groups {', '.join(names)}" if len(names) <= MOST_LIMITS else f"{len(names)} groups"


def _kept(hierarchy: Hierarchy, level: int) -> str:
    number = len(hierarchy.kept[level - 1])
    categories = "1 category" if number == 1 else f"{number} categories"
    return f"{categories} kept, all others together"


def _cell(hierarchy: Hierarchy, level: int) -> str:
    width, height = (figure(side * 2 ** (level - 1)) for side in hierarchy.sides)
    return f"centres of cells of {width} by {height}"


_RULES: Mapping[str, Callable[[Hierarchy, int], str]] = {
    "masked": _masked,
    "widths": _widths,
    "cuts": _cuts,
    "bins": _bins,
    "periods": _periods,
    "grouped": _grouped,
    "kept": _kept,
    "cell": _cell,
}
