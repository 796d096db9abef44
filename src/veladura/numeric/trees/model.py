"""Models of one column given others: trees that hand out donors, and the draw of a column from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.base.context import Context
from veladura.base.jit import native
from veladura.numeric.trees.column import Subject
from veladura.numeric.trees.leaf import Donors, draw_numbers
from veladura.numeric.trees.tree import Growth, Predictors, Tree, grow, ranks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Where:
    """The rows a column is drawn for: their predictors, their numbers and their strata; and in how many threads they look for leaves."""

    predictors: Predictors
    rows: Ints
    root: Ints
    threads: int = 1

    def at(self, some: Ints) -> Where:
        """Return some of the rows."""
        return Where(self.predictors, self.rows[some], self.root[some], self.threads)


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """The tree of a column's states and that of its numbers; either may not be needed."""

    states: Tree | None
    numbers: Tree | None


@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """On which terms a column is drawn: from which nodes, which numbers may stand in which rows, what becomes of the others.

    Attributes
    ----------
    cut
        Whether numbers stay in the range of their leaf.
    """

    subject: Subject
    cut: bool = True

    def nodes(self, tree: Tree, leaves: Ints, rows: Ints) -> Ints:  # noqa: ARG002
        """Return the node that each row draws from: its leaf."""
        return leaves

    def accepted(self, places: Floats, rows: Ints) -> NDArray[np.bool_]:  # noqa: ARG002
        """Return which numbers may stand in which rows."""
        return self.subject.accepted(places)

    def settled(self, rng: Generator, places: Floats, rows: Ints) -> Floats:  # noqa: ARG002
        """Return numbers for rows in which none was ever accepted."""
        return self.subject.settle(places)


@dataclass(frozen=True, eq=False, repr=False)
class TreeModel:
    """One tree, or several of which each row takes one at random (bagging, random forest)."""

    subject: Subject
    pairs: Sequence[Pair]
    bandwidth: float = 1.0
    terms: Terms | None = None

    def draw(self, rng: Generator, where: Where) -> tuple[Ints, Floats | None]:
        """Return a state for each row and, for a column of numbers, its numbers."""
        size = where.rows.size
        if len(self.pairs) == 1:
            return self._from(self.pairs[0], rng, where)
        state, places = np.zeros(size, dtype=np.int64), np.zeros(size)
        which = rng.integers(len(self.pairs), size=size)
        for i, pair in enumerate(self.pairs):
            mine = np.flatnonzero(which == i)
            found, numbers = self._from(pair, rng, where.at(mine))
            state[mine] = found
            if numbers is not None:
                places[mine] = numbers
        return state, None if self.subject.places is None else places

    def _from(self, pair: Pair, rng: Generator, where: Where) -> tuple[Ints, Floats | None]:
        from veladura.numeric.trees.draws import by_node

        subject, size = self.subject, where.rows.size
        state = np.zeros(size, dtype=np.int64)
        if pair.states is not None:
            nodes = self._nodes(pair.states, where)
            rows = by_node(nodes, len(pair.states.nodes))
            donors = Donors.weighted(pair.states, rng).places(rng, nodes[rows])
            state[rows] = subject.state[pair.states.order[donors]]
        if subject.places is None:
            return state, None
        places = np.zeros(size)
        numbers = np.flatnonzero(state == 0)
        if pair.numbers is not None and numbers.size:
            places[numbers] = self._numbers(pair.numbers, rng, where.at(numbers))
        return state, places

    def _nodes(self, tree: Tree, where: Where) -> Ints:
        leaves = tree.find(where.predictors, where.rows, where.root, where.threads)
        return leaves if self.terms is None else self.terms.nodes(tree, leaves, where.rows)

    def _numbers(self, tree: Tree, rng: Generator, where: Where) -> Floats:
        subject, terms = self.subject, self.terms or Terms(self.subject)
        assert subject.grid is not None  # noqa: S101  # a column of numbers has one
        assert subject.places is not None  # noqa: S101
        drawn, failed = draw_numbers(
            rng,
            Donors.weighted(tree, rng),
            subject.places[tree.order],
            self._nodes(tree, where),
            written=subject.grid.written,
            accept=lambda x, i: terms.accepted(x, where.rows[i]),
            smoothing=subject.smoothing,
            bandwidth=self.bandwidth,
            cut=terms.cut,
        )
        if failed.size:
            drawn[failed] = terms.settled(rng, drawn[failed], where.rows[failed])
        return drawn


@dataclass(frozen=True)
class Ground:
    """What a model is grown on: predictors, the rows, and their strata.

    A row may stand there twice (a bootstrap sample). ``excluded`` marks rows that a rule decides.
    """

    predictors: Predictors
    rows: Ints
    groups: Ints | None = None

    def where(self, keep: NDArray[np.bool_]) -> Ground:
        """Return the ground with some of its rows only."""
        return Ground(
            self.predictors, self.rows[keep], None if self.groups is None else self.groups[keep]
        )


def load_kernels(context: Context) -> None:
    """Load the compiled code, with a word on the wait when it must be compiled first."""
    with context.progress(
        "loading the compiled tree code (compiled at the first run, which takes a while)", 1
    ) as advance:
        from veladura.numeric.trees.kernels import grow_nodes

        native(grow_nodes)  # by far the largest; the others are loaded as they are called
        advance()


def grow_pair(
    subject: Subject,
    ground: Ground,
    features: Sequence[int],
    growth: Growth,
    prune: Callable[..., Tree],
    seed: int = 0,
) -> Pair:
    """Return the trees of one column, grown on the original."""
    states = numbers = None
    here = subject.state[ground.rows]
    if here.size and here.min() < here.max():
        states = prune(grow, ground, features, subject.state, subject.states, growth, seed)
    elif here.size and (here[0] > 0 or subject.places is None):
        states = prune(
            grow, ground, (), subject.state, subject.states, growth, seed
        )  # one state only: a leaf says it
    if subject.places is not None and np.any(here == 0):
        inside = ground.where(here == 0)
        target = np.zeros(subject.state.size, dtype=np.int64)
        target[inside.rows] = ranks(subject.places[inside.rows])
        numbers = prune(grow, inside, features, target, 0, growth, seed)
    return Pair(states, numbers)


def unpruned(
    grown: Callable[..., Tree],
    ground: Ground,
    features: Sequence[int],
    target: Ints,
    classes: int,
    growth: Growth,
    seed: int,
) -> Tree:
    """Return the tree as it was grown."""
    return grown(
        ground.predictors,
        features,
        target,
        classes=classes,
        rows=ground.rows,
        groups=ground.groups,
        growth=growth,
        seed=seed,
    )
