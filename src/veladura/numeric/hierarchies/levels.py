"""Hierarchies applied to the values of a column: codes for the search, labels for the release."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.arrays import Ints, Mask
from veladura.base.private_files import private_folder, write_private
from veladura.errors import DataError
from veladura.numeric.hierarchies.checks import PERIODS
from veladura.numeric.hierarchies.hierarchy import OTHER, TOP, Hierarchy
from veladura.table.codes import Column, label_text
from veladura.table.schema import Field

LARGEST_WRITTEN_OUT = 1e15


@dataclass(frozen=True, eq=False)
class Levels:
    """A column's distinct values at every level.

    Attributes
    ----------
    codes
        For each level the code of every distinct value; level 0 numbers the values themselves.
    labels
        For each level the value that each code stands for: a text, or None for missing; at level 0
        the values.
    exact
        The same in the type of the column, for output that keeps it: a ZIP 02130, the first day of
        a year.
    parts
        For a pair of coordinates the descriptions of its two columns; ``exact`` then holds pairs of
        numbers.
    """

    hierarchy: Hierarchy
    base: Column = field(repr=False)
    codes: tuple[Ints, ...] = field(repr=False)
    labels: tuple[tuple[Any, ...], ...] = field(repr=False)
    exact: tuple[tuple[Any, ...], ...] = field(repr=False)
    parts: tuple[Field, ...] = ()

    @property
    def height(self) -> int:
        """Number of steps from the values to ``*``."""
        return len(self.codes) - 1


MONTHS = 12


def distinct_values(column: Column) -> tuple[Ints, Column]:
    """Return where each entry stands among the distinct values, missing last, and those values."""
    values, places = _ranked(column.values[~column.missing])
    index = np.full(column.size, values.size, dtype=np.int64)
    index[~column.missing] = places
    absent = np.zeros(values.size, dtype=bool)
    if column.missing.any():
        values, absent = np.append(values, values.dtype.type(0)), np.append(absent, True)
    return index, Column(column.field, values, absent, column.labels)


def _ranked(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values and the place of each among them, without a sort where few."""
    if values.size and values.dtype.kind in "iu":
        low, high = int(values.min()), int(values.max())
        if high - low < values.size:
            occurs = np.bincount(values - low, minlength=high - low + 1) > 0
            distinct = np.flatnonzero(occurs) + low
            return distinct.astype(values.dtype), (np.cumsum(occurs) - 1)[values - low]
    return np.unique(values, return_inverse=True)


def apply_hierarchy(hierarchy: Hierarchy, base: Column, sizes: Ints) -> Levels:
    """Return every level of a column's distinct values; ``sizes`` are their numbers of rows."""
    values = plain_values(base)
    steps = _steps(hierarchy, base, values, sizes)
    codes: list[Ints] = [np.arange(len(values), dtype=np.int64)]
    labels: list[tuple[Any, ...]] = [tuple(values)]
    exact: list[tuple[Any, ...]] = [tuple(values)]
    for step in steps:
        pairs = [(None, None) if value is None else step(value) for value in values]
        seen: dict[Any, int] = {}
        code = np.array([seen.setdefault(pair[0], len(seen)) for pair in pairs], dtype=np.int64)
        codes.append(code)
        labels.append(tuple(seen))
        kept = {pair[0]: pair[1] for pair in pairs}
        exact.append(tuple(kept[label] for label in seen))
    codes.append(np.zeros(len(values), dtype=np.int64))
    labels.append((TOP,))
    exact.append((None,))
    _check_nested(base.name, codes)
    return Levels(hierarchy, base, tuple(codes), tuple(labels), tuple(exact))


def plain_values(base: Column) -> list[Any]:
    """Return distinct values as Python sees them: text, numbers or dates; None for missing."""
    return list(base.to_arrow().to_pylist())


Step = Callable[[Any], tuple[Any, Any]]


