"""Several columns drawn together: one donor gives them all, and each number is moved by its own kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.numeric.trees.leaf import TRIES, Donors, Smoothing, moved
from veladura.numeric.trees.model import Ground, Where
from veladura.numeric.trees.tree import END, START, Growth, Tree, grow, ranks
from veladura.numeric.trees.variable import Subject

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class Kernel:
    """How the numbers of one column move from those of given donors, each within its leaf."""

    smoothing: Smoothing
    values: Floats
    width: Floats
    reach: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(
        cls, subject: Subject, tree: Tree, leaves: Ints, donors: Ints, bandwidth: float
    ) -> Kernel:
        """Return the kernel of each row; donors without a number (a spike, a missing value) have no part in its leaf."""
        from veladura.numeric.trees.draws import spreads

        assert subject.places is not None  # noqa: S101
        number = subject.state[tree.order] == 0
        before = np.append(0, np.cumsum(number))
        values = subject.places[tree.order[number]]
        used, place = np.unique(leaves, return_inverse=True)
        reach = np.full(values.size if subject.smoothing == "local" else 0, np.inf)
        spread = spreads(
            values, before[tree.nodes[used, START]], before[tree.nodes[used, END]], reach
        )[place.reshape(-1)]
        width = bandwidth * spread[:, 0] * (subject.smoothing != "none")
        far = (
            reach[before[donors]] if subject.smoothing == "local" else np.full(donors.size, np.inf)
        )
        return cls(
            subject.smoothing, values[before[donors]], width, far, spread[:, 1], spread[:, 2]
        )

    def moved(self, rng: Generator, rows: Ints, attempt: int) -> Floats:
        """Return numbers near those of the donors; each attempt reaches twice as far as the one before."""
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

    subjects: Sequence[Subject]
    tree: Tree
    bandwidth: float = 1.0

    def draw(self, rng: Generator, where: Where) -> list[tuple[Ints, Floats | None]]:
        """Return states and numbers of every column of the group."""
        leaves = self.tree.find(where.predictors, where.rows, where.root)
        donors = Donors.weighted(self.tree, rng).places(rng, leaves)
        return [self._member(subject, rng, leaves, donors) for subject in self.subjects]

    def _member(
        self, subject: Subject, rng: Generator, leaves: Ints, donors: Ints
    ) -> tuple[Ints, Floats | None]:
        state = subject.state[self.tree.order[donors]]
        if subject.places is None or subject.grid is None:
            return state, None
        places = subject.places[self.tree.order[donors]]
        numbers = np.flatnonzero(state == 0)
        kernel = Kernel.of(subject, self.tree, leaves[numbers], donors[numbers], self.bandwidth)
        waiting = np.arange(numbers.size)
        for attempt in range(TRIES):
            drawn = subject.grid.written(kernel.moved(rng, waiting, attempt))
            places[numbers[waiting]] = drawn
            waiting = waiting[~(kernel.inside(drawn, waiting) & subject.accepted(drawn))]
            if not waiting.size:
                return state, places
        left = numbers[waiting]
        places[left] = subject.settle(
            np.clip(places[left], kernel.low[waiting], kernel.high[waiting])
        )
        return state, places


def grow_joint(
    subjects: Sequence[Subject],
    ground: Ground,
    features: Sequence[int],
    growth: Growth,
    prune: Callable[..., Tree],
    bandwidth: float,
) -> JointModel:
    """Return the model of a group: a tree of its combinations where they are few, else of its first column."""
    target, classes = _combined(subjects)
    return JointModel(
        subjects, prune(grow, ground, features, target, classes, growth, 0), bandwidth
    )


def _combined(subjects: Sequence[Subject]) -> tuple[Ints, int]:
    if all(subject.places is None for subject in subjects):
        _, codes = np.unique(
            np.column_stack([subject.state for subject in subjects]), axis=0, return_inverse=True
        )
        if (classes := int(codes.max()) + 1) <= MOST_CLASSES:
            return codes.reshape(-1).astype(np.int64), classes
    lead = subjects[0]
    if lead.places is None:
        return lead.state, lead.states
    return ranks(np.where(lead.column.missing, lead.places.min() - 1, lead.places)), 0
