"""What all recipes for places share: their settings, and the checks of the places."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.checks import MOST_DATASETS, check_choice, check_fit_rows, check_whole
from veladura.base.limits import Limit
from veladura.core.gates import MASKED
from veladura.core.promise import Check, Promise
from veladura.core.recipe import Recipe
from veladura.errors import DataError, PlanError
from veladura.methods.geography.claims import CHECKS, drawn_promise
from veladura.methods.geography.homes import Homes, homes_of
from veladura.methods.geography.hull import hull_around, is_hull
from veladura.methods.geography.place import Writing
from veladura.methods.geography.projection import Coordinates, Plane, looks_like_degrees, plane_of
from veladura.methods.geography.region import Region, RegionWarning, Shape, plain_shape, region_of
from veladura.table.schema import NUMERIC, check_kinds

if TYPE_CHECKING:
    from veladura.table.codes import Codes
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

FEW_ASTRAY = 0.1  # a larger share of rows outside is a mistake in the region, not in the rows
LONGITUDES = ("lon", "lng", "longitude", "long")
LATITUDES = ("lat", "latitude")


MOST_SIDE = 10_000  # squares of a grid in one direction


@dataclass(frozen=True, kw_only=True)
class LocationRecipe(Recipe):
    """A recipe that gives rows new places inside a declared region."""

    declared_by_holder: ClassVar[tuple[str, ...]] = ("region",)
    checks: ClassVar[Mapping[str, Check]] = CHECKS
    gate: ClassVar[Mapping[str, Limit]] = MASKED
    chunked: ClassVar[bool] = True

    x: str
    y: str
    region: Shape | None = field(default=None, repr=False)
    exclude: Shape | Sequence[Shape] | None = field(default=None, repr=False)
    coordinates: Coordinates = "planar"
    m: int = 1
    missing: Literal["refuse", "keep"] = "refuse"
    stray: Literal["refuse", "nearest"] = "refuse"
    fit_rows: int | None = None

    def __post_init__(self) -> None:
        for setting in ("region", "exclude"):
            object.__setattr__(self, setting, plain_shape(getattr(self, setting), setting))
        super().__post_init__()
        if self.region is None or (
            isinstance(self.region, tuple) and not isinstance(self.region[0], float)
        ):
            msg = (
                "region must be declared: one file (GeoJSON, WKT, shapefile, CSV with rings),"
                " geometry or [west, south, east, north].\n\nHint: take it from public knowledge (a"
                " border, a map), never from the data: its edge would disclose where the outermost"
                " person lives."
            )
            raise PlanError(msg)
        if not isinstance(self.x, str) or not isinstance(self.y, str) or self.x == self.y:
            msg = "x and y must name two different columns."
            raise PlanError(msg)
        check_choice("coordinates", self.coordinates, get_args(Coordinates))
        check_choice("missing", self.missing, ("refuse", "keep"))
        check_choice("stray", self.stray, ("refuse", "nearest"))
        check_whole("m", self.m, 1, MOST_DATASETS)
        check_fit_rows(self.fit_rows)

    def region_and_plane(self, codes: Codes) -> tuple[Region, Plane]:
        """Return the declared region, or one around the places, and the plane it is measured in."""
        land = self.region
        if is_hull(land):
            x, y = (codes[name].numbers() for name in (self.x, self.y))
            hull = hull_around(x, y, degrees=self.coordinates == "degrees")
            land = plain_shape(hull, "region")
        region = region_of(land, self.exclude)  # type: ignore[arg-type]  # None is refused
        return region, plane_of(region.bounds, self.coordinates)

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the coordinates."""
        return (self.x, self.y)

    def settings(self) -> dict[str, Any]:
        """Return the public settings; the promise about the region has the region itself."""
        return {
            name: value
            for name, value in super().settings().items()
            if name not in ("region", "exclude", "addresses", "cells") and value not in (None, [])
        }

    @classmethod
    def implied(cls, settings: Mapping[str, Any], person: str | None) -> tuple[Promise, ...]:  # noqa: ARG003
        """Return the promises about places; the region itself is stated in its promise only."""
        columns = [settings["x"], settings["y"]]
        inside = Promise("inside-region", "package", {"columns": columns})
        named = {"column": settings["cell_column"]} if settings.get("cell_column") else {}
        promises = [inside]
        if "cells" in settings and "grid" not in settings:  # declared ones, not squares
            promises.append(Promise("in-cells", "package", {"columns": columns, **named}))
        if settings.get("release") == "cell":
            promises.append(Promise("cell-centres", "package", {"columns": columns, **named}))
        elif not settings.get("addresses"):  # beside one there may be none to compare it with
            promises.append(drawn_promise(*columns))
        return tuple(promises)

    @classmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:  # noqa: ARG003
        """Refuse: a region needs places, from which `suggest_for` proposes one to be confirmed."""
        msg = f"{cls.method} needs a declared region, which counts about the columns do not give."
        raise PlanError(msg)


