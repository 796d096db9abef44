"""Pictures that several studies draw: boxes, densities, intervals, lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.pictures import INK, SOFT, image_of, new_figure, style
from veladura.studies.study import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OURS, THEIRS, MARK = "#2f6690", "#8c959f", "#b42318"
COLOURS = ("#2f6690", "#d1732d", "#4f8a4c", "#8f5ea2", "#b42318", "#57606a", "#b8860b", "#1f9e9a")


def panels(
    number: int,
    draw: Callable[[int, Axes], None],
    *,
    columns: int = 4,
    size: tuple[float, float] = (2.3, 2.0),
    key: bool = False,
) -> Picture:
    """Return a picture of several panels, each drawn by its number.

    Parameters
    ----------
    key
        Whether one key above all panels stands for theirs: the names of the first.
    """
    columns = min(columns, number)
    rows = -(-number // columns)

    def make() -> bytes:
        with style():
            figure = new_figure(size[0] * columns, size[1] * rows)
            for place in range(number):
                axes = figure.add_subplot(rows, columns, place + 1)
                draw(place, axes)
                axes.spines[["top", "right"]].set_visible(False)
            if key:
                lines, names = figure.axes[0].get_legend_handles_labels()
                figure.legend(
                    lines, names, loc="outside upper left", ncols=4, frameon=False, fontsize=7
                )
            return image_of(figure)

    return Picture(make)


def one(
    draw: Callable[[Axes], None], *, width: float = 5.6, height: float = 3.2, key: bool = False
) -> Picture:
    """Return a picture of one panel."""
    return panels(1, lambda _, axes: draw(axes), size=(width, height), key=key)


def boxes(
    groups: Mapping[str, ArrayLike],
    truth: Sequence[float] | float,
    label: str = "",
    across: str = "",
) -> Callable[[Axes], None]:
    """Return how to draw boxes of draws by group, and the true values as dots."""

    def draw(axes: Axes) -> None:
        values = [np.asarray(group) for group in groups.values()]
        lines = {"color": INK, "linewidth": 0.8}
        axes.boxplot(
            values,
            tick_labels=list(groups),
            widths=0.6,
            flierprops={"markersize": 2, "markeredgecolor": SOFT},
            medianprops={"color": OURS},
            boxprops=lines,
            whiskerprops=lines,
            capprops=lines,
        )
        level = np.broadcast_to(np.asarray(truth, dtype=np.float64), len(values))
        axes.plot(np.arange(1, len(values) + 1), level, "o", color=MARK, markersize=3.5)
        axes.set_ylabel(label)
        axes.set_xlabel(across)

    return draw


def densities(
    groups: Mapping[str, ArrayLike], truth: float | None = None, label: str = ""
) -> Callable[[Axes], None]:
    """Return how to draw kernel densities of draws by group, and the true value as a line."""
    from scipy.stats import gaussian_kde

    def draw(axes: Axes) -> None:
        for colour, (name, group) in zip(COLOURS, groups.items(), strict=False):
            values = np.asarray(group, dtype=np.float64)
            low, high = values.min(), values.max()
            room = 0.1 * (high - low) or 1.0
            at = np.linspace(low - room, high + room, 200)
            axes.plot(at, gaussian_kde(values)(at), color=colour, linewidth=1.2, label=name)
        if truth is not None:
            axes.axvline(truth, color=MARK, linewidth=0.8, label="truth")
        axes.set_yticks([])
        axes.set_xlabel(label)
        if len(groups) > 1:
            axes.legend(frameon=False, fontsize=7)

    return draw


def intervals(
    names: Sequence[str],
    sets: Mapping[str, tuple[ArrayLike, ArrayLike]],
    label: str = "",
    truth: float | None = None,
) -> Callable[[Axes], None]:
    """Return how to draw intervals of several quantities, one colour a set, side by side.

    Names of the sets are left to the key of `panels`: over intervals they would hide them.
    """

    def draw(axes: Axes) -> None:
        shift = np.linspace(-0.2, 0.2, len(sets)) if len(sets) > 1 else np.zeros(1)
        places = np.arange(len(names))
        for colour, step, (name, (low, high)) in zip(COLOURS, shift, sets.items(), strict=False):
            lower, upper = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
            axes.vlines(places + step, lower, upper, color=colour, linewidth=2, label=name)
            axes.plot(places + step, (lower + upper) / 2, "o", color=colour, markersize=3)
        if truth is not None:
            axes.axhline(truth, color=MARK, linewidth=0.8, label="truth")
        axes.set_xticks(places, list(names))
        axes.set_xlim(-0.5, len(names) - 0.5)
        axes.margins(y=0.1)
        axes.set_ylabel(label)

    return draw


def curves(
    across: Sequence[float],
    lines: Mapping[str, ArrayLike],
    labels: tuple[str, str],
    points: Mapping[float, float] | None = None,
) -> Callable[[Axes], None]:
    """Return how to draw lines over common places, and what a source prints as crosses."""

    def draw(axes: Axes) -> None:
        for colour, (name, values) in zip(COLOURS, lines.items(), strict=False):
            axes.plot(across, values, "o-", color=colour, markersize=3, linewidth=1.2, label=name)
        if points:
            axes.plot(
                list(points), list(points.values()), "x", color=MARK, label="source", markersize=6
            )
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        if all(float(place).is_integer() for place in across):
            axes.locator_params(axis="x", integer=True)
        axes.legend(frameon=False, fontsize=7)

    return draw


def histogram(
    values: ArrayLike, label: str = "", *, bins: int = 40, lines: Any = None, title: str = ""
) -> Callable[[Axes], None]:
    """Return how to draw a histogram, with densities over it (place, density, name) and their sum.

    Parameters
    ----------
    title
        What the names of the densities are.
    """

    def draw(axes: Axes) -> None:
        axes.hist(np.asarray(values), bins=bins, density=True, color="#d8dee4", edgecolor="white")
        for number, (at, density, name) in enumerate(lines or ()):
            colour = COLOURS[number % len(COLOURS)]
            axes.plot(at, density, color=colour, linewidth=1.1, label=name)
        if lines:
            total = np.sum([density for _, density, _ in lines], axis=0)
            axes.plot(lines[0][0], total, "--", color=INK, linewidth=0.9, label="sum")
            axes.legend(frameon=False, fontsize=7, title=title, title_fontsize=7)
        axes.set_xlabel(label)
        axes.set_yticks([])

    return draw
