"""A tree over two predictors: the partition of the plane, and the surface of its means.

The four pictures of Martins (2019), figure 1.2, after Hastie, Tibshirani and Friedman (2009),
figure 9.2. For the custodian only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.pictures import INK, new_figure, style
from veladura.errors import PlanError
from veladura.methods.cart.grown import GrownTree, grown_tree
from veladura.methods.cart.readable import readable
from veladura.numeric.trees.tree import CUT, FEATURE, LEFT, START

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from veladura.methods.cart.fitted import FittedCart

MOST_LABELS = 30  # leaves that are numbered


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """The rectangles of a tree that splits by two columns of numbers.

    Attributes
    ----------
    predictors
        The two columns.
    boxes
        For each leaf the ends of its rectangle: low and high across, low and high up.
    means
        The mean of each leaf.
    points, values
        The rows: their places, and their numbers.
    """

    response: str
    predictors: tuple[str, str]
    boxes: Floats
    means: Floats
    points: Floats
    values: Floats

    def __repr__(self) -> str:
        return f"Surface({self.response!r}, leaves={self.means.size})"

    def picture(self) -> Figure:
        """Return the partition beside the surface."""
        with style():
            figure = new_figure(9.0, 4.0)
            flat = figure.add_subplot(1, 2, 1)
            deep: Any = figure.add_subplot(1, 2, 2, projection="3d")
            self._partition(flat, figure)
            self._blocks(deep)
            figure.suptitle(
                f"Partition and surface of the tree of {self.response}: private, do not share",
                fontsize=10,
                color=INK,
            )
        return figure

    def plot(self, path: str | Path) -> Path:
        """Write the picture: SVG, PNG or PDF by the name of the file."""
        from veladura.base.pictures import write_figure

        return write_figure(self.picture(), Path(path))

    def _colours(self) -> Any:
        from matplotlib import colormaps
        from matplotlib.colors import Normalize

        low, high = float(self.means.min()), float(self.means.max())
        scale = Normalize(low, high if high > low else low + 1.0)
        return colormaps["viridis"](scale(self.means)), scale

    def _partition(self, axes: Any, figure: Figure) -> None:
        from matplotlib.cm import ScalarMappable
        from matplotlib.patches import Rectangle

        colours, scale = self._colours()
        for i, ((left, right, low, high), colour) in enumerate(
            zip(self.boxes, colours, strict=True)
        ):
            box = Rectangle((left, low), right - left, high - low)
            box.set(facecolor=(*colour[:3], 0.55), edgecolor=INK, linewidth=0.8)
            axes.add_patch(box)
            if self.means.size <= MOST_LABELS:
                middle = ((left + right) / 2, (low + high) / 2)
                axes.text(*middle, f"F{i + 1}", ha="center", va="center", fontsize=8, color=INK)
        axes.plot(self.points[:, 0], self.points[:, 1], ".", color=INK, markersize=1.5, alpha=0.5)
        axes.set_xlim(self.boxes[:, 0].min(), self.boxes[:, 1].max())
        axes.set_ylim(self.boxes[:, 2].min(), self.boxes[:, 3].max())
        axes.set_xlabel(self.predictors[0])
        axes.set_ylabel(self.predictors[1])
        mappable = ScalarMappable(norm=scale, cmap="viridis")
        figure.colorbar(mappable, ax=axes, label=f"mean {self.response}", shrink=0.8)

    def _blocks(self, axes: Any) -> None:
        colours, scale = self._colours()
        floor = scale.vmin - 0.15 * (scale.vmax - scale.vmin)
        left, right, low, high = self.boxes.T
        axes.bar3d(
            left,
            low,
            floor,
            right - left,
            high - low,
            self.means - floor,
            color=colours,
            edgecolor=INK,
            linewidth=0.3,
            shade=True,
        )
        axes.set_xlabel(self.predictors[0])
        axes.set_ylabel(self.predictors[1])
        axes.view_init(elev=35, azim=-125)


def surface_of(fitted: FittedCart, column: str, most: int | None = None) -> Surface:
    """Return the partition of the plane by the tree of a column with two number predictors.

    Parameters
    ----------
    most
        Most leaves: those of the largest subtree of the pruning sequence that has no more.
    """
    grown = grown_tree(fitted, column, most)
    used = np.unique(grown.tree.nodes[grown.tree.nodes[:, FEATURE] >= 0, FEATURE])
    names = list(fitted.binnings)
    across_up = [names[f] for f in used if f < len(names)]
    across_up += [name for name in grown.unit.given if name not in across_up]
    plain = [n for n in across_up[:2] if fitted.binnings[n].edges is not None]
    if grown.classes or len(plain) != 2 or len(across_up) < 2 or used.size > 2:  # noqa: PLR2004
        msg = (
            f"the tree of {column!r} is not one of numbers that splits by two columns of"
            " numbers.\n\nHint: fit it with predictors=[...] naming two number columns and"
            " linear_scores=False, or draw the tree itself."
        )
        raise PlanError(msg)
    first, second = plain
    points = np.column_stack([fitted.codes[name].numbers() for name in (first, second)])
    boxes, means = _boxes(grown, (names.index(first), names.index(second)), points)
    rows = np.unique(grown.tree.order)
    response = readable(fitted, column, most).response
    return Surface(response, (first, second), boxes, means, points[rows], grown.values[rows])


def _boxes(grown: GrownTree, axes: tuple[int, int], points: Floats) -> tuple[Floats, Floats]:
    """Return the rectangle and the mean of each leaf, from left to right."""
    tree, numbers = grown.tree, grown.leaf_numbers()
    binnings = list(grown.fitted.binnings.values())
    low, high = np.nanmin(points, axis=0), np.nanmax(points, axis=0)
    ends = np.zeros((len(tree.nodes), 4))
    ends[0] = (low[0], high[0], low[1], high[1])
    for node, row in enumerate(tree.nodes):  # parents come before their children
        if row[FEATURE] < 0:
            continue
        axis, edges = axes.index(int(row[FEATURE])), binnings[int(row[FEATURE])].edges
        assert edges is not None  # noqa: S101  # numbers have edges
        cut = float(edges[min(max(int(row[CUT]), 0), edges.size - 1)])
        left = int(row[LEFT])
        ends[left], ends[left + 1] = ends[node], ends[node]
        ends[left, 2 * axis + 1] = ends[left + 1, 2 * axis] = cut
    leaves = np.argsort(np.where(numbers > 0, numbers, numbers.size + 1))[: int(numbers.max())]
    means = [_mean(grown, tree.nodes[leaf, START : START + 2]) for leaf in leaves]
    return ends[leaves], np.array(means)


def _mean(grown: GrownTree, stretch: Ints) -> float:
    return float(grown.values[grown.tree.order[stretch[0] : stretch[1]]].mean())
