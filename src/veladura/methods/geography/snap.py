"""Valid addresses: every synthetic place moves to the nearest one, whoever lives there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import DataError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.place import Writing
from veladura.methods.geography.projection import Plane


@dataclass(frozen=True, eq=False)
class Addresses:
    """Addresses that a place may have. They are public: houses, not the people in the table."""

    x: Floats = field(repr=False)
    y: Floats = field(repr=False)
    plane: Plane
    tree: Any = field(repr=False)

    @property
    def size(self) -> int:
        """Number of addresses."""
        return int(self.x.size)

    def nearest(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return the nearest address of each point."""
        _, near = self.tree.query(np.column_stack(self.plane.forward(x, y)))
        return self.x[near], self.y[near]


def addresses_of(
    given: Path | tuple[tuple[float, float], ...],
    names: tuple[str, str],
    grid: Cells,
    writing: Writing,
) -> Addresses:
    """Return the usable addresses with the decimals of the source, each once."""
    from scipy.spatial import KDTree

    points = _read(given, *names)
    points = points[~np.isnan(points).any(axis=1)]
    points = np.unique(np.column_stack(writing.written(points[:, 0], points[:, 1])), axis=0)
    usable = points[grid.region.usable(points[:, 0], points[:, 1])]
    if len(usable) < 2:  # noqa: PLR2004
        msg = (
            f"{len(usable)} of {len(points)} addresses lie in the usable region; at least 2 are"
            f" needed.\n\nHint: give addresses in the coordinates of {names[0]} and {names[1]}."
        )
        raise DataError(msg)
    plane = grid.plane
    tree = KDTree(np.column_stack(plane.forward(usable[:, 0], usable[:, 1])))
    return Addresses(usable[:, 0], usable[:, 1], plane, tree)


def _read(given: Path | tuple[tuple[float, float], ...], x: str, y: str) -> Floats:
    if not isinstance(given, Path):
        return np.array(given, dtype=np.float64).reshape(-1, 2)
    from veladura.table.source import open_quietly

    table = open_quietly(given)
    table.schema.check("addresses", [x, y])
    return np.column_stack([table.column(name).numbers() for name in (x, y)])
