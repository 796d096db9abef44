"""Cells of a map: usable areas with neighbours, that places are counted in and drawn from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region


@dataclass(frozen=True, eq=False, kw_only=True)
class Cells(ABC):
    """Usable cells of a region, each made of one or more pieces.

    Attributes
    ----------
    piece_cell, piece_area, piece_box
        The cell of each piece, its usable area and its bounding box, both in the plane.
    shapes
        The piece itself, in declared coordinates.
    area
        Usable area of each cell, in the plane.
    pairs
        Cells that are neighbours, each pair twice.
    """

    region: Region
    plane: Plane
    piece_cell: Ints = field(repr=False)
    piece_area: Floats = field(repr=False)
    piece_box: Floats = field(repr=False)
    shapes: NDArray[Any] = field(repr=False)
    area: Floats = field(repr=False)
    pairs: Ints = field(repr=False)

    @property
    def cells(self) -> int:
        """Number of usable cells."""
        return int(self.area.size)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each cell."""

    @property
    @abstractmethod
    def diagonal(self) -> Floats:
        """Across each cell, in the plane: what is further away is not beside it."""

    @abstractmethod
    def locate(self, x: Floats, y: Floats) -> Ints:
        """Return the cell of each point; the nearest one where no cell holds it."""

    @abstractmethod
    def holds(self, piece: Ints, x: Floats, y: Floats) -> Mask:
        """Return which points, each drawn in the bounding box of a piece, are usable ones of it."""

    def centres(self) -> tuple[Floats, Floats]:
        """Return the middle of each cell's largest piece, in declared coordinates."""
        import shapely

        middle = shapely.get_coordinates(shapely.centroid(self.shapes[self.largest_piece]))
        return middle[:, 0], middle[:, 1]

    @property
    def largest_piece(self) -> Ints:
        """The largest piece of each cell."""
        order = np.lexsort((self.piece_area, self.piece_cell))
        last = np.append(np.flatnonzero(np.diff(self.piece_cell[order])), order.size - 1)
        return np.asarray(order[last])
