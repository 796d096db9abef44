"""Projection of declared coordinates: planar ones as they are, degrees by an equal-area map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError

Coordinates = Literal["planar", "degrees"]
EARTH = 6_371_008.8  # mean radius in metres
TALLEST = 30.0  # degrees of latitude: beyond, one plane distorts too much
WIDEST = 180.0


@dataclass(frozen=True)
class Plane:
    """Planar coordinates: the plane is where they already are."""

    def forward(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return declared coordinates as points of the plane."""
        return x, y

    def back(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return points of the plane in declared coordinates."""
        return x, y


@dataclass(frozen=True)
class EqualArea(Plane):
    """Cylindrical equal-area projection of longitude and latitude: areas are true, in metres^2.

    x = R cos(lat0) (lon - lon0), y = R (sin(lat) - sin(lat0)) / cos(lat0), lon0 and lat0 the middle
    of the region (Lambert's projection; Snyder 1987, eqs. 10-1 and 10-2). A rectangle in degrees is
    one in the plane, so a point uniform in a cell of the plane is uniform on the ground. Distances
    are true to the share by which cos(lat) changes over the region.

    Examples
    --------
    >>> plane = EqualArea(-71.2, 42.4)
    >>> x, y = plane.forward(np.array([-71.2]), np.array([42.4]))
    >>> float(x[0]), round(float(y[0]), 6)
    (0.0, 0.0)
    """

    lon: float = 0.0
    lat: float = 0.0

    def forward(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return longitude and latitude as metres east and north of the middle."""
        middle, cosine = np.radians(self.lat), np.cos(np.radians(self.lat))
        return (
            EARTH * cosine * np.radians(x - self.lon),
            EARTH * (np.sin(np.radians(y)) - np.sin(middle)) / cosine,
        )

    def back(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return metres as longitude and latitude."""
        middle, cosine = np.radians(self.lat), np.cos(np.radians(self.lat))
        sine = np.clip(y * cosine / EARTH + np.sin(middle), -1.0, 1.0)
        return self.lon + np.degrees(x / (EARTH * cosine)), np.degrees(np.arcsin(sine))


def plane_of(bounds: tuple[float, float, float, float], coordinates: Coordinates) -> Plane:
    """Return the plane of a region, from its declared bounds alone.

    Examples
    --------
    >>> plane_of((0, 0, 10, 10), "planar")
    Plane()
    """
    if coordinates == "planar":
        return Plane()
    west, south, east, north = bounds
    if not looks_like_degrees(bounds):
        msg = (
            "coordinates are declared as degrees, but the region reaches beyond longitude 180 or"
            ' latitude 90.\n\nHint: coordinates="planar" for metres or kilometres; x is the'
            " longitude, y the latitude."
        )
        raise PlanError(msg)
    if north - south > TALLEST or east - west > WIDEST:
        msg = (
            f"the region spans {east - west:.0f} by {north - south:.0f} degrees, too much for one"
            f" map ({WIDEST:.0f} by {TALLEST:.0f} at most).\n\nHint: split the table, or project"
            " the coordinates and declare them planar."
        )
        raise PlanError(msg)
    return EqualArea((west + east) / 2, (south + north) / 2)


def diagonal(plane: Plane, bounds: tuple[float, float, float, float]) -> float:
    """Return the distance between two opposite corners of a region, in the plane."""
    ends = np.array(bounds)
    x, y = plane.forward(ends[0::2], ends[1::2])
    return float(np.hypot(np.ptp(x), np.ptp(y)))


def looks_like_degrees(bounds: tuple[Any, ...]) -> bool:
    """Whether longitudes and latitudes can have such bounds."""
    west, south, east, north = bounds
    return bool(west >= -180 and east <= 180 and south >= -90 and north <= 90)  # noqa: PLR2004
