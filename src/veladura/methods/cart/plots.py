"""Pictures of a synthesis: what anyone may see, and the trees that only the custodian may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.base.pictures import image_of, new_figure
from veladura.errors import ColumnError
from veladura.numeric.trees.tree import CUT, DEPTH, END, FEATURE, LEFT, MISSING_LEFT, START, Tree
from veladura.table.codes import Column, encode, label_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.methods.cart.fitted import FittedCart

FEWEST_ROWS = 10
BARS = 20
MOST_PANELS = 30  # columns that a page shows
MOST_PAIRS = 6
MOST_TREES = 12


def shares(
    before: Column, after: Sequence[Column]
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return labels and shares of bars, original and synthetic; every bar holds at least ten rows of the original.

    Numbers are cut at quantiles of the original until each bar has ten rows; categories with fewer
    are lumped.
    """
    if before.labels is None:
        return _number_bars(before, after)
    texts = [label_text(label) for label in before.labels.to_pylist()]
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


def _category_shares(column: Column, shown: Sequence[str]) -> NDArray[np.float64]:
    texts = (
        [] if column.labels is None else [label_text(label) for label in column.labels.to_pylist()]
    )
    count = np.bincount(column.values[~column.missing], minlength=max(len(texts), 1))
    found = np.array(
        [count[texts.index(text)] if text in texts else 0 for text in shown], dtype=float
    )
    return np.append(found, column.size - found.sum()) / max(column.size, 1)


def _number_bars(
    before: Column, after: Sequence[Column]
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    known = np.sort(before.values[~before.missing].astype(np.float64))
    bars = max(min(BARS, known.size // (2 * FEWEST_ROWS)), 1)
    edges = (
        np.unique(np.quantile(known, np.linspace(0, 1, bars + 1)[1:-1]))
        if known.size
        else np.empty(0)
    )
    while (
        edges.size
        and (count := np.bincount(np.searchsorted(edges, known), minlength=edges.size + 1)).min()
        < FEWEST_ROWS
    ):
        edges = np.delete(edges, min(int(count.argmin()), edges.size - 1))
    if known.size < FEWEST_ROWS:
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
    """Return the pictures of anyone's page as SVG by title: margins, and the pairs of columns that hang together most."""
    from veladura.methods.cart.order import strongest_pairs

    if release.original is None:
        return {}
    changed = [name for name in release.steps[-1].changed if name in release.original.names]
    if not changed:
        return {}
    found = {
        "Original beside synthetic: share of the rows in each bar": _svg(
            marginals(release.original, release, changed[:MOST_PANELS])
        )
    }
    for first, second in strongest_pairs(release.original.codes(changed[:MOST_PANELS]), MOST_PAIRS):
        found[f"{first} with {second}: share of the rows in each cell"] = _svg(
            pairs(release.original, release, first, second)
        )
    return found


def tree_texts(fitted: FittedCart) -> dict[str, str]:
    """Return the trees of some columns in words by title. For the custodian only."""
    names = [name for name in fitted.changed() if _tree_of(fitted, name) is not None][:MOST_TREES]
    return {f"Tree of {name}, its first levels": tree_text(fitted, name) for name in names}


def _svg(figure: Figure) -> bytes:
    """Return a figure as SVG, the same bytes for the same data."""
    return image_of(figure, dpi=None)


def marginals(original: Any, release: Release, columns: Sequence[str] | None = None) -> Figure:
    """Return a figure with the share of rows in each bar, original beside synthetic, a panel a column."""
    table = _opened(original, release)
    names = list(columns or release.steps[-1].changed)
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


def pairs(original: Any, release: Release, first: str, second: str) -> Figure:
    """Return a figure of two columns together: shares of rows in the cells of both, cells with few original rows left blank."""
    table = _opened(original, release)
    grids = [
        _grid(table, first, second),
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


def _grid(table: Any, first: str, second: str, reference: Any = None) -> NDArray[np.float64]:
    source = table if reference is None else reference
    codes, sizes = [], []
    for name in (first, second):
        column, known = (encode(t.arrow.column(name), t.schema[name]) for t in (table, source))
        if known.labels is None or column.labels is None:
            values = known.values[~known.missing].astype(np.float64)
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
            texts = {label_text(label): i for i, label in enumerate(known.labels.to_pylist())}
            place = np.array(
                [texts.get(label_text(label), len(texts)) for label in column.labels.to_pylist()]
                or [0]
            )
            codes.append(np.where(column.missing, len(texts), place[column.values]))
            sizes.append(len(texts) + 1)
    count = np.bincount(codes[0] * sizes[1] + codes[1], minlength=sizes[0] * sizes[1])
    return np.asarray(count.reshape(sizes) / max(codes[0].size, 1))


def _opened(original: Any, release: Release) -> Any:
    from veladura.table.source import open_quietly

    return release.original if release.original is not None else open_quietly(original)


def _released(release: Release, name: str) -> list[Column]:
    return [encode(d.table.arrow.column(name), d.table.schema[name]) for d in release.tables]


def tree_text(fitted: FittedCart, column: str, most_depth: int = 4) -> str:
    """Return the tree of a column as text. For the custodian only: splits and leaves show original values."""
    tree = _tree(fitted, column)
    lines: list[str] = []
    names = list(fitted.binnings)

    def walk(node: int, sign: str) -> None:
        row = tree.nodes[node]
        size = int(row[END] - row[START])
        lines.append(f"{'  ' * int(row[DEPTH])}{sign}{size} rows")
        if row[FEATURE] < 0 or tree.stop[node] or row[DEPTH] >= most_depth:
            return
        name, binning = names[int(row[FEATURE])], fitted.binnings[names[int(row[FEATURE])]]
        if binning.edges is None:
            walk(int(row[LEFT]), f"{name} in a set: ")
            walk(int(row[LEFT]) + 1, f"{name} not in it: ")
            return
        cut = (
            binning.edges[min(max(int(row[CUT]), 0), binning.edges.size - 1)]
            if binning.edges.size
            else np.nan
        )
        missing = " or missing" if row[MISSING_LEFT] else ""
        limit = (
            str(np.datetime64(int(cut // 1), "D"))
            if fitted.table.schema[name].type == pa.date32() and np.isfinite(cut)
            else f"{cut:g}"
        )
        walk(int(row[LEFT]), f"{name} <= {limit}{missing}: ")
        walk(int(row[LEFT]) + 1, f"{name} > {limit}: ")

    walk(0, "")
    return "\n".join(lines)


def _tree(fitted: FittedCart, column: str) -> Tree:
    found = _tree_of(fitted, column)
    if found is None:
        setting = "the tree asked for"
        raise ColumnError.missing(
            setting, [column], [name for unit in fitted.units for name in unit.columns]
        )
    return found


def _tree_of(fitted: FittedCart, column: str) -> Tree | None:
    """Return the tree of a column's numbers, else that of its states; None for a model without trees."""
    for unit, model in zip(fitted.units, fitted.models[0], strict=True):
        if column in unit.columns:
            inner = getattr(model, "model", None)
            pair = getattr(inner, "pairs", (None,))[0]
            tree = getattr(inner, "tree", None) or (pair and (pair.numbers or pair.states))
            return tree if isinstance(tree, Tree) else None
    return None
