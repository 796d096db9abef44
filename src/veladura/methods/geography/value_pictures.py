"""Pictures of continuous variables for the custodian: boxplots by combination, and on the map."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import new_figure
from veladura.methods.geography.panels import INK, NEW, map_figure, map_panel, svg, titled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.geography.maps import Shown

MOST_BOXES = 24


def value_pictures(shown: Shown) -> dict[str, bytes]:
    """Return two pictures of each continuous variable, original beside synthetic."""
    pictures = {}
    for name, (before, after) in shown.values.items():
        if np.isnan(before).all():
            continue
        boxes = partial(_boxes, shown, name, before, np.concatenate(after))
        pictures[f"{name} by combination of attributes, original and synthetic"] = svg(boxes)
        mapped = partial(_on_the_map, shown, name, before, after[0])
        pictures[f"{name} on the map, original and synthetic (first dataset)"] = svg(mapped)
    return pictures


def _boxes(shown: Shown, name: str, before: Floats, after: Floats) -> Figure:
    """Draw boxplots: quartiles, whiskers to 1.5 times their distance, no single people beyond."""
    from matplotlib.patches import Patch

    order = np.argsort(-shown.rows, kind="stable")[:MOST_BOXES].tolist()
    figure = new_figure(max(4.5, 1.0 + 0.55 * len(order)), 3.8)
    panel = figure.add_subplot()
    group = np.tile(shown.group, after.size // max(before.size, 1))
    for shift, values, owner, colour in (
        (-0.19, before, shown.group, INK),
        (0.19, after, group, NEW),
    ):
        drawn = [_present(values[owner == b]) for b in order]
        panel.boxplot(
            drawn,
            positions=np.arange(len(order)) + shift,
            widths=0.32,
            showfliers=False,
            patch_artist=True,
            boxprops={"facecolor": colour, "alpha": 0.35, "edgecolor": colour},
            medianprops={"color": colour, "linewidth": 1.5},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
    labels = [shown.names[b].replace(", ", "\n") for b in order]
    panel.set_xticks(range(len(order)), labels, rotation=60 if len(order) > 4 else 0, fontsize=7)  # noqa: PLR2004
    panel.set_ylabel(name)
    handles = [
        Patch(facecolor=INK, alpha=0.35, edgecolor=INK, label="original"),
        Patch(facecolor=NEW, alpha=0.35, edgecolor=NEW, label="synthetic, all datasets"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=7, frameon=False)
    return figure


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _on_the_map(shown: Shown, name: str, before: Floats, after: Floats) -> Figure:
    """Draw people coloured by the variable, on one scale."""
    figure = map_figure(1, 2, shown.grid, 3.8)
    low, high = np.nanquantile(before, [0.02, 0.98])
    sides: Sequence[tuple[str, tuple[Floats, Floats], Floats]] = (
        ("original", shown.original, before),
        ("synthetic", shown.synthetic[0], after),
    )
    for at, (word, (x, y), values) in enumerate(sides, start=1):
        panel = map_panel(figure, (1, 2, at), shown.grid, shown.axes)
        titled(panel, word, 8)
        size = float(np.clip(120 / np.sqrt(max(x.size, 1)), 2.0, 14.0))
        known = ~np.isnan(values)
        cloud = panel.scatter(
            x[known],
            y[known],
            s=size,
            c=values[known],
            cmap="viridis",
            vmin=low,
            vmax=high,
            linewidths=0,
            zorder=4,
            rasterized=True,
        )
    key = figure.colorbar(cloud, ax=figure.axes, shrink=0.7, aspect=30, pad=0.02)
    key.set_label(name, fontsize=8)
    key.ax.tick_params(labelsize=7)
    return figure
