"""The masks that synthetic places are measured against: a new place in the row's own cell, or in a ring around it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.core.promise import Promise
from veladura.core.recipe import Draw, Drawn, Fitted
from veladura.core.rules import AsReleased, Partial
from veladura.errors import DataError, PlanError
from veladura.methods.geography.claims import inside_promise, new_places_promise, ring_promise
from veladura.methods.geography.grid import Grid, grid_over
from veladura.methods.geography.located import (
    LocationRecipe,
    Places,
    check_coordinates,
    check_whole,
    places_of,
)
from veladura.methods.geography.place import Writing, draw_points
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import Region
from veladura.methods.masks.common import is_number
from veladura.table.codes import Column

if TYPE_CHECKING:
    from veladura.table.inspect import Facts
    from veladura.table.table import Table

Floats = NDArray[np.float64]
MOST_TRIES = 4096
L = TypeVar("L", bound=LocationRecipe)


@dataclass(frozen=True, eq=False, repr=False)
class FittedMask(Fitted[L]):
    """Places and how they are written. Holds original values: never released."""

    region: Region
    plane: Plane
    places: Places
    writing: Writing

    def draw(self, context: Context) -> Drawn:
        """Return the table with moved places, once or m times."""
        return Drawn(
            datasets=self._datasets(context),
            changed=self.changed(),
            rule=Partial() if self.recipe.m > 1 else AsReleased(),
            promises=self.promises(),
        )

    def _datasets(self, context: Context) -> Sequence[Draw]:
        """Draw every row's place anew, one stream a dataset."""
        return [
            Draw(
                written(
                    self.codes[self.recipe.x],
                    self.codes[self.recipe.y],
                    self.places.known,
                    *self.points(rng),
                )
            )
            for rng in (context.streams(self.recipe.method, r) for r in range(self.recipe.m))
        ]

    @abstractmethod
    def points(self, rng: Generator) -> tuple[Floats, Floats]:
        """Return new points for the rows that have one."""

    def changed(self) -> tuple[str, ...]:
        """Return the coordinates."""
        return (self.recipe.x, self.recipe.y)

    def promises(self) -> tuple[Promise, ...]:
        """Promise usable places, none of them original."""
        x, y = self.recipe.x, self.recipe.y
        return inside_promise(x, y, self.region), new_places_promise(x, y)


def written(
    x: Column, y: Column, known: NDArray[np.bool_], new_x: Floats, new_y: Floats
) -> dict[str, Column]:
    """Return the two columns with new places for the rows that have one, and none for the others."""
    columns = {}
    for column, new in ((x, new_x), (y, new_y)):
        values = column.values.copy()
        values[known] = new.astype(values.dtype)
        values[~known] = 0
        columns[column.name] = column.with_values(values, ~known)
    return columns


