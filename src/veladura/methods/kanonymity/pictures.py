"""Pictures of k-anonymity: what a release keeps, for everyone; the search, for the custodian.

The public picture is drawn from the manifest. The other generalisations of the lattice are not on
it: how many rows each of them would suppress is a count of values that were not released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import INK, SOFT, image_of, new_figure, style
from veladura.errors import DataError
from veladura.methods.kanonymity.lattice import Vector
from veladura.methods.kanonymity.settings import allowed_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.methods.kanonymity.fitted import FittedKAnonymity

MOST_NODES = 120
MOST_POINTS = 2000
MOST_WORK = 20_000_000  # nodes times tuples that a report may count for its pictures
PALE, GOOD, MINIMAL = "#e6e9ed", "#cfe3f1", "#2f6690"
CHOSEN, FULL = "#c8541b", "#5b93b8"
LEFT, BAR, RIGHT, ROW, LETTERS = 190, 240, 170, 24, 26  # of the public picture
KEPT_TITLE = "Precision of each generalised column, and people (rows) kept"
TITLES = {
    "lattice": "Generalisation lattice: every combination of levels",
    "trade-off": "Precision and completeness of the k-minimal generalisations",
}


def public_pictures(settings: Mapping[str, Any]) -> dict[str, bytes]:
    """Return what is kept of values and rows, from the settings in the manifest."""
    return {KEPT_TITLE: kept_picture(settings)}


def custodian_pictures(fitted: FittedKAnonymity) -> dict[str, bytes]:
    """Return the lattice where it is small enough to be read, and the trade-off if there is one."""
    return {
        title: drawn(kind, fitted) for kind, title in TITLES.items() if worth_drawing(kind, fitted)
    }


def kept_picture(settings: Mapping[str, Any]) -> bytes:
    """Return the bars of precision and completeness as SVG."""
    levels = settings["levels"] if settings["recoding"] == "global" else {}
    bars = []
    for name, share in settings["precision"].items():
        level = f", level {levels[name]} of {settings['heights'][name]}" if name in levels else ""
        bars.append((name, share, level))
    suppressed = f", {settings['suppressed_rows']:,} suppressed"
    bars.append(("people (rows)", float(settings["completeness"]), suppressed))
    lines = [line for i, bar in enumerate(bars) for line in _bar(i * ROW, *bar)]
    width, height = LEFT + BAR + RIGHT, ROW * len(bars) + 4
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}pt" height="{height}pt"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    )
    return "\n".join([head, *lines, "</svg>"]).encode()


def _bar(top: int, name: str, share: float, words: str) -> list[str]:
    shown = escape(name if len(name) <= LETTERS else f"{name[: LETTERS - 1]}\u2026")
    y, percent = top + 16, f"{100 * share:.3g} %{words}"
    return [
        f'<text x="{LEFT - 10}" y="{y}" text-anchor="end" fill="{INK}">{shown}</text>',
        f'<rect x="{LEFT}" y="{top + 5}" width="{BAR}" height="14" fill="{PALE}"/>',
        f'<rect x="{LEFT}" y="{top + 5}" width="{BAR * share:.1f}" height="14" fill="{FULL}"/>',
        f'<text x="{LEFT + BAR + 10}" y="{y}" fill="{SOFT}">{percent}</text>',
    ]


def lattice(fitted: FittedKAnonymity) -> Figure:
    """Return the lattice as a Hasse diagram: an edge up is one level more in one column.

    Levels are written in the order of the columns. Nodes that need more suppression than is allowed
    are grey; of the others the k-minimal ones are outlined, and the chosen one is filled.
    """
    nodes = _nodes(fitted)
    rows = {
        height: [v for v in nodes if sum(v) == height] for height in sorted({sum(v) for v in nodes})
    }
    widest = max(map(len, rows.values()))
    figure = new_figure(max(6.0, 0.75 * widest + 1.2), 0.75 * len(rows) + 1.3)
    axes = figure.add_subplot()
    places = {
        v: (i - (len(row) - 1) / 2, float(height))
        for height, row in rows.items()
        for i, v in enumerate(row)
    }
    _edges(axes, places)
    allowed = allowed_rows(fitted.recipe.max_suppression, fitted.lattice.rows)
    for v, place in places.items():
        _bubble(axes, v, place, _colours(fitted, v, allowed))
    axes.set_xlim(-widest / 2 - 0.2, widest / 2 + 0.2)
    axes.set_ylim(-0.45, len(rows) - 0.55)
    axes.axis("off")
    title = f"Levels of {'; '.join(fitted.recipe.attributes)}"
    axes.set_title(title, fontsize=10, color=INK, loc="left", parse_math=False, wrap=True)
    marks = [
        _mark("too many rows suppressed", PALE, PALE),
        _mark("allowed", GOOD, GOOD),
        _mark("k-minimal", GOOD, MINIMAL),
        _mark("chosen", CHOSEN, CHOSEN),
    ]
    _legend(axes, marks, -0.02)
    return figure


def _nodes(fitted: FittedKAnonymity) -> list[Vector]:
    if fitted.lattice.nodes > MOST_NODES:
        msg = (
            f"the generalisation lattice has {fitted.lattice.nodes:,} nodes: a picture is readable"
            f" with at most {MOST_NODES}."
        )
        raise DataError(msg)
    levels = (range(int(height) + 1) for height in fitted.lattice.heights)
    return sorted(product(*levels), reverse=True)


def _edges(axes: Axes, places: Mapping[Vector, tuple[float, float]]) -> None:
    for v, (x, y) in places.items():
        for c in range(len(v)):
            if (above := places.get((*v[:c], v[c] + 1, *v[c + 1 :]))) is not None:
                axes.plot([x, above[0]], [y, above[1]], color="#c3cad2", linewidth=0.8, zorder=1)


def _colours(fitted: FittedKAnonymity, vector: Vector, allowed: int) -> tuple[str, str, str]:
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
    text = " ".join(map(str, vector))
    axes.text(*place, text, ha="center", va="center", color=ink, bbox=box, zorder=2)


def trade_off(fitted: FittedKAnonymity) -> Figure:
    """Return the k-minimal generalisations as points: precision against completeness."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import PercentFormatter

    nodes = sorted(fitted.minimal, key=lambda node: node.relative_distance)[:MOST_POINTS]
    chosen, rows = fitted.chosen, fitted.lattice.rows
    x, y = np.array([(node.precision, node.completeness) for node in nodes]).T
    figure = new_figure(5.6, 3.8)
    axes = figure.add_subplot()
    alpha = 0.9 if len(nodes) < 50 else 0.45  # noqa: PLR2004
    axes.scatter(x, y, s=34, color=MINIMAL, alpha=alpha, linewidths=0, zorder=2)
    large: dict[str, Any] = {
        "s": 90,
        "color": CHOSEN,
        "zorder": 3,
        "edgecolors": "white",
        "linewidths": 1.2,
    }
    axes.scatter([chosen.precision], [chosen.completeness], **large)
    dashed: dict[str, Any] = {"color": SOFT, "linewidth": 0.8, "linestyle": (0, (4, 3))}
    least = 1 - allowed_rows(fitted.recipe.max_suppression, rows) / rows
    axes.axhline(least, **dashed, zorder=1)
    low = min(least, float(y.min()), chosen.completeness)
    room = max(1 - low, 0.002) * 0.12
    axes.set_ylim(low - room, 1 + room)
    axes.margins(x=0.08)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(PercentFormatter(1.0))
    axes.set_xlabel("precision: detail of the values kept", color=INK)
    axes.set_ylabel("completeness: people (rows) kept", color=INK)
    title = f"{len(fitted.vectors):,} k-minimal generalisations, k = {fitted.recipe.k}"
    axes.set_title(title, fontsize=10, color=INK, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=SOFT)
    marks = [
        _mark("k-minimal", MINIMAL, "none"),
        _mark("chosen", CHOSEN, "none"),
        Line2D([], [], label="least completeness allowed", **dashed),
    ]
    _legend(axes, marks, -0.2)
    return figure


