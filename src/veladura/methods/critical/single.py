"""Replacement of one critical column from the leaves of a tree: relocation, and re-evaluation of what came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.methods.critical.constraints import CriticalTerms
from veladura.numeric.trees.leaf import TRIES
from veladura.numeric.trees.model import Ground, Pair, TreeModel, Where, grow_pair, unpruned
from veladura.numeric.trees.tree import END, FEATURE, LEFT, START, Growth, Predictors, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, repr=False)
class SingleModel:
    """The trees of one critical column. Holds original rows: its repr shows none.

    Attributes
    ----------
    pair
        The trees of its states and numbers.
    grown
        How to grow them on other predictors, where every dataset grows its own.
    """

    terms: CriticalTerms
    pair: Pair
    soil: Soil
    bandwidth: float
    smooth: bool
    regrow: bool

    def draw(self, rng: Generator, where: Where) -> tuple[Ints, Floats | None]:
        """Return states and numbers; a value that may not stand in its row is drawn anew, a category then stays."""
        pair = self.soil.grow(where.predictors) if self.regrow else self.pair
        model = TreeModel(self.terms.subject, (pair,), self.bandwidth, terms=self.terms)
        if not self.smooth and self.terms.subject.places is not None:
            return self._relocated(rng, model, where)
        state, places = model.draw(rng, where)
        if (
            self.terms.subject.places is None
            and self.terms.inside
            and not self.terms.condition.alone
        ):
            self._fit_categories(rng, model, where, state)
        return state, places

    def _fit_categories(self, rng: Generator, model: TreeModel, where: Where, state: Ints) -> None:
        """Draw categories anew that are not critical in their row, and let those stay that never fit."""
        wrong = np.arange(state.size)
        for _ in range(TRIES):
            wrong = wrong[~self.terms.fits(where.rows[wrong], state[wrong])]
            if not wrong.size:
                return
            state[wrong] = model.draw(rng, where.at(wrong))[0]
        wrong = wrong[~self.terms.fits(where.rows[wrong], state[wrong])]
        state[wrong] = self.terms.subject.state[where.rows[wrong]]

    def _relocated(
        self, rng: Generator, model: TreeModel, where: Where
    ) -> tuple[Ints, Floats | None]:
        """Hand out donors' own numbers; those that came back to their own row are drawn from the kernel density of the leaf."""
        subject = self.terms.subject
        bare = replace(
            model,
            subject=replace(subject, smoothing="none"),
            terms=replace(self.terms, guard="drawn"),
        )
        state, places = bare.draw(rng, where)
        if places is None or subject.places is None:
            return state, places
        same = np.flatnonzero(
            (state == 0) & (subject.state[where.rows] == 0) & (places == subject.places[where.rows])
        )
        if subject.smoothing != "none" and same.size:
            fresh, numbers = model.draw(rng, where.at(same))
            state[same] = fresh
            places[same] = places[same] if numbers is None else numbers
        return state, places


@dataclass(frozen=True, eq=False, repr=False)
class Soil:
    """What the trees of a column are grown from.

    Attributes
    ----------
    rows
        The rows to grow on.
    donors
        Where too few rows are critical the trees are grown on all, and only these rows give values.
    """

    terms: CriticalTerms
    rows: Ints
    donors: Mask | None
    features: Sequence[int]
    growth: Growth

    def grow(self, predictors: Predictors) -> Pair:
        """Return the trees of states and numbers."""
        pair = grow_pair(
            self.terms.subject, Ground(predictors, self.rows), self.features, self.growth, unpruned
        )
        if self.donors is None:
            return pair
        return Pair(
            *(
                None if tree is None else restricted(tree, self.donors, self.growth.min_leaf)
                for tree in (pair.states, pair.numbers)
            )
        )


def restricted(tree: Tree, donors: Mask, least: int) -> Tree | None:
    """Return the tree with some rows only as donors, ended where a further split would leave fewer than a leaf holds."""
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
