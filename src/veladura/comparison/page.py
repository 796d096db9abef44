"""The risk-utility map as a picture, and the page around it."""

from __future__ import annotations

import math
from base64 import b64encode
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from veladura.base.pictures import INK, SOFT, image_of, new_figure, style
from veladura.comparison.labels import Box, along, placed
from veladura.comparison.result import Comparison, figure_of, written
from veladura.report.render import page
from veladura.report.words import number, term

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.comparison.candidate import Candidate

FRONT, BEATEN = "#2f6690", "#8c959f"
FONT_SIZE = 10.0
WIDE = 30.0  # values further apart than this are shown on a logarithmic axis


def draw(comparison: Comparison) -> Figure:
    """Return the map: safer to the left, more useful above, dominated candidates grey."""
    with style(FONT_SIZE):
        figure = new_figure(8.6, 5.4)
        axes = figure.add_subplot()
        front = comparison.frontier
        for candidate in comparison.placed:
            _point(axes, comparison, candidate, front=candidate in front)
        places = [_place(comparison, candidate) for candidate in comparison.edge]
        axes.plot(
            [x for x, _ in places],
            [y for _, y in places],
            color=FRONT,
            linewidth=1.2,
            zorder=1,
            label="frontier",
        )
        _axis(axes, comparison, comparison.risk, "x")
        _axis(axes, comparison, comparison.utility, "y")
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(0.12)
        _labels(figure, axes, comparison)
    return figure


def _place(comparison: Comparison, candidate: Candidate) -> tuple[float, float]:
    x, y = (candidate.estimate(name) for name in (comparison.risk, comparison.utility))
    return (math.nan if x is None else x.value), (math.nan if y is None else y.value)


def _point(axes: Axes, comparison: Comparison, candidate: Candidate, *, front: bool) -> None:
    """Draw one candidate with the intervals of both figures."""
    x, y = (candidate.estimate(name) for name in (comparison.risk, comparison.utility))
    if x is None or y is None:
        return
    colour = FRONT if front else BEATEN
    across, along = (
        [[x.value - x.lower], [x.upper - x.value]],
        [[y.value - y.lower], [y.upper - y.value]],
    )
    marker = "o" if front else "s"
    axes.errorbar(
        x.value,
        y.value,
        along,
        across,
        fmt=marker,
        color=colour,
        markersize=7,
        elinewidth=0.8,
        capsize=2,
        zorder=2,
    )


