"""Pictures of a synthesis for everyone: original and synthetic distributions side by side.

No bar or cell shows fewer than ten rows of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.drawing import Axis, Drawing, Panel, colour_key, fill_cells, share_axis
from veladura.methods.cart.cuts import Scale, scale_of
from veladura.numeric.association import associations
from veladura.table.codes import Codes, Column, label_texts

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

FEWEST_ROWS = 10
BARS = 20
CUTS = 8  # bins of numbers in pictures of two columns
MOST_PANELS = 30  # columns that a page shows
MOST_PAIRS = 6
ORIGINAL, SYNTHETIC = "#22272e", "#8fb3cc"


def shares(before: Column, after: Sequence[Column]) -> tuple[list[str], Floats, Floats]:
    """Return the labels of bars, and the share of rows in each: original, synthetic.

    Every bar has at least ten rows of the original: numbers are cut at rounded quantiles of the
    release, and rare categories share a bar.
    """
    return _bars(before, after)[1:]


def _bars(before: Column, after: Sequence[Column]) -> tuple[Scale, list[str], Floats, Floats]:
    """Return the bins of the bars, their names, and the shares of rows."""
    if before.labels is None:
        return _number_bars(before, after)
    texts = label_texts(before)
    count = np.bincount(before.values[~before.missing], minlength=len(texts))
    by_size = sorted(range(len(texts)), key=lambda i: -count[i])
    most = int(np.count_nonzero(count >= FEWEST_ROWS))
    while most and 0 < before.size - count[by_size[:most]].sum() < FEWEST_ROWS:
        most -= 1  # what is left over would be fewer than ten rows
    shown = [texts[i] for i in sorted(by_size[:most])]
    rows = [_category_shares(column, shown) for column in (before, *after)]
    original, synthetic = rows[0], np.mean(rows[1:], axis=0)
    if original[-1] == synthetic[-1] == 0:  # nothing is left over: no empty bar
        return Scale(None, tuple(shown)), shown, original[:-1], synthetic[:-1]
    names = [*shown, "others or missing"]
    return Scale(None, tuple(names)), names, original, synthetic


def _category_shares(column: Column, shown: Sequence[str]) -> Floats:
    texts = [] if column.labels is None else label_texts(column)
    count = np.bincount(column.values[~column.missing], minlength=max(len(texts), 1))
    counts = np.array(
        [count[texts.index(text)] if text in texts else 0 for text in shown], dtype=float
    )
    return np.append(counts, column.size - counts.sum()) / max(column.size, 1)


def _number_bars(
    before: Column, after: Sequence[Column]
) -> tuple[Scale, list[str], Floats, Floats]:
    """Return the bars of numbers: at least ten rows of the original in each."""
    numbers = before.values[~before.missing].astype(np.float64)
    if numbers.size < FEWEST_ROWS:
        return Scale(np.empty(0), ()), ["all"], np.zeros(1), np.ones(1)
    scale = scale_of(after, max(min(BARS, numbers.size // (2 * FEWEST_ROWS)), 1))
    kept = np.ones(len(scale.labels), dtype=bool)
    edges = np.empty(0) if scale.edges is None else scale.edges
    while kept.any():
        cuts = edges[kept]
        count = np.bincount(np.searchsorted(cuts, numbers), minlength=cuts.size + 1)
        if count.min() >= FEWEST_ROWS:
            break
        kept[np.flatnonzero(kept)[min(int(count.argmin()), cuts.size - 1)]] = False
    labels = [label for label, keep in zip(scale.labels, kept, strict=True) if keep]
    scale = Scale(edges[kept], tuple(labels))
    rows = [
        np.bincount(scale.place(column)[~column.missing], minlength=scale.bins - 1)
        / max(column.size, 1)
        for column in (before, *after)
    ]
    return scale, _bar_names(labels), rows[0], np.mean(rows[1:], axis=0)


def _bar_names(edges: Sequence[str]) -> list[str]:
    """Return what each bar holds, in words."""
    if not edges:
        return ["all"]
    inner = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[0]}", *inner, f"above {edges[-1]}"]


def compared(release: Release) -> dict[str, bytes]:
    """Return pictures for everyone as SVG by title: the distribution of each changed column.

    The most strongly associated pairs of columns follow.
    """
    if release.original is None:
        return {}
    changed = [name for name in release.steps[-1].changed if name in release.original.names]
    if not changed:
        return {}
    shown = changed[:MOST_PANELS]
    pictures = {
        "Original and synthetic distributions: share of rows in each bar": marginals(
            release, release.original, shown
        )
    }
    for first, second in _strongest_pairs(release.original.codes(shown)):
        title = f"{first} and {second}: share of rows in each cell"
        pictures[title] = pairs(release, release.original, first, second)
    return pictures


def _strongest_pairs(codes: Codes) -> list[tuple[str, str]]:
    """Return the most strongly associated pairs of columns."""
    names = list(codes)
    strength = associations(codes, names)
    ranked = sorted((-strength[i, j], j, i) for i in range(len(names)) for j in range(i))
    return [(names[first], names[second]) for _, first, second in ranked[:MOST_PAIRS]]


def marginals(release: Release, table: Table, names: Sequence[str]) -> bytes:
    """Return a panel for each column as SVG: share of rows in each bar.

    Parameters
    ----------
    table
        The original.
    """
    wide = min(3, len(names))
    width, height, legend = 302.0, 209.0, 22.0
    drawing = Drawing(width * wide, height * -(-len(names) // wide) + legend)
    for i, (label, colour) in enumerate((("original", ORIGINAL), ("synthetic", SYNTHETIC))):
        drawing.rectangle(60.0 + 70 * i, 8.0, 14.0, 7.0, colour)
        drawing.text(78.0 + 70 * i, 15.0, label)
    for i, name in enumerate(names):
        scale, labels, before, after = _bars(table.column(name), _released(release, name))
        room = (width * (i % wide), legend + height * (i // wide), width, height)
        up = share_axis(float(max(before.max(), after.max())) or 1.0)
        titles = (name, "", "" if i % wide else "share of rows")
        panel = Panel(drawing, room, _axis(scale, len(labels), missing=False), up, titles)
        for place, (original, synthetic) in enumerate(zip(before, after, strict=True)):
            panel.box((place - 0.4, place), 0.0, original, ORIGINAL)
            panel.box((place, place + 0.4), 0.0, synthetic, SYNTHETIC)
        panel.frame()
    return drawing.svg()


def _axis(scale: Scale, bins: int, *, missing: bool) -> Axis:
    """Return the axis of a column: words and dates at an angle, short numbers upright."""
    long = scale.edges is None or max(map(len, scale.labels), default=0) > 7  # noqa: PLR2004
    return Axis(-0.5, bins - 0.5, *scale.ticks(missing=missing), slanted=long)


def pairs(release: Release, table: Table, first: str, second: str) -> bytes:
    """Return two columns as SVG: share of rows in each cell, cells with few rows left blank.

    Parameters
    ----------
    table
        The original.
    """
    scales = [scale_of(_released(release, name), CUTS, FEWEST_ROWS) for name in (first, second)]
    grids = [
        _grid(table, (first, second), scales),
        np.mean([_grid(d.table, (first, second), scales) for d in release.tables], axis=0),
    ]
    few = grids[0] * table.rows < FEWEST_ROWS
    missing = [bool((~few).any(axis=1 - axis)[-1]) for axis in (0, 1)]
    # without the bins for missing values, where nothing is shown of them
    shown = tuple(slice(None) if some else slice(-1) for some in missing)
    up, across = (
        _axis(scale, scale.bins - (not some), missing=some)
        for scale, some in zip(scales, missing, strict=True)
    )
    top = float(max(grid[~few].max(initial=0.0) for grid in grids)) or 1.0
    width, height = 270.0, 281.0
    drawing = Drawing(2 * width + 80, height)
    for i, (title, grid) in enumerate(zip(("original", "synthetic"), grids, strict=True)):
        panel = Panel(drawing, (width * i, 0.0, width, height), across, up, (title, second, first))
        fill_cells(panel, np.where(few, np.nan, grid)[shown], top)
        panel.frame()
    key = (2 * width + 8, panel.top, 12.0, panel.bottom - panel.top)
    colour_key(drawing, key, share_axis(top))
    words = f"share of rows (blank: fewer than {FEWEST_ROWS})"
    drawing.text(2 * width + 70, height / 2, words, anchor="middle", turned=-90)
    return drawing.svg()


def _grid(table: Table, names: tuple[str, str], scales: Sequence[Scale]) -> Floats:
    """Return the share of rows in each cell of two columns."""
    first, second = (
        scale.place(table.column(name)) for name, scale in zip(names, scales, strict=True)
    )
    sizes = [scale.bins for scale in scales]
    count = np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1])
    return np.asarray(count.reshape(sizes) / max(first.size, 1))


def _released(release: Release, name: str) -> list[Column]:
    return [d.table.column(name) for d in release.tables]