def _steps(hierarchy: Hierarchy, base: Column, values: Sequence[Any], sizes: Ints) -> list[Step]:
    """Return one function for each level below the top: value -> (label, the same in its type)."""
    simple: dict[str, Callable[[], list[Step]]] = {
        "rows": lambda: _explicit(hierarchy, base, values, sizes),
        "masked": lambda: [
            _masker(hierarchy, level) for level in range(1, int(hierarchy.masked or 0))
        ],
        "flat": list,
        "grouped": lambda: _grouper(hierarchy),
        "kept": lambda: [_keeper(frozenset(level)) for level in hierarchy.kept],
    }
    if hierarchy.rule in simple:
        return simple[hierarchy.rule]()
    if hierarchy.rule == "periods":
        _require(base, ("date",), "periods")
        return [_period(PERIODS[period]) for period in hierarchy.periods]
    if hierarchy.rule == "cell":
        msg = (
            f"the hierarchy of {base.name!r} is a grid, which is for a pair of coordinates."
            '\n\nHint: name the pair, as in pairs = [["x", "y"]], and give it the grid.'
        )
        raise DataError(msg)
    _require(base, ("integer", "number"), hierarchy.rule)
    if not hierarchy.cuts:  # what is infinite is in no interval of a width, and in no quantile
        base.numbers()  # refuses it
    if hierarchy.rule == "widths":
        return [_interval(width, hierarchy.corner[0]) for width in hierarchy.widths]
    cuts = hierarchy.cuts or _quantile_cuts(int(hierarchy.bins or 2), values, sizes)
    return [_between(level) for level in cuts]


def _require(base: Column, kinds: tuple[str, ...], rule: str) -> None:
    if base.field.kind not in kinds:
        msg = (
            f"the hierarchy of {base.name!r} has {rule}, for columns of kind"
            f" {' or '.join(kinds)}; the column has kind {base.field.kind}."
        )
        raise DataError(msg)


def _refuse_outside(base: Column, outside: Mask, sizes: Ints) -> None:
    """Refuse values that a hierarchy does not hold.

    The message has counts only; the values go to a file in the custodian's folder.
    """
    if not outside.any():
        return
    from veladura.table.database.scratch import custodian_home

    folder = private_folder(custodian_home() / "outside")
    path = folder / f"{''.join(c if c.isalnum() else '_' for c in base.name)}.txt"
    values = plain_values(base)
    lines = [label_text(values[i]) for i in np.flatnonzero(outside)]
    write_private(path, "\n".join(lines) + "\n")
    msg = (
        f"column {base.name!r}: {int(outside.sum())} values ({int(sizes[outside].sum())} rows) are"
        f" not in its hierarchy.\n\nHint: add them to the hierarchy; they are listed in {path}."
    )
    raise DataError(msg)


def _explicit(hierarchy: Hierarchy, base: Column, values: Sequence[Any], sizes: Ints) -> list[Step]:
    rows = {row[0]: row for row in hierarchy.rows}
    texts = [None if value is None else label_text(value) for value in values]
    outside = np.array([text is not None and text not in rows for text in texts], dtype=bool)
    _refuse_outside(base, outside, sizes)
    return [
        lambda value, level=level: (rows[label_text(value)][level],) * 2  # type: ignore[misc]
        for level in range(1, hierarchy.height)
    ]


def _masker(hierarchy: Hierarchy, level: int) -> Step:
    def step(value: Any) -> tuple[str, str]:
        text = label_text(value)
        hidden = min(level, len(text))
        if hierarchy.side == "right":
            kept = text[: len(text) - hidden]
            return kept + TOP * hidden, kept + "0" * hidden
        return TOP * hidden + text[hidden:], "0" * hidden + text[hidden:]

    return step


def _grouper(hierarchy: Hierarchy) -> list[Step]:
    """Return the groups of each level, one after the other; values that no group names stay."""
    above = [
        {member: name for name, members in level.items() for member in members}
        for level in hierarchy.grouped
    ]

    def climb(value: Any, levels: int) -> tuple[str, str]:
        text = label_text(value)
        for level in above[:levels]:
            text = level.get(text, text)
        return text, text

    return [
        lambda value, levels=levels: climb(value, levels)  # type: ignore[misc]
        for levels in range(1, len(above) + 1)
    ]


def _keeper(kept: frozenset[str]) -> Step:
    """Return the step that keeps some categories; the others are one."""

    def step(value: Any) -> tuple[str, str]:
        text = label_text(value)
        return (text if text in kept else OTHER,) * 2

    return step


