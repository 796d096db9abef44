"""The model of one variable given others: its trees, and the draw of new values from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.context import Context
from veladura.base.jit import native
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.calibration import Calibration
from veladura.numeric.trees.criteria import number_target, with_variance
from veladura.numeric.trees.law import LeafLaw
from veladura.numeric.trees.leaf import Donors, Draws, by_node, by_value
from veladura.numeric.trees.tree import PARENT, Growth, TrainingRows, Tree, grow_on
from veladura.numeric.trees.variable import Variable

Values = tuple[Ints, Floats | None]  # a state for each row and, for numbers, the numbers
Grow = Callable[[TrainingRows, Sequence[int], Ints, int, Growth, int], Tree]
TRIES = 20  # for a number that the holder's limits or conditions refuse, before the node above


@dataclass(frozen=True)
class Recipients:
    """The rows that values are drawn for.

    Attributes
    ----------
    rows
        Their places in ``predictors``.
    root
        Their zero-based strata.
    threads
        How many threads look for their leaves.
    whole
        Whether these are all rows of a dataset: only then draws are calibrated.
    weights
        The stream of the bootstrap weights, where it is not that of the draws: all chunks of a
        dataset have the same weights.
    """

    predictors: Predictors
    rows: Ints
    root: Ints
    threads: int = 1
    whole: bool = True
    weights: Generator | None = None

    def at(self, some: Ints) -> Recipients:
        """Return some of the rows."""
        return replace(self, rows=self.rows[some], root=self.root[some], whole=False)


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """The tree of a variable's states, that of its numbers and their law; None where not needed."""

    states: Tree | None
    numbers: Tree | None
    law: LeafLaw | None = None
    state_calibration: Calibration | None = None
    number_calibration: Calibration | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """From which nodes a variable is drawn, and which numbers the holder accepts in which rows."""

    variable: Variable

    @property
    def bind(self) -> bool:
        """Whether there are numbers that would not be accepted."""
        return self.variable.limits != (-np.inf, np.inf)

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:  # noqa: ARG002
        """Return the node that each row draws from: its leaf."""
        return leaves

    def accepted(self, places: Floats, rows: Ints) -> Mask:  # noqa: ARG002
        """Return which numbers are accepted in which rows: those within the limits."""
        return self.variable.inside(places)

    def settled(self, places: Floats, rows: Ints) -> Floats:  # noqa: ARG002
        """Return numbers for rows in which no draw was accepted: the nearest limits."""
        return np.clip(places, *self.variable.limits)


@dataclass(frozen=True, eq=False, repr=False)
class TreeModel:
    """One tree, or several of which each row takes one at random (bagging, random forest)."""

    variable: Variable
    pairs: Sequence[Pair]
    draws: Draws = "bayesian"
    constraints: Constraints | None = None

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:
        """Return the values of the variable: a list of one."""
        if len(self.pairs) == 1:
            return [self._values(self.pairs[0], rng, recipients)]
        size = recipients.rows.size
        state, places = np.zeros(size, dtype=np.int64), np.zeros(size)
        which = rng.integers(len(self.pairs), size=size)
        for i, pair in enumerate(self.pairs):
            mine = np.flatnonzero(which == i)
            state[mine], numbers = self._values(pair, rng, recipients.at(mine))
            if numbers is not None:
                places[mine] = numbers
        return [(state, None if self.variable.places is None else places)]

    def _values(self, pair: Pair, rng: Generator, recipients: Recipients) -> Values:
        """Draw from one pair of trees: the states first, then the numbers."""
        variable, size = self.variable, recipients.rows.size
        state = np.zeros(size, dtype=np.int64)
        if pair.states is not None:
            nodes = self._nodes(pair.states, recipients)
            donors = _donors(pair.states, rng, recipients, self.draws).places(rng, nodes)
            if pair.state_calibration is not None and recipients.whole:
                donors = pair.state_calibration.corrected(
                    rng, recipients.predictors, recipients.rows, nodes, donors
                )
            state = variable.state.take(pair.states.order.take(donors))
        if variable.places is None:
            return state, None
        places = np.zeros(size)
        numbers = np.flatnonzero(state == 0)
        if pair.numbers is not None and pair.law is not None and numbers.size:
            calibration = pair.number_calibration if recipients.whole else None
            places[numbers] = self._numbers(
                pair.numbers, pair.law, calibration, rng, recipients.at(numbers)
            )
        return state, places

    def _nodes(self, tree: Tree, recipients: Recipients) -> Ints:
        """Return the node that each row draws from."""
        rows = recipients.rows
        leaves = tree.find(recipients.predictors, rows, recipients.root, recipients.threads)
        return leaves if self.constraints is None else self.constraints.nodes(tree, leaves, rows)

    def _numbers(
        self,
        tree: Tree,
        law: LeafLaw,
        calibration: Calibration | None,
        rng: Generator,
        recipients: Recipients,
    ) -> Floats:
        constraints = self.constraints or Constraints(self.variable)
        nodes = self._nodes(tree, recipients)
        donors = _donors(tree, rng, recipients, self.draws)
        places = np.empty(nodes.size)
        picked = donors.places(rng, nodes)
        if calibration is not None:
            picked = calibration.corrected(
                rng, recipients.predictors, recipients.rows, nodes, picked
            )
        rows = by_node(nodes, len(tree.nodes))
        places[rows] = law.drawn(rng, picked.take(rows))
        if constraints.bind:
            refit(rng, donors, law, constraints, nodes, recipients.rows, places)
        return places


