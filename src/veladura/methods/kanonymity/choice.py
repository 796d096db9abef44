"""The choice among good generalisations: what each costs, and which one the policies prefer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from veladura.methods.kanonymity.lattice import Lattice
from veladura.methods.kanonymity.suppression import Criteria

POLICIES = ("min-distance", "min-relative-distance", "max-distinct", "min-suppression")


@dataclass(frozen=True, eq=False)
class Node:
    """A generalisation: the level of every quasi-identifier, and what it costs.

    Attributes
    ----------
    levels
        The level of each quasi-identifier.
    """

    levels: Mapping[str, int]
    heights: Mapping[str, int] = field(repr=False)
    lattice: Lattice = field(repr=False)
    criteria: Criteria = field(repr=False)

    @property
    def distance(self) -> int:
        """Sum of the levels."""
        return sum(self.levels.values())

    @property
    def relative_distance(self) -> Fraction:
        """Sum of the levels, each as a share of the height of its hierarchy."""
        shares = [
            Fraction(level, self.heights[name])
            for name, level in self.levels.items()
            if self.heights[name]
        ]
        return sum(shares, Fraction(0))

    @property
    def precision(self) -> float:
        """Precision (Sweeney 2002): one less the mean relative level."""
        return 1 - float(self.relative_distance) / len(self.levels)

    @cached_property
    def _counted(self) -> tuple[int, int]:
        outcome = self.criteria.at(tuple(self.levels.values()))
        return outcome.suppressed, outcome.distinct

    @property
    def suppressed(self) -> int:
        """Rows in equivalence classes that fail."""
        return self._counted[0]

    @property
    def distinct(self) -> int:
        """Equivalence classes that stay."""
        return self._counted[1]

    @property
    def completeness(self) -> float:
        """Share of the rows that stay."""
        return 1 - self.suppressed / self.lattice.rows


def choose(
    nodes: Sequence[Node], prefer: Sequence[str], weights: Mapping[str, float] | None = None
) -> Node:
    """Return the node that the policies prefer, applied in turn.

    Weights come before the policies. Of nodes that still tie, the smallest levels from left to
    right win.
    """
    candidates = list(nodes)
    if weights and all(policy in POLICIES for policy in prefer):
        candidates = _cheapest(candidates, lambda node: _weighted_distance(node, weights))
    for policy in prefer:
        if policy in _COSTS:  # a quality model has chosen among all nodes already
            candidates = _cheapest(candidates, _COSTS[policy])
    return min(candidates, key=lambda node: tuple(node.levels.values()))


Cost = Callable[[Node], float | Fraction]


def _weighted_distance(node: Node, weights: Mapping[str, float]) -> float:
    return sum(
        weights.get(name, 1.0) * level / max(node.heights[name], 1)
        for name, level in node.levels.items()
    )


def _cheapest(nodes: Sequence[Node], cost: Cost) -> list[Node]:
    costs = [cost(node) for node in nodes]
    least = min(costs)
    return [node for node, this in zip(nodes, costs, strict=True) if this == least]


_COSTS: Mapping[str, Cost] = {
    "min-distance": lambda node: node.distance,
    "min-relative-distance": lambda node: node.relative_distance,
    "max-distinct": lambda node: -node.distinct,
    "min-suppression": lambda node: node.suppressed,
}
