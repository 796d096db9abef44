"""Several columns drawn together: one donor gives them all, and each number is moved by its own kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.synth.column import Subject
from veladura.synth.leaf import TRIES, Donors
from veladura.synth.model import Ground, Where
from veladura.synth.tree import END, START, Growth, Tree, grow, ranks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_CLASSES = 1000


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
        return [self._member(subject, rng, leaves, self.tree.order[donors]) for subject in self.subjects]

    def _member(self, subject: Subject, rng: Generator, leaves: Ints, rows: Ints) -> tuple[Ints, Floats | None]:
        state = subject.state[rows]
        if subject.places is None or subject.grid is None:
            return state, None
        places = subject.places[rows].copy()
        numbers = np.flatnonzero(state == 0)
        low, high, width = self._spreads(subject, leaves[numbers])
        waiting = np.arange(numbers.size)
        for _ in range(TRIES):
            drawn = subject.places[rows[numbers[waiting]]]
            if subject.smooth:
                drawn = subject.grid.written(drawn + self.bandwidth * width[waiting] * rng.standard_normal(waiting.size))
            places[numbers[waiting]] = drawn
            waiting = waiting[~((drawn >= low[waiting]) & (drawn <= high[waiting]) & subject.accepted(drawn))]
            if not waiting.size:
                return state, places
        left = numbers[waiting]
        places[left] = subject.settle(np.clip(places[left], low[waiting], high[waiting]))
        return state, places

    def _spreads(self, subject: Subject, leaves: Ints) -> tuple[Floats, Floats, Floats]:
        """Return range and bandwidth of one column's numbers in the leaf of each row."""
        from veladura.synth.draws import spreads

        assert subject.places is not None  # noqa: S101
        used, place = np.unique(leaves, return_inverse=True)
        found = np.zeros((used.size, 3))
        for i, leaf in enumerate(used):
            inside = self.tree.order[self.tree.nodes[leaf, START] : self.tree.nodes[leaf, END]]
            values = subject.places[inside[subject.state[inside] == 0]]
            found[i] = spreads(values, np.array([0]), np.array([values.size]))[0]
        spread = found[place.reshape(-1)]
        return spread[:, 1], spread[:, 2], spread[:, 0]


def grow_joint(
    subjects: Sequence[Subject], ground: Ground, features: Sequence[int], growth: Growth, prune: Callable[..., Tree], bandwidth: float
) -> JointModel:
    """Return the model of a group: a tree of its combinations where they are few, else of its first column."""
    target, classes = _combined(subjects)
    return JointModel(subjects, prune(grow, ground, features, target, classes, growth, 0), bandwidth)


def _combined(subjects: Sequence[Subject]) -> tuple[Ints, int]:
    if all(subject.places is None for subject in subjects):
        _, codes = np.unique(np.column_stack([subject.state for subject in subjects]), axis=0, return_inverse=True)
        if (classes := int(codes.max()) + 1) <= MOST_CLASSES:
            return codes.reshape(-1).astype(np.int64), classes
    lead = subjects[0]
    if lead.places is None:
        return lead.state, lead.states
    return ranks(np.where(lead.column.missing, lead.places.min() - 1, lead.places)), 0
