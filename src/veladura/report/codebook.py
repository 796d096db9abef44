"""The columns of a release, in words and small pictures of the released values.

Bars of the original are shown for at least ten rows only. Where a single bar is hidden, the
smallest of the others is hidden as well, so that it cannot be computed by subtraction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.report.tally import SPREAD, Tally, tally_of
from veladura.report.words import KINDS, number, plural
from veladura.table.codes import Column

if TYPE_CHECKING:
    from veladura.table.table import Table

FEWEST = 10
MOST_LABELS = 8
MOST_BINS = 14
MOST_LETTERS = 60


@dataclass(frozen=True)
class Bar:
    """A share of the released rows and, where it may be shown, of the original ones."""

    label: str
    released: float
    original: float | None = None


@dataclass(frozen=True)
class ColumnFacts:
    """One released column."""

    name: str
    kind: str
    role: str
    changed: bool
    summary: str
    bars: tuple[Bar, ...] = field(repr=False, default=())
    binned: bool = False  # bars of a histogram, not of categories

    @property
    def highest(self) -> float:
        """The largest share that is shown."""
        return (
            max((max(bar.released, bar.original or 0.0) for bar in self.bars), default=0.0) or 1.0
        )

    @property
    def compared(self) -> bool:
        """Whether bars of the original are shown."""
        return any(bar.original is not None for bar in self.bars)


def describe(
    table: Table, original: Table | None, changed: Sequence[str]
) -> tuple[ColumnFacts, ...]:
    """Return facts on every released column; the original, if any, goes into the pictures only.

    A column that no step changed differs from the original by the rows that were left out, and its
    bars would tell their values: where there are such rows it has none of the original.
    """
    facts = []
    fewer = original is not None and original.rows > table.rows
    for about in table.schema:
        column = tally_of(table, about.name)
        same = original if about.name in changed or not fewer else None
        bars, binned = _bars(column, _comparable(column, same))
        facts.append(
            ColumnFacts(
                about.name,
                KINDS[about.kind],
                about.role,
                about.name in changed,
                _summary(column),
                bars,
                binned,
            )
        )
    return tuple(facts)


def _comparable(column: Tally, original: Table | None) -> Tally | None:
    """Return the same column of the original; None where it has other values or is not there."""
    about = column.column.field
    if original is None or about.name not in original.names:
        return None
    if original.schema[about.name].type != about.type:
        return None
    before = tally_of(original, about.name)
    return before if (before.labels is None) == (column.labels is None) else None


def _summary(tally: Tally) -> str:
    """Return a phrase on the released values: their range and median, or how many there are."""
    column, lacking = tally.column, tally.lacking
    missing = f", {plural(lacking, 'missing value')}" if lacking else ""
    if lacking == tally.rows:
        return "no values"
    if column.labels is not None:
        return f"{plural(int(np.unique(tally.present[0]).size), 'distinct value')}{missing}"
    lowest, middle, highest = (_text(column, value) for value in tally.quantiles([0, 0.5, 1]))
    return f"from {lowest} to {highest}, median {middle}{missing}"


def _text(column: Column, value: Any) -> str:
    """Return one number or date of a column as people write it."""
    if column.field.kind == "date":
        single = column.with_values(
            np.array([value]).astype(column.values.dtype), np.zeros(1, dtype=bool)
        )
        return str(single.to_arrow()[0].as_py())
    size = abs(float(value))  # the least integer has no opposite
    if size.is_integer() and size < 1e15:  # noqa: PLR2004  # exact as a float
        years_stay = size < 10_000  # noqa: PLR2004
        return str(int(value)) if years_stay else f"{int(value):,}"
    return f"{value:.6g}"


def _bars(tally: Tally, before: Tally | None) -> tuple[tuple[Bar, ...], bool]:
    if tally.lacking == tally.rows or tally.column.field.kind == "text":
        return (), False
    if tally.labels is not None:
        return _label_bars(tally, before), False
    return _bin_bars(tally, before), True


def _label_bars(tally: Tally, before: Tally | None) -> tuple[Bar, ...]:
    """Return the most frequent categories in their order, all others as one, and missing."""
    column, sizes = tally.column, tally.label_sizes()
    shown = sorted(
        sorted(sizes, key=lambda label: -sizes[label])[:MOST_LABELS], key=list(sizes).index
    )
    if column.field.kind != "ordered":
        shown.sort(key=lambda label: -sizes[label])
    words = [_named(column, label) for label in shown]
    rest = len(sizes) - len(shown)
    released = _with_rest([sizes[label] for label in shown], tally)
    original = None
    if before is not None:
        sizes_before = before.label_sizes()
        original = _with_rest([sizes_before.get(label, 0) for label in shown], before)
    bars = _shares([*words, f"{rest:,} others", "missing"], released, original)
    return tuple(bar for bar in bars if bar.released > 0)


def _with_rest(sizes: list[int], tally: Tally) -> list[int]:
    return [*sizes, tally.rows - sum(sizes) - tally.lacking, tally.lacking]


def _named(column: Column, label: str) -> str:
    meaning = column.field.labels.get(label)
    text = f"{label} ({meaning})" if meaning else label
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _bin_bars(tally: Tally, before: Tally | None) -> tuple[Bar, ...]:
    """Return a histogram from the 1st to the 99th percentile of the released values.

    The first and the last bar hold what is beyond.
    """
    column = tally.column
    low, _, _, high = map(float, tally.quantiles(SPREAD))
    whole = column.values.dtype.kind != "f"
    bins = int(min(MOST_BINS, high - low + 1)) if whole else MOST_BINS
    low, high = (low - 0.5, high + 0.5) if whole else (low, high)
    edges = np.linspace(low, high if high > low else low + 1.0, max(bins, 1) + 1)
    released = _histogram(tally, edges)
    original = None if before is None else _histogram(before, edges)
    ends = [_text(column, round(edge) if whole else edge) for edge in edges]
    return tuple(_shares([f"{a} to {b}" for a, b in pairwise(ends)], released, original))


def _histogram(tally: Tally, edges: Floats) -> list[int]:
    """Return the number of rows between edges; rows outside count with the first and the last."""
    inner = tally.below(edges[1:-1])
    return [int(size) for size in np.diff([0, *inner, tally.rows - tally.lacking])]


def _shares(
    labels: Sequence[str], released: Sequence[int], original: Sequence[int] | None
) -> list[Bar]:
    """Return bars as shares, those of the original hidden where they stand for too few rows."""
    total = max(sum(released), 1)
    bars = [Bar(label, size / total) for label, size in zip(labels, released, strict=True)]
    if original is None:
        return bars
    visible = [size >= FEWEST for size in original]
    hidden = [size for size in original if 0 < size < FEWEST]
    if len(hidden) == 1 and any(visible):
        visible[min((size, place) for place, size in enumerate(original) if size >= FEWEST)[1]] = (
            False
        )
    whole = max(sum(original), 1)
    return [
        replace(bar, original=size / whole if shown else None)
        for bar, size, shown in zip(bars, original, visible, strict=True)
    ]


def in_words(bar: Bar) -> str:
    """Return a bar in words, for readers who do not see it."""
    beside = "" if bar.original is None else f", original {number(bar.original, 'share')}"
    return f"{bar.label}: {number(bar.released, 'share')}{beside}"
