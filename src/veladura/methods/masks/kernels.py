"""Compiled kernels of the masks: partners for rank swapping, groups for microaggregation.

Arrays in, arrays out. They stand in one file because Numba's cache does not notice a change in
another. Those of microaggregation are compiled apart: together they run a fifth slower.
"""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, inner


@inner("int64(int64[::1], int64[::1], int64, int64)")
def _leave(bag: Ints, place: Ints, held: int, rank: int) -> int:
    """Take a rank out of the bag; return how many are left."""
    last = bag[held - 1]
    bag[place[rank]] = last
    place[last] = place[rank]
    place[rank] = -1
    return held - 1


@compiled("int64[::1](float64[::1], int64)")
def swap_partners(uniforms: Floats, window: int) -> Ints:
    """Return the partner of each rank: a pairing of ranks at most ``window`` apart.

    Ranks are taken from the lowest up. One without a partner draws it uniformly from those above
    it within the window that have none yet. They are kept in a bag: one rank enters it at each
    step, a drawn one is replaced by the last, so the whole takes time in proportion to the ranks.
    The rank ``window`` above is always free, so at most one rank, near the top, keeps its place.

    Parameters
    ----------
    uniforms
        One draw from [0, 1) for each rank.
    window
        The largest difference of ranks, at least 1.
    """
    size = uniforms.size
    partner = np.arange(size)
    bag = np.empty(size, dtype=np.int64)
    place = np.full(size, -1, dtype=np.int64)  # where a rank stands in the bag
    held = 0
    entered = 0
    for rank in range(size):
        while entered < size and entered <= rank + window:
            bag[held] = entered
            place[entered] = held
            held += 1
            entered += 1
        if place[rank] < 0:
            continue
        held = _leave(bag, place, held, rank)
        if held == 0:
            continue
        other = bag[min(int(uniforms[rank] * held), held - 1)]
        held = _leave(bag, place, held, other)
        partner[rank] = other
        partner[other] = rank
    return partner


@inner("float64[::1](float64[:, ::1], int64[::1], int64)", apart=True)
def _centroid(points: Floats, left: Ints, size: int) -> Floats:
    """Return the mean of the points left."""
    centre = np.zeros(points.shape[1])
    for i in range(size):
        for j in range(points.shape[1]):
            centre[j] += points[left[i], j]
    return centre / size


@inner("float64(float64[:, ::1], int64, float64[::1])", apart=True)
def _distance(points: Floats, i: int, centre: Floats) -> float:
    """Return the squared Euclidean distance of a point."""
    total = 0.0
    for j in range(centre.size):
        difference = points[i, j] - centre[j]
        total += difference * difference
    return total


@inner("int64(float64[:, ::1], int64[::1], int64, float64[::1])", apart=True)
def _farthest(points: Floats, left: Ints, size: int, centre: Floats) -> int:
    """Return the first of the points farthest from a centre."""
    best = int(left[0])
    far = -1.0
    for i in range(size):
        distance = _distance(points, left[i], centre)
        if distance > far:
            far = distance
            best = int(left[i])
    return best


@inner(
    "int64(float64[:, ::1], int64[::1], int64, int64, int64[::1], int64, float64[::1], int64[::1])",
    apart=True,
)
def _peel(  # compiled code takes arrays one by one
    points: Floats,
    left: Ints,
    size: int,
    seed: int,
    group: Ints,
    number: int,
    near: Floats,
    who: Ints,
) -> int:
    """Group the k points nearest to a seed and remove them; return how many are left."""
    k = near.size
    taken = 0
    for i in range(size):
        distance = _distance(points, left[i], points[seed])
        if taken == k and distance >= near[k - 1]:
            continue
        at = taken if taken < k else k - 1
        while at > 0 and near[at - 1] > distance:
            near[at] = near[at - 1]
            who[at] = who[at - 1]
            at -= 1
        near[at] = distance
        who[at] = i
        taken = min(taken + 1, k)
    for i in range(k):
        group[left[who[i]]] = number
        left[who[i]] = -1
    kept = 0
    for i in range(size):
        if left[i] >= 0:
            left[kept] = left[i]
            kept += 1
    return kept


@compiled("int64[::1](float64[:, ::1], int64)")
def mdav(points: Floats, k: int) -> Ints:
    """Return the group of each point: k points each, the last one up to 2k - 1.

    While 3k points are left: r is the farthest from their centroid, and is grouped with its
    nearest; s is the farthest from r of the rest, and is grouped likewise. With 2k or more left
    there is one more such group. Of points equally far, the first is taken.
    """
    size = points.shape[0]
    left = np.arange(size)
    group = np.empty(size, dtype=np.int64)
    near = np.empty(k, dtype=np.float64)
    who = np.empty(k, dtype=np.int64)
    number = 0
    while size >= 3 * k:
        r = _farthest(points, left, size, _centroid(points, left, size))
        size = _peel(points, left, size, r, group, number, near, who)
        s = _farthest(points, left, size, points[r])
        size = _peel(points, left, size, s, group, number + 1, near, who)
        number += 2
    if size >= 2 * k:
        r = _farthest(points, left, size, _centroid(points, left, size))
        size = _peel(points, left, size, r, group, number, near, who)
        number += 1
    for i in range(size):
        group[left[i]] = number
    return group
