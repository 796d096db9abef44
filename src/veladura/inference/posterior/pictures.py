"""Pictures of marginal posteriors: means and credible intervals of the shares."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import image_of, new_figure, style
from veladura.inference.posterior.compare import Questions, column_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release

FONT_SIZE = 10.0
MOST_CELLS_DRAWN = 24
MOST_CELLS_SHOWN = 2000  # of a posterior that a report computes
COLOUR, BAND = "#1f4e79", "#9db8d2"


def draw_picture(posterior: Questions, path: Path, level: float = 0.95) -> Path:
    """Write a picture of the marginal posteriors: of every column, and of the cells if few."""
    drawn(posterior, level).savefig(path, dpi=150)
    return path


def pictures(release: Release) -> dict[str, bytes]:
    """Return the marginal posteriors as SVG by title, from the release alone: public."""
    from veladura.inference.posterior.posterior import posterior
    from veladura.inference.posterior.reading import model_of

    if model_of(release).domain.cells > MOST_CELLS_SHOWN:
        return {}
    with style(FONT_SIZE):
        image = image_of(drawn(posterior(release)), dpi=None, font_size=FONT_SIZE)
    return {"Posterior of the shares in the population: means and 95 % credible intervals": image}


def drawn(posterior: Questions, level: float = 0.95) -> Figure:
    """Return a figure of the marginal posteriors."""
    names = posterior.domain.names
    cells = posterior.domain.cells if posterior.domain.cells <= MOST_CELLS_DRAWN else 0
    figure = new_figure(7, 1.2 + 0.28 * (cells + sum(posterior.domain.shape)))
    heights = [max(size, 2) for size in posterior.domain.shape] + (
        [cells] if cells and len(names) > 1 else []
    )
    axes = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    for axis, name in zip(axes, names, strict=False):
        _panel(axis, column_table(posterior, name, level), name)
    if len(axes) > len(names):
        frame = posterior.table(level)
        labels = [
            " / ".join("missing" if v is None else str(v) for v in label)
            for label in posterior.domain.labels()
        ]
        _intervals(
            axes[-1],
            labels,
            np.asarray(frame.iloc[:, -5]),
            np.asarray(frame.iloc[:, -3]),
            np.asarray(frame.iloc[:, -2]),
        )
        axes[-1].set_title("cells", loc="left", fontsize=9)
    axes[-1].set_xlabel(f"posterior mean of the share, with its {level:.0%} credible interval")
    return figure


def _panel(axis: Any, frame: Any, name: str) -> None:
    labels = ["missing" if value is None else str(value) for value in frame[name]]
    _intervals(
        axis,
        labels,
        np.asarray(frame["share"]),
        np.asarray(frame["lower"]),
        np.asarray(frame["upper"]),
    )
    axis.set_title(name, loc="left", fontsize=9)


def _intervals(axis: Any, labels: Sequence[str], middle: Any, low: Any, high: Any) -> None:
    places = np.arange(len(labels))[::-1]
    axis.hlines(places, low, high, color=BAND, linewidth=5)
    axis.plot(middle, places, "o", color=COLOUR, markersize=4)
    axis.set_yticks(places, labels, fontsize=8)
    axis.set_ylim(-0.6, len(labels) - 0.4)  # the outer bars whole
    axis.set_xlim(left=0)
    axis.spines[["top", "right"]].set_visible(False)
