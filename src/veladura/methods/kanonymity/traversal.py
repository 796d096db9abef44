"""Traversal of a lattice where more is asked than k for one quasi-identifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Ints
from veladura.methods.kanonymity.lattice import Vector, Words
from veladura.methods.kanonymity.search import Tags
from veladura.methods.kanonymity.suppression import Criteria, Outcome


@dataclass(frozen=True, eq=False)
class Traversal:
    """Goes through a lattice column after column and merges equivalence classes on the way.

    Columns with more values come first.
    """

    criteria: Criteria
    tags: Tags
    allowed: int
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        levels = self.criteria.lattice.levels
        values = [levels[c].codes[0].size for c in self.criteria.columns]
        order = np.argsort([-count for count in values], kind="stable")
        object.__setattr__(self, "order", tuple(order.tolist()))

    def try_all(self) -> None:
        """Decide every open node by itself."""
        for vector, outcome in self.nodes(lambda _: True, cut=False):
            self.tags[vector] = 1 if outcome.suppressed <= self.allowed else -1

    def tag_both_ways(self) -> None:
        """Decide all nodes: those above a good one are good, those below a bad one bad."""
        lattice = self.criteria.lattice
        self._tag(0, [0] * len(self.order), lattice.keys, lattice.sizes)

    def nodes(
        self, wanted: Callable[[Outcome], bool], *, cut: bool = True
    ) -> Iterator[tuple[Vector, Outcome]]:
        """Yield every open node with its outcome; with ``cut``, none above an unwanted one."""
        lattice = self.criteria.lattice
        return self._nodes(0, [0] * len(self.order), lattice.keys, lattice.sizes, wanted, cut=cut)

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
        good = self.criteria.outcome(keys, sizes).suppressed <= self.allowed
        reached = self.tags[
            tuple(slice(level, None) if good else slice(level + 1) for level in vector)
        ]
        reached[reached == 0] = 1 if good else -1

    def _nodes(
        self,
        depth: int,
        vector: list[int],
        keys: Words,
        sizes: Ints,
        wanted: Callable[[Outcome], bool],
        *,
        cut: bool,
    ) -> Iterator[tuple[Vector, Outcome]]:
        part: list[int | slice] = [slice(None)] * len(self.order)
        for column in self.order[:depth]:
            part[column] = vector[column]
        if not np.any(self.tags[tuple(part)] == 0):
            return
        last = depth == len(self.order)
        if last or cut:
            outcome = self.criteria.outcome(keys, sizes)
            if cut and not wanted(outcome):
                return
            if last:
                yield tuple(vector), outcome
                return
        for higher, merged in self._climb(depth, vector, keys, sizes):
            yield from self._nodes(depth + 1, higher, *merged, wanted, cut=cut)

    def _climb(
        self, depth: int, vector: list[int], keys: Words, sizes: Ints
    ) -> Iterator[tuple[list[int], tuple[Words, Ints]]]:
        """Yield the classes at each level of the next column, merged from the level below."""
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
        rest = (0,) * (len(self.criteria.lattice.levels) - len(low))
        return self.criteria.lattice.rolled(keys, sizes, (*low, *rest), (*high, *rest))
