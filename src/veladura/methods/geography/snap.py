"""Valid addresses: places move to the nearest one, never to the row's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.methods.geography.grid import Grid
from veladura.methods.geography.located import Places
from veladura.methods.geography.place import Writing
from veladura.methods.geography.projection import Plane

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Addresses:
    """Points that a place may have. They are public: a list of houses, not of the people in the table."""

    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    plane: Plane
    tree: Any = field(repr=False)

    @property
    def size(self) -> int:
        """Number of addresses."""
        return int(self.x.size)

    def nearest(self, x: Floats, y: Floats, places: Places) -> tuple[Floats, Floats]:
        """Return the nearest address of each point, the second nearest where the nearest is the row's own place."""
        _, found = self.tree.query(np.column_stack(self.plane.forward(x, y)), k=2)
        own = (self.x[found[:, 0]] == places.x) & (self.y[found[:, 0]] == places.y)
        chosen = np.where(own, found[:, 1], found[:, 0])
        return self.x[chosen], self.y[chosen]


def addresses_of(
    given: Path | tuple[tuple[float, float], ...],
    names: tuple[str, str],
    grid: Grid,
    writing: Writing,
) -> Addresses:
    """Return the usable ones of the given addresses as they will be written, each once."""
    from scipy.spatial import KDTree

    points = _read(given, *names)
    points = points[~np.isnan(points).any(axis=1)]
    points = np.unique(np.column_stack(writing.written(points[:, 0], points[:, 1])), axis=0)
    usable = points[grid.region.usable(points[:, 0], points[:, 1])]
    if len(usable) < 2:  # noqa: PLR2004
        msg = (
            f"{len(usable)} of {len(points)} addresses lie in the usable region; at least 2 are"
            f" needed.\n\nHint: addresses must be in the coordinates of {names[0]} and {names[1]}."
        )
        raise DataError(msg)
    plane = grid.plane
    tree = KDTree(np.column_stack(plane.forward(usable[:, 0], usable[:, 1])))
    return Addresses(usable[:, 0], usable[:, 1], plane, tree)


def _read(given: Path | tuple[tuple[float, float], ...], x: str, y: str) -> Floats:
    if not isinstance(given, Path):
        return np.array(given, dtype=np.float64).reshape(-1, 2)
    from veladura.table.codes import encode
    from veladura.table.source import open_quietly

    table = open_quietly(given)
    table.schema.check("addresses", [x, y])
    return np.column_stack(
        [encode(table.arrow.column(name), table.schema[name]).numbers() for name in (x, y)]
    )
