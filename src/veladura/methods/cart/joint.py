"""Columns drawn together: one donor gives all values, each number is moved by its own law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Ints
from veladura.numeric.trees.law import LeafLaw
from veladura.numeric.trees.leaf import Donors, Draws
from veladura.numeric.trees.model import TRIES, Grow, Recipients, Values
from veladura.numeric.trees.tree import Growth, TrainingRows, Tree, ranks
from veladura.numeric.trees.variable import Variable

MOST_CLASSES = 1000


@dataclass(frozen=True, eq=False, repr=False)
class JointModel:
    """One tree for a group of columns, and the law of each column of numbers in its leaves."""

    variables: Sequence[Variable]
    tree: Tree
    laws: Sequence[LeafLaw | None]
    draws: Draws = "bayesian"

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of every column of the group."""
        leaves = self.tree.find(recipients.predictors, recipients.rows, recipients.root)
        donors = Donors.weighted(self.tree, recipients.weights or rng, self.draws).places(
            rng, leaves
        )
        return [
            self._member(variable, law, rng, donors)
            for variable, law in zip(self.variables, self.laws, strict=True)
        ]

    def _member(
        self, variable: Variable, law: LeafLaw | None, rng: Generator, donors: Ints
    ) -> Values:
        state = variable.state[self.tree.order[donors]]
        if law is None:
            return state, None
        places = law.drawn(rng, donors)
        if variable.limits == (-np.inf, np.inf):
            return state, places
        wrong = np.flatnonzero((state == 0) & ~variable.inside(places))
        for _ in range(TRIES):  # the limits are the holder's: the donor stays, the step is new
            if not wrong.size:
                break
            places[wrong] = law.drawn(rng, donors[wrong])
            wrong = wrong[~variable.inside(places[wrong])]
        return state, np.where(state == 0, np.clip(places, *variable.limits), places)


def grow_joint(
    variables: Sequence[Variable],
    training: TrainingRows,
    features: Sequence[int],
    growth: Growth,
    grow: Grow,
    draws: Draws,
) -> JointModel:
    """Return the model of a group: one tree of its combinations of values.

    Where these are too many, or numbers are among them, it is the tree of the first column.
    """
    target, classes = _combined(variables)
    tree = grow(training, features, target, classes, growth, 0)
    laws = [None if one.law is None else one.law.in_leaves(tree) for one in variables]
    return JointModel(variables, tree, laws, draws)


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
