"""Holes in a lattice of possible values: points that a release avoids though it is dense around."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.proportions import sample_rows

REACH = {1: 25, 2: 3}  # steps to the points around, for numbers and for places
TILE = {1: 64, 2: 8}  # sides of the tiles that are searched, if half of their points are released
MOST_POINTS = 50_000
MOST_KEYS = 2**62
DENSITIES = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0)  # least released rows at a point around a hole
PRIOR = 50.0


@dataclass(frozen=True)
class HoleAttack:
    """What the best hole attack names, and what chance would have named.

    Attributes
    ----------
    named
        Points that are absent from the release though the points around are dense.
    found
        Those that are targets.
    by_chance
        Targets expected among as many points around the named ones.
    recall
        Share of all targets that were found.
    """

    named: int = 0
    found: int = 0
    by_chance: float = 0.0
    recall: float = 0.0

    @property
    def ratio(self) -> float:
        """Precision over base rate, as if 50 more had been found by chance.

        Without them a few points that were named by accident would count as much as many: so its
        standard error is at most 0.07 where nothing is gained.
        """
        return (self.found + PRIOR) / (self.by_chance + PRIOR)


@dataclass(frozen=True, eq=False)
class _Box:
    """Points of a lattice as single numbers, within the bounds of all that are looked up."""

    low: Ints = field(repr=False)
    size: Ints = field(repr=False)

    @classmethod
    def around(cls, points: Ints, margin: int = 0) -> _Box | None:
        """Return the bounds of some points; None where they have too many points for a number."""
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        size = high - low + 1
        return cls(low, size) if np.prod(size.astype(float)) <= MOST_KEYS else None

    def points(self, keys: Ints) -> Ints:
        """Return the points of some keys."""
        return np.column_stack(np.unravel_index(keys, tuple(self.size))) + self.low

    def keys(self, points: Ints) -> Ints:
        """Return a number for each point, in the order of the points."""
        keys = points[:, 0] - self.low[0]
        for axis in range(1, points.shape[1]):
            keys = keys * self.size[axis] + (points[:, axis] - self.low[axis])
        return np.asarray(keys)


def distinct_points(points: Ints) -> tuple[Ints, Ints]:
    """Return every point once, in order, and how often it occurs.

    Examples
    --------
    >>> [part.tolist() for part in distinct_points(np.array([[2, 1], [0, 5], [2, 1]]))]
    [[[0, 5], [2, 1]], [1, 2]]
    """
    box = _Box.around(points) if len(points) else None
    if box is None:
        return np.unique(points, axis=0, return_counts=True)
    keys, count = np.unique(box.keys(points), return_counts=True)  # sorts numbers: much faster
    return box.points(keys), count


def hole_attack(released: Ints, targets: Ints, name: str = "") -> HoleAttack:
    """Name the points that a release avoids, and count the targets among them.

    A point is named if no released row is there, though the points on each side of it have at least
    a number of released rows on average; of six such numbers the one with the largest ratio is
    taken. The base rate is the share of targets among the points around, so that a release gains
    nothing by being dense where targets are.

    Parameters
    ----------
    released
        Released points in steps of the lattice, one row a released row and one column a dimension.
    targets
        The points that must not be told, each once.
    name
        Of the stream that draws points where there are too many.

    Examples
    --------
    >>> line = np.arange(1000)[:, None]
    >>> avoided = line[::4]
    >>> others = np.delete(line, avoided.ravel(), axis=0)
    >>> attack = hole_attack(np.repeat(others, 5, axis=0), avoided)
    >>> attack.found == attack.named, attack.ratio > 2
    (True, True)
    """
    dimensions = released.shape[1]
    if not len(released) or not len(targets):
        return HoleAttack()
    both = np.concatenate([released, targets])
    box = _Box.around(both, REACH[dimensions] + TILE[dimensions])
    if box is None:
        return HoleAttack()
    points = _dense_points(released, TILE[dimensions])
    taken = sample_rows(len(points), MOST_POINTS, "holes", name)
    key, count = np.unique(box.keys(released), return_counts=True)
    held, keys = np.unique(box.keys(targets)), box.keys(points[taken])
    expected, base = _around(points[taken], box, (key, count), held)
    absent = _at(keys, key, count) == 0
    target = _at(keys, held) > 0
    weight = len(points) / max(len(taken), 1) / len(targets)
    attacks = [_named(absent & (expected >= least), target, base, weight) for least in DENSITIES]
    return max(attacks, key=lambda attack: attack.ratio)


def _named(named: Mask, target: Mask, base: Floats, weight: float) -> HoleAttack:
    found = int(np.count_nonzero(target[named]))
    return HoleAttack(int(named.sum()), found, float(base[named].sum()), found * weight)


def _dense_points(released: Ints, side: int) -> Ints:
    """Return all points of the tiles that have a released row for every second point."""
    tiles, count = distinct_points(released // side)
    dimensions = released.shape[1]
    dense = tiles[count >= 0.5 * side**dimensions] * side
    inside = np.array(list(product(range(side), repeat=dimensions)), dtype=np.int64)
    return np.asarray((dense[:, None, :] + inside[None]).reshape(-1, dimensions))


def _around(
    points: Ints, box: _Box, released: tuple[Ints, Ints], targets: Ints
) -> tuple[Floats, Floats]:
    """Return the released rows a point on the emptiest side, and the share of targets around."""
    dimensions = points.shape[1]
    rows, sizes = np.zeros((2, 2 * dimensions, len(points)))
    hits, points_around = np.zeros((2, len(points)))
    for offset in _offsets(dimensions):
        there = points + offset
        alike = _alike(points, there)
        keys = box.keys(there)
        count = _at(keys, *released) * alike
        hits += (_at(keys, targets) > 0) * alike
        points_around += alike
        for axis in np.flatnonzero(offset):
            side = 2 * axis + (offset[axis] > 0)
            rows[side] += count
            sizes[side] += alike
    expected = (rows / np.maximum(sizes, 1.0)).min(axis=0)
    return expected, hits / np.maximum(points_around, 1.0)


def _offsets(dimensions: int) -> Iterator[Ints]:
    reach = range(-REACH[dimensions], REACH[dimensions] + 1)
    for offset in product(reach, repeat=dimensions):
        if any(offset):
            yield np.array(offset, dtype=np.int64)


def _alike(points: Ints, others: Ints) -> Floats:
    """Return which points are as round as the other ones: people round numbers to 5 and 10.

    Places are not rounded: all are alike.
    """
    if points.shape[1] > 1:
        return np.ones(len(points))
    return np.asarray(_roundness(points) == _roundness(others), dtype=np.float64)


def _roundness(points: Ints) -> Ints:
    last = points[:, 0] % 10
    return np.asarray(np.where(last == 0, 2, np.where(last == 5, 1, 0)))  # noqa: PLR2004


def _at(keys: Ints, listed: Ints, values: Ints | None = None) -> Ints:
    """Return the value of each key in a sorted list, 0 where it is not there."""
    place = np.minimum(np.searchsorted(listed, keys), listed.size - 1)
    present = listed[place] == keys
    return np.asarray(present * (1 if values is None else values[place]))
