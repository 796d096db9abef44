"""A regular grid over a declared region: usable cells, their areas and their neighbours.

The grid comes from the declared region alone, never from the data: its edges disclose nothing about
where the outermost person lives.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region

SLIVER = 0.1  # squares with less than this share of a whole one usable join a neighbour
MOST_SQUARES = 250_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid(Cells):
    """Usable cells of a region. A cell is one square's usable part, with the slivers beside it.

    Neighbours share a side or corner.

    Attributes
    ----------
    x_edges, y_edges
        Edges of the squares in declared coordinates; equal steps in the plane.
    square
        The square of each piece, counted row by row from the south-west.
    """

    x_edges: Floats
    y_edges: Floats
    square: Ints = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Squares from west to east and from south to north."""
        return self.x_edges.size - 1, self.y_edges.size - 1

    @property
    def cell_of_square(self) -> Ints:
        """The cell of every square, -1 where nothing of it is usable."""
        cells = np.full(self.shape[0] * self.shape[1], -1, dtype=np.int64)
        cells[self.square] = self.piece_cell
        return cells

    def locate(self, x: Floats, y: Floats) -> Ints:
        """Return the cell of each point; where a square has no usable part, the nearest cell."""
        across = np.clip(np.searchsorted(self.x_edges, x, side="right") - 1, 0, self.shape[0] - 1)
        up = np.clip(np.searchsorted(self.y_edges, y, side="right") - 1, 0, self.shape[1] - 1)
        cell: Ints = self.cell_of_square[up * self.shape[0] + across]
        astray = np.flatnonzero(cell < 0)
        if astray.size:
            import shapely

            tree = shapely.STRtree(self.shapes)
            cell[astray] = self.piece_cell[tree.nearest(shapely.points(x[astray], y[astray]))]
        return cell

    @property
    def names(self) -> tuple[str, ...]:
        """The square of each cell's largest piece: its column from the west, row from the south."""
        row, column = np.divmod(self.square[self.largest_piece], self.shape[0])
        return tuple(
            f"column {c + 1} row {r + 1}"
            for c, r in zip(column.tolist(), row.tolist(), strict=True)
        )

    @property
    def diagonal(self) -> Floats:
        """The diagonal of a square, of every cell."""
        west, south, east, north = _plane_bounds(self.region, self.plane)
        across, up = (east - west) / self.shape[0], (north - south) / self.shape[1]
        return np.full(self.cells, np.hypot(across, up))

    def holds(self, piece: Ints, x: Floats, y: Floats) -> Mask:  # noqa: ARG002
        """Return which points are usable: the bounding box of a piece lies in its square."""
        return self.region.usable(x, y)


def grid_over(region: Region, plane: Plane, shape: tuple[int, int]) -> Grid:
    """Return the grid of a region: squares clipped to its usable part, slivers merged.

    Parameters
    ----------
    shape
        Squares from west to east and from south to north, over the bounds of the declared region.
        A square with less than a tenth of its area usable joins a neighbour.

    Examples
    --------
    >>> import shapely
    >>> grid = grid_over(Region(shapely.box(0, 0, 4, 4), shapely.box(0, 0, 2, 2)), Plane(), (2, 2))
    >>> grid.cells, grid.area.tolist()
    (3, [4.0, 4.0, 4.0])
    """
    across, up = shape
    if across * up > MOST_SQUARES:
        msg = f"grid has {across} x {up} squares, more than {MOST_SQUARES:,}.\n\nHint: use fewer."
        raise PlanError(msg)
    x_edges, y_edges = _edges(region, plane, shape)
    square, shapes, area, box = _pieces(region, plane, x_edges, y_edges)
    whole = _square_area(region, plane, shape)
    cell = _merge_slivers(square, area, shape, SLIVER * whole)
    total = np.zeros(int(cell.max()) + 1)
    np.add.at(total, cell, area)
    return Grid(
        region=region,
        plane=plane,
        x_edges=x_edges,
        y_edges=y_edges,
        square=square,
        piece_cell=cell,
        piece_area=area,
        piece_box=box,
        shapes=shapes,
        area=total,
        pairs=_pairs(square, cell, shape),
    )