def _period(months: int) -> Step:
    def step(value: date) -> tuple[str, date]:
        place = (value.year * 12 + value.month - 1) // months * months
        # there is no year 0: a period that begins with it begins with the first day there is
        start = date(place // 12, place % 12 + 1, 1) if place >= MONTHS else date.min
        return _period_label(start, months), start

    return step


def _period_label(start: date, months: int) -> str:
    if months == 1:
        return f"{start.year:04d}-{start.month:02d}"
    if months == PERIODS["quarter"]:
        return f"{start.year:04d}-Q{(start.month - 1) // 3 + 1}"
    if months == PERIODS["year"]:
        return f"{start.year:04d}"
    return f"{start.year:04d}-{start.year + months // 12 - 1:04d}"


def _interval(width: float, origin: float) -> Step:
    labels: dict[float, str] = {}  # written once an interval: a column has many values in each

    def step(value: float) -> tuple[str, float]:
        lower = origin + math.floor((value - origin) / width) * width
        if (label := labels.get(lower)) is None:
            label = labels[lower] = f"[{figure(lower)}, {figure(lower + width)})"
        return label, type(value)(lower)

    return step


def figure(number: float) -> str:
    """Return a limit as people write it: no exponent, no trailing zeros."""
    if abs(number) >= LARGEST_WRITTEN_OUT:
        return f"{number:g}"
    return f"{number:.10f}".rstrip("0").rstrip(".")


def _between(cuts: Sequence[float]) -> Step:
    def step(value: float) -> tuple[str, float]:
        place = int(np.searchsorted(cuts, value, side="right"))
        if place == 0:
            return f"< {figure(cuts[0])}", type(value)(cuts[0])
        if place == len(cuts):
            return f">= {figure(cuts[-1])}", type(value)(cuts[-1])
        return f"[{figure(cuts[place - 1])}, {figure(cuts[place])})", type(value)(cuts[place - 1])

    return step


def _quantile_cuts(bins: int, values: Sequence[Any], sizes: Ints) -> tuple[tuple[float, ...], ...]:
    """Return inner limits at quantiles, rounded to two digits: never the extremes of the data."""
    present = np.array([value is not None for value in values], dtype=bool)
    numbers = np.array([float(value) for value in values if value is not None])
    order = np.argsort(numbers)
    numbers, counts = numbers[order], sizes[present][order]
    share = np.cumsum(counts) / max(1, int(counts.sum()))
    finest = []
    for i in range(1, bins):
        place = min(int(np.searchsorted(share, i / bins)), numbers.size - 1)
        finest.append(_rounded(numbers[place]))
    levels = []
    step = 1
    while step < bins:
        levels.append(tuple(sorted(set(finest[step - 1 :: step]))))
        step *= 2
    return tuple(levels)


def _rounded(number: float) -> float:
    """Return a number with two digits, so that a limit is hardly anyone's value."""
    return float(f"{number:.1e}")


def _check_nested(name: str, codes: Sequence[Ints]) -> None:
    """Refuse levels that tear apart what the level below had together."""
    for below, above in pairwise(codes):
        parent = np.full(below.max() + 1, -1)
        parent[below] = above
        if not np.array_equal(parent[below], above):
            msg = (
                f"the hierarchy of {name!r} does not nest: a higher level separates values that a"
                " lower one puts together."
            )
            raise DataError(msg)


def table_of(hierarchy: Hierarchy, values: Sequence[Any]) -> list[list[str]]:
    """Return a rule written out for some values, one row each."""
    from veladura.table.codes import encode
    from veladura.table.schema import kind_of

    array = pa.array(list(values))
    kind = kind_of(array.type)
    if kind is None or not len(array):
        msg = "to_csv of a rule needs values: give the values to write it for."
        raise DataError(msg)
    _, base = distinct_values(encode(array, Field("values", kind, array.type)))
    levels = apply_hierarchy(hierarchy, base, np.ones(base.size, dtype=np.int64))
    columns = []
    for codes, labels in zip(levels.codes, levels.labels, strict=True):
        columns.append([label_text(labels[code]) for code in codes])
    return [list(row) for row in zip(*columns, strict=True)]
