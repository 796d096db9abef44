"""The declared region and its excluded areas: read, checked, and asked about points."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.errors import PlanError, VeladuraWarning

Box = tuple[float, float, float, float]


FURTHEST = 1e12  # the Earth measured in tenths of a millimetre is smaller


@runtime_checkable
class Geometry(Protocol):
    """A geometry of shapely."""

    @property
    def geom_type(self) -> str:
        """Its kind, such as Polygon."""


# a file (GeoJSON, WKT, shapefile, CSV), [west, south, east, north], GeoJSON, or a geometry
Shape = Path | str | Box | Sequence[float] | Mapping[str, Any] | Geometry
FILES = (".csv", ".wkt", ".shp")  # besides GeoJSON
NEAR = 1e-9  # share of the region's size that counts as lying on its border


class RegionWarning(VeladuraWarning):
    """The region or the places are doubtful; they were repaired, or used as they are."""


@dataclass(frozen=True, eq=False)
class Region:
    """Land minus excluded areas, where nobody may be placed. Borders belong to the usable part.

    Attributes
    ----------
    land, excluded
        As declared, in declared coordinates; ``excluded`` is None without such areas.
    open
        What is left of the land.
    """

    land: Any
    excluded: Any = None
    open: Any = field(init=False)

    def __post_init__(self) -> None:
        import shapely

        left = (
            self.land
            if self.excluded is None
            else polygons_of(shapely.difference(self.land, self.excluded))
        )
        if left.is_empty or left.area == 0:
            msg = (
                "the excluded areas cover the whole region: nobody can be placed.\n\nHint: exclude"
                " takes areas out of region, in the same coordinates."
            )
            raise PlanError(msg)
        object.__setattr__(self, "open", left)
        for shape in (self.land, self.excluded, left):
            if shape is not None:
                shapely.prepare(shape)

    @property
    def bounds(self) -> Box:
        """West, south, east and north end of the land."""
        west, south, east, north = (float(end) for end in self.land.bounds)
        return west, south, east, north

    def usable(self, x: Floats, y: Floats) -> Mask:
        """Return which points lie on land or its border, and not inside an excluded area."""
        return self.on_land(x, y) & ~self.in_excluded(x, y)

    def on_land(self, x: Floats, y: Floats) -> Mask:
        """Return which points lie in the land or on its border."""
        import shapely

        return np.asarray(shapely.intersects_xy(self.land, x, y))

    def in_excluded(self, x: Floats, y: Floats) -> Mask:
        """Return which points lie inside an excluded area; its border is not inside."""
        import shapely

        if self.excluded is None:
            return np.zeros(np.shape(x), dtype=bool)
        return np.asarray(shapely.contains_xy(self.excluded, x, y))

    def beside(self, x: Floats, y: Floats) -> Mask:
        """Return which points are usable, up to rounding errors at the border."""
        import shapely

        west, south, east, north = self.bounds
        near = NEAR * max(east - west, north - south)
        inside = self.usable(x, y)
        outside = np.flatnonzero(~inside)
        distance = shapely.distance(self.open, shapely.points(x[outside], y[outside]))
        inside[outside] = distance <= near
        return inside

    def to_json(self) -> dict[str, Any]:
        """Return land and excluded areas as GeoJSON."""
        import shapely

        areas = {"region": self.land}
        if self.excluded is not None:
            areas["exclude"] = self.excluded
        return {name: json.loads(shapely.to_geojson(area)) for name, area in areas.items()}


def region_of(region: Shape, exclude: Shape | Sequence[Shape] | None) -> Region:
    """Return the declared region, excluded areas taken together."""
    import shapely

    land = read_shape(region, "region")
    if exclude is None or exclude == ():
        return Region(land)
    several: Any = exclude if isinstance(exclude, tuple) and not _is_box(exclude) else (exclude,)
    areas = [read_shape(area, "exclude") for area in several]
    return Region(land, polygons_of(shapely.union_all(areas)))


def plain_shape(given: Any, setting: str) -> Any:
    """Return a region as a recipe stores it: path, four numbers or GeoJSON, or a tuple of them."""
    if given is None or isinstance(given, Path):
        return given
    if isinstance(given, str):
        return _from_text(given, setting)
    if hasattr(given, "geom_type"):
        import shapely

        return json.loads(shapely.to_geojson(given))
    if isinstance(given, Mapping):
        return json.loads(json.dumps(given))
    if isinstance(given, (list, tuple)):
        if _is_box(given):
            return tuple(map(float, given))
        return tuple(plain_shape(area, setting) for area in given)
    msg = (
        f"{setting} must be a shapely geometry, the path of a file (GeoJSON, WKT, shapefile, CSV"
        " with rings), GeoJSON, WKT, or [west, south, east, north], got"
        f" {type(given).__name__}."
    )
    raise PlanError(msg)


def plain_cells(given: Any) -> Any:
    """Return polygons of cells as a recipe stores them: a path, or GeoJSON.

    A frame of geometries (GeoPandas) has GeoJSON as its interface.
    """
    if hasattr(given, "__geo_interface__"):
        given = given.__geo_interface__
    if given is None or isinstance(given, (str, Path)):
        return None if given is None else Path(given)
    if isinstance(given, Mapping):
        return json.loads(json.dumps(given))
    msg = (
        "cells must be the path of a file with polygons (GeoJSON, WKT, shapefile) or GeoJSON, got"
        f" {type(given).__name__}."
    )
    raise PlanError(msg)


def _from_text(given: str, setting: str) -> Any:
    """Return well-known text as GeoJSON, and any other text as the path of a file."""
    if not given.lstrip().upper().startswith(("POLYGON", "MULTIPOLYGON", "SRID=")):
        return Path(given)
    import shapely

    from veladura.methods.geography.region_files import from_wkt

    try:
        return json.loads(shapely.to_geojson(from_wkt(given)))
    except ValueError:
        msg = f"{setting} is not valid WKT.\n\nHint: write POLYGON ((west south, east south, ...))."
        raise PlanError(msg) from None


def _is_box(given: Any) -> bool:
    return len(given) == 4 and all(  # noqa: PLR2004
        isinstance(end, (int, float)) and not isinstance(end, bool) for end in given
    )


def read_shape(given: Any, setting: str) -> Any:
    """Return polygons from a path, four numbers or GeoJSON, valid and not empty."""
    if isinstance(given, Path):
        if given.suffix.lower() in FILES:
            from veladura.methods.geography.region_files import read_region

            return checked_polygons(read_region(given, setting), setting)
        return checked_polygons(from_geojson(read_json(given, setting), setting), setting)
    if isinstance(given, Mapping):
        return checked_polygons(from_geojson(given, setting), setting)
    import shapely

    west, south, east, north = given
    if not all(map(math.isfinite, given)) or west >= east or south >= north:
        msg = (
            f"{setting} as four numbers must be [west, south, east, north] with west < east and"
            " south < north."
        )
        raise PlanError(msg)
    return checked_polygons(shapely.box(west, south, east, north), setting)


def read_json(path: Path, setting: str) -> Any:
    """Return the content of a JSON file, or refuse the setting that named it."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError:
        msg = (
            f"{setting}: {path} cannot be read.\n\nHint: give the path of a file (GeoJSON, .wkt,"
            " .shp, or .csv with rings), relative to the folder of the plan."
        )
    except (ValueError, RecursionError):
        msg = f"{setting}: {path} is not GeoJSON.\n\nHint: export the polygons as GeoJSON (UTF-8)."
    raise PlanError(msg)


