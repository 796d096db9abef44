"""Pictures of a synthesis for everyone: original and synthetic distributions side by side.

No bar or cell shows fewer than ten rows of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import image_of, new_figure
from veladura.numeric.association import associations
from veladura.table.codes import Codes, Column, encode, label_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.table.table import Table

FEWEST_ROWS = 10
BARS = 20
MOST_PANELS = 30  # columns that a page shows
MOST_PAIRS = 6


def shares(before: Column, after: Sequence[Column]) -> tuple[list[str], Floats, Floats]:
    """Return the labels of bars, and the share of rows in each: original, synthetic.

    Every bar has at least ten rows of the original: numbers are cut at its quantiles, and rare
    categories share a bar.
    """
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
        return shown, original[:-1], synthetic[:-1]
    return [*shown, "others or missing"], original, synthetic


def _category_shares(column: Column, shown: Sequence[str]) -> Floats:
    texts = [] if column.labels is None else label_texts(column)
    count = np.bincount(column.values[~column.missing], minlength=max(len(texts), 1))
    counts = np.array(
        [count[texts.index(text)] if text in texts else 0 for text in shown], dtype=float
    )
    return np.append(counts, column.size - counts.sum()) / max(column.size, 1)


def _number_bars(before: Column, after: Sequence[Column]) -> tuple[list[str], Floats, Floats]:
    numbers = np.sort(before.values[~before.missing].astype(np.float64))
    bars = max(min(BARS, numbers.size // (2 * FEWEST_ROWS)), 1)
    edges = (
        np.unique(np.quantile(numbers, np.linspace(0, 1, bars + 1)[1:-1]))
        if numbers.size
        else np.empty(0)
    )
    while (
        edges.size
        and (count := np.bincount(np.searchsorted(edges, numbers), minlength=edges.size + 1)).min()
        < FEWEST_ROWS
    ):
        edges = np.delete(edges, min(int(count.argmin()), edges.size - 1))
    if numbers.size < FEWEST_ROWS:
        return ["bar 1"], np.zeros(1), np.ones(1)
    rows = [
        np.bincount(
            np.searchsorted(edges, column.values[~column.missing].astype(np.float64)),
            minlength=edges.size + 1,
        )
        / max(column.size, 1)
        for column in (before, *after)
    ]
    return [f"bar {i + 1}" for i in range(edges.size + 1)], rows[0], np.mean(rows[1:], axis=0)


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
    figure = new_figure(4.2 * wide, 2.8 * -(-len(names) // wide))
    for i, name in enumerate(names, start=1):
        labels, before, after = shares(
            encode(table.arrow.column(name), table.schema[name]), _released(release, name)
        )
        panel = figure.add_subplot(-(-len(names) // wide), wide, i)
        place = np.arange(len(labels))
        panel.bar(place - 0.2, before, 0.4, label="original", color="#22272e")
        panel.bar(place + 0.2, after, 0.4, label="synthetic", color="#8fb3cc")
        panel.set_title(name, fontsize=9)
        panel.set_xticks(place if len(labels) <= 8 and not labels[0].startswith("bar ") else [])  # noqa: PLR2004
        if len(panel.get_xticks()):
            panel.set_xticklabels(labels, rotation=45, ha="right", fontsize=7)
    figure.axes[0].legend(fontsize=7)
    return figure


def pairs(release: Release, table: Table, first: str, second: str) -> Figure:
    """Return a figure of two columns: share of rows in each cell, cells with few rows left blank.

    Parameters
    ----------
    table
        The original.
    """
    grids = [
        _grid(table, first, second, table),
        np.mean([_grid(d.table, first, second, table) for d in release.tables], axis=0),
    ]
    rows = table.rows
    few = grids[0] * rows < FEWEST_ROWS
    figure = new_figure(8, 3.6)
    top = float(max(grid[~few].max(initial=0.0) for grid in grids))
    for i, (title, grid) in enumerate(zip(("original", "synthetic"), grids, strict=True), start=1):
        panel = figure.add_subplot(1, 2, i)
        panel.imshow(
            np.where(few, np.nan, grid),
            origin="lower",
            aspect="auto",
            vmin=0,
            vmax=top,
            cmap="viridis",
        )
        panel.set(title=title, xlabel=second, ylabel=first, xticks=[], yticks=[])
    return figure


def _grid(table: Table, first: str, second: str, original: Table) -> Floats:
    """Return the share of rows in each cell of two columns; numbers are cut as in the original."""
    codes, sizes = [], []
    for name in (first, second):
        column, before = (encode(t.arrow.column(name), t.schema[name]) for t in (table, original))
        if before.labels is None or column.labels is None:
            values = before.values[~before.missing].astype(np.float64)
            edges = (
                np.unique(np.quantile(values, np.linspace(0, 1, 9)[1:-1]))
                if values.size
                else np.empty(0)
            )
            codes.append(
                np.where(
                    column.missing,
                    edges.size + 1,
                    np.searchsorted(edges, column.values.astype(np.float64)),
                )
            )
            sizes.append(edges.size + 2)
        else:
            texts = {text: i for i, text in enumerate(label_texts(before))}
            place = np.array([texts.get(text, len(texts)) for text in label_texts(column)] or [0])
            codes.append(np.where(column.missing, len(texts), place[column.values]))
            sizes.append(len(texts) + 1)
    count = np.bincount(codes[0] * sizes[1] + codes[1], minlength=sizes[0] * sizes[1])
    return np.asarray(count.reshape(sizes) / max(codes[0].size, 1))


def _released(release: Release, name: str) -> list[Column]:
    return [encode(d.table.arrow.column(name), d.table.schema[name]) for d in release.tables]
