"""The model of one variable given others: its trees, and the draw of new values from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.context import Context
from veladura.base.jit import native
from veladura.numeric.trees.bins import Predictors
from veladura.numeric.trees.leaf import Donors, by_node, draw_numbers
from veladura.numeric.trees.tree import Growth, TrainingRows, Tree, grow_on, ranks
from veladura.numeric.trees.variable import Variable

Values = tuple[Ints, Floats | None]  # a state for each row and, for numbers, the numbers
Grow = Callable[[TrainingRows, Sequence[int], Ints, int, Growth, int], Tree]


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
    """

    predictors: Predictors
    rows: Ints
    root: Ints
    threads: int = 1

    def at(self, some: Ints) -> Recipients:
        """Return some of the rows."""
        return Recipients(self.predictors, self.rows[some], self.root[some], self.threads)


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """The tree of a variable's states and that of its numbers; None where not needed."""

    states: Tree | None
    numbers: Tree | None


@dataclass(frozen=True, eq=False, repr=False)
class Constraints:
    """From which nodes a variable is drawn, and which numbers are accepted in which rows.

    Attributes
    ----------
    cut
        Whether numbers stay in the range of their leaf.
    """

    variable: Variable
    cut: bool = True

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:  # noqa: ARG002
        """Return the node that each row draws from: its leaf."""
        return leaves

    def accepted(self, places: Floats, rows: Ints) -> Mask:  # noqa: ARG002
        """Return which numbers are accepted in which rows."""
        return self.variable.allowed.accepted(places)

    def settled(self, rng: Generator, places: Floats, rows: Ints) -> Floats:  # noqa: ARG002
        """Return numbers for rows in which no draw was accepted."""
        return self.variable.allowed.settle(places)


@dataclass(frozen=True, eq=False, repr=False)
class TreeModel:
    """One tree, or several of which each row takes one at random (bagging, random forest)."""

    variable: Variable
    pairs: Sequence[Pair]
    bandwidth: float = 1.0
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
            rows = by_node(nodes, len(pair.states.nodes))
            donors = Donors.weighted(pair.states, rng).places(rng, nodes[rows])
            state[rows] = variable.state[pair.states.order[donors]]
        if variable.places is None:
            return state, None
        places = np.zeros(size)
        numbers = np.flatnonzero(state == 0)
        if pair.numbers is not None and numbers.size:
            places[numbers] = self._numbers(pair.numbers, rng, recipients.at(numbers))
        return state, places

    def _nodes(self, tree: Tree, recipients: Recipients) -> Ints:
        """Return the node that each row draws from."""
        rows = recipients.rows
        leaves = tree.find(recipients.predictors, rows, recipients.root, recipients.threads)
        return leaves if self.constraints is None else self.constraints.nodes(tree, leaves, rows)

    def _numbers(self, tree: Tree, rng: Generator, recipients: Recipients) -> Floats:
        variable, constraints = self.variable, self.constraints or Constraints(self.variable)
        assert variable.grid is not None  # noqa: S101  # a column of numbers has one
        assert variable.places is not None  # noqa: S101
        drawn, failed = draw_numbers(
            rng,
            Donors.weighted(tree, rng),
            variable.places[tree.order],
            self._nodes(tree, recipients),
            written=variable.grid.written,
            accept=lambda x, i: constraints.accepted(x, recipients.rows[i]),
            smoothing=variable.smoothing,
            bandwidth=self.bandwidth,
            cut=constraints.cut,
        )
        if failed.size:
            drawn[failed] = constraints.settled(rng, drawn[failed], recipients.rows[failed])
        return drawn


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
        target[inside.rows] = ranks(variable.places[inside.rows])
        numbers = grow(inside, features, target, 0, growth, seed)
    return Pair(states, numbers)