def _edges(region: Region, plane: Plane, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return the edges of the squares in declared coordinates: equal steps in the plane."""
    west, south, east, north = _plane_bounds(region, plane)
    x, _ = plane.back(np.linspace(west, east, shape[0] + 1), np.zeros(shape[0] + 1))
    _, y = plane.back(np.zeros(shape[1] + 1), np.linspace(south, north, shape[1] + 1))
    # exact ends: projecting and back may lose a last digit
    x[[0, -1]], y[[0, -1]] = region.bounds[0::2], region.bounds[1::2]
    return x, y


def _plane_bounds(region: Region, plane: Plane) -> tuple[float, float, float, float]:
    ends = np.array(region.bounds)
    (west, east), (south, north) = plane.forward(ends[0::2], ends[1::2])
    return float(west), float(south), float(east), float(north)


def _square_area(region: Region, plane: Plane, shape: tuple[int, int]) -> float:
    west, south, east, north = _plane_bounds(region, plane)
    return (east - west) / shape[0] * (north - south) / shape[1]


def _pieces(
    region: Region, plane: Plane, x_edges: Floats, y_edges: Floats
) -> tuple[Ints, NDArray[Any], Floats, Floats]:
    """Return the usable parts: square, shape, and in the plane area and bounding box."""
    import shapely

    left, low = np.meshgrid(x_edges[:-1], y_edges[:-1])
    right, high = np.meshgrid(x_edges[1:], y_edges[1:])
    squares = shapely.box(left.ravel(), low.ravel(), right.ravel(), high.ravel())
    clipped = shapely.intersection(squares, region.open)
    # a straight line in degrees bends in the plane
    step = max(x_edges[1] - x_edges[0], y_edges[1] - y_edges[0]) / 8
    flat = shapely.transform(
        shapely.segmentize(clipped, step),
        lambda at: np.column_stack(plane.forward(at[:, 0], at[:, 1])),
    )
    area = shapely.area(flat)
    some = np.flatnonzero(area > 0)
    return some.astype(np.int64), clipped[some], area[some], shapely.bounds(flat[some])


def _adjacent(square: Ints, shape: tuple[int, int]) -> tuple[Ints, Ints, Mask]:
    """Return pairs of pieces in adjacent squares, both ways, and which of them share a side."""
    across, up = shape
    place = np.full((up + 2, across + 2), -1, dtype=np.int64)
    row, column = np.divmod(square, across)
    place[row + 1, column + 1] = np.arange(square.size)
    first, second, side = [], [], []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            if down or right:
                adjacent = place[row + 1 + down, column + 1 + right]
                there = np.flatnonzero(adjacent >= 0)
                first.append(there)
                second.append(adjacent[there])
                side.append(np.full(there.size, not (down and right)))
    return np.concatenate(first), np.concatenate(second), np.concatenate(side)


def _merge_slivers(square: Ints, area: Floats, shape: tuple[int, int], least: float) -> Ints:
    """Return the cell of each piece; small pieces join their largest neighbour.

    A neighbour that shares a side comes before one that shares a corner.
    """
    piece, other, side = _adjacent(square, shape)
    # by piece, then side before corner, then the largest
    order = np.lexsort((other, -area[other], ~side, piece))
    piece, other = piece[order], other[order]
    best = np.full(square.size, -1, dtype=np.int64)
    if piece.size:
        lead = np.flatnonzero(np.r_[True, np.diff(piece) > 0])
        best[piece[lead]] = other[lead]
    root = np.arange(square.size)

    def top(at: int) -> int:
        while root[at] != at:
            at = int(root[at])
        return at

    total = area.copy()
    for at in np.argsort(area, kind="stable").tolist():
        mine, target = top(at), best[at]
        if target < 0 or area[at] >= least or total[mine] >= least or top(int(target)) == mine:
            continue
        joined = top(int(target))
        root[mine] = joined
        total[joined] += total[mine]
    roots = np.array([top(at) for at in range(square.size)])
    return np.unique(roots, return_inverse=True)[1].astype(np.int64)


def _pairs(square: Ints, cell: Ints, shape: tuple[int, int]) -> Ints:
    """Return the pairs of different cells that have neighbouring squares, in order."""
    first, second, _ = _adjacent(square, shape)
    pairs: Ints = np.unique(np.column_stack([cell[first], cell[second]]), axis=0)
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])
