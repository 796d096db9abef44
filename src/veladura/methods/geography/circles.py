"""The circle that each place is drawn from: its own, or one that isolated places share.

A place far from all others is found again whatever small step it takes from there. It therefore
takes no step of its own: k other places or more are drawn from the same circle, and which of them
a released place belongs to is left to chance, whatever an intruder knows about all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask

FURTHER = 2.0  # how much further than its k-th nearest place a place may look for free ones
LOOKED_AT = 4  # nearest places that are looked at for free ones, in times k + 1


@dataclass(frozen=True, eq=False)
class Circles:
    """The circle of each place. Holds original places: never released.

    Attributes
    ----------
    centre, radius
        In the plane; the centre of a circle of its own is the place itself.
    shared
        Which places share their circle with k others or more.
    """

    centre: Floats = field(repr=False)
    radius: Floats = field(repr=False)
    shared: Mask = field(repr=False)

    def take(self, rows: Ints | Mask) -> Circles:
        """Return the circles of some places."""
        return Circles(self.centre[rows], self.radius[rows], self.shared[rows])


def circles_of(
    points: Floats, apart: Floats | float, radius: Floats | float, k: int, region: Circles
) -> Circles:
    """Return the circle that each place is drawn from.

    Places of a group share the circle around their mean that holds all of them. All others have k
    other places that are in no group within ``apart``, and a circle of their own.

    Parameters
    ----------
    points
        The places as rows of two numbers. People who share one count once: a household does not
        hide itself.
    apart
        How near k other places must be for a place to be hidden among them.
    radius
        The smallest radius of a circle.
    k
        Other places that each one is hidden among; with 0 nothing is shared.
    region
        The circle around the whole region, which all places share where there are no k others.

    Examples
    --------
    >>> line = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [50.0, 0.0]])
    >>> everything = Circles(np.array([[25.0, 0.0]]), np.array([50.0]), np.array([True]))
    >>> circles = circles_of(line, 1.5, 3.0, 1, everything)
    >>> circles.shared.tolist(), circles.radius.tolist()
    ([False, False, True, True], [3.0, 3.0, 24.0, 24.0])
    """
    places, of_row = np.unique(points, axis=0, return_inverse=True)
    of_row = of_row.ravel()
    near, least = (np.empty(len(places)) for _ in range(2))
    near[of_row], least[of_row] = apart, radius
    if k >= len(places):
        return region.take(np.zeros(len(points), dtype=np.int64))
    group = _groups(places, near, k)
    own = Circles(places.copy(), least, group >= 0)
    if own.shared.any():
        member, of_place = np.flatnonzero(own.shared), group[own.shared]
        size = np.bincount(of_place)
        middle = np.column_stack([np.bincount(of_place, axis) / size for axis in places[member].T])
        reach = np.hypot(*(places[member] - middle[of_place]).T)
        widest = np.zeros(size.size)
        np.maximum.at(widest, of_place, np.maximum(reach, least[member]))
        own.centre[member], own.radius[member] = middle[of_place], widest[of_place]
    return own.take(of_row)


def _groups(places: Floats, apart: Floats, k: int) -> Ints:
    """Return the group of each place, -1 for those that k others without a group are near to.

    The loneliest come first: each takes its k nearest places that are free, or joins the group
    beside it where these are much further than its k nearest of all. Whoever is left alone by that
    is lonely in the next round.
    """
    from scipy.spatial import KDTree

    group = np.full(len(places), -1, dtype=np.int64)
    if k == 0:
        return group
    usual = KDTree(places).query(places, k=[k + 1])[0][:, 0]  # the first is the place itself
    while (free := np.flatnonzero(group < 0)).size > k:
        tree = KDTree(places[free])
        alone = tree.query(places[free], k=[k + 1])[0][:, 0]
        lonely = np.flatnonzero(alone > apart[free])
        if not lonely.size:
            return group
        lonely = lonely[np.argsort(-alone[lonely], kind="stable")]
        most = min(LOOKED_AT * (k + 1), free.size)
        distance, near = tree.query(places[free[lonely]], k=most)
        waiting = _take_free(group, free[lonely], distance, free[near], usual, k)
        _join(group, places, waiting)
    _join(group, places, free)
    return group


def _take_free(
    group: Ints, lonely: Ints, distance: Floats, near: Ints, usual: Floats, k: int
) -> Ints:
    """Put lonely places into groups with free ones; return those that have too few near them."""
    waiting = []
    number = int(group.max(initial=-1)) + 1
    for place, far, others in zip(lonely, distance, near, strict=True):
        if group[place] >= 0:
            continue
        free = others[(group[others] < 0) & (far <= FURTHER * usual[place])][: k + 1]
        if free.size > k:
            group[free] = number
            number += 1
        else:
            waiting.append(place)
    return np.array(waiting, dtype=np.int64)


def _join(group: Ints, places: Floats, waiting: Ints) -> None:
    """Put places into the group of the nearest place that has one."""
    from scipy.spatial import KDTree

    grouped = np.flatnonzero(group >= 0)
    if waiting.size:
        nearest = KDTree(places[grouped]).query(places[waiting])[1]
        group[waiting] = group[grouped[nearest]]