def from_geojson(content: Any, setting: str) -> Any:
    """Return the geometry of GeoJSON (RFC 7946): a geometry, feature or feature collection."""
    import shapely

    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind == "FeatureCollection":
        features = content.get("features")
        if not isinstance(features, list) or not features:
            msg = f"{setting} is a collection without features.\n\nHint: give at least one polygon."
            raise PlanError(msg)
        shapes = [checked_polygons(from_geojson(feature, setting), setting) for feature in features]
        return shapely.union_all(shapes)
    if kind == "Feature":
        return from_geojson(content.get("geometry"), setting)
    try:
        return shapely.from_geojson(json.dumps(content))
    except (shapely.GEOSException, TypeError):
        msg = (
            f"{setting} is not valid GeoJSON: it must be a polygon, a multipolygon, or a collection"
            " of features."
        )
        raise PlanError(msg) from None


def checked_polygons(shape: Any, setting: str) -> Any:
    """Return valid polygons; a ring that crosses itself is repaired, with a warning."""
    import shapely

    if shape is None or shape.is_empty or not np.isfinite(shapely.get_coordinates(shape)).all():
        msg = (
            f"{setting} is empty, or has coordinates that are not numbers.\n\nHint: give at least"
            " one polygon."
        )
        raise PlanError(msg)
    if np.abs(shapely.get_coordinates(shape)).max() > FURTHEST:
        msg = (
            f"{setting} has coordinates beyond {FURTHEST:,.0f} units: no map is that large."
            "\n\nHint: check the unit of the coordinates."
        )
        raise PlanError(msg)
    if not shape.is_valid:
        warnings.warn(
            f"{setting} is not a valid polygon"
            f" ({shapely.is_valid_reason(shape).partition('[')[0].lower()}): it was"
            " repaired.\n\nHint: look at the map before you release.",
            RegionWarning,
            stacklevel=2,
        )
        shape = shapely.make_valid(shape)
    polygons = polygons_of(shape)
    if polygons.is_empty or polygons.area == 0:
        msg = f"{setting} has no area: it must be made of polygons, got {shape.geom_type}."
        raise PlanError(msg)
    return polygons


def polygons_of(shape: Any) -> Any:
    """Return the parts of a geometry that have an area."""
    import shapely

    parts = [
        part for part in shapely.get_parts(shapely.get_parts(shape)) if part.geom_type == "Polygon"
    ]
    return parts[0] if len(parts) == 1 else shapely.MultiPolygon(parts)
