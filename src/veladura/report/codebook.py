"""What the columns of a release hold, in words and small pictures of the released values.

Of the original only bars of at least ten rows are shown; where a single one is hidden, the
smallest of the others is hidden as well, so that it cannot be found by subtraction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.report.words import KINDS, number, plural
from veladura.table.codes import Column, encode
from veladura.table.counts import Counts
from veladura.table.spread import Spread, spread

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
        return max((max(bar.released, bar.original or 0.0) for bar in self.bars), default=0.0) or 1.0

    @property
    def compared(self) -> bool:
        """Whether bars of the original are shown."""
        return any(bar.original is not None for bar in self.bars)


def describe(table: Table, original: Table | None, changed: Sequence[str]) -> tuple[ColumnFacts, ...]:
    """Return facts on every released column; the original, if any, goes into the pictures only."""
    facts = []
    for about in table.schema:
        column = _tally(table, about.name)
        before = None
        if original is not None and about.name in original.names and original.schema[about.name].type == about.type:
            before = _tally(original, about.name)
        bars, binned = _bars(column, before if before is not None and (before.labels is None) == (column.labels is None) else None)
        facts.append(ColumnFacts(about.name, KINDS[about.kind], about.role, about.name in changed, _summary(column), bars, binned))
    return tuple(facts)


@dataclass(frozen=True, eq=False)
class Tally:
    """A column row by row or, of a lazy table, its distinct values with the number of rows of each."""

    column: Column
    size: NDArray[np.int64]

    @property
    def labels(self) -> Any:
        """The categories, if it has any."""
        return self.column.labels

    @property
    def known(self) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The values that are not missing, and their numbers of rows."""
        present = ~self.column.missing
        return self.column.values[present], self.size[present]

    @property
    def lacking(self) -> int:
        """Rows without a value."""
        return int(self.size[self.column.missing].sum())

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.size.sum())

    def quantiles(self, shares: Sequence[float]) -> list[Any]:
        """Return values at some shares of the rows, each one that occurs."""
        values, size = self.known
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(size[order])
        places = [int(np.searchsorted(reached, _rank(share, int(reached[-1])), side="right")) for share in shares]
        return [values[order[place]] for place in places]

    def below(self, limits: NDArray[np.float64]) -> list[int]:
        """Return how many known values are below each limit."""
        values, size = self.known
        numbers = values.astype(np.float64)
        return [int(size[numbers < limit].sum()) for limit in limits]


@dataclass(frozen=True, eq=False)
class FarTally(Tally):
    """The numbers of a lazy table, asked for where they are; its column is an empty one of the same form."""

    spread: Spread

    @property
    def lacking(self) -> int:
        """Rows without a value."""
        return self.spread.rows - self.spread.known

    @property
    def rows(self) -> int:
        """All rows."""
        return self.spread.rows

    def quantiles(self, shares: Sequence[float]) -> list[Any]:
        """Return values at some shares of the rows, each one that occurs."""
        return self.spread.at_ranks([_rank(share, self.spread.known) for share in shares])

    def below(self, limits: NDArray[np.float64]) -> list[int]:
        """Return how many known values are below each limit."""
        return self.spread.below(limits.tolist())


def _rank(share: float, known: int) -> int:
    """Return the place, from nought, of the first value at or above which a share of the rows is reached."""
    return min(max(math.ceil(share * known) - 1, 0), known - 1)


def _tally(table: Table, name: str) -> Tally:
    if table.in_memory:
        column = encode(table.arrow.column(name), table.schema[name])
        return Tally(column, np.ones(column.size, dtype=np.int64))
    if (far := spread(table, name)) is not None:
        return FarTally(encode(pa.array([], table.schema[name].type), table.schema[name]), np.zeros(0, dtype=np.int64), far)
    counts: Counts = table.profile(name)
    return Tally(counts.columns[0], counts.size)


def _summary(tally: Tally) -> str:
    """Return what the released values are like, in a phrase."""
    column, lacking = tally.column, tally.lacking
    missing = f", {plural(lacking, 'missing value')}" if lacking else ""
    if lacking == tally.rows:
        return "no values"
    if column.labels is not None:
        return f"{plural(int(np.unique(tally.known[0]).size), 'different value')}{missing}"
    lowest, middle, highest = (_text(column, value) for value in tally.quantiles([0, 0.5, 1]))
    return f"from {lowest} to {highest}, middle value {middle}{missing}"


