"""The release of cells instead of points: every place is the centre of its new cell."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.place import Writing

TRIES = 31  # points along each side of a cell, where neither its middle nor its inside will do


def written_centres(cells: Cells, writing: Writing) -> tuple[Floats, Floats]:
    """Return a centre of each cell with the decimals of the source, usable and inside the cell.

    It is the middle of the cell's largest piece or, where that lies outside (a cell bent like a
    horseshoe, a centre in the lake), a point inside. Centres come from the declared geometry and
    the decimals alone.
    """
    import shapely

    piece = cells.largest_piece
    own = np.arange(cells.cells)
    x, y = writing.written(*cells.centres())
    good = _inside(cells, piece, own, x, y)
    inner = shapely.get_coordinates(shapely.point_on_surface(cells.shapes[piece]))
    x, y = (np.where(good, old, new) for old, new in zip((x, y), inner.T, strict=True))
    x, y = writing.written(x, y)
    good = _inside(cells, piece, own, x, y)
    for i in np.flatnonzero(~good).tolist():
        west, south, east, north = cells.shapes[piece[i]].bounds
        across, up = np.meshgrid(np.linspace(west, east, TRIES), np.linspace(south, north, TRIES))
        many_x, many_y = writing.written(across.ravel(), up.ravel())
        here = _inside(
            cells, np.full(many_x.size, piece[i]), np.full(many_x.size, i), many_x, many_y
        )
        if here.any():
            first = int(np.argmax(here))
            x[i], y[i], good[i] = many_x[first], many_y[first], True
    if not good.all():
        msg = (
            f"{int(np.count_nonzero(~good))} of {cells.cells} cells have no centre that can be"
            " written with the decimals of the source.\n\nHint: use fewer, larger cells, or give"
            " the coordinates more decimals."
        )
        raise DataError(msg)
    return x, y


def _inside(cells: Cells, piece: Ints, cell: Ints, x: Floats, y: Floats) -> np.ndarray:
    """Return which points are usable ones of their cell, and of no other."""
    return np.asarray(cells.holds(piece, x, y) & (cells.locate(x, y) == cell))
