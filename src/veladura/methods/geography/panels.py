"""Parts of maps: panels, shaded cells, dots and their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.pictures import SOFT, image_of, new_figure, style
from veladura.methods.geography.cells import Cells

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LAND, WATER, LINE = "#f4f1ea", "#c6dbe8", "#8a8478"
INK, NEW = "#9c3d2e", "#1f5f8b"
DARK = "#1d1b18"  # of people on shades
CLASSES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # of people per area, in those of an even spread
LONGEST = 34  # letters of a title before it is broken


def svg(make: Callable[[], Figure]) -> bytes:
    """Return a picture as SVG, the same bytes for the same release."""
    with style():
        return image_of(make())


def map_figure(rows: int, columns: int, grid: Cells, width: float) -> Figure:
    """Return a figure for some maps of a region."""
    tall = width / max(_aspect(grid)[1], 0.4)
    figure = new_figure(width * columns, min(tall, 2 * width) * rows + 0.3)
    engine = figure.get_layout_engine()
    assert engine is not None  # noqa: S101  # new figures have one
    engine.set(h_pad=0.08)  # type: ignore[call-arg]  # else the top titles touch the edge
    return figure


def _aspect(grid: Cells) -> tuple[float, float]:
    """Return the length of a unit of y over that of x, and width over height of the region."""
    west, south, east, north = grid.region.bounds
    x, y = grid.plane.forward(np.array([west, east]), np.array([south, north]))
    wide, high = float(np.ptp(x)), float(np.ptp(y))
    return (high / (north - south)) / (wide / (east - west)), wide / high


def map_panel(
    figure: Figure,
    place: tuple[int, int, int],
    grid: Cells,
    axes: tuple[str, str],
    last: int | None = None,
) -> Axes:
    """Return an empty map with land, excluded areas and coordinates, not stretched.

    Parameters
    ----------
    place
        Rows and columns of the figure, and the number of the panel from 1.
    last
        The number of the last panel, where the lowest row is not full.
    """
    rows, columns, number = place
    panel = figure.add_subplot(rows, columns, number)
    west, south, east, north = grid.region.bounds
    fill(panel, grid.region.land, LAND, LINE, 0)
    if grid.region.excluded is not None:
        fill(panel, grid.region.excluded, WATER, LINE, 3)
    panel.set_xlim(west, east)
    panel.set_ylim(south, north)
    panel.set_aspect(_aspect(grid)[0])
    panel.locator_params(nbins=4)
    panel.ticklabel_format(useOffset=False, style="plain")
    panel.tick_params(labelsize=6, colors=LINE, labelcolor=SOFT, length=2)
    # the maps of a row or column have the same coordinates
    if number + columns > (last or rows * columns):
        panel.set_xlabel(axes[0], fontsize=7, color=SOFT)
    else:
        panel.tick_params(labelbottom=False)
    if number % columns == 1 or columns == 1:
        panel.set_ylabel(axes[1], fontsize=7, color=SOFT)
    else:
        panel.tick_params(labelleft=False)
    for side in panel.spines.values():
        side.set_color("#dcd7cc")
    return panel


def titled(panel: Axes, text: str, size: float = 7) -> None:
    """Write a title, broken at commas where it is long."""
    lines = [""]
    for part in text.split(", "):
        joined = f"{lines[-1]}, {part}" if lines[-1] else part
        if len(joined) > LONGEST and lines[-1]:
            lines[-1] += ","
            lines.append(part)
        else:
            lines[-1] = joined
    panel.set_title("\n".join(lines), fontsize=size)


def fill(panel: Axes, shape: Any, colour: str, edge: str, order: float) -> None:
    """Draw an area."""
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

    return np.asarray(mpl.colormaps["YlOrBr"](np.linspace(0.05, 0.95, len(CLASSES) + 1)))


def shade(panel: Axes, grid: Cells, intensity: Floats) -> None:
    """Shade the cells by people per area, in classes that all maps share.

    A class is a factor of two, in units of an even spread of the same people over the region.
    """
    from matplotlib.collections import PathCollection

    density = intensity / grid.area / (intensity.sum() / grid.area.sum())
    colours = _shades()[np.searchsorted(CLASSES, density)][grid.piece_cell]
    paths = [_path(shape) for shape in grid.shapes]
    # edges of the cells' own shade: without them the ground shows through between cells
    panel.add_collection(
        PathCollection(
            paths, facecolor=colours, edgecolor=colours, linewidth=0.4, zorder=1, rasterized=True
        )
    )
    fill(panel, grid.region.land, "none", LINE, 2)


def key_of_shades(figure: Figure) -> None:
    """Explain the shades beside the maps."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    edges = np.arange(len(CLASSES) + 2)
    scale = ScalarMappable(BoundaryNorm(edges, edges.size - 1), ListedColormap(list(_shades())))
    key = figure.colorbar(scale, ax=figure.axes, shrink=0.7, aspect=30, pad=0.02, ticks=edges[1:-1])
    key.ax.set_yticklabels([f"{edge:g}" for edge in CLASSES], fontsize=7)
    key.set_label(
        "people per area, times that of an even spread\nof the same people over the region",
        fontsize=8,
    )


def name_dots(figure: Figure, grid: Cells, names: dict[str, str], note: str = "") -> None:
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
    if note:
        handles.append(Line2D([], [], linestyle="", label=note))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=7, frameon=False
    )


def dots(
    panel: Axes,
    points: tuple[Floats, Floats],
    colour: str,
    sizes: Floats | None = None,
    *,
    shaded: bool = False,
) -> None:
    """Draw people; several at one place, such as the centre of a cell, as one larger dot.

    Parameters
    ----------
    sizes
        From 0 to 1, the size of each dot between its smallest and its largest.
    shaded
        Whether they lie on shades, which a light edge sets them off from.
    """
    x, y = points
    size: Any = float(np.clip(60 / np.sqrt(max(x.size, 1)), 1.5, 9.0))
    if sizes is not None:
        size = size * (0.5 + 5.5 * sizes)
    elif x.size:
        places, many = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
        if many.max() > 1:
            x, y, size = places[:, 0], places[:, 1], size * many
    edge = {"linewidths": 0.3, "edgecolors": "white"} if shaded else {"linewidths": 0}
    alpha = 0.85 if shaded else 0.6
    panel.scatter(x, y, s=size, c=colour, alpha=alpha, zorder=4, rasterized=True, **edge)


def pages(chosen: Sequence[int], most: int) -> list[list[int]]:
    """Return some panels page by page, as even as possible."""
    number = max(-(-len(chosen) // most), 1)
    return [list(part) for part in np.array_split(np.asarray(chosen, dtype=np.int64), number)]