def _text(column: Column, value: Any) -> str:
    """Return one number or date of a column as people write it."""
    if column.field.kind == "date":
        one = column.with_values(np.array([value]).astype(column.values.dtype), np.zeros(1, dtype=bool))
        return str(one.to_arrow()[0].as_py())
    if float(value).is_integer() and abs(value) < 1e15:  # noqa: PLR2004  # exact as a float
        return f"{int(value):,}" if abs(value) >= 10_000 else str(int(value))  # noqa: PLR2004  # years stay as they are
    return f"{value:.6g}"


def _bars(tally: Tally, before: Tally | None) -> tuple[tuple[Bar, ...], bool]:
    if tally.lacking == tally.rows or tally.column.field.kind == "text":
        return (), False
    if tally.labels is not None:
        return _label_bars(tally, before), False
    return _bin_bars(tally, before), True


def _label_bars(tally: Tally, before: Tally | None) -> tuple[Bar, ...]:
    """Return the most frequent categories in their order, all others as one, and missing."""
    column, sizes = tally.column, _label_sizes(tally)
    shown = sorted(sorted(sizes, key=lambda label: -sizes[label])[:MOST_LABELS], key=list(sizes).index)
    if column.field.kind != "ordered":
        shown.sort(key=lambda label: -sizes[label])
    words = [_named(column, label) for label in shown]
    rest = len(sizes) - len(shown)
    released = _with_rest([sizes[label] for label in shown], tally)
    original = None
    if before is not None:
        known = _label_sizes(before)
        original = _with_rest([known.get(label, 0) for label in shown], before)
    bars = _shares([*words, f"{rest:,} other", "missing"], released, original)
    return tuple(bar for bar in bars if bar.released > 0)


def _label_sizes(tally: Tally) -> dict[str, int]:
    """Return the number of rows of each category that occurs."""
    labels = [str(label) for label in tally.labels.to_pylist()] if tally.labels is not None else []
    codes, size = tally.known
    sizes = np.bincount(codes, weights=size, minlength=len(labels)).astype(np.int64).tolist()
    return {label: size for label, size in zip(labels, sizes, strict=True) if size}


def _with_rest(sizes: list[int], tally: Tally) -> list[int]:
    return [*sizes, tally.rows - sum(sizes) - tally.lacking, tally.lacking]


def _named(column: Column, label: str) -> str:
    meaning = column.field.labels.get(label)
    text = f"{label} ({meaning})" if meaning else label
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def _bin_bars(tally: Tally, before: Tally | None) -> tuple[Bar, ...]:
    """Return a histogram between the 1st and 99th hundredth of the released values, open at both ends."""
    column = tally.column
    low, high = (float(end) for end in tally.quantiles([0.01, 0.99]))
    whole = column.values.dtype.kind != "f"
    bins = int(min(MOST_BINS, high - low + 1)) if whole else MOST_BINS
    low, high = (low - 0.5, high + 0.5) if whole else (low, high)
    edges = np.linspace(low, high if high > low else low + 1.0, max(bins, 1) + 1)
    released = _histogram(tally, edges)
    original = None if before is None else _histogram(before, edges)
    ends = [_text(column, round(edge) if whole else edge) for edge in edges]
    return tuple(_shares([f"{a} to {b}" for a, b in pairwise(ends)], released, original))


def _histogram(tally: Tally, edges: NDArray[np.float64]) -> list[int]:
    """Return the number of rows between each two edges, those outside with the first and the last."""
    inner = tally.below(edges[1:-1])
    return [int(size) for size in np.diff([0, *inner, tally.rows - tally.lacking])]


def _shares(labels: Sequence[str], released: Sequence[int], original: Sequence[int] | None) -> list[Bar]:
    """Return bars as shares, those of the original hidden where they stand for too few rows."""
    total = max(sum(released), 1)
    bars = [Bar(label, size / total) for label, size in zip(labels, released, strict=True)]
    if original is None:
        return bars
    visible = [size >= FEWEST for size in original]
    hidden = [size for size in original if 0 < size < FEWEST]
    if len(hidden) == 1 and any(visible):
        visible[min((size, place) for place, size in enumerate(original) if size >= FEWEST)[1]] = False
    whole = max(sum(original), 1)
    return [replace(bar, original=size / whole if shown else None) for bar, size, shown in zip(bars, original, visible, strict=True)]


def told(bar: Bar) -> str:
    """Return a bar in words, for readers who do not see it."""
    beside = "" if bar.original is None else f", original {number(bar.original, 'share')}"
    return f"{bar.label}: {number(bar.released, 'share')}{beside}"
