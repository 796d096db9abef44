"""Places of isolated homes: drawn from a circle that they share with k others or more."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats
from veladura.errors import DataError
from veladura.methods.geography.circles import Circles, circles_of
from veladura.methods.geography.projection import Plane, diagonal

if TYPE_CHECKING:
    from veladura.methods.geography.cells import Cells
    from veladura.methods.geography.located import Located

MOST_TRIES = 4096


def circles_of_homes(located: Located, least: float, k: int) -> Circles:
    """Return the circle of each place where k others within ``least`` / sqrt(k + 1) hide it.

    Of points uniform in a circle at most one in k + 1 stays nearer to its middle than the radius
    over sqrt(k + 1).
    """
    points = np.column_stack(located.plane.forward(located.places.x, located.places.y))
    around = around_region(located.plane, located.region.bounds)
    return circles_of(points, least / math.sqrt(k + 1), least, k, around)


def around_region(plane: Plane, bounds: tuple[float, float, float, float]) -> Circles:
    """Return the circle around a region, from its bounds alone."""
    ends = np.array(bounds)
    corners = np.column_stack(plane.forward(ends[0::2], ends[1::2]))
    radius = np.array([diagonal(plane, bounds) / 2])
    return Circles(corners.mean(axis=0, keepdims=True), radius, np.array([True]))


def ring_points(
    rng: Generator, located: Located, inner: float, circles: Circles
) -> tuple[Floats, Floats]:
    """Return points uniform in the usable part of the circle of each place, not too near to it.

    Whether somebody lives there is left to chance: places that are never released would be seen as
    holes in the map.

    Parameters
    ----------
    inner
        The smallest distance of a move, in the plane.
    circles
        What each place is drawn from.
    """
    plane, writing = located.plane, located.writing
    from_x, from_y = plane.forward(located.places.x, located.places.y)
    x, y = np.empty(from_x.size), np.empty(from_x.size)
    waiting = np.arange(from_x.size)
    for _ in range(MOST_TRIES):
        outer, centre = circles.radius[waiting], circles.centre[waiting].T
        hole = np.where(circles.shared[waiting], 0.0, inner)  # else the ring has no other middle
        radius = np.sqrt(hole**2 + rng.random(waiting.size) * (outer**2 - hole**2))
        angle = 2 * np.pi * rng.random(waiting.size)
        ends = plane.back(centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle))
        new_x, new_y = writing.written(*ends)
        to_x, to_y = plane.forward(new_x, new_y)
        good = np.hypot(to_x - from_x[waiting], to_y - from_y[waiting]) >= inner
        good &= np.hypot(to_x - centre[0], to_y - centre[1]) <= outer
        good &= located.region.usable(new_x, new_y)
        x[waiting[good]], y[waiting[good]] = new_x[good], new_y[good]
        waiting = waiting[~good]
        if not waiting.size:
            return x, y
    msg = (
        f"{waiting.size} places have no usable point in the ring around them.\n\nHint: make"
        " outer larger."
    )
    raise DataError(msg)


def hidden_places(rng: Generator, located: Located, cells: Cells, k: int) -> tuple[Floats, Floats]:
    """Return the places that a map by cells may be drawn from: isolated ones are moved first.

    A place is isolated if its k-th nearest other place is further than the diagonal of its cell: no
    such cell around it, wherever it is cut, holds k others, and its cell on the map would be that
    of one home. It moves to a random point of a circle that it shares with k others or more
    (`circles_of`). All others stay.
    """
    places, plane = located.places, located.plane
    square = cells.diagonal[cells.locate(places.x, places.y)]
    points = np.column_stack(plane.forward(places.x, places.y))
    around = around_region(plane, located.region.bounds)
    circles = circles_of(points, square, square, k, around)
    x, y = places.x.copy(), places.y.copy()
    if (apart := circles.shared).any():
        moving = replace(located, places=replace(places, x=x[apart], y=y[apart]))
        x[apart], y[apart] = ring_points(rng, moving, 0.0, circles.take(apart))
    return x, y
