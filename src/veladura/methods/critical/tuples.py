"""Tuple-wise replacement: rows critical in several columns get the whole tuple of a donor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.methods.critical.cluster_kernels import divide, moments
from veladura.methods.critical.constraints import CriticalConstraints
from veladura.numeric.trees.leaf import TRIES, Donors
from veladura.numeric.trees.model import Recipients, Values
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
    """

    columns: Sequence[CriticalConstraints]
    tree: Tree
    rows: Ints
    leaves: Ints
    bandwidth: float = 1.0
    smooth: bool = True

    def draw(self, rng: Generator, recipients: Recipients) -> list[Values]:  # noqa: ARG002
        """Return the values of every column: the tuple of a donor, moved within its cluster.

        A tuple that is not accepted is drawn again, then from the cluster above. The rows were
        assigned to clusters by their original values, so recipients play no part.
        """
        donors = Donors.weighted(self.tree, rng)
        state = np.zeros((self.rows.size, len(self.columns)), dtype=np.int64)
        places = np.zeros((self.rows.size, len(self.columns)))
        failed: list[Ints] = []
        pending, at = np.arange(self.rows.size), self.leaves
        while pending.size:
            waiting = self._tried(rng, donors, pending, at, state, places)
            above = self.tree.nodes[at[waiting], PARENT]
            failed.append(pending[waiting[above < 0]])
            pending, at = pending[waiting[above >= 0]], above[above >= 0]
        self._settle(rng, np.concatenate([np.empty(0, dtype=np.int64), *failed]), state, places)
        return [
            (state[:, j], None if column.variable.places is None else places[:, j])
            for j, column in enumerate(self.columns)
        ]

    def _tried(
        self, rng: Generator, donors: Donors, pending: Ints, at: Ints, state: Ints, places: Floats
    ) -> Ints:
        """Draw tuples from given nodes into some rows; return the rows where none was accepted."""
        used, place = np.unique(at, return_inverse=True)
        kernel = self._kernel(used)
        waiting = np.arange(pending.size)
        for attempt in range(TRIES):
            chosen = donors.places(rng, at[waiting])
            here, rows = pending[waiting], self.tree.order[chosen]
            state[here] = np.column_stack([column.variable.state[rows] for column in self.columns])
            drawn = np.column_stack([_places(column.variable, rows) for column in self.columns])
            if self.smooth or attempt:
                drawn = kernel.moved(rng, drawn, state[here] == 0, place[waiting], self.bandwidth)
            places[here] = drawn
            waiting = waiting[~self._accepted(here, state, places).all(axis=1)]
            if not waiting.size:
                break
        return waiting

    def _kernel(self, nodes: Ints) -> JointKernel:
        """Return the joint kernel of some nodes."""
        order = self.tree.order
        values = np.column_stack([_places(column.variable, order) for column in self.columns])
        moves = np.array([column.moves for column in self.columns])
        complete = np.ones(order.size, dtype=bool)
        for column in self.columns:
            if column.moves:
                complete &= column.variable.state[order] == 0
        start, end = (np.ascontiguousarray(self.tree.nodes[nodes, place]) for place in (START, END))
        means, roots, sizes = moments(np.ascontiguousarray(values[:, moves]), complete, start, end)
        grids = [column.variable.grid for column in self.columns]
        written = [None if grid is None else grid.written for grid in grids]
        return JointKernel(means, roots, sizes, moves, written)

    def _accepted(self, here: Ints, state: Ints, places: Floats) -> Mask:
        """Return which cells of some tuples are accepted in their rows."""
        good = np.ones((here.size, len(self.columns)), dtype=bool)
        for j, column in enumerate(self.columns):
            rows, number = self.rows[here], state[here, j] == 0
            if column.variable.places is not None:
                good[number, j] = column.accepted(places[here[number], j], rows[number])
            elif column.inside and not column.condition.alone:
                good[:, j] = column.fits(rows, state[here, j])
        return good

    def _settle(self, rng: Generator, here: Ints, state: Ints, places: Floats) -> None:
        """Give rows without an accepted tuple their numbers one by one; categories stay."""
        good = self._accepted(here, state, places)
        for j, column in enumerate(self.columns):
            wrong = here[~good[:, j]]
            if column.variable.places is None:
                state[wrong, j] = column.variable.state[self.rows[wrong]]
            elif wrong.size:
                places[wrong, j] = column.settled(rng, places[wrong, j], self.rows[wrong])


@dataclass(frozen=True, eq=False, repr=False)
class JointKernel:
    """The joint kernel of some nodes: means, Cholesky factors, sizes, and which columns move."""

    means: Floats
    roots: Floats
    sizes: Ints
    moves: Mask
    written: Sequence[object]

    def moved(
        self, rng: Generator, tuples: Floats, number: Mask, node: Ints, bandwidth: float
    ) -> Floats:
        """Return tuples moved by h times a normal variate, and shrunk towards the mean.

        The variate has the covariance of the node. With h = n^(-1/(v+4)) and the factor
        1/sqrt(1 + h^2), mean, variances and correlations of the node are kept in expectation (the
        shrunken kernel of Silverman 1986, section 6.4.1, with the covariance of Fukunaga 1972).
        """
        wide = int(np.count_nonzero(self.moves))
        if not wide:
            return tuples
        h = bandwidth * np.maximum(self.sizes[node], 1) ** (-1 / (wide + 4))
        noise = np.einsum("ijk,ik->ij", self.roots[node], rng.standard_normal((node.size, wide)))
        centre = self.means[node]
        moved = (
            centre
            + (tuples[:, self.moves] - centre + h[:, None] * noise) / np.sqrt(1 + h**2)[:, None]
        )
        result = tuples.copy()
        result[:, self.moves] = np.where(number[:, self.moves], moved, tuples[:, self.moves])
        for j, write in enumerate(self.written):
            if callable(write):
                result[:, j] = write(result[:, j])
        return result


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
