"""Columns drawn together: one donor gives all values, each number is moved by its own kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.numeric.trees.leaf import TRIES, Donors, Smoothing, moved, spreads
from veladura.numeric.trees.model import Grow, Recipients, Values
from veladura.numeric.trees.tree import END, START, Growth, TrainingRows, Tree, ranks
from veladura.numeric.trees.variable import Variable

MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class DonorKernel:
    """How the numbers of one column move from those of given donors, each within its leaf."""

    smoothing: Smoothing
    values: Floats
    width: Floats
    reach: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, variable: Variable, tree: Tree, leaves: Ints, donors: Ints, bandwidth: float
    ) -> DonorKernel:
        """Return the kernel of each row, from the donors of its leaf that hold a number."""
        assert variable.places is not None  # noqa: S101
        number = variable.state[tree.order] == 0
        before = np.append(0, np.cumsum(number))
        values = variable.places[tree.order[number]]
        used, place = np.unique(leaves, return_inverse=True)
        reach = np.full(values.size if variable.smoothing == "local" else 0, np.inf)
        spread = spreads(
            values, before[tree.nodes[used, START]], before[tree.nodes[used, END]], reach
        )[place.reshape(-1)]
        width = bandwidth * spread[:, 0] * (variable.smoothing != "none")
        far = (
            reach[before[donors]] if variable.smoothing == "local" else np.full(donors.size, np.inf)
        )
        return cls(
            variable.smoothing, values[before[donors]], width, far, spread[:, 1], spread[:, 2]
        )

    def moved(self, rng: Generator, rows: Ints, attempt: int) -> Floats:
        """Return numbers near those of the donors; each attempt reaches twice as far."""
        ends = (self.low[rows], self.high[rows]) if self.smoothing == "local" else None
        return moved(
            rng,
            self.values[rows],
            np.minimum(self.width[rows], self.reach[rows] * 2.0**attempt),
            ends,
        )

    def inside(self, numbers: Floats, rows: Ints) -> Mask:
        """Return which numbers are in the range of their leaf."""
        return (numbers >= self.low[rows]) & (numbers <= self.high[rows])


@dataclass(frozen=True, eq=False, repr=False)
class JointModel:
    """One tree for a group of columns."""

    variables: Sequence[Variable]
    tree: Tree
    bandwidth: float = 1.0

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of every column of the group."""
        leaves = self.tree.find(recipients.predictors, recipients.rows, recipients.root)
        donors = Donors.weighted(self.tree, rng).places(rng, leaves)
        return [self._member(variable, rng, leaves, donors) for variable in self.variables]

    def _member(self, variable: Variable, rng: Generator, leaves: Ints, donors: Ints) -> Values:
        state = variable.state[self.tree.order[donors]]
        if variable.places is None or variable.grid is None:
            return state, None
        places = variable.places[self.tree.order[donors]]
        numbers = np.flatnonzero(state == 0)
        kernel = DonorKernel.of(
            variable, self.tree, leaves[numbers], donors[numbers], self.bandwidth
        )
        waiting = np.arange(numbers.size)
        for attempt in range(TRIES):
            drawn = variable.grid.written(kernel.moved(rng, waiting, attempt))
            places[numbers[waiting]] = drawn
            waiting = waiting[~(kernel.inside(drawn, waiting) & variable.allowed.accepted(drawn))]
            if not waiting.size:
                return state, places
        left = numbers[waiting]
        places[left] = variable.allowed.settle(
            np.clip(places[left], kernel.low[waiting], kernel.high[waiting])
        )
        return state, places


def grow_joint(
    variables: Sequence[Variable],
    training: TrainingRows,
    features: Sequence[int],
    growth: Growth,
    grow: Grow,
    bandwidth: float,
) -> JointModel:
    """Return the model of a group: one tree of its combinations of values.

    Where these are too many, or numbers are among them, it is the tree of the first column.
    """
    target, classes = _combined(variables)
    return JointModel(variables, grow(training, features, target, classes, growth, 0), bandwidth)


def _combined(variables: Sequence[Variable]) -> tuple[Ints, int]:
    if all(variable.places is None for variable in variables):
        _, codes = np.unique(
            np.column_stack([variable.state for variable in variables]), axis=0, return_inverse=True
        )
        if (classes := int(codes.max()) + 1) <= MOST_CLASSES:
            return codes.reshape(-1).astype(np.int64), classes
    lead = variables[0]
    if lead.places is None:
        return lead.state, lead.states
    return ranks(np.where(lead.column.missing, lead.places.min() - 1, lead.places)), 0