def check_grid(grid: object) -> None:
    """Refuse a grid that is not two whole numbers."""
    if not isinstance(grid, tuple) or len(grid) != 2:  # noqa: PLR2004
        msg = (
            "grid must be two whole numbers: squares from west to east and from south to"
            " north.\n\nHint: grid=(20, 20)."
        )
        raise PlanError(msg)
    for side in grid:
        check_whole("grid", side, 1, MOST_SIDE)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of rows. Holds original values: never released.

    Attributes
    ----------
    placed
        Which rows have a place; ``x`` and ``y`` are of these only.
    """

    placed: Mask = field(repr=False)
    x: Floats = field(repr=False)
    y: Floats = field(repr=False)

    def take(self, rows: Ints) -> Places:
        """Return the places of some of the rows that have one."""
        return replace(self, x=self.x[rows], y=self.y[rows])


@dataclass(frozen=True, eq=False)
class Located:
    """The rows of a table in the declared region. Holds original values: never released."""

    region: Region
    plane: Plane
    places: Places
    writing: Writing
    homes: Homes

    def at_homes(self) -> Located:
        """Return one row for each home, so that rows of one home move together."""
        return replace(self, places=self.places.take(self.homes.first))


def locate(recipe: LocationRecipe, table: Table) -> tuple[Codes, Located]:
    """Return the coordinates of a table and the places they give, checked against the region."""
    check_coordinates(recipe, table.schema)
    codes = table.codes([recipe.x, recipe.y])
    region, plane = recipe.region_and_plane(codes)
    places = places_of(recipe, codes, region)
    writing = Writing.of(codes[recipe.x], codes[recipe.y])
    return codes, Located(region, plane, places, writing, homes_of(table, codes, places))


def places_of(recipe: LocationRecipe, codes: Codes, region: Region) -> Places:
    """Return the places of a table's rows, checked against the declared region."""
    x, y = (codes[name].numbers() for name in (recipe.x, recipe.y))
    missing = np.isnan(x) | np.isnan(y)
    if missing.any() and recipe.missing == "refuse":
        msg = (
            f"{int(missing.sum())} of {missing.size} rows have no {recipe.x} or no"
            f' {recipe.y}.\n\nHint: missing="keep" releases such rows without a place; or remove'
            " them from the table."
        )
        raise DataError(msg)
    if missing.all():
        msg = f"no row has both {recipe.x} and {recipe.y}: there is no place to protect."
        raise DataError(msg)
    places = Places(~missing, x[~missing], y[~missing])
    _warn_of_degrees(recipe, region)
    _check_inside(recipe, places, region)
    return places


def check_coordinates(recipe: LocationRecipe, schema: Schema) -> None:
    """Refuse coordinates that are not number columns of the table."""
    check_kinds(
        schema, (recipe.x, recipe.y), NUMERIC, "x and y name the columns of the coordinates."
    )


def _warn_of_degrees(recipe: LocationRecipe, region: Region) -> None:
    named = recipe.x.lower() in LONGITUDES or recipe.y.lower() in LATITUDES
    if recipe.coordinates == "planar" and named and looks_like_degrees(region.bounds):
        warnings.warn(
            f"{recipe.x} and {recipe.y} look like degrees, but are treated as planar: cells will"
            ' not be square on the ground.\n\nHint: coordinates = "degrees"',
            RegionWarning,
            stacklevel=2,
        )


def _check_inside(recipe: LocationRecipe, places: Places, region: Region) -> None:
    """Refuse places outside the usable region, with their number and the likely mistake."""
    inside = region.beside(places.x, places.y)
    astray = int(np.count_nonzero(~inside))
    if not astray:
        return
    wet = int(np.count_nonzero(region.in_excluded(places.x, places.y)))
    outside = (
        f"{astray} of {inside.size} places lie outside the usable region ({astray - wet} outside"
        f" region, {wet} in an excluded area)."
    )
    if recipe.stray == "nearest" and astray <= FEW_ASTRAY * inside.size:
        warnings.warn(f"{outside} Each counts in its nearest cell.", RegionWarning, stacklevel=2)
        return
    raise DataError(
        f"{outside}\n\nHint: {_likely_mistake(recipe, places, region, float(inside.mean()))}"
    )


def _likely_mistake(recipe: LocationRecipe, places: Places, region: Region, share: float) -> str:
    """Return the mistake that would explain places outside the region."""
    if region.beside(places.y, places.x).mean() > max(share, 0.5):
        return f"x and y look swapped: the places fit with x={recipe.y!r} and y={recipe.x!r}."
    degrees = looks_like_degrees((places.x.min(), places.y.min(), places.x.max(), places.y.max()))
    if degrees != looks_like_degrees(region.bounds):
        place, land = ("degrees", "metres") if degrees else ("metres", "degrees")
        return (
            f"the places look like {place} and the region like {land}: both must be in the same"
            " coordinates."
        )
    return (
        'check that region and exclude cover the right area; stray="nearest" counts a few such'
        " places in the nearest cell."
    )
