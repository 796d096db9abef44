"""Pictures of a search: the lattice of a small table, and what the k-minimal generalisations trade against each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import INK, SOFT, image_of, new_figure, style
from veladura.errors import DataError
from veladura.methods.kanonymity.search import allowed_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.methods.kanonymity.fitted import FittedKAnonymity

MOST_NODES = 120
MOST_POINTS = 2000
MOST_WORK = 20_000_000  # nodes times tuples that a report may count for its pictures
PALE, GOOD, MINIMAL, CHOSEN = "#e6e9ed", "#cfe3f1", "#2f6690", "#c8541b"
Vector = tuple[int, ...]


def lattice(fitted: FittedKAnonymity) -> Figure:
    """Return the lattice as a Hasse diagram: one step up an edge is one level more in one column.

    Levels are written in the order of the columns. Nodes that need more suppression than is allowed
    are grey; of the others the k-minimal ones are outlined, and the chosen one is filled.
    """
    nodes = _nodes(fitted)
    rows = {
        height: [v for v in nodes if sum(v) == height] for height in sorted({sum(v) for v in nodes})
    }
    widest = max(map(len, rows.values()))
    figure = new_figure(max(4.5, 0.75 * widest + 1.2), 0.75 * len(rows) + 1.3)
    axes = figure.add_subplot()
    places = {
        v: (i - (len(row) - 1) / 2, float(height))
        for height, row in rows.items()
        for i, v in enumerate(row)
    }
    _edges(axes, places)
    allowed = allowed_rows(fitted.recipe.max_suppression, int(fitted.lattice.sizes.sum()))
    for v, place in places.items():
        _bubble(axes, v, place, _rank(fitted, v, allowed))
    axes.set_xlim(-widest / 2 - 0.2, widest / 2 + 0.2)
    axes.set_ylim(-0.45, len(rows) - 0.55)
    axes.axis("off")
    axes.set_title(
        f"Levels of {', '.join(fitted.recipe.names)}",
        fontsize=10,
        color=INK,
        loc="left",
        parse_math=False,
        wrap=True,
    )
    _key(
        axes,
        [
            ("suppresses too much", PALE, PALE),
            ("allowed", GOOD, GOOD),
            ("k-minimal", GOOD, MINIMAL),
            ("chosen", CHOSEN, CHOSEN),
        ],
    )
    return figure


def _nodes(fitted: FittedKAnonymity) -> list[Vector]:
    if fitted.lattice.nodes > MOST_NODES:
        msg = (
            f"the lattice has {fitted.lattice.nodes} nodes: only one of up to {MOST_NODES} can be"
            " drawn so that it can be read."
        )
        raise DataError(msg)
    return sorted(
        product(*(range(int(height) + 1) for height in fitted.lattice.heights)), reverse=True
    )


def _edges(axes: Axes, places: dict[Vector, tuple[float, float]]) -> None:
    for v, (x, y) in places.items():
        for c in range(len(v)):
            if (above := places.get((*v[:c], v[c] + 1, *v[c + 1 :]))) is not None:
                axes.plot([x, above[0]], [y, above[1]], color="#c3cad2", linewidth=0.8, zorder=1)


def _rank(fitted: FittedKAnonymity, vector: Vector, allowed: int) -> tuple[str, str, str]:
    """Return fill, outline and ink of a node."""
    if vector == fitted.vector:
        return CHOSEN, CHOSEN, "white"
    if vector in fitted.vectors:
        return GOOD, MINIMAL, INK
    good = fitted.node(vector).suppressed <= allowed
    return (GOOD, GOOD, INK) if good else (PALE, PALE, SOFT)


def _bubble(
    axes: Axes, vector: Vector, place: tuple[float, float], colours: tuple[str, str, str]
) -> None:
    fill, line, ink = colours
    box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": line, "linewidth": 1.6}
    axes.text(
        *place, " ".join(map(str, vector)), ha="center", va="center", color=ink, bbox=box, zorder=2
    )


def _key(axes: Axes, entries: Sequence[tuple[str, str, str]]) -> None:
    from matplotlib.lines import Line2D

    def mark(text: str, fill: str, line: str) -> Any:
        return Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=8,
            markerfacecolor=fill,
            markeredgecolor=line,
            markeredgewidth=1.6,
            label=text,
        )

    axes.legend(
        handles=[mark(*entry) for entry in entries],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.02),
        ncols=len(entries),
        frameon=False,
        fontsize=8,
        handletextpad=0.2,
        columnspacing=1.2,
        labelcolor=INK,
    )


def trade_off(fitted: FittedKAnonymity) -> Figure:
    """Return the k-minimal generalisations as points: how precise the values stay against how many rows stay."""
    from matplotlib.ticker import PercentFormatter

    nodes = sorted(fitted.minimal, key=lambda node: node.relative_distance)[:MOST_POINTS]
    points = np.array([(node.precision, node.completeness) for node in nodes])
    figure = new_figure(5.6, 3.8)
    axes = figure.add_subplot()
    axes.scatter(
        points[:, 0],
        points[:, 1],
        s=34,
        color=MINIMAL,
        alpha=0.9 if len(nodes) < 50 else 0.45,  # noqa: PLR2004
        linewidths=0,
        zorder=2,
    )
    chosen = fitted.chosen
    axes.scatter(
        [chosen.precision],
        [chosen.completeness],
        s=90,
        color=CHOSEN,
        zorder=3,
        edgecolors="white",
        linewidths=1.2,
    )
    least = 1 - allowed_rows(fitted.recipe.max_suppression, int(fitted.lattice.sizes.sum())) / int(
        fitted.lattice.sizes.sum()
    )
    axes.axhline(least, color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    low = min(least, float(points[:, 1].min()), chosen.completeness)
    room = max(1 - low, 0.002) * 0.12
    axes.set_ylim(low - room, 1 + room)
    axes.margins(x=0.08)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("precision: how much of the values' detail stays", color=INK)
    axes.set_ylabel("completeness: rows that stay", color=INK)
    axes.set_title(
        f"{len(fitted.vectors):,} k-minimal generalisations, k = {fitted.recipe.k}",
        fontsize=10,
        color=INK,
        loc="left",
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=SOFT)
    _key_below(axes)
    return figure


def _key_below(axes: Axes) -> None:
    from matplotlib.lines import Line2D

    dots = [
        Line2D(
            [],
            [],
            linestyle="",
            marker="o",
            markersize=size,
            markerfacecolor=colour,
            markeredgecolor="none",
            label=text,
        )
        for text, colour, size in (("k-minimal", MINIMAL, 6), ("chosen", CHOSEN, 9))
    ]
    limit = Line2D(
        [], [], color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)), label="fewest rows allowed"
    )
    axes.legend(
        handles=[*dots, limit],
        loc="upper center",
        bbox_to_anchor=(0.5, -0.2),
        ncols=3,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
    )


def worth_drawing(kind: str, fitted: FittedKAnonymity) -> bool:
    """Whether a picture shows something, and its figures take no longer than the search did."""
    nodes = fitted.lattice.nodes if kind == "lattice" else len(fitted.vectors)
    readable = 1 < nodes <= (MOST_NODES if kind == "lattice" else MOST_POINTS)
    return (
        readable
        and fitted.recipe.recoding != "mondrian"
        and nodes * fitted.lattice.sizes.size <= MOST_WORK
    )


def drawn(kind: str, fitted: FittedKAnonymity) -> bytes:
    """Return a picture as SVG, the same bytes for the same search."""
    return _saved({"lattice": lattice, "trade-off": trade_off}[kind], fitted, "svg")


def write(kind: str, fitted: FittedKAnonymity, path: str | Path) -> Path:
    """Write a picture; the suffix of the path says in which format."""
    place = Path(path)
    place.write_bytes(
        _saved(
            {"lattice": lattice, "trade-off": trade_off}[kind],
            fitted,
            place.suffix.removeprefix(".") or "svg",
        )
    )
    return place


def _saved(make: Any, fitted: FittedKAnonymity, format_: str) -> bytes:
    with style():
        return image_of(make(fitted), format_)
