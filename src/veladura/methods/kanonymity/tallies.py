"""What a search counted on its way: costs of good nodes, and what all nodes above them cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask

CLASS_SIZE, DISCERNIBILITY = "average-class-size", "discernibility"


@dataclass(frozen=True, eq=False)
class Tallies:
    """Counts of the equivalence classes of some good nodes, all minimal ones among them.

    Attributes
    ----------
    k
        The k of the search.
    nodes
        Levels of the nodes, a row a node.
    squares, kept, small
        For each node the squared sizes of classes of at least k, their number, and the rows of
        smaller ones.
    """

    k: int
    nodes: Ints = field(repr=False)
    squares: Floats = field(repr=False)
    kept: Floats = field(repr=False)
    small: Floats = field(repr=False)

    @staticmethod
    def counts(quality: str) -> bool:
        """Whether a quality model is a function of these counts."""
        return quality in (CLASS_SIZE, DISCERNIBILITY)

    def costs(self, quality: str, rows: int) -> Floats:
        """Return what each node costs, as `quality.Quality.value` defines it."""
        if quality == CLASS_SIZE:
            return np.asarray(rows / (self.kept + (self.small > 0)))
        return self.squares + rows * self.small

    def least(self, quality: str, rows: int) -> Floats:
        """Return what each node and all above it cost at least.

        Classes of k stay, and only grow. A row of a smaller one is suppressed, or comes into a
        class of at least k.
        """
        if quality == CLASS_SIZE:
            return np.asarray(rows / (self.kept + self.small // self.k + (self.small > 0)))
        return self.squares + min(self.k, rows) * self.small

    def bounds(self, quality: str, rows: int, heights: Sequence[int] | Ints) -> Floats:
        """Return what every node of the lattice costs at least, one axis a column."""
        bounds = np.zeros(tuple(np.asarray(heights) + 1))
        bounds[tuple(self.nodes.T)] = self.least(quality, rows)
        for axis in range(bounds.ndim):
            np.maximum.accumulate(bounds, axis=axis, out=bounds)
        return bounds

    def best(self, quality: str, rows: int, allowed: Mask) -> float:
        """Return the least cost of the nodes that are allowed; infinite if none is."""
        costs = self.costs(quality, rows)[allowed[tuple(self.nodes.T)]]
        return float(costs.min()) if costs.size else np.inf