def _mark(text: str, fill: str, line: str) -> Any:
    """Return a dot of the legend."""
    from matplotlib.lines import Line2D

    dot = Line2D([], [], linestyle="", marker="o", markersize=8, label=text)
    dot.set(markerfacecolor=fill, markeredgecolor=line, markeredgewidth=1.6)
    return dot


def _legend(axes: Axes, marks: Sequence[Any], y: float) -> None:
    legend = axes.legend(
        handles=list(marks), loc="upper center", bbox_to_anchor=(0.5, y), ncols=len(marks)
    )
    legend.set_frame_on(False)
    for text in legend.get_texts():
        text.set(fontsize=8, color=INK)


def worth_drawing(kind: str, fitted: FittedKAnonymity) -> bool:
    """Whether a picture shows something, and takes no longer than the search did."""
    nodes = fitted.lattice.nodes if kind == "lattice" else len(fitted.vectors)
    readable = 1 < nodes <= (MOST_NODES if kind == "lattice" else MOST_POINTS)
    cheap = nodes * fitted.lattice.sizes.size <= MOST_WORK
    return readable and cheap and fitted.recipe.recoding != "mondrian"


def drawn(kind: str, fitted: FittedKAnonymity, format_: str = "svg") -> bytes:
    """Return a picture ("lattice" or "trade-off"), the same bytes for the same search."""
    draw = {"lattice": lattice, "trade-off": trade_off}[kind]
    with style():
        return image_of(draw(fitted), format_)


def write(kind: str, fitted: FittedKAnonymity, path: str | Path) -> Path:
    """Write a picture; the suffix of the path says in which format."""
    place = Path(path)
    place.write_bytes(drawn(kind, fitted, place.suffix.removeprefix(".") or "svg"))
    return place
