"""Replacement of one critical column: new values from the leaves of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Ints, Mask
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.leaf import Draws
from veladura.numeric.trees.model import (
    TRIES,
    Grow,
    Pair,
    Recipients,
    TreeModel,
    Values,
    grow_pair,
    paired,
)
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, TrainingRows, Tree


@dataclass(frozen=True, eq=False, repr=False)
class SingleModel:
    """The trees of one critical column. Holds original rows: its repr shows none.

    Attributes
    ----------
    pair
        The trees of its states and numbers.
    grower
        Grows them on other predictors, where every dataset grows its own.
    """

    constraints: CriticalConstraints
    pair: Pair
    grower: TreeGrower
    draws: Draws
    smooth: bool
    regrow: bool

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the column: a list of one.

        A value that is not accepted in its row is drawn again; a category that never is, stays.
        """
        constraints, variable = self.constraints, self.constraints.variable
        pair = self.grower.grow(recipients.predictors) if self.regrow else self.pair
        model = TreeModel(variable, (pair,), self.draws, constraints)
        if not self.smooth and variable.places is not None:
            return [self._relocated(rng, model, recipients)]
        state, places = model.draw(rng, recipients)[0]
        if variable.places is None and constraints.inside and not constraints.condition.alone:
            self._fit_categories(rng, model, recipients, state)
        return [(state, places)]

    def _fit_categories(
        self, rng: Generator, model: TreeModel, recipients: Recipients, state: Ints
    ) -> None:
        """Draw categories again that are not critical in their row; those that never fit stay."""
        rows, wrong = recipients.rows, np.arange(state.size)
        for _ in range(TRIES):
            wrong = wrong[~self.constraints.fits(rows[wrong], state[wrong])]
            if not wrong.size:
                return
            state[wrong] = model.draw(rng, recipients.at(wrong))[0][0]
        wrong = wrong[~self.constraints.fits(rows[wrong], state[wrong])]
        state[wrong] = self.constraints.variable.state[rows[wrong]]

    def _relocated(self, rng: Generator, model: TreeModel, recipients: Recipients) -> Values:
        """Hand out donors' own numbers; those back in their own row are drawn from the kernel."""
        variable = self.constraints.variable
        pair = model.pairs[0]
        law = None if pair.law is None else pair.law.still()
        state, places = replace(model, pairs=(replace(pair, law=law),)).draw(rng, recipients)[0]
        if places is None or variable.places is None:
            return state, places
        own_state, own = variable.state[recipients.rows], variable.places[recipients.rows]
        same = np.flatnonzero((state == 0) & (own_state == 0) & (places == own))
        if variable.moves and same.size:
            state[same], numbers = model.draw(rng, recipients.at(same))[0]
            places[same] = places[same] if numbers is None else numbers
        return state, places


@dataclass(frozen=True, eq=False, repr=False)
class TreeGrower:
    """Grows the trees of a column.

    Attributes
    ----------
    rows
        The rows to grow on.
    donors
        Where too few rows are critical the trees are grown on all, and only these are donors.
    """

    constraints: CriticalConstraints
    rows: Ints
    donors: Mask | None
    features: Sequence[int]
    growth: Growth
    growing: Grow

    def grow(self, predictors: Predictors) -> Pair:
        """Return the trees of states and numbers."""
        training = TrainingRows(predictors, self.rows)
        variable = self.constraints.variable
        pair = grow_pair(variable, training, self.features, self.growth, self.growing)
        if self.donors is None:
            return pair
        states, numbers = (
            None if tree is None else restricted(tree, self.donors, self.growth.min_leaf)
            for tree in (pair.states, pair.numbers)
        )
        return paired(variable, states, numbers)


def restricted(tree: Tree, donors: Mask, least: int) -> Tree | None:
    """Return the tree with some donors only, cut where a split would leave too few in a leaf."""
    kept = donors[tree.order]
    before = np.append(0, np.cumsum(kept))
    nodes = tree.nodes.copy()
    nodes[:, START], nodes[:, END] = before[nodes[:, START]], before[nodes[:, END]]
    if not before[-1]:
        return None
    size = nodes[:, END] - nodes[:, START]
    inner = np.flatnonzero(nodes[:, FEATURE] >= 0)
    left = nodes[inner, LEFT]
    stop = tree.stop.copy()
    stop[inner[np.minimum(size[left], size[left + 1]) < least]] = 1
    return replace(tree, order=tree.order[kept], nodes=nodes, stop=stop)
