"""Searching a lattice with a judge: every minimal node, and the best ones by a quality model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.methods.kanonymity.lattice import MOST_NODES, UNBOUNDED, Lattice, descend, search
from veladura.methods.kanonymity.quality import Quality
from veladura.methods.kanonymity.suppression import Judge, Verdict
from veladura.methods.kanonymity.watch import Watch, unwatched

Vector = tuple[int, ...]
Tags = NDArray[np.int8]
Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
TIE = 1e-9  # relative difference below which two nodes are equally good


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Attributes
    ----------
    minimal
        The good nodes below which no other is good, in order of their levels.
    good
        Whether each node is good, one axis a column; None for a lattice too large to be decided
        whole.
    complete
        Whether every node was decided.
    """

    minimal: tuple[Vector, ...]
    good: NDArray[np.bool_] | None = field(repr=False)
    complete: bool = True


def find(
    lattice: Lattice, judge: Judge, allowed: int, budget: int = UNBOUNDED, watch: Watch = unwatched
) -> Found:
    """Return every minimal node at which at most so many rows must go.

    k for one quasi-identifier is decided by the compiled walk. What is monotone besides is tagged
    in both directions; what is not, node by node, except where k alone fails already (methods/1).
    """
    if lattice.nodes > MOST_NODES:
        if not judge.simple:
            msg = (
                f"the lattice has {lattice.nodes:,} nodes, too many to decide with several"
                " quasi-identifiers or models besides k.\n\nHint: give fewer columns, or"
                " hierarchies with fewer levels."
            )
            raise PlanError(msg)
        return Found(tuple(descend(lattice, judge.k, allowed, watch)), None, complete=False)
    if judge.simple:
        vectors, complete = search(lattice, judge.k, allowed, budget, watch)
        return Found(tuple(vectors), _above(vectors, lattice.heights), complete)
    heights = judge.lattice.heights[list(judge.columns)]
    tags: Tags = np.zeros(tuple(heights + 1), dtype=np.int8)
    if len(judge.sets) == 1 and judge.smallest > 1:
        vectors, complete = search(lattice, judge.smallest, allowed)
        if complete:
            tags[~_above(vectors, heights)] = -1
    walker = _Walker(judge, tags, allowed)
    with watch(tags):
        if judge.monotone(allowed):
            walker.tag_both_ways()
        else:
            walker.try_all()
    good = tags == 1
    return Found(tuple(minimal_of(good)), good)


def minimal_of(good: NDArray[np.bool_]) -> list[Vector]:
    """Return the good nodes below which no other is good, whether or not those above them are.

    Examples
    --------
    >>> minimal_of(np.array([[False, True], [True, False]]))
    [(0, 1), (1, 0)]
    """
    reached = good.copy()
    for axis in range(good.ndim):
        reached = np.logical_or.accumulate(reached, axis=axis)
    below = np.zeros_like(good)
    for axis in range(good.ndim):
        upper = tuple(slice(1, None) if i == axis else slice(None) for i in range(good.ndim))
        lower = tuple(slice(None, -1) if i == axis else slice(None) for i in range(good.ndim))
        below[upper] |= reached[lower]
    return [tuple(vector) for vector in np.argwhere(good & ~below).tolist()]


def best_by(judge: Judge, quality: Quality, found_nodes: Found) -> list[Vector]:
    """Return the good nodes, minimal or not, at which a quality model is best; several if they tie."""
    good = found_nodes.good
    if good is None:
        values = [
            (quality.value(vector, judge.at(vector)), vector) for vector in found_nodes.minimal
        ]
        return _ties(values, min(value for value, _ in values))
    vectors = np.argwhere(good)
    bounds = quality.bounds(vectors)
    if bounds is None:
        return _best_below(judge, quality, good)
    best, found = np.inf, []
    for i in np.argsort(bounds, kind="stable"):
        if bounds[i] > best + TIE * abs(best):
            break
        vector = tuple(vectors[i].tolist())
        value = quality.value(vector, judge.at(vector))
        best = min(best, value)
        found.append((value, vector))
    return _ties(found, best)


def _best_below(judge: Judge, quality: Quality, good: NDArray[np.bool_]) -> list[Vector]:
    """Return the best good nodes where only counting gives a bound: generalising further never makes it smaller."""
    best, found = np.inf, []

    def open_(verdict: Verdict) -> bool:
        return quality.least(verdict) <= best + TIE * abs(best)

    tags = np.where(good, 0, -1).astype(np.int8)
    for vector, verdict in _Walker(judge, tags, 0).nodes(open_):
        value = quality.value(vector, verdict)
        best = min(best, value)
        found.append((value, vector))
    return _ties(found, best)


