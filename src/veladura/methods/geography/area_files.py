"""Named areas: polygons of a GeoJSON file, each with its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.methods.geography.region import read_json, read_shape

Box = Sequence[float]


@dataclass(frozen=True, eq=False)
class NamedAreas:
    """Areas in the order of their names as they were given, each a polygon or several."""

    names: tuple[str, ...]
    shapes: tuple[Any, ...] = field(repr=False)

    def containing(self, x: Floats, y: Floats) -> Ints:
        """Return the area that each point lies in, -1 for none; of two, the one given first.

        Borders belong to an area. A point without coordinates (NaN) lies in none.
        """
        import shapely

        found = np.full(x.size, len(self.names), dtype=np.int64)
        placed = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
        points = shapely.points(x[placed], y[placed])
        tree = shapely.STRtree(list(self.shapes))
        point, area = tree.query(points, predicate="intersects")
        np.minimum.at(found, placed[point], area)
        return np.where(found == len(self.names), -1, found)


def read_areas(given: Path | Mapping[str, Any], name: str) -> NamedAreas:
    """Return the areas of a GeoJSON file (or GeoJSON), or boxes by name.

    Features with the same name are one area of several parts.

    Parameters
    ----------
    name
        The property of each feature that holds the name of its area.
    """
    import shapely

    if isinstance(given, Mapping) and given.get("type") != "FeatureCollection":
        shapes = tuple(read_shape(_box(box), f"areas.{key}") for key, box in given.items())
        return NamedAreas(tuple(map(str, given)), shapes)
    parts: dict[str, list[Any]] = {}
    for number, feature in enumerate(features_of(given), start=1):
        key = property_of(feature, name, number)
        parts.setdefault(key, []).append(read_shape(feature, "areas"))
    return NamedAreas(tuple(parts), tuple(shapely.union_all(shapes) for shapes in parts.values()))


def features_of(given: Path | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the features of GeoJSON or of a file with it."""
    content = read_json(given, "areas") if isinstance(given, Path) else given
    features = content.get("features") if isinstance(content, Mapping) else None
    if not isinstance(features, list) or not all(isinstance(f, Mapping) for f in features):
        features = []
    if not features:
        msg = (
            "areas has no features: it must be a GeoJSON FeatureCollection of polygons.\n\nHint:"
            " export districts with their names as GeoJSON (UTF-8, longitude before latitude)."
        )
        raise PlanError(msg)
    return features


def property_of(feature: Mapping[str, Any], name: str, number: int) -> str:
    """Return a property of a feature as text; a feature without it is refused."""
    properties = feature.get("properties")
    value = properties.get(name) if isinstance(properties, Mapping) else None
    if value is None or isinstance(value, (dict, list)) or not str(value).strip():
        named = sorted(properties) if isinstance(properties, Mapping) else []
        msg = (
            f"areas: feature {number} has no property {name!r}; its properties are"
            f" {named}.\n\nHint: name another property in name."
        )
        raise PlanError(msg)
    return str(value)


def _box(box: object) -> tuple[float, float, float, float]:
    numbers = list(box) if isinstance(box, (list, tuple)) else []
    if len(numbers) != 4 or not all(isinstance(end, (int, float)) for end in numbers):  # noqa: PLR2004
        msg = "areas without a file must give each name a box: [west, south, east, north]."
        raise PlanError(msg)
    west, south, east, north = map(float, numbers)
    return west, south, east, north
