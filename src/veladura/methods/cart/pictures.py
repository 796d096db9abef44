"""Pictures of a synthesis for everyone: original and synthetic distributions side by side.

No bar or cell shows fewer than ten rows of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import image_of, new_figure
from veladura.methods.cart.cuts import Scale, scale_of
from veladura.numeric.association import associations
from veladura.table.codes import Codes, Column, encode, label_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter

    from veladura.core.release import Release
    from veladura.table.table import Table

FEWEST_ROWS = 10
BARS = 20
CUTS = 8  # bins of numbers in pictures of two columns
MOST_PANELS = 30  # columns that a page shows
MOST_PAIRS = 6


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
        "Original and synthetic distributions: share of rows in each bar": image_of(
            marginals(release, release.original, shown), dpi=None
        )
    }
    for first, second in _strongest_pairs(release.original.codes(shown)):
        pictures[f"{first} and {second}: share of rows in each cell"] = image_of(
            pairs(release, release.original, first, second), dpi=None
        )
    return pictures


def _strongest_pairs(codes: Codes) -> list[tuple[str, str]]:
    """Return the most strongly associated pairs of columns."""
    names = list(codes)
    strength = associations(codes, names)
    ranked = sorted((-strength[i, j], j, i) for i in range(len(names)) for j in range(i))
    return [(names[first], names[second]) for _, first, second in ranked[:MOST_PAIRS]]


def marginals(release: Release, table: Table, names: Sequence[str]) -> Figure:
    """Return a figure with a panel for each column: share of rows in each bar.

    Parameters
    ----------
    table
        The original.
    """
    wide = min(3, len(names))
    figure = new_figure(4.2 * wide, 2.9 * -(-len(names) // wide))
    for i, name in enumerate(names, start=1):
        scale, labels, before, after = _bars(
            encode(table.arrow.column(name), table.schema[name]), _released(release, name)
        )
        panel = figure.add_subplot(-(-len(names) // wide), wide, i)
        place = np.arange(len(labels))
        panel.bar(place - 0.2, before, 0.4, label="original", color="#22272e")
        panel.bar(place + 0.2, after, 0.4, label="synthetic", color="#8fb3cc")
        panel.set_title(name, fontsize=9)
        panel.set_xticks(*scale.ticks(missing=False), fontsize=7, **_slant(scale))
        panel.yaxis.set_major_formatter(_percent())
        panel.tick_params(axis="y", labelsize=7)
        if (i - 1) % wide == 0:
            panel.set_ylabel("share of rows", fontsize=8)
    figure.axes[0].legend(fontsize=7)
    return figure


def _percent() -> PercentFormatter:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=None, symbol=" %")


def _slant(scale: Scale) -> dict[str, Any]:
    """Return how labels stand: words and dates at an angle, short numbers upright."""
    long = scale.edges is None or max(map(len, scale.labels), default=0) > 7  # noqa: PLR2004
    return {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}


def pairs(release: Release, table: Table, first: str, second: str) -> Figure:
    """Return a figure of two columns: share of rows in each cell, cells with few rows left blank.

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
    figure = new_figure(8.6, 3.9)
    top = float(max(grid[~few].max(initial=0.0) for grid in grids))
    panels = []
    for i, (title, grid) in enumerate(zip(("original", "synthetic"), grids, strict=True), start=1):
        panel = figure.add_subplot(1, 2, i)
        image = panel.imshow(
            np.where(few, np.nan, grid)[shown],
            origin="lower",
            aspect="auto",
            vmin=0,
            vmax=top or 1.0,
            cmap="viridis",
        )
        panel.set(title=title, xlabel=second, ylabel=first)
        panel.set_xticks(*scales[1].ticks(missing=missing[1]), fontsize=7, **_slant(scales[1]))
        panel.set_yticks(*scales[0].ticks(missing=missing[0]), fontsize=7)
        panels.append(panel)
    key = figure.colorbar(image, ax=panels, format=_percent(), pad=0.02)
    key.set_label(f"share of rows (blank: fewer than {FEWEST_ROWS})", fontsize=8)
    key.ax.tick_params(labelsize=7)
    return figure


def _grid(table: Table, names: tuple[str, str], scales: Sequence[Scale]) -> Floats:
    """Return the share of rows in each cell of two columns."""
    first, second = (
        scale.place(encode(table.arrow.column(name), table.schema[name]))
        for name, scale in zip(names, scales, strict=True)
    )
    sizes = [scale.bins for scale in scales]
    count = np.bincount(first * sizes[1] + second, minlength=sizes[0] * sizes[1])
    return np.asarray(count.reshape(sizes) / max(first.size, 1))


def _released(release: Release, name: str) -> list[Column]:
    return [encode(d.table.arrow.column(name), d.table.schema[name]) for d in release.tables]
