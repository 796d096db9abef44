"""Declared polygons as cells: census tracts, postal areas, districts, with their own neighbours."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.projection import Plane
from veladura.methods.geography.region import (
    FILES,
    Region,
    RegionWarning,
    checked_polygons,
    polygons_of,
    read_json,
)

MOST_TRACTS = 20_000
NAMES = ("name", "id", "code", "geoid", "tract")  # properties that name a polygon, in any case
TOUCH = 1e-6  # share of the region's size: borders nearer than that touch
OVERLAP = 1e-3  # share of a polygon that others may cover before it is a mistake
SMALLEST = 1e-9  # share of the mean area below which nobody can be placed


@dataclass(frozen=True, eq=False)
class Declared:
    """Declared polygons and their names, as they were read."""

    names: tuple[str, ...]
    shapes: NDArray[Any] = field(repr=False)

    @property
    def union(self) -> Any:
        """The area that they cover together."""
        import shapely

        return polygons_of(shapely.union_all(self.shapes))

    def to_json(self) -> dict[str, Any]:
        """Return them as a GeoJSON collection of features."""
        import shapely

        features = [
            {"type": "Feature", "properties": {"name": name}, "geometry": json.loads(text)}
            for name, text in zip(self.names, shapely.to_geojson(self.shapes), strict=True)
        ]
        return {"type": "FeatureCollection", "features": features}


def read_tracts(given: Any, name: str | None = None) -> Declared:
    """Return the polygons of a file or of GeoJSON, one cell each, with their names.

    Parameters
    ----------
    given
        The path of a file (GeoJSON, WKT with a geometry on each line, shapefile) or GeoJSON.
    name
        The property of GeoJSON that names a polygon. By default "name", "id", "code", "geoid" or
        "tract", whichever all have, else their numbers from 1.
    """
    if isinstance(given, Path) and given.suffix.lower() in FILES:
        from veladura.methods.geography.region_files import read_polygons

        shapes = read_polygons(given, "cells")
        properties: list[Mapping[str, Any]] = [{} for _ in shapes]
    else:
        shapes, properties = _features(given)
    if not 2 <= len(shapes) <= MOST_TRACTS:  # noqa: PLR2004
        msg = (
            f"cells holds {len(shapes)} polygons; between 2 and {MOST_TRACTS:,} can be mapped."
            "\n\nHint: give a collection with one feature for each cell."
        )
        raise PlanError(msg)
    checked = np.array([checked_polygons(shape, "cells") for shape in shapes], dtype=object)
    return Declared(_names(properties, name), checked)


def _features(given: Any) -> tuple[list[Any], list[Mapping[str, Any]]]:
    """Return geometry and properties of the features of a GeoJSON collection."""
    content = read_json(given, "cells") if isinstance(given, Path) else given
    features = content.get("features") if isinstance(content, Mapping) else None
    if not isinstance(features, Sequence) or not all(isinstance(f, Mapping) for f in features):
        msg = (
            "cells must be a GeoJSON collection of features, one polygon each.\n\nHint: export the"
            " census tracts or districts as GeoJSON; grid=(20, 20) cuts squares instead."
        )
        raise PlanError(msg)
    from veladura.methods.geography.region import from_geojson

    shapes = [from_geojson(feature, "cells") for feature in features]
    return shapes, [
        {**(feature.get("properties") or {}), **({"id": feature["id"]} if "id" in feature else {})}
        for feature in features
    ]


def _names(properties: Sequence[Mapping[str, Any]], name: str | None) -> tuple[str, ...]:
    """Return a name of each polygon; they must differ."""
    lower = [{str(key).lower(): value for key, value in each.items()} for each in properties]
    if name is None:
        name = next((key for key in NAMES if all(_named(each, key) for each in lower)), None)
        if name is None:
            return tuple(str(number) for number in range(1, len(properties) + 1))
    lacking = sum(not _named(each, name.lower()) for each in lower)
    if lacking:
        known = sorted({key for each in properties for key in each})
        msg = (
            f"{lacking} of {len(properties)} polygons of cells have no property {name!r}.\n\nHint:"
            f" cell_name must be one of {known}."
        )
        raise PlanError(msg)
    names = tuple(str(each[name.lower()]) for each in lower)
    if len(set(names)) < len(names):
        msg = (
            f"{len(names) - len(set(names))} polygons of cells share the {name!r} of another.\n\n"
            "Hint: name another property with cell_name, or merge polygons of one cell."
        )
        raise PlanError(msg)
    return names


def _named(properties: Mapping[str, Any], name: str) -> bool:
    return properties.get(name) not in (None, "")


@dataclass(frozen=True, eq=False, kw_only=True)
class Tracts(Cells):
    """Declared polygons as cells. Neighbours touch: they share a side or a corner (queen).

    Attributes
    ----------
    declared
        The polygons as they were declared, of the usable cells.
    tree
        An index of the pieces.
    """

    declared: Declared
    tree: Any = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The declared names."""
        return self.declared.names

    @property
    def diagonal(self) -> Floats:
        """The diagonal of a square with the area of each cell."""
        return np.sqrt(2 * self.area)

    def locate(self, x: Floats, y: Floats) -> Ints:
        """Return the cell of each point: on a common border the first, outside the nearest."""
        import shapely

        points = shapely.points(x, y)
        cell = np.full(np.shape(x), self.cells, dtype=np.int64)
        point, piece = self.tree.query(points, predicate="intersects")
        np.minimum.at(cell, point, self.piece_cell[piece])
        astray = np.flatnonzero(cell == self.cells)
        if astray.size:
            cell[astray] = self.piece_cell[self.tree.nearest(points[astray])]
        return cell

    def holds(self, piece: Ints, x: Floats, y: Floats) -> Mask:
        """Return which points lie in their piece, and are usable."""
        import shapely

        inside = np.asarray(shapely.intersects_xy(self.shapes[piece], x, y))
        return inside & self.region.usable(x, y)