def _ties(found: Sequence[tuple[float, Vector]], best: float) -> list[Vector]:
    return sorted(vector for value, vector in found if value <= best + TIE * abs(best))


def _above(vectors: Sequence[Vector], heights: Ints) -> NDArray[np.bool_]:
    """Return which nodes are at or above some of the given ones."""
    good = np.zeros(tuple(heights + 1), dtype=bool)
    for vector in vectors:
        good[tuple(slice(level, None) for level in vector)] = True
    return good


@dataclass(frozen=True, eq=False)
class _Walker:
    """Goes through a lattice column after column, rolling groups up on the way; those with more values first."""

    judge: Judge
    tags: Tags
    allowed: int
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        values = [self.judge.lattice.levels[c].codes[0].size for c in self.judge.columns]
        object.__setattr__(
            self, "order", tuple(np.argsort([-count for count in values], kind="stable").tolist())
        )

    def try_all(self) -> None:
        """Decide every open node by itself."""
        for vector, verdict in self.nodes(lambda _: True, cut=False):
            self.tags[vector] = 1 if verdict.suppressed <= self.allowed else -1

    def tag_both_ways(self) -> None:
        """Decide all nodes: those above a good one are good, those below a bad one bad."""
        self._tag(0, [0] * len(self.order), self.judge.lattice.keys, self.judge.lattice.sizes)

    def _tag(self, depth: int, vector: list[int], keys: Words, sizes: Ints) -> None:
        top = list(vector)
        for column in self.order[depth:]:
            top[column] = self.tags.shape[column] - 1
        if self.tags[tuple(top)] == -1:
            return
        if self.tags[tuple(vector)] == 0:
            self._decide(vector, keys, sizes)
        if self.tags[tuple(vector)] == 1 or depth == len(self.order):
            return
        if self.tags[tuple(top)] == 0:
            self._decide(top, *self._rolled(keys, sizes, vector, top))
        if self.tags[tuple(top)] == 1:
            for higher, merged in self._climb(depth, vector, keys, sizes):
                self._tag(depth + 1, higher, *merged)

    def _decide(self, vector: Sequence[int], keys: Words, sizes: Ints) -> None:
        good = self.judge.verdict(keys, sizes).suppressed <= self.allowed
        reached = self.tags[
            tuple(slice(level, None) if good else slice(level + 1) for level in vector)
        ]
        reached[reached == 0] = 1 if good else -1

    def nodes(
        self, wanted: Callable[[Verdict], bool], *, cut: bool = True
    ) -> Iterator[tuple[Vector, Verdict]]:
        """Yield every open node with its verdict; with ``cut``, none above nodes that are not wanted."""
        lattice = self.judge.lattice
        return self._nodes(0, [0] * len(self.order), lattice.keys, lattice.sizes, wanted, cut=cut)

    def _nodes(
        self,
        depth: int,
        vector: list[int],
        keys: Words,
        sizes: Ints,
        wanted: Callable[[Verdict], bool],
        *,
        cut: bool,
    ) -> Iterator[tuple[Vector, Verdict]]:
        part: list[int | slice] = [slice(None)] * len(self.order)
        for column in self.order[:depth]:
            part[column] = vector[column]
        if not np.any(self.tags[tuple(part)] == 0):
            return
        last = depth == len(self.order)
        if last or cut:
            verdict = self.judge.verdict(keys, sizes)
            if cut and not wanted(verdict):
                return
            if last:
                yield tuple(vector), verdict
                return
        for higher, merged in self._climb(depth, vector, keys, sizes):
            yield from self._nodes(depth + 1, higher, *merged, wanted, cut=cut)

    def _climb(
        self, depth: int, vector: list[int], keys: Words, sizes: Ints
    ) -> Iterator[tuple[list[int], tuple[Words, Ints]]]:
        """Yield the groups at each level of the next column, each rolled up from the level below."""
        column, here, merged = self.order[depth], list(vector), (keys, sizes)
        for level in range(self.tags.shape[column]):
            higher = list(here)
            higher[column] = level
            if level:
                merged = self._rolled(*merged, here, higher)
            here = higher
            yield higher, merged

    def _rolled(
        self, keys: Words, sizes: Ints, low: Sequence[int], high: Sequence[int]
    ) -> tuple[Words, Ints]:
        rest = (0,) * (len(self.judge.lattice.levels) - len(low))
        return self.judge.lattice.rolled(keys, sizes, (*low, *rest), (*high, *rest))
