"""New points: uniform in the usable part of a cell, with the decimals of the source."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.core.recipe import Draw
from veladura.core.rules import AsReleased, Partial, Rule
from veladura.errors import DataError
from veladura.methods.geography.cells import Cells

if TYPE_CHECKING:
    from veladura.base.context import Context
    from veladura.methods.geography.located import Located, LocationRecipe
    from veladura.table.codes import Codes, Column

PATIENCE = 512  # tries in one piece before the row takes another cell
MOST_TRIES = 8192


@dataclass(frozen=True, eq=False)
class Writing:
    """The decimals of coordinates.

    Attributes
    ----------
    decimals
        Decimals of x and of y; None where the source has more than can be written.
    """

    decimals: tuple[int | None, int | None]

    @classmethod
    def of(cls, x: Column, y: Column) -> Writing:
        """Return how two columns are written."""
        return cls((x.decimals, y.decimals))

    def written(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return points as they will stand in the release."""
        parts = [
            part if places is None else np.round(part, places) + 0.0
            for part, places in zip((x, y), self.decimals, strict=True)
        ]
        return parts[0], parts[1]


def written(x: Column, y: Column, placed: Mask, new_x: Floats, new_y: Floats) -> dict[str, Column]:
    """Return the columns with new places for the rows that have one, and missing for others."""
    columns = {}
    for column, new in ((x, new_x), (y, new_y)):
        values = column.values.copy()
        values[placed] = new.astype(values.dtype)
        values[~placed] = 0
        columns[column.name] = column.with_values(values, ~placed)
    return columns


def moved_datasets(
    recipe: LocationRecipe,
    codes: Codes,
    located: Located,
    points: Callable[[Generator], tuple[Floats, Floats]],
    context: Context,
) -> Sequence[Draw]:
    """Return m datasets of a mask: the new points of each come from a stream of its own.

    ``points`` gives one point a home: the mean over the rows of a home must not come near it.
    """
    x, y, placed = codes[recipe.x], codes[recipe.y], located.places.placed
    of_row = located.homes.of_row
    datasets = []
    for number in range(recipe.m):
        new_x, new_y = points(context.streams(recipe.method, number))
        datasets.append(Draw(written(x, y, placed, new_x[of_row], new_y[of_row])))
    return datasets


def rule_of_masks(m: int) -> Rule:
    """Return the combining rule of m masked datasets."""
    return Partial() if m > 1 else AsReleased()


def draw_points(
    rng: Generator,
    grid: Cells,
    cells: Ints,
    writing: Writing,
    another: Callable[[Ints], Ints] | None = None,
) -> tuple[Floats, Floats]:
    """Draw a point for each row, uniform in the usable part of its cell.

    A piece of the cell is drawn by its area, then points in its bounding box until one is usable as
    it will be written. Whether somebody lives there is left to chance: places that are never
    released would be seen as holes in the map. Where a piece is too small for the decimals of the
    source, ``another`` gives new cells to the rows that still wait.
    """
    ladder, before = _ladder(grid)
    piece = _pick_pieces(rng, ladder, before, cells)
    x, y = np.empty(cells.size), np.empty(cells.size)
    waiting = np.arange(cells.size)
    for tries in range(1, MOST_TRIES + 1):
        new_x, new_y = writing.written(*_points_in(rng, grid, piece[waiting]))
        good = grid.holds(piece[waiting], new_x, new_y)
        x[waiting[good]], y[waiting[good]] = new_x[good], new_y[good]
        waiting = waiting[~good]
        if not waiting.size:
            return x, y
        if tries % PATIENCE == 0:
            fresh = cells[waiting] if another is None else another(waiting)
            piece[waiting] = _pick_pieces(rng, ladder, before, fresh)
    msg = (
        f"{waiting.size} rows have no point in their cells: with so few decimals no usable point"
        " lies there.\n\nHint: use fewer, larger cells, or give the coordinates more decimals."
    )
    raise DataError(msg)


def _ladder(grid: Cells) -> tuple[tuple[Ints, Floats], Floats]:
    """Return pieces by cell with their running area, and the running area before each cell."""
    order = np.argsort(grid.piece_cell, kind="stable")
    running = np.cumsum(grid.piece_area[order])
    first = np.searchsorted(grid.piece_cell[order], np.arange(grid.cells))
    return (order, running), np.where(first > 0, running[first - 1], 0.0)


def _pick_pieces(rng: Generator, ladder: tuple[Ints, Floats], before: Floats, cells: Ints) -> Ints:
    order, running = ladder
    after = np.append(before[1:], running[-1])
    # 1 - u is above 0, so that no rung falls on the last one of the cell before
    rung = before[cells] + (1.0 - rng.random(cells.size)) * (after - before)[cells]
    return np.asarray(order[np.minimum(np.searchsorted(running, rung), order.size - 1)])


def _points_in(rng: Generator, grid: Cells, piece: Ints) -> tuple[Floats, Floats]:
    """Draw a point in the bounding box of each piece, uniform in the plane."""
    west, south, east, north = grid.piece_box[piece].T
    across, up = rng.random((2, piece.size))
    return grid.plane.back(west + across * (east - west), south + up * (north - south))
