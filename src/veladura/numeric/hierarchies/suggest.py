"""A hierarchy for a column without a declared one: round limits, never the data's extremes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.numeric.hierarchies.grid import points_of
from veladura.numeric.hierarchies.hierarchy import Hierarchy
from veladura.numeric.hierarchies.levels import distinct_values, plain_values
from veladura.table.codes import Column, label_text
from veladura.table.counts import Counts

NICE = (1.0, 2.0, 5.0)
FEW_BINS = 12
GRID_CELLS = 100  # across a region, of the smallest size
SHORTEST_CODE = 3  # characters of a code whose prefix means something
RARE_SHARES = (0.01, 0.05, 0.2)  # of the people: categories below are put together, by level
SEPARATOR = re.compile(r"[:,;(/]|\s[-\u2013]\s")  # after the first part of a label
CODE = re.compile(r"(?P<first>[^\W_]+)(?:(?P<between>[-. ])(?P<second>[^\W_]+))?")
NEARLY_ALL = 0.9  # of the people in one interval: it would tell nothing
CORNER = 16  # cells: the origin of a suggested grid is a multiple of so many


def suggest_hierarchy(base: Column, sizes: Ints | None = None, k: int = 5) -> Hierarchy:
    """Return a hierarchy for a column without one: round limits, never the data's extremes.

    Codes of categories are put together by the holder's labels, by prefixes, or by frequency: never
    into bands, as their numbers mean nothing. A grouping by frequency depends on who is in the
    data, so it is only suggested for the holder to declare.

    Parameters
    ----------
    sizes
        People of each value; without them nothing is grouped by frequency.
    k
        Fewest people of a category that keeps its name.
    """
    kind, values = base.field.kind, [value for value in plain_values(base) if value is not None]
    if kind == "date":
        return Hierarchy.dates(
            ("month", "year", "5 years", "decade", "20 years")
            if len(values) > FEW_BINS
            else ("year", "decade")
        )
    if kind in ("integer", "number") and len(set(values)) > 1:
        numbers = base.numbers()[~base.missing]  # refuses infinite ones
        people = np.ones(numbers.size) if sizes is None else sizes[~base.missing]
        widths = _merging(_nice_widths(numbers), numbers, people)
        return Hierarchy.intervals(widths) if widths else Hierarchy.star()
    if kind == "ordered":
        return _by_order(base.field.order)
    texts = sorted({label_text(value) for value in values})
    return (
        _by_labels(base.field.labels, texts)
        or _by_prefix(texts)
        or (Hierarchy.star() if sizes is None else _by_frequency(base, sizes, k))
    )


def suggest_from(counts: Counts, k: int) -> Hierarchy:
    """Return a hierarchy for the holder to confirm, from the people of each value of a column."""
    place, base = distinct_values(counts.columns[0])
    sizes = np.bincount(place, weights=counts.size, minlength=base.size).astype(np.int64)
    return suggest_hierarchy(base, sizes, k)


def _by_order(order: Sequence[str]) -> Hierarchy:
    """Return neighbours put together two by two, as the holder ordered them, until two are left."""
    levels: list[dict[str, list[str]]] = []
    ends = [(name, name) for name in order]
    while len(ends) > 2:  # noqa: PLR2004
        pairs = [ends[i : i + 2] for i in range(0, len(ends), 2)]
        merged = [(pair[0][0], pair[-1][1]) for pair in pairs]
        levels.append(
            {
                _span(*whole): [_span(*part) for part in pair]
                for whole, pair in zip(merged, pairs, strict=True)
                if len(pair) > 1
            }
        )
        ends = merged
    return Hierarchy.groups(*levels) if levels else Hierarchy.star()


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} to {last}"


def _by_labels(labels: Mapping[str, str], texts: Sequence[str]) -> Hierarchy | None:
    """Return groups of codes whose labels begin alike, as "single: widowed" and "single: other"."""
    heads = {text: SEPARATOR.split(labels.get(text, text))[0].strip() for text in texts}
    groups: dict[str, list[str]] = {}
    for text, head in heads.items():
        groups.setdefault(head, []).append(text)
    named = {head: members for head, members in groups.items() if len(members) > 1}
    if not named or len(groups) < 2 or set(named) & set(texts):  # noqa: PLR2004
        return None
    return Hierarchy.groups(named)


def _by_prefix(texts: Sequence[str]) -> Hierarchy | None:
    """Return the prefixes of codes such as 02138, A01 or 1000-001: their parts mean something.

    Codes have one length, or two parts of which the second has one length (SW1A 2AA and M1 1AE).
    Short codes are numbers of categories, whose digits mean nothing.
    """
    codes = [CODE.fullmatch(text) for text in texts]
    coded = all(code and any(c.isdigit() for c in code.group()) for code in codes)
    if len(texts) < 2 or not coded:  # noqa: PLR2004
        return None
    seconds = {(code["between"], len(code["second"] or "")) for code in codes if code}
    longest = max(len(text) for text in texts)
    if len(seconds) > 1 or longest < SHORTEST_CODE:
        return None
    if seconds == {(None, 0)}:
        return Hierarchy.mask(longest) if len({len(text) for text in texts}) == 1 else None
    firsts = {code["first"] for code in codes if code}
    return Hierarchy.mask(longest) if 1 < len(firsts) < len(texts) else None


def _by_frequency(base: Column, sizes: Ints, k: int) -> Hierarchy:
    """Return levels that keep ever more frequent categories, the rare ones together.

    What is kept has at least k people, and so has what is put together: no name of a rare category
    is in the hierarchy.
    """
    people = int(sizes.sum())
    texts = ["" if value is None else label_text(value) for value in plain_values(base)]
    present = ~base.missing
    levels: list[list[str]] = []
    before = int(np.count_nonzero(present))
    for share in RARE_SHARES:
        frequent = present & (sizes >= max(k, share * people))
        number, rest = int(np.count_nonzero(frequent)), int(sizes[present & ~frequent].sum())
        if 1 <= number < before - 1 and rest >= k:
            levels.append([texts[i] for i in np.flatnonzero(frequent)])
            before = number + 1
    return Hierarchy.keep(*levels) if levels else Hierarchy.star()


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
    levels = max(1, math.floor(math.log2(across)))  # two of the largest cells are not enough
    digits = max(0, 1 - math.floor(math.log10(cell)))
    return Hierarchy.grid(cell, levels, [round(float(end), digits) for end in origin])


def _nice_above(width: float) -> float:
    """Return the next round number, 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(width))
    digit = next(nice for nice in (*NICE, 10.0) if nice * 10.0**power >= width)
    return round(digit * 10.0**power, max(0, 1 - power))


def _merging(widths: Sequence[float], values: Floats, people: Floats | Ints) -> list[float]:
    """Return the widths at which some intervals merge, and not nearly all people are in one."""
    left, kept = len(set(values)), []
    crowded = max(NEARLY_ALL * people.sum(), people.max())  # as many share one value already
    for width in widths:
        _, interval = np.unique(np.floor(values / width), return_inverse=True)
        sizes = np.bincount(interval.ravel(), weights=people)
        if 1 < sizes.size < left and sizes.max() <= crowded:
            kept.append(width)
            left = sizes.size
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
