"""Pictures of leaves: boxes of their numbers, and means with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.pictures import INK, SOFT, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.methods.cart.leaves import LeafMeans, Leaves

ORIGINAL, SYNTHETIC = "#22272e", "#3d7ea6"
FILL = "#cfe3f1"
LONG = 20.0  # the largest number over the median, from which an axis is logarithmic
PRIVATE = "private, do not share"


def means_figure(means: LeafMeans) -> Figure:
    """Return means with their intervals by leaf, original beside synthetic (Martins, fig. 3.7)."""
    count = len(means.original)
    sides: list[tuple[Any, str, str]] = [(means.original, "original", ORIGINAL)]
    if means.synthetic is not None:
        sides.append((means.synthetic, "synthetic", SYNTHETIC))
    shift = 0.0 if len(sides) == 1 else 0.14
    with style():
        figure = new_figure(max(4.5, 0.75 * count + 1.5), 3.6)
        axes = figure.add_subplot()
        for k, (frame, label, colour) in enumerate(sides):
            x = np.arange(count) + (2 * k - 1) * shift
            mean = frame["mean"].to_numpy()
            below, above = mean - frame["lower"].to_numpy(), frame["upper"].to_numpy() - mean
            axes.errorbar(
                x,
                mean,
                yerr=np.nan_to_num(np.array([below, above])),
                fmt="o" if k == 0 else "s",
                color=colour,
                markersize=4,
                capsize=3,
                linewidth=1.2,
                label=label,
            )
        axes.set_xticks(np.arange(count), list(means.original.index))
        axes.set_ylabel(f"mean {means.response}, {100 * means.level:g} % interval")
        axes.set_xlabel("leaf")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(f"Means by leaf: {PRIVATE}", loc="left", fontsize=10, color=INK)
    return figure


def boxes_figure(leaves: Leaves, release: Release | None) -> Figure:
    """Return a box for the numbers of each leaf: quartiles, median, extremes, mean."""
    sides = [(leaves.membership, leaves.values, "original", "#ffffff")]
    if release is not None:
        parts = [leaves.of_table(dataset.table) for dataset in release.tables]
        leaf, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        sides.append((leaf, values, "synthetic", FILL))
    shift = 0.0 if len(sides) == 1 else 0.18
    with style():
        figure = new_figure(max(4.5, 0.8 * leaves.count + 1.5), 3.8)
        axes = figure.add_subplot()
        for k, (leaf, values, _, fill) in enumerate(sides):
            held = ~np.isnan(values)
            drawn = axes.boxplot(
                [values[held & (leaf == i + 1)] for i in range(leaves.count)],
                positions=np.arange(leaves.count) + (2 * k - 1) * shift,
                widths=0.28,
                whis=(0, 100),
                showmeans=True,
                manage_ticks=False,
                patch_artist=True,
                boxprops={"facecolor": fill, "edgecolor": SOFT},
                medianprops={"color": INK},
                meanprops={
                    "marker": "D",
                    "markersize": 3,
                    "markerfacecolor": INK,
                    "markeredgecolor": INK,
                },
            )
            drawn["boxes"][0].set_label(sides[k][2])
        names = [f"F{i + 1}\nn {rows}" for i, rows in enumerate(leaves.statistics()["n"].to_list())]
        axes.set_xticks(np.arange(leaves.count), names, fontsize=8)
        axes.set_ylabel(leaves.tree.response_of(leaves.transformed))
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        title = f"Numbers of each leaf: {PRIVATE}"
        axes.set_title(title, loc="left", fontsize=10, color=INK)
    return figure
