"""A region around points: coarse, wider than they are, and never said to be public."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError
from veladura.methods.geography.region import RegionWarning

HULL = "hull"
STEPS = 10  # squares along the longer side
_NICE = (1.0, 2.0, 5.0, 10.0)


def is_hull(region: Any) -> bool:
    """Whether a setting asks for a region around the places of the data."""
    return isinstance(region, Path) and region.name == HULL and not region.exists()


def hull_around(x: Floats, y: Floats, *, degrees: bool) -> Any:
    """Return the convex hull of coarse squares around places, one square wider on each side.

    Every corner is a corner of a square whose side is at least a tenth of the extent, so that the
    hull depends on nobody's exact place. That the outermost people live near it stays visible.
    """
    import shapely

    known = ~(np.isnan(x) | np.isnan(y))
    extent = max(np.ptp(x[known]), np.ptp(y[known])) if known.any() else 0.0
    if extent == 0:
        msg = (
            'region = "hull" needs people in more than one place.\n\nHint: declare the region, as'
            ' in region = "border.geojson".'
        )
        raise PlanError(msg)
    side = _side(float(extent))
    cells = np.unique(np.floor(np.column_stack([x[known], y[known]]) / side), axis=0)
    corners = np.concatenate([(cells + shift) for shift in ((-1, -1), (-1, 2), (2, -1), (2, 2))])
    places = np.round(corners * side, max(0, -int(np.floor(np.log10(side)))))
    hull = shapely.convex_hull(shapely.MultiPoint(places))
    warnings.warn(
        f"the region was drawn around the places of the data, in steps of {side:g}: its border"
        " tells roughly where the outermost people live, and the manifest holds it.\n\nHint:"
        ' declare a border that is public: region = "border.geojson" (or .csv, .wkt, .shp)',
        RegionWarning,
        stacklevel=2,
    )
    return shapely.intersection(hull, shapely.box(-180, -90, 180, 90)) if degrees else hull


def _side(extent: float) -> float:
    """Return the smallest of 1, 2, 5 times a power of ten that is a tenth of the extent or more."""
    power = 10.0 ** np.floor(np.log10(extent / STEPS))
    return float(next(nice * power for nice in _NICE if nice * power >= extent / STEPS))
