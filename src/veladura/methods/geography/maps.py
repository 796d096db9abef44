"""Maps as SVG: synthetic places and intensities are public, original places are private."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.pictures import SOFT, image_of, new_figure, style
from veladura.methods.geography.grid import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from veladura.core.release import Release
    from veladura.methods.geography.fitted import FittedGeography

FEWEST_ROWS = 10  # combinations with fewer people get no public map
MOST_PANELS = 6
STEPS = 7  # classes of intensity: shades show an order, not a count
LAND, WATER, LINE = "#f4f1ea", "#c6dbe8", "#8a8478"
INK, NEW = "#9c3d2e", "#1f5f8b"


@dataclass(frozen=True, eq=False)
class Shown:
    """What maps are drawn from. Holds original places, which only `custodian` shows."""

    grid: Grid
    names: tuple[str, ...] = field(repr=False)
    rows: Ints = field(repr=False)
    intensity: Floats = field(repr=False)
    group: Ints = field(repr=False)
    original: tuple[Floats, Floats] = field(repr=False)
    synthetic: tuple[Floats, Floats] = field(repr=False)
    axes: tuple[str, str] = ("x", "y")

    @classmethod
    def of(cls, fitted: FittedGeography, release: Release) -> Shown:
        """Return the first dataset and its original, without rows that have no place."""
        ground, first = fitted.ground, release.tables[0]
        order = np.asarray(first.order)[np.flatnonzero(ground.places.placed)]
        x, y = (
            first.table.column(name).numbers()[order] for name in (fitted.recipe.x, fitted.recipe.y)
        )
        return cls(
            ground.grid,
            ground.groups.names,
            ground.groups.rows,
            fitted.posterior.mean,
            ground.groups.of_row,
            (ground.places.x, ground.places.y),
            (x, y),
            _axis_labels(fitted),
        )

    @property
    def largest(self) -> list[int]:
        """The combinations with enough people for a map, the largest first."""
        order = np.argsort(-self.rows, kind="stable")
        return [int(b) for b in order if self.rows[b] >= FEWEST_ROWS][:MOST_PANELS]


def public(shown: Shown) -> dict[str, bytes]:
    """Return the maps that anyone may see."""
    around = "" if shown.grid.region.excluded is None else " and excluded areas"
    pictures = {f"Synthetic places{around} (first dataset)": _svg(lambda: _places(shown))}
    if shown.largest:
        title = (
            f"People per area, posterior mean, for the {len(shown.largest)} largest combinations of"
            f" attributes ({STEPS} shades, each with the same number of cells)"
        )
        pictures[title] = _svg(lambda: _intensities(shown))
    return pictures


def custodian(shown: Shown) -> dict[str, bytes]:
    """Return the private maps: the original places beside the synthetic ones."""
    return {
        "Original and synthetic places (first dataset): everyone and the largest combinations": (
            _svg(lambda: _compared(shown))
        )
    }


def _places(shown: Shown) -> Figure:
    figure = _figure(1, 1, shown.grid, 5.2)
    panel = _panel(figure, 1, 1, 1, shown)
    _dots(panel, *shown.synthetic, NEW)
    _name_dots(figure, shown.grid, {"one synthetic person": NEW})
    return figure


def _intensities(shown: Shown) -> Figure:
    """Draw a panel for each combination: people per area, in quantile classes of cells."""
    chosen = shown.largest
    wide = 2 if len(chosen) == 4 else min(3, len(chosen))  # noqa: PLR2004  # no lone map in a second row
    figure = _figure(-(-len(chosen) // wide), wide, shown.grid, 3.0)
    for i, b in enumerate(chosen, start=1):
        panel = _panel(figure, -(-len(chosen) // wide), wide, i, shown)
        panel.set_title(shown.names[b], fontsize=8)
        _shade(panel, shown.grid, shown.intensity[b] / shown.grid.area)
    _key(figure)
    return figure


def _compared(shown: Shown) -> Figure:
    chosen: Sequence[int | None] = [None, *shown.largest[:3]]
    figure = _figure(2, len(chosen), shown.grid, 2.9)
    for i, b in enumerate(chosen, start=1):
        mine = slice(None) if b is None else shown.group == b
        for row, (word, (x, y), colour) in enumerate(
            (("original", shown.original, INK), ("synthetic", shown.synthetic, NEW))
        ):
            panel = _panel(figure, 2, len(chosen), i + row * len(chosen), shown)
            panel.set_title(f"{word}: {'everyone' if b is None else shown.names[b]}", fontsize=7)
            _dots(panel, x[mine], y[mine], colour)
    _name_dots(figure, shown.grid, {"one person": INK, "one synthetic person": NEW})
    return figure


def _svg(make: Callable[[], Figure]) -> bytes:
    """Return a picture as SVG, the same bytes for the same release."""
    with style():
        return image_of(make())


def _figure(rows: int, columns: int, grid: Grid, width: float) -> Figure:
    tall = width / max(_aspect(grid)[1], 0.4)
    return new_figure(width * columns, min(tall, 2 * width) * rows + 0.3)


def _aspect(grid: Grid) -> tuple[float, float]:
    """Return the length of a unit of y over that of x, and width over height of the region."""
    west, south, east, north = grid.region.bounds
    x, y = grid.plane.forward(np.array([west, east]), np.array([south, north]))
    wide, high = float(np.ptp(x)), float(np.ptp(y))
    return (high / (north - south)) / (wide / (east - west)), wide / high


def _panel(figure: Figure, rows: int, columns: int, number: int, shown: Shown) -> Axes:
    """Return an empty map with land, excluded areas and coordinates, not stretched."""
    panel, grid = figure.add_subplot(rows, columns, number), shown.grid
    west, south, east, north = grid.region.bounds
    _fill(panel, grid.region.land, LAND, LINE, 0)
    if grid.region.excluded is not None:
        _fill(panel, grid.region.excluded, WATER, LINE, 3)
    panel.set_xlim(west, east)
    panel.set_ylim(south, north)
    panel.set_aspect(_aspect(grid)[0])
    panel.locator_params(nbins=4)
    panel.ticklabel_format(useOffset=False, style="plain")
    panel.tick_params(labelsize=6, colors=LINE, labelcolor=SOFT, length=2)
    # the maps of a row or column have the same coordinates
    if number > (rows - 1) * columns:
        panel.set_xlabel(shown.axes[0], fontsize=7, color=SOFT)
    else:
        panel.tick_params(labelbottom=False)
    if number % columns == 1 or columns == 1:
        panel.set_ylabel(shown.axes[1], fontsize=7, color=SOFT)
    else:
        panel.tick_params(labelleft=False)
    for side in panel.spines.values():
        side.set_color("#dcd7cc")
    return panel


def _axis_labels(fitted: FittedGeography) -> tuple[str, str]:
    """Return the columns of the coordinates with their units."""
    recipe = fitted.recipe
    if recipe.coordinates == "degrees":
        return f"{recipe.x} (degrees of longitude)", f"{recipe.y} (degrees of latitude)"
    return f"{recipe.x} (units of the source)", f"{recipe.y} (units of the source)"


def _fill(panel: Axes, shape: Any, colour: str, edge: str, order: float) -> None:
    from matplotlib.collections import PathCollection

    panel.add_collection(
        PathCollection(
            [_path(shape)], facecolor=colour, edgecolor=edge, linewidth=0.6, zorder=order
        )
    )


def _path(shape: Any) -> Any:
    """Return polygons with their holes as one path."""
    import shapely
    from matplotlib.path import Path

    rings = [
        ring
        for part in shapely.get_parts(shape)
        if part.geom_type == "Polygon"
        for ring in (part.exterior, *part.interiors)
    ]
    return Path.make_compound_path(
        *(Path(np.asarray(ring.coords)[:, :2], closed=True) for ring in rings)
    )


def _shades() -> Floats:
    import matplotlib as mpl

    return np.asarray(mpl.colormaps["YlOrBr"](np.linspace(0.05, 0.95, STEPS)))


def _shade(panel: Axes, grid: Grid, density: Floats) -> None:
    from matplotlib.collections import PathCollection

    edges = np.quantile(density, np.linspace(0, 1, STEPS + 1)[1:-1])
    colours = _shades()[np.searchsorted(edges, density)][grid.piece_cell]
    paths = [_path(shape) for shape in grid.shapes]
    # edges of the cells' own shade: without them the ground shows through between cells
    panel.add_collection(
        PathCollection(
            paths, facecolor=colours, edgecolor=colours, linewidth=0.4, zorder=1, rasterized=True
        )
    )
    _fill(panel, grid.region.land, "none", LINE, 2)


def _key(figure: Figure) -> None:
    """Explain the shades beside the maps: the place of a cell among all, not a count of people."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    edges = np.linspace(0, 1, STEPS + 1)
    scale = ScalarMappable(BoundaryNorm(edges, STEPS), ListedColormap(list(_shades())))
    key = figure.colorbar(scale, ax=figure.axes, shrink=0.7, aspect=30, pad=0.02, ticks=edges)
    key.ax.set_yticklabels([f"{edge:.0%}".replace("%", " %") for edge in edges], fontsize=7)
    key.set_label(
        "cells in order of people per area\n(0 %: the emptiest cell, 100 %: the fullest)",
        fontsize=8,
    )


def _name_dots(figure: Figure, grid: Grid, names: dict[str, str]) -> None:
    """Say below the maps what dots and areas are."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = [
        Line2D([], [], marker="o", linestyle="", markersize=3, color=colour, label=name)
        for name, colour in names.items()
    ]
    handles.append(Patch(facecolor=LAND, edgecolor=LINE, linewidth=0.6, label="region"))
    if grid.region.excluded is not None:
        patch = Patch(facecolor=WATER, edgecolor=LINE, linewidth=0.6, label="excluded area")
        handles.append(patch)
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False
    )


def _dots(panel: Axes, x: Floats, y: Floats, colour: str) -> None:
    size = float(np.clip(60 / np.sqrt(max(x.size, 1)), 1.5, 9.0))
    panel.scatter(x, y, s=size, c=colour, alpha=0.6, linewidths=0, zorder=4, rasterized=True)
