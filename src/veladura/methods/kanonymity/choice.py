"""The choice among good generalisations: what each costs, and which one the policies prefer."""

from __future__ import annotations

import math
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
    def strategies(self) -> int:
        """Number of paths that lead here from the values, one level of one column at a time."""
        return strategies_to(tuple(self.levels.values()))

    def counted_for(self, names: Sequence[str]) -> tuple[int, int]:
        """Return the rows in classes below k and the classes that stay, by some columns only."""
        vector = [
            level if name in names else self.heights[name] for name, level in self.levels.items()
        ]
        sizes = self.lattice.groups(vector)[1]
        small = sizes < self.criteria.k
        return int(sizes[small].sum()), int((~small).sum())

    @property
    def completeness(self) -> float:
        """Share of the rows that stay."""
        return 1 - self.suppressed / self.lattice.rows


Prefer = Sequence[str] | Sequence[Sequence[str]]
Sets = Sequence[Sequence[str]]


def choose(
    nodes: Sequence[Node],
    prefer: Prefer,
    weights: Mapping[str, float] | None = None,
    sets: Sets = (),
) -> Node:
    """Return the node that the policies prefer, applied in turn.

    Of nodes that are equally preferable, the smallest levels from left to right win.
    """
    equal = preferred(nodes, prefer, weights, sets)
    return min(equal, key=lambda node: tuple(node.levels.values()))


def preferred(
    nodes: Sequence[Node],
    prefer: Prefer,
    weights: Mapping[str, float] | None = None,
    sets: Sets = (),
) -> list[Node]:
    """Return the nodes that the policies prefer, applied in turn: equally preferable ones.

    Weights come before the policies. With a list of policies for every quasi-identifier (the
    attributes of each in ``sets``), that of the first decides first, by its own columns only; those
    of the others decide among what is left.
    """
    candidates = list(nodes)
    if prefer and not isinstance(prefer[0], str):
        for policies, names in zip(prefer, sets, strict=True):
            for each in policies:
                cost = _SET_COSTS[each]
                candidates = _cheapest(candidates, lambda node, c=cost, n=names: c(node, n))  # type: ignore[misc]
        return candidates
    if weights and all(policy in POLICIES for policy in prefer):
        candidates = _cheapest(candidates, lambda node: _weighted_distance(node, weights))
    for policy in prefer:
        if policy in _COSTS:  # a quality model has chosen among all nodes already
            candidates = _cheapest(candidates, _COSTS[str(policy)])
    return candidates


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

SetCost = Callable[[Node, Sequence[str]], float | Fraction]
_SET_COSTS: Mapping[str, SetCost] = {
    "min-distance": lambda node, names: sum(node.levels[name] for name in names),
    "min-relative-distance": lambda node, names: sum(
        (Fraction(node.levels[name], max(node.heights[name], 1)) for name in names), Fraction(0)
    ),
    "max-distinct": lambda node, names: -node.counted_for(names)[1],
    "min-suppression": lambda node, names: node.counted_for(names)[0],
}


def strategies_to(vector: Sequence[int]) -> int:
    """Return the number of strategies to a node: orders in which its steps can be taken.

    The multinomial coefficient (sum of levels)! / product of (level)! (Samarati and Sweeney 1998,
    sec. 3).

    Examples
    --------
    >>> strategies_to((1, 2)), strategies_to((2, 2, 1))
    (3, 30)
    """
    return math.factorial(sum(vector)) // math.prod(map(math.factorial, vector))
