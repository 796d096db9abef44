"""Pictures of a sweep: the loss of each attribute, precision and completeness along a setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veladura.base.pictures import INK, SOFT, image_of, new_figure, style
from veladura.comparison.sweep import Value, label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.comparison.candidate import Candidate
    from veladura.comparison.result import Comparison

MOST_PANELS = 4
# One hue for another also for those who tell few hues apart (Okabe and Ito 2008), and a mark each.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
PRECISION, COMPLETENESS = "utility.generalisation.precision", "utility.generalisation.completeness"
FONT_SIZE = 9.5


def curves(comparison: Comparison) -> dict[str, bytes]:
    """Return the pictures of a sweep as SVG by title; none where nothing was swept."""
    made = [c for c in comparison.candidates if c.swept and not c.problem]
    settings = [n for n in (made[0].swept if made else {}) if len({c.swept[n] for c in made}) > 1]
    pictures: dict[str, bytes] = {}
    for name in settings:
        if any(c.lost for c in made):
            pictures[f"Information lost by attribute, against {name}"] = _image(_losses(made, name))
        if all(c.estimate(PRECISION) is not None for c in made):
            title = f"Precision and completeness, against {name}"
            pictures[title] = _image(_precision(made, name))
    return pictures


def _image(figure: Figure) -> bytes:
    return image_of(figure, dpi=None, font_size=FONT_SIZE)


def _panels(
    candidates: Sequence[Candidate], name: str
) -> Iterator[tuple[dict[str, Value], list[Candidate]]]:
    """Yield the candidates that differ in one setting only, with the values of the others."""
    groups: dict[str, tuple[dict[str, Value], list[Candidate]]] = {}
    for candidate in candidates:
        others = {key: value for key, value in candidate.swept.items() if key != name}
        groups.setdefault(label_of(others), (others, []))[1].append(candidate)
    for others, members in groups.values():
        yield others, sorted(members, key=lambda c: _order(c.swept[name]))


def _order(value: Value) -> tuple[bool, Any]:
    return isinstance(value, str), value


def _losses(candidates: Sequence[Candidate], name: str) -> Figure:
    """Return one panel for each combination of the other settings, one line an attribute."""
    panels = list(_panels(candidates, name))[:MOST_PANELS]
    columns = list(dict.fromkeys(column for c in candidates for column in c.lost))
    with style(FONT_SIZE):
        figure = new_figure(4.1 * min(len(panels), 2) + 1.2, 3.1 * ((len(panels) + 1) // 2) + 0.4)
        grid: Any = figure.subplots(
            (len(panels) + 1) // 2, min(len(panels), 2), squeeze=False, sharey=True
        )
        for axes, (others, members) in zip(grid.ravel(), panels, strict=False):
            for i, column in enumerate(columns):
                values = [c.lost.get(column, 0.0) for c in members]
                _line(axes, members, name, values, column, i)
            _dress(axes, members, name, "information lost", label_of(others))
        for axes in grid.ravel()[len(panels) :]:
            axes.set_visible(False)
        handles, labels = grid.ravel()[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _precision(candidates: Sequence[Candidate], name: str) -> Figure:
    """Return precision and completeness side by side, one line for each of the other settings."""
    with style(FONT_SIZE):
        figure = new_figure(9.4, 3.4)
        both: Any = figure.subplots(1, 2)
        for i, (others, members) in enumerate(_panels(candidates, name)):
            for axes, figure_name in zip(both, (PRECISION, COMPLETENESS), strict=True):
                estimates = [c.estimate(figure_name) for c in members]
                values = [float("nan") if e is None else e.value for e in estimates]
                _line(axes, members, name, values, label_of(others) or "all", i)
        for axes, title in zip(both, ("precision", "completeness"), strict=True):
            _dress(axes, candidates, name, f"{title} kept", "")
        handles, labels = both[0].get_legend_handles_labels()
        if len(labels) > 1:
            figure.legend(handles, labels, loc="outside right upper", frameon=False)
    return figure


def _line(
    axes: Axes,
    members: Sequence[Candidate],
    name: str,
    values: Sequence[float],
    label: str,
    number: int,
) -> None:
    places: list[Any] = [c.swept[name] for c in members]
    axes.plot(
        places,
        list(values),
        color=COLOURS[number % len(COLOURS)],
        marker=MARKS[number % len(MARKS)],
        markersize=5,
        linewidth=1.4,
        label=label,
    )


def _dress(axes: Axes, members: Sequence[Candidate], name: str, what: str, title: str) -> None:
    from matplotlib.ticker import PercentFormatter

    axes.set_xlabel(name, color=INK)
    axes.set_ylabel(what, color=INK)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylim(-0.04, 1.04)
    places: list[Any] = sorted({c.swept[name] for c in members}, key=_order)
    axes.set_xticks(places)
    if not any(isinstance(place, str) for place in places):
        axes.set_xticklabels([f"{place:g}" for place in places])
    axes.tick_params(colors=SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    if title:
        axes.set_title(title, fontsize=9.5, color=INK, loc="left", parse_math=False)
