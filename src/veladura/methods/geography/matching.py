"""Distances between original and new places: matched pairs, and released places nearby."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.placed import PlacedRelease, Scene
from veladura.methods.geography.projection import diagonal

NEAR = 20  # a circle has the diagonal of the region over this as radius


def greedy_distances(before: Floats, after: Floats) -> Floats:
    """Return the distances of greedily matched pairs: the closest pair first, then among the rest.

    Two points that are each other's nearest are a pair of the greedy matching in any case, so all
    such pairs are taken at once, and again among the rest (Nunes 2018, algorithm 1, without its n^3
    steps).

    Examples
    --------
    >>> before, after = np.array([[0.0, 0.0], [5.0, 0.0]]), np.array([[1.0, 0.0], [4.5, 0.0]])
    >>> greedy_distances(before, after).tolist()
    [0.5, 1.0]
    """
    from scipy.spatial import KDTree

    distances: list[Floats] = []
    while len(before) and len(after):
        way, there = KDTree(after).query(before)
        _, back = KDTree(before).query(after)
        mutual = np.flatnonzero(back[there] == np.arange(len(before)))
        if not mutual.size:  # ties in a circle: the closest pair is as good as any
            mutual = np.array([int(np.argmin(way))])
        distances.append(way[mutual])
        before, after = np.delete(before, mutual, axis=0), np.delete(after, there[mutual], axis=0)
    return np.sort(np.concatenate(distances)) if distances else np.empty(0)


def matched_distances(release: PlacedRelease) -> list[dict[int, Floats]]:
    """Return for each dataset the matched distances, by combination of attributes."""
    mine = release.group[release.before.rows]
    return [
        {
            int(b): greedy_distances(release.before.points[mine == b], scene.points[group == b])
            for b in np.unique(mine)
        }
        for scene, group in _grouped(release)
    ]


def near_by_attributes(release: PlacedRelease) -> float:
    """Return the mean share of released places of a person's combination near the true place.

    Near is a circle whose radius is a twentieth of the region's diagonal.
    """
    from scipy.spatial import KDTree

    radius = diagonal(release.plane, release.region.bounds) / NEAR
    mine, near = release.group[release.before.rows], np.zeros(release.before.rows.size)
    grouped = _grouped(release)
    for b in np.unique(mine).tolist():
        points = np.concatenate([scene.points[group == b] for scene, group in grouped])
        inside = KDTree(points).query_ball_point(
            release.before.points[mine == b], radius, return_length=True
        )
        near[mine == b] = inside / max(len(points), 1)
    return float(near.mean())


def _grouped(release: PlacedRelease) -> list[tuple[Scene, Ints]]:
    """Return each dataset with the combination of each of its places."""
    return [
        (scene, release.group[link[scene.rows]])
        for scene, link in zip(release.after, release.links, strict=True)
    ]
