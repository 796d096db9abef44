"""Tuple-wise replacement: rows critical in several columns get the whole tuple of a donor."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.critical.cluster_kernels import divide, moments
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.numeric.trees.law import LeafLaw
from veladura.numeric.trees.leaf import Donors, Draws
from veladura.numeric.trees.model import TRIES, Recipients, Values
from veladura.numeric.trees.tree import END, PARENT, START, Tree, ranks
from veladura.numeric.trees.variable import Variable
from veladura.table.codes import Column

Scale = Literal["rank", "deviation"]
MOST_LEVELS = 30  # of a category in distances; rarer levels have no axis of their own


@dataclass(frozen=True, eq=False, repr=False)
class TupleModel:
    """The clusters of one combination of critical columns. Holds original rows: no repr.

    Attributes
    ----------
    columns
        The critical columns, and what may replace their values.
    tree
        The clusters of the donors.
    rows
        The rows to draw for.
    leaves
        The leaf of each of them.
    still
        Names of the columns that keep donors' own numbers.
    """

    columns: Sequence[CriticalConstraints]
    tree: Tree
    rows: Ints
    leaves: Ints
    draws: Draws = "bayesian"
    still: Collection[str] = ()

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:  # noqa: ARG002
        """Return the values of every column: the tuple of a donor, moved within its cluster.

        A tuple that the conditions refuse is drawn again, then from the cluster above. The rows
        were assigned to clusters by their original values, so recipients play no part.
        """
        donors = Donors.weighted(self.tree, rng, self.draws)
        state = np.zeros((self.rows.size, len(self.columns)), dtype=np.int64)
        places = np.zeros((self.rows.size, len(self.columns)))
        failed: list[Ints] = []
        pending, at = np.arange(self.rows.size), self.leaves
        while pending.size:
            waiting = self._tried(rng, donors, pending, at, state, places)
            above = self.tree.nodes[at[waiting], PARENT]
            failed.append(pending[waiting[above < 0]])
            pending, at = pending[waiting[above >= 0]], above[above >= 0]
        self._settle(np.concatenate([np.empty(0, dtype=np.int64), *failed]), state, places)
        return [
            (state[:, j], None if column.variable.places is None else places[:, j])
            for j, column in enumerate(self.columns)
        ]

    def _tried(
        self, rng: Generator, donors: Donors, pending: Ints, at: Ints, state: Ints, places: Floats
    ) -> Ints:
        """Draw tuples from given nodes into some rows; return the rows where none was accepted."""
        waiting = np.arange(pending.size)
        for attempt in range(TRIES):
            chosen = donors.places(rng, at[waiting])
            here, rows = pending[waiting], self.tree.order[chosen]
            state[here] = np.column_stack([column.variable.state[rows] for column in self.columns])
            steps = self.kernel.steps(rng, chosen)
            for j, law in enumerate(self.laws):
                if law is not None:
                    stays = not attempt and self.columns[j].variable.name in self.still
                    moved = law.still() if stays else law
                    places[here, j] = moved.moved(chosen, steps[:, j])
            waiting = waiting[~self._accepted(here, state, places).all(axis=1)]
            if not waiting.size:
                break
        return waiting

    @cached_property
    def laws(self) -> list[LeafLaw | None]:
        """The law of each column in the clusters; None for categories."""
        laws = [column.variable.law for column in self.columns]
        return [None if law is None else law.in_leaves(self.tree) for law in laws]

    @cached_property
    def kernel(self) -> JointSteps:
        """How the numbers of a tuple move together."""
        leaves, order = self.tree.leaves(), self.tree.order
        scores = np.zeros((order.size, len(self.columns)))
        complete = np.ones(order.size, dtype=bool)
        for j, law in enumerate(self.laws):
            if law is not None and law.law.moves.any():
                scores[:, j] = law.law.score[order]
                complete &= law.law.pool[order]
        start, end = (
            np.ascontiguousarray(self.tree.nodes[leaves, place]) for place in (START, END)
        )
        roots = moments(scores, complete, start, end)[1]
        leaf = np.zeros(order.size, dtype=np.int64)
        for i in range(leaves.size):
            leaf[start[i] : end[i]] = i
        return JointSteps.of(roots, leaf)

    def _accepted(self, here: Ints, state: Ints, places: Floats) -> Mask:
        """Return which cells of some tuples are accepted in their rows."""
        good = np.ones((here.size, len(self.columns)), dtype=bool)
        for j, column in enumerate(self.columns):
            rows, number = self.rows[here], state[here, j] == 0
            if column.variable.places is not None:
                new = places[here[number], j]
                good[number, j] = column.accepted(new, rows[number])
                if (
                    column.variable.name in self.still
                ):  # a donor's own number, but not in its own row
                    good[number, j] &= new != column.variable.places[rows[number]]
            elif column.inside and not column.condition.alone:
                good[:, j] = column.fits(rows, state[here, j])
        return good

    def _settle(self, here: Ints, state: Ints, places: Floats) -> None:
        """Give rows without an accepted tuple their numbers one by one; categories stay."""
        good = self._accepted(here, state, places)
        for j, column in enumerate(self.columns):
            wrong = here[~good[:, j]]
            if column.variable.places is None:
                state[wrong, j] = column.variable.state[self.rows[wrong]]
            elif wrong.size:
                places[wrong, j] = column.settled(places[wrong, j], self.rows[wrong])


@dataclass(frozen=True, eq=False, repr=False)
class JointSteps:
    """Steps of the numbers of a tuple: uniform, with the correlations of the cluster's scores.

    Attributes
    ----------
    roots
        Roots of the correlation matrix of each cluster.
    leaf
        The cluster of each donor.
    """

    roots: Floats
    leaf: Ints

    @classmethod
    def of(cls, roots: Floats, leaf: Ints) -> JointSteps:
        """Return the steps for Cholesky factors of the covariances of the clusters."""
        norm = np.sqrt((roots**2).sum(axis=2))
        still = norm <= 0
        scaled = roots / np.where(still, 1.0, norm)[:, :, None]
        scaled[still] = np.broadcast_to(np.eye(roots.shape[1]), roots.shape)[still]
        return cls(scaled, leaf)

    def steps(self, rng: Generator, donors: Ints) -> Floats:
        """Return a step from -1 to 1 for each column of each tuple (a normal copula).

        If all columns of a cluster move by the same share of their variance, tuples keep their
        correlations, as in the shrunken kernel with the covariance of the data (Silverman 1986,
        section 6.4.1).
        """
        from scipy.special import ndtr

        normal = rng.standard_normal((donors.size, self.roots.shape[1]))
        joint = np.einsum("ijk,ik->ij", self.roots[self.leaf[donors]], normal)
        return np.asarray(2 * ndtr(joint) - 1)


def _places(variable: Variable, rows: Ints) -> Floats:
    return np.zeros(rows.size) if variable.places is None else variable.places[rows]


def cluster(
    critical: Sequence[CriticalConstraints],
    members: Sequence[Column],
    donors: Ints,
    rows: Ints,
    *,
    min_leaf: int,
    min_distinct: int,
    spread: float,
    scale: Scale,
) -> tuple[Tree, Ints]:
    """Return the clusters of the donors, and the leaf of each row (rows are among the donors).

    A category that is critical has no axis: clusters by its values would replace it by itself.

    Parameters
    ----------
    critical
        The critical columns: RMSSTD is taken over them.
    members
        All columns of the class: distances are taken over them.
    spread
        No cluster is split whose RMSSTD is at most this.
    scale
        How numbers are standardised.
    """
    own = {column.variable.name for column in critical}
    categories = {column.variable.name for column in critical if column.variable.places is None}
    parts = {column.name: axes(column.take(donors), scale) for column in members}
    if len(own) == len(parts) == len(categories):  # no other axis to cluster on
        categories = set()
    points = np.column_stack([part for name, part in parts.items() if name not in categories])
    inner = np.column_stack([part for name, part in parts.items() if name in own])
    numbers = np.column_stack([tuple_numbers([column], donors) for column in critical])
    order, nodes, risk = divide(
        np.ascontiguousarray(points),
        np.ascontiguousarray(inner),
        np.ascontiguousarray(numbers),
        min_leaf,
        min_distinct,
        spread,
    )
    tree = Tree(
        donors[order],
        nodes,
        np.column_stack([risk, risk]),
        np.zeros(0, dtype=np.uint64),
        np.zeros(len(nodes), dtype=np.int64),
    )
    leaf = np.zeros(int(donors.max()) + 1, dtype=np.int64)
    for node in tree.leaves():
        leaf[tree.order[nodes[node, START] : nodes[node, END]]] = node
    return tree, leaf[rows]


def tuple_numbers(columns: Sequence[CriticalConstraints], rows: Ints) -> Ints:
    """Return a number for each distinct tuple of some columns."""
    number = np.zeros(rows.size, dtype=np.int64)
    for column in columns:
        for part in (column.variable.state[rows], _places(column.variable, rows)):
            _, code = np.unique(part, return_inverse=True)
            _, number = np.unique(
                number * (int(code.max(initial=0)) + 1) + code, return_inverse=True
            )
    return number.astype(np.int64)


def axes(column: Column, scale: Scale) -> Floats:
    """Return a column as axes of distance: a standardised number, or indicators of categories.

    With scale "rank" a number is its normal score, the normal quantile of its mid-rank: no heavy
    tail can push all other rows into one cluster. With "deviation" it is centred and divided by its
    standard deviation. Missing numbers have an axis of their own.
    """
    if column.labels is not None and column.field.kind != "ordered":
        count = np.bincount(column.values[~column.missing], minlength=1)
        shown = np.sort(np.argsort(-count, kind="stable")[:MOST_LEVELS])
        return np.where(column.missing[:, None], 0.0, column.values[:, None] == shown[None, :])
    scaled = np.zeros(column.size)
    numbers = column.values[~column.missing].astype(np.float64)
    if numbers.size and numbers.min() < numbers.max():
        scaled[~column.missing] = (
            _scores(numbers) if scale == "rank" else (numbers - numbers.mean()) / numbers.std()
        )
    return (
        np.column_stack([scaled, column.missing]) if column.missing.any() else scaled.reshape(-1, 1)
    )


def _scores(numbers: Floats) -> Floats:
    """Return normal scores."""
    from scipy.special import ndtri

    scores: Floats = ndtri(0.5 + ranks(numbers) / (2 * numbers.size))
    return scores