def _donors(tree: Tree, rng: Generator, recipients: Recipients, draws: Draws) -> Donors:
    return Donors.weighted(tree, recipients.weights or rng, draws)


def refit(
    rng: Generator,
    donors: Donors,
    law: LeafLaw,
    constraints: Constraints,
    nodes: Ints,
    rows: Ints,
    places: Floats,
) -> None:
    """Draw numbers again that the holder's limits or conditions refuse, at last from the root.

    Parameters
    ----------
    nodes, rows, places
        For each number the node it was drawn from, its row, and the number, which is replaced.
    """
    wrong, at = np.flatnonzero(~constraints.accepted(places, rows)), nodes.copy()
    while wrong.size:
        for _ in range(TRIES):
            places[wrong] = law.drawn(rng, donors.places(rng, at[wrong]))
            wrong = wrong[~constraints.accepted(places[wrong], rows[wrong])]
            if not wrong.size:
                return
        above = donors.tree.nodes[at[wrong], PARENT]
        last = wrong[above < 0]
        places[last] = constraints.settled(places[last], rows[last])
        wrong, above = wrong[above >= 0], above[above >= 0]
        at[wrong] = above


def load_kernels(context: Context) -> None:
    """Load the compiled code, with a word on the wait when it must be compiled first."""
    with context.progress(
        "loading the compiled tree code (compiled at the first run, which takes a while)", 1
    ) as advance:
        from veladura.numeric.trees.kernels import grow_nodes

        native(grow_nodes)  # by far the largest; the others are loaded as they are called
        advance()


def grow_pair(
    variable: Variable,
    training: TrainingRows,
    features: Sequence[int],
    growth: Growth,
    grow: Grow = grow_on,
    seed: int = 0,
    draws: Draws = "plain",
) -> Pair:
    """Return the trees of one variable, grown on the original."""
    states = numbers = None
    here = variable.state[training.rows]
    if here.size and here.min() < here.max():
        states = grow(training, features, variable.state, variable.states, growth, seed)
    elif here.size and (here[0] > 0 or variable.places is None):
        # one state only: a leaf says it
        states = grow(training, (), variable.state, variable.states, growth, seed)
    if variable.places is not None and np.any(here == 0):
        inside = training.only(here == 0)
        target = np.zeros(variable.state.size, dtype=np.int64)
        target[inside.rows] = (
            variable.ranks(inside.rows)
            if growth.numbers == "ranks"
            else number_target(variable.scaled()[inside.rows], growth.numbers)
        )
        numbers = grow(inside, features, target, 0, growth, seed)
        if growth.min_variance > 0:
            numbers = with_variance(numbers, variable.scaled(), growth.min_variance)
    return paired(variable, states, numbers, draws)


def paired(
    variable: Variable, states: Tree | None, numbers: Tree | None, draws: Draws = "plain"
) -> Pair:
    """Return the trees of one variable with the law of its numbers.

    For plain draws donors are in order of value: these are balanced.
    """
    balanced = draws == "plain"
    if states is not None and balanced:
        states = by_value(states, variable.state)
    if numbers is None or variable.law is None or variable.places is None:
        return Pair(states, numbers)
    numbers = by_value(numbers, variable.places) if balanced else numbers
    return Pair(states, numbers, variable.law.in_leaves(numbers))