def tracts_over(region: Region, plane: Plane, declared: Declared) -> Tracts:
    """Return the usable cells of declared polygons: clipped to the region, excluded areas left out.

    Polygons without a usable part are no cells. Neighbours are found by the declared borders, so
    that a river that is excluded separates nobody.

    Examples
    --------
    >>> import shapely
    >>> halves = Declared(("west", "east"), shapely.box([0, 1], 0, [1, 2], 1))
    >>> cells = tracts_over(Region(halves.union), Plane(), halves)
    >>> cells.area.tolist(), cells.pairs.tolist()
    ([1.0, 1.0], [[0, 1], [1, 0]])
    """
    import shapely

    _refuse_overlaps(declared)
    clipped = shapely.intersection(declared.shapes, region.open)
    parts, owner = shapely.get_parts(clipped, return_index=True)
    solid = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    parts, owner = parts[solid], owner[solid]
    west, south, east, north = region.bounds
    step = max(east - west, north - south) / 256  # a straight line in degrees bends in the plane
    flat = shapely.transform(
        shapely.segmentize(parts, step),
        lambda at: np.column_stack(plane.forward(at[:, 0], at[:, 1])),
    )
    area = shapely.area(flat)
    some = area > SMALLEST * area.sum() / max(len(declared.names), 1)
    parts, owner, area, flat = parts[some], owner[some], area[some], flat[some]
    kept, cell = np.unique(owner, return_inverse=True)
    cell = cell.astype(np.int64).ravel()
    shapely.prepare(parts)
    usable = Declared(tuple(declared.names[i] for i in kept), declared.shapes[kept])
    pairs = _touching(usable, max(east - west, north - south))
    return Tracts(
        region=region,
        plane=plane,
        piece_cell=cell,
        piece_area=area,
        piece_box=shapely.bounds(flat),
        shapes=parts,
        area=np.bincount(cell, weights=area).astype(np.float64),
        pairs=pairs,
        declared=usable,
        tree=shapely.STRtree(parts),
    )


def _touching(declared: Declared, size: float) -> Ints:
    """Return the pairs of polygons that touch, each twice, in order."""
    import shapely

    tree = shapely.STRtree(declared.shapes)
    pairs = tree.query(declared.shapes, predicate="dwithin", distance=TOUCH * size).T
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).astype(np.int64)


def tell_of_islands(cells: Tracts) -> None:
    """Say how cells without neighbours are smoothed."""
    lone = cells.cells - np.unique(cells.pairs).size
    if 0 < lone < cells.cells:
        warnings.warn(
            f"{lone} of {cells.cells} cells touch no other (islands): their numbers are not"
            " smoothed with those of neighbours, but drawn towards the mean of the largest"
            " connected part."
            "\n\nHint: merge an island with a cell of the mainland if it holds few people.",
            RegionWarning,
            stacklevel=2,
        )


def _refuse_overlaps(declared: Declared) -> None:
    """Refuse polygons that cover each other: a place would lie in several cells."""
    import shapely

    tree = shapely.STRtree(declared.shapes)
    first, second = tree.query(declared.shapes, predicate="intersects")
    once = first < second
    first, second = first[once], second[once]
    shared = shapely.area(shapely.intersection(declared.shapes[first], declared.shapes[second]))
    size = shapely.area(declared.shapes)
    wrong = int(np.count_nonzero(shared > OVERLAP * np.minimum(size[first], size[second])))
    if wrong:
        msg = (
            f"{wrong} pairs of polygons of cells overlap: a place would lie in several"
            " cells.\n\nHint: give polygons that share borders only."
        )
        raise PlanError(msg)
