"""How far a place must move so that its step hides it: the step follows the isolation.

A place far from all others is found again whatever small step it takes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats
from veladura.errors import DataError
from veladura.methods.geography.projection import diagonal

if TYPE_CHECKING:
    from veladura.methods.geography.cells import Cells
    from veladura.methods.geography.located import Located

MOST_TRIES = 4096


def reach_of(points: Floats, least: float, k: int, most: float) -> Floats:
    """Return the largest distance that each place may move.

    A place whose k-th nearest other place is d away has a reach of sqrt(k + 1) d or ``least``, the
    larger one: of points uniform in a circle of this radius at most one in k + 1 stays nearer than
    that neighbour. The k nearest places get the same reach, or more. Without that a new place far
    from all others would have only one person who could have come from there.

    Parameters
    ----------
    points
        The places as rows of two numbers. People who share one count once: a household does not
        hide itself.
    least
        The reach of a place that has k others near it.
    k
        Other places that each one is hidden among; 0 gives all the same reach.
    most
        The size of the region, beyond which no place can move; the reach of all places where there
        are no k others.

    Examples
    --------
    >>> line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [50.0, 0.0]])
    >>> reach_of(line, 3.0, 1, 100.0).round(1).tolist()
    [3.0, 3.0, 67.9, 67.9]
    """
    from scipy.spatial import KDTree

    places, of_row = np.unique(points, axis=0, return_inverse=True)
    if k == 0:
        return np.full(len(points), least)
    if len(places) <= k:
        return np.full(len(points), max(least, most))
    distance, near = KDTree(places).query(places, k=k + 1)  # the first is the place itself
    own = np.minimum(math.sqrt(k + 1) * distance[:, k], max(least, most))
    reach = np.maximum(own, least)
    np.maximum.at(reach, near[:, 1:].ravel(), np.repeat(own, k))
    return np.asarray(reach[of_row.ravel()])


def ring_points(
    rng: Generator, located: Located, inner: float, reach: Floats
) -> tuple[Floats, Floats]:
    """Return points uniform in the usable part of the ring around each place.

    Whether somebody lives there is left to chance: places that are never released would be seen as
    holes in the map.

    Parameters
    ----------
    inner, reach
        The smallest distance of a move, and the largest one of each place, in the plane.
    """
    plane, writing = located.plane, located.writing
    from_x, from_y = plane.forward(located.places.x, located.places.y)
    x, y = np.empty(from_x.size), np.empty(from_x.size)
    waiting = np.arange(from_x.size)
    for _ in range(MOST_TRIES):
        outer = reach[waiting]
        radius = np.sqrt(inner**2 + rng.random(waiting.size) * (outer**2 - inner**2))
        angle = 2 * np.pi * rng.random(waiting.size)
        ends = plane.back(
            from_x[waiting] + radius * np.cos(angle), from_y[waiting] + radius * np.sin(angle)
        )
        new_x, new_y = writing.written(*ends)
        to_x, to_y = plane.forward(new_x, new_y)
        distance = np.hypot(to_x - from_x[waiting], to_y - from_y[waiting])
        good = (distance >= inner) & (distance <= outer)
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
    of one home. It moves to a random point within `reach_of`, and so do the k nearest places. All
    others stay.
    """
    places, plane = located.places, located.plane
    square = cells.diagonal[cells.locate(places.x, places.y)]
    points = np.column_stack(plane.forward(places.x, places.y))
    size = diagonal(plane, located.region.bounds)
    reach = reach_of(points, 0.0, k, size)
    apart = np.flatnonzero(reach > math.sqrt(k + 1) * square)
    x, y = places.x.copy(), places.y.copy()
    if apart.size:
        moving = replace(located, places=replace(places, x=x[apart], y=y[apart]))
        x[apart], y[apart] = ring_points(rng, moving, 0.0, reach[apart])
    return x, y
