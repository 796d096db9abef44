"""The promises about places, and the code that proves them from the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veladura.core.promise import Check, Evidence, Promise, source_column
from veladura.methods.geography.place import joined
from veladura.methods.geography.region import Region, region_of

if TYPE_CHECKING:
    from veladura.table.codes import Column


def inside_promise(x: str, y: str, region: Region) -> Promise:
    """Promise that every place is in the declared region; the promise holds its geometry."""
    claim = f"Every place ({x}, {y}) lies in the declared region" + (
        " and outside the excluded areas." if region.excluded is not None else "."
    )
    return Promise("inside-region", claim, "package", {"columns": [x, y], **region.to_json()})


def new_places_promise(x: str, y: str) -> Promise:
    """Promise that no original place is in the release, not even another person's."""
    return Promise(
        "new-places",
        f"No place ({x}, {y}) in the release is a place in the original.",
        "source",
        {"columns": [x, y]},
    )


def moved_promise(x: str, y: str) -> Promise:
    """Promise that no row keeps its own place; it may get that of another."""
    return Promise(
        "moved-places", f"No row keeps its own place ({x}, {y}).", "source", {"columns": [x, y]}
    )


def ring_promise(
    x: str, y: str, region: Region, coordinates: str, ring: tuple[float, float]
) -> Promise:
    """Promise the smallest and largest distance of the moves."""
    unit = " metres" if coordinates == "degrees" else ""
    claim = (
        f"Every place ({x}, {y}) was moved by at least {ring[0]:g} and at most {ring[1]:g}{unit}."
    )
    settings = {
        "columns": [x, y],
        "ring": list(ring),
        "bounds": list(region.bounds),
        "coordinates": coordinates,
    }
    return Promise("moved-by", claim, "source", settings)


def outside_region(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places outside the region; a row with one coordinate only counts."""
    x, y = (evidence.column(name) for name in settings["columns"])
    present = ~x.missing & ~y.missing
    region = region_of(settings["region"], settings.get("exclude"))
    outside = ~region.usable(x.values[present].astype(float), y.values[present].astype(float))
    return int(np.count_nonzero(outside)) + int(np.count_nonzero(x.missing != y.missing))


def known_places(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of released places that are also places in the original."""
    before = _points(*(source_column(evidence, name) for name in settings["columns"]))
    after = _points(*(evidence.column(name) for name in settings["columns"]))
    return int(np.count_nonzero(np.isin(after[~np.isnan(after)], before[~np.isnan(before)])))


def unmoved_places(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of rows whose place is their own."""
    before = _points(*(evidence.source_column(name) for name in settings["columns"]))
    after = _points(*(evidence.column(name) for name in settings["columns"]))
    return int(np.count_nonzero(before == after))  # missing is nan, which equals nothing


def moved_otherwise(evidence: Evidence, settings: Mapping[str, Any]) -> int:
    """Return the number of places that moved by less or by more than promised."""
    from veladura.methods.geography.projection import plane_of

    columns = settings["columns"]
    before = [evidence.source_column(name) for name in columns]
    after = [evidence.column(name) for name in columns]
    present = ~np.logical_or.reduce([column.missing for column in (*before, *after)])
    plane = plane_of(tuple(settings["bounds"]), settings["coordinates"])
    ends = [
        plane.forward(*(column.values[present].astype(float) for column in pair))
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
