"""What a release of places promises, and the code that proves it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.core.promise import Check, Evidence, Promise
from veladura.methods.geography.place import joined
from veladura.methods.geography.region import Region, region_of

if TYPE_CHECKING:
    from veladura.table.codes import Column


def inside_promise(x: str, y: str, region: Region) -> Promise:
    """Promise that every place is usable; the geometry goes along, as declared."""
    claim = f"Every place ({x}, {y}) lies in the declared region" + (
        " and outside the excluded areas." if region.excluded is not None else "."
    )
    return Promise("inside-region", claim, "package", {"columns": [x, y], **region.to_json()})


def new_places_promise(x: str, y: str) -> Promise:
    """Promise that no place of the original comes out, whoever's it was."""
    return Promise(
        "new-places",
        f"No place ({x}, {y}) of the original is a place of the release.",
        "source",
        {"columns": [x, y]},
    )


def moved_promise(x: str, y: str) -> Promise:
    """Promise that no row keeps its own place."""
    return Promise(
        "moved-places", f"No row keeps its own place ({x}, {y}).", "source", {"columns": [x, y]}
    )


def ring_promise(
    x: str, y: str, region: Region, coordinates: str, ring: tuple[float, float]
) -> Promise:
    """Promise how far places were moved."""
    unit = " metres" if coordinates == "degrees" else ""
    claim = (
        f"Every place ({x}, {y}) was moved by at least {ring[0]:g} and at most {ring[1]:g}{unit}."
    )
    known = {
        "columns": [x, y],
        "ring": list(ring),
        "bounds": list(region.bounds),
        "coordinates": coordinates,
    }
    return Promise("moved-by", claim, "source", known)


def outside_region(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places that are off the land or inside an excluded area; half a place counts too."""
    x, y = (evidence.column(name) for name in settings["columns"])
    known = ~x.missing & ~y.missing
    region = region_of(settings["region"], settings.get("exclude"))
    outside = ~region.usable(x.values[known].astype(float), y.values[known].astype(float))
    return int(np.count_nonzero(outside)) + int(np.count_nonzero(x.missing != y.missing))


def known_places(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of released places that are places of the original."""
    from veladura.core.promise import source_column

    before = _points(*(source_column(evidence, name) for name in settings["columns"]))
    after = _points(*(evidence.column(name) for name in settings["columns"]))
    return int(np.count_nonzero(np.isin(after[~np.isnan(after)], before[~np.isnan(before)])))


def unmoved_places(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of rows whose place is their own."""
    before = _points(*(evidence.source_column(name) for name in settings["columns"]))
    after = _points(*(evidence.column(name) for name in settings["columns"]))
    return int(np.count_nonzero(before == after))  # missing is nan, which equals nothing


def moved_otherwise(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places that were moved by less or more than told."""
    from veladura.methods.geography.projection import plane_of

    columns = settings["columns"]
    before, after = (
        [one(name) for name in columns] for one in (evidence.source_column, evidence.column)
    )
    known = ~np.logical_or.reduce([column.missing for column in (*before, *after)])
    plane = plane_of(tuple(settings["bounds"]), settings["coordinates"])
    ends = [
        plane.forward(*(column.values[known].astype(float) for column in pair))
        for pair in (before, after)
    ]
    distance = np.hypot(ends[1][0] - ends[0][0], ends[1][1] - ends[0][1])
    inner, outer = settings["ring"]
    slack = 1e-9 * outer  # a file may be read on another processor
    return int(np.count_nonzero((distance < inner - slack) | (distance > outer + slack)))


def _points(x: Column, y: Column) -> NDArray[np.complex128]:
    """Return two columns as points, nan where either is missing."""
    points = joined(x.values.astype(float), y.values.astype(float))
    points[x.missing | y.missing] = np.nan
    return points


CHECKS = {
    "inside-region": Check(outside_region),
    "new-places": Check(known_places, linked=False),
    "moved-places": Check(unmoved_places),
    "moved-by": Check(moved_otherwise),
}