@dataclass(frozen=True, kw_only=True)
class NaiveGeography(LocationRecipe):
    """Move every place within its own cell of a grid, uniformly.

    The baseline of Paiva et al. (2014): very useful, and it reveals the cell.

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    region
        The declared region: GeoJSON file, geometry, or [west, south, east, north].
    exclude
        Areas of it where nobody may be placed.
    grid
        Squares from west to east and from south to north.
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    m
        Number of datasets.
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or count them in the "nearest"
        cell.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> homes = pd.DataFrame({"x": [1.5, 7.25], "y": [2.5, 8.5]})
    >>> masked = vd.NaiveGeography(x="x", y="y", region=[0, 0, 10, 10], grid=(2, 2)).protect(homes, seed=1).datasets[0]
    >>> ((masked // 5).to_numpy() == (homes // 5).to_numpy()).all()
    np.True_
    """

    method = "naive-geography"
    sentence = (
        "Places were moved at random within small areas of a grid. The area itself is the true one."
    )

    grid: tuple[int, int] = (20, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_grid(self.grid)

    def apply(self, table: Table, context: Context) -> FittedNaive:  # noqa: ARG002
        """Find the cell of every row."""
        check_coordinates(self, table.schema)
        region, plane = self.ground()
        codes = table.codes([self.x, self.y])
        places = places_of(self, codes, region)
        writing = Writing.of(codes[self.x], codes[self.y], places.known)
        grid = grid_over(region, plane, self.grid)
        return FittedNaive(self, table, codes, region, plane, places, writing, grid)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> NaiveGeography:
        """Suggest the coordinates and a rounded box around them, to be confirmed."""
        from veladura.methods.geography.propose import settings

        found = settings(table, facts)
        return cls(
            **{name: found[name] for name in ("x", "y", "region", "coordinates", "missing", "grid")}
        )


def check_grid(grid: Any) -> None:
    """Refuse a grid that is not two whole numbers."""
    if not isinstance(grid, tuple) or len(grid) != 2:  # noqa: PLR2004
        msg = (
            "grid must be two whole numbers: squares from west to east and from south to"
            " north.\n\nHint: grid=(20, 20)."
        )
        raise PlanError(msg)
    for side in grid:
        check_whole("grid", side, 1)


@dataclass(frozen=True, eq=False, repr=False)
class FittedNaive(FittedMask[NaiveGeography]):
    """Places with their cells."""

    grid: Grid

    def points(self, rng: Generator) -> tuple[Floats, Floats]:
        """Return points uniform in the usable part of each row's own cell."""
        return draw_points(
            rng, self.grid, self.grid.locate(self.places.x, self.places.y), self.writing
        )


@dataclass(frozen=True, kw_only=True)
class Donut(LocationRecipe):
    """Move every place to a random point of a ring around it.

    Uniform over the part of the ring that is usable (donut geomasking, Hampton et al. 2010).

    Parameters
    ----------
    x, y
        The columns of the coordinates.
    region
        The declared region: GeoJSON file, geometry, or [west, south, east, north].
    exclude
        Areas of it where nobody may be placed.
    inner, outer
        The shortest and the longest way a place is moved: in metres for degrees, else in the unit
        of the coordinates.
    coordinates
        "planar", or "degrees" for longitude (x) and latitude (y).
    m
        Number of datasets. Several are an average away from the truth: the mean of a row's places
        closes in on its own.
    missing
        What to do with rows that have no place: "refuse" the table, or "keep" them without one.
    stray
        What to do with a few places outside the region: "refuse", or start from them as they are
        ("nearest").

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> homes = pd.DataFrame({"x": [1.5, 7.25], "y": [2.5, 8.5]})
    >>> vd.Donut(x="x", y="y", region=[0, 0, 10, 10], inner=0.5, outer=2).protect(homes, seed=1).datasets[0].shape
    (2, 2)

    References
    ----------
    Hampton, K. H. et al. (2010). Mapping health data: improved privacy protection with donut
    method geomasking. American Journal of Epidemiology 172(9), 1062-1069.
    """

    method = "donut"
    sentence = "Places were moved at random, by a distance between a smallest and a largest one."

    inner: float
    outer: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if (
            not (is_number(self.inner) and is_number(self.outer))
            or not 0 <= self.inner < self.outer
        ):
            msg = (
                f"inner ({self.inner}) and outer ({self.outer}) must be distances with 0 <= inner <"
                " outer."
            )
            raise PlanError(msg)

    def apply(self, table: Table, context: Context) -> FittedDonut:  # noqa: ARG002
        """Find the places."""
        check_coordinates(self, table.schema)
        region, plane = self.ground()
        codes = table.codes([self.x, self.y])
        places = places_of(self, codes, region)
        writing = Writing.of(codes[self.x], codes[self.y], places.known)
        return FittedDonut(self, table, codes, region, plane, places, writing)

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Donut:
        """Suggest a ring of one to five per cent of the proposed region's size."""
        from veladura.methods.geography.projection import plane_of
        from veladura.methods.geography.propose import settings

        found = settings(table, facts)
        bounds = np.array(found["region"])
        x, y = plane_of(found["region"], found["coordinates"]).forward(bounds[0::2], bounds[1::2])
        size = float(np.hypot(np.ptp(x), np.ptp(y)))
        inner, outer = (float(f"{share * size:.1g}") for share in (0.01, 0.05))
        return cls(
            **{name: found[name] for name in ("x", "y", "region", "coordinates", "missing")},
            inner=inner,
            outer=outer,
        )


@dataclass(frozen=True, eq=False, repr=False)
class FittedDonut(FittedMask[Donut]):
    """Places to start from."""

    def points(self, rng: Generator) -> tuple[Floats, Floats]:
        """Return points uniform in the usable part of the ring around each place, as they will be written."""
        from_x, from_y = self.plane.forward(self.places.x, self.places.y)
        inner, outer = self.recipe.inner, self.recipe.outer
        x, y = np.empty(from_x.size), np.empty(from_x.size)
        waiting = np.arange(from_x.size)
        for _ in range(MOST_TRIES):
            radius = np.sqrt(inner**2 + rng.random(waiting.size) * (outer**2 - inner**2))
            angle = 2 * np.pi * rng.random(waiting.size)
            ends = self.plane.back(
                from_x[waiting] + radius * np.cos(angle), from_y[waiting] + radius * np.sin(angle)
            )
            found_x, found_y = self.writing.written(*ends)
            to_x, to_y = self.plane.forward(found_x, found_y)
            way = np.hypot(to_x - from_x[waiting], to_y - from_y[waiting])
            good = (
                (way >= inner)
                & (way <= outer)
                & self.region.usable(found_x, found_y)
                & self.writing.free(found_x, found_y)
            )
            x[waiting[good]], y[waiting[good]] = found_x[good], found_y[good]
            waiting = waiting[~good]
            if not waiting.size:
                return x, y
        msg = (
            f"{waiting.size} places have no usable new point in their ring.\n\nHint: make outer"
            " larger."
        )
        raise DataError(msg)

    def promises(self) -> tuple[Promise, ...]:
        """Promise also how far places were moved."""
        ring = (float(self.recipe.inner), float(self.recipe.outer))
        mine = ring_promise(
            self.recipe.x, self.recipe.y, self.region, self.recipe.coordinates, ring
        )
        return *super().promises(), mine
