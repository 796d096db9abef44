"""Nearest-place attack: for whom is the released place nearest to the home their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.placed import PlacedRelease

ISOLATED, FEWEST = 0.01, 20  # the most isolated share of people, and at least so many
NEIGHBOURS = 5  # isolation is the distance to the so many nearest other home
EQUAL = 1e-9  # distances that differ by a smaller share are the same


@dataclass(frozen=True)
class NearestPlaces:
    """Shares of people, one number a dataset.

    Attributes
    ----------
    own
        The released place nearest to the home is the person's own.
    neighbour
        The released place nearest to the home is that of the person with the nearest other home:
        the base rate, for a release that tells no more than roughly where people live.
    isolated_own, isolated_neighbour
        The same among the most isolated people.
    """

    own: tuple[float, ...]
    neighbour: tuple[float, ...]
    isolated_own: tuple[float, ...]
    isolated_neighbour: tuple[float, ...]


def nearest_places(release: PlacedRelease) -> NearestPlaces:
    """Return how often the nearest released place belongs to the person, and to a neighbour."""
    homes, other, isolated = _neighbours(release.before.points)
    rates = []
    for scene, person in zip(release.after, release.people, strict=True):
        new = np.full_like(homes, np.nan)  # where the row of a person was dropped
        new[person] = scene.points
        rate = [_share_nearest(homes, new, whose) for whose in (np.arange(len(homes)), other)]
        rates.append([*rate, *(part[isolated] for part in rate)])
    means = [tuple(float(part.mean()) for part in kind) for kind in zip(*rates, strict=True)]
    return NearestPlaces(*means)


def _neighbours(homes: Floats) -> tuple[Floats, Ints, Ints]:
    """Return homes, the person with the nearest other home, and the most isolated people."""
    from scipy.spatial import KDTree

    places, first, of_person = np.unique(homes, axis=0, return_index=True, return_inverse=True)
    near = min(NEIGHBOURS, len(places) - 1)
    if near < 1:
        return homes, np.arange(len(homes)), np.arange(len(homes))
    distance, index = KDTree(places).query(places, k=near + 1)
    person = of_person.ravel()
    apart = distance[person, near]
    most = min(max(round(ISOLATED * len(homes)), FEWEST), len(homes))
    return homes, first[index[person, 1]], np.argsort(-apart, kind="stable")[:most]


def _share_nearest(homes: Floats, new: Floats, whose: Ints) -> Floats:
    """Return for each home the chance that a nearest released place is the given person's.

    Where several are as near, the intruder picks one at random.
    """
    from scipy.spatial import KDTree

    tree = KDTree(new[~np.isnan(new).any(axis=1)])
    least = tree.query(homes)[0] * (1 + EQUAL)
    distance = np.hypot(*(new[whose] - homes).T)
    ties = tree.query_ball_point(homes, least, return_length=True)
    return np.where(distance <= least, 1.0 / np.maximum(ties, 1), 0.0)