def _axis(axes: Axes, comparison: Comparison, name: str, which: str) -> None:
    """Label an axis, turn it so that better is left or above, and choose its scale."""
    figure = figure_of(comparison, name)
    better = "low" if figure is None else figure.better
    values = [c.figures[name].estimate.value for c in comparison.placed]  # type: ignore[union-attr]
    good = {"x": "safer", "y": "more useful"}[which]
    arrow = {"x": f"\u2190 {good}", "y": f"{good} \u2192"}[which]
    (axes.set_xlabel if which == "x" else axes.set_ylabel)(
        f"{name if figure is None else term(figure.meaning)}    {arrow}", color=INK
    )
    if values and min(values) > 0 and max(values) / min(values) > WIDE:
        (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    unit = "number" if figure is None else figure.unit
    ticks = axes.xaxis if which == "x" else axes.yaxis
    ticks.set_major_formatter(lambda value, _: number(value, unit))
    ticks.set_minor_formatter(lambda _value, _: "")
    if (which == "x" and better == "high") or (which == "y" and better == "low"):
        (axes.invert_xaxis if which == "x" else axes.invert_yaxis)()


def _labels(figure: Figure, axes: Axes, comparison: Comparison) -> None:
    """Write labels beside the points; candidates in one place share a label."""
    figure.draw_without_rendering()  # the layout must be known before distances can be
    unit = figure.dpi / 72

    def on_paper(place: tuple[float, float]) -> tuple[float, float]:
        x, y = axes.transData.transform(place) / unit
        return float(x), float(y)

    together = _together(comparison)
    line = [on_paper(_place(comparison, candidate)) for candidate in comparison.edge]
    spans = [
        (on_paper(first), on_paper(last))
        for candidate in comparison.placed
        for first, last in _spans(comparison, candidate)
    ]
    drawn = [
        ends for ends in (*pairwise(line), *spans) if all(map(math.isfinite, (*ends[0], *ends[1])))
    ]  # a logarithmic axis has no 0
    lines = [box for first, last in drawn for box in along(first, last)]
    inside = axes.get_window_extent()
    frame = Box(*(float(end) / unit for end in (inside.x0, inside.y0, inside.x1, inside.y1)))
    labels = placed(
        [on_paper(place) for place in together],
        [name for name, _ in together.values()],
        lines,
        frame,
    )
    for label, (place, (name, front)) in zip(labels, together.items(), strict=True):
        x, y = on_paper(place)
        side = 0.0 if label.left >= x else 1.0 if label.box.right <= x else 0.5
        arrow = {
            "arrowstyle": "-",
            "color": BEATEN,
            "linewidth": 0.6,
            "shrinkA": 1,
            "shrinkB": 4,
            "relpos": (side, 0.5),
        }
        axes.annotate(
            name,
            place,
            (label.left - x, label.middle - y),
            textcoords="offset points",
            ha="left",
            va="center",
            color=INK if front else SOFT,
            arrowprops=arrow if label.led else None,
            parse_math=False,
            annotation_clip=False,
        )


def _spans(
    comparison: Comparison, candidate: Candidate
) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """Return the ends of the intervals of a candidate, along either axis."""
    x, y = (candidate.estimate(name) for name in (comparison.risk, comparison.utility))
    if x is None or y is None:
        return []
    return [((x.lower, y.value), (x.upper, y.value)), ((x.value, y.lower), (x.value, y.upper))]


def _together(comparison: Comparison) -> dict[tuple[float, float], tuple[str, bool]]:
    """Return by place the names of the candidates there, and whether they are on the frontier."""
    front = comparison.frontier
    places: dict[tuple[float, float], tuple[str, bool]] = {}
    for candidate in comparison.placed:
        place = _place(comparison, candidate)
        before = places[place][0] + ", " if place in places else ""
        places[place] = (before + candidate.name, candidate in front)
    return places


def svg(comparison: Comparison) -> bytes:
    """Return the map as SVG."""
    return image_of(draw(comparison), dpi=None, font_size=FONT_SIZE)


def _facts(comparison: Comparison) -> dict[str, Any]:
    axes = [figure_of(comparison, name) for name in (comparison.risk, comparison.utility)]
    return {
        "comparison": comparison,
        "picture": (
            f"data:image/svg+xml;base64,{b64encode(svg(comparison)).decode()}"
            if comparison.placed
            else ""
        ),
        "meanings": [
            (figure.name, figure.meaning, figure.better) for figure in axes if figure is not None
        ],
        "others": _others(comparison),
    }


def _others(comparison: Comparison) -> list[tuple[str, str, list[str]]]:
    """Return every figure that some candidate has: name, meaning, and one text a candidate."""
    names = [
        name for c in comparison.candidates for name in c.figures if c.estimate(name) is not None
    ]
    rows = []
    for name in dict.fromkeys(names):
        figure = figure_of(comparison, name)
        rows.append(
            (
                name,
                "" if figure is None else figure.meaning,
                [written(c, name) for c in comparison.candidates],
            )
        )
    return rows


def render(comparison: Comparison) -> str:
    """Return the whole page."""
    pictures = {
        title: f"data:image/svg+xml;base64,{b64encode(picture).decode()}"
        for title, picture in comparison.curves().items()
    }
    return page("comparison.html.j2", **_facts(comparison), curves=pictures)


def fragment(comparison: Comparison) -> str:
    """Return map and table for a notebook."""
    return page("comparison-fragment.html.j2", **_facts(comparison))
