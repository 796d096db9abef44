"""Tuple-wise replacement: rows critical in several columns are clustered, and get whole tuples from their leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.methods.critical.constraints import CriticalTerms
from veladura.numeric.trees.leaf import TRIES, Donors
from veladura.numeric.trees.tree import END, PARENT, START, Tree, ranks
from veladura.numeric.trees.variable import Subject
from veladura.table.codes import Column

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Scale = Literal["rank", "deviation"]
MOST_LEVELS = 30  # of a category in distances; rarer levels have no axis of their own


@dataclass(frozen=True, eq=False, repr=False)
class TupleModel:
    """The leaves of one combination of critical columns. Holds original rows: its repr shows none.

    Attributes
    ----------
    tree
        The clusters of the donors.
    rows
        The rows to draw for.
    leaves
        The leaf of each of them.
    """

    terms: Sequence[CriticalTerms]
    tree: Tree
    rows: Ints
    leaves: Ints
    bandwidth: float = 1.0
    smooth: bool = True

    def draw(self, rng: Generator) -> list[tuple[Ints, Floats | None]]:
        """Return states and numbers of every column: a donor's tuple by its weight, moved within the leaf, from higher nodes if refused."""
        donors = Donors.weighted(self.tree, rng)
        state = np.zeros((self.rows.size, len(self.terms)), dtype=np.int64)
        places = np.zeros((self.rows.size, len(self.terms)))
        failed: list[Ints] = []
        pending, at = np.arange(self.rows.size), self.leaves
        while pending.size:
            waiting = self._tried(rng, donors, pending, at, state, places)
            above = self.tree.nodes[at[waiting], PARENT]
            failed.append(pending[waiting[above < 0]])
            pending, at = pending[waiting[above >= 0]], above[above >= 0]
        self._settle(rng, np.concatenate([np.empty(0, dtype=np.int64), *failed]), state, places)
        return [
            (state[:, j], None if terms.subject.places is None else places[:, j])
            for j, terms in enumerate(self.terms)
        ]

    def _tried(
        self, rng: Generator, donors: Donors, pending: Ints, at: Ints, state: Ints, places: Floats
    ) -> Ints:
        """Draw tuples from given nodes into some rows; return those whose tuple was never accepted."""
        used, place = np.unique(at, return_inverse=True)
        moving = self._moving(used)
        waiting = np.arange(pending.size)
        for attempt in range(TRIES):
            chosen = donors.places(rng, at[waiting])
            here, rows = pending[waiting], self.tree.order[chosen]
            state[here] = np.column_stack([terms.subject.state[rows] for terms in self.terms])
            drawn = np.column_stack([_places(terms.subject, rows) for terms in self.terms])
            if self.smooth or attempt:
                drawn = moving.moved(rng, drawn, state[here] == 0, place[waiting], self.bandwidth)
            places[here] = drawn
            waiting = waiting[~self._accepted(here, state, places).all(axis=1)]
            if not waiting.size:
                break
        return waiting

    def _moving(self, nodes: Ints) -> Moving:
        """Return mean, spread and size of some nodes."""
        from veladura.methods.critical.cluster_kernels import moments

        order = self.tree.order
        values = np.column_stack([_places(terms.subject, order) for terms in self.terms])
        moves = np.array([terms.moves for terms in self.terms])
        known = np.logical_and.reduce(
            [
                terms.subject.state[order] == 0
                for terms, moved in zip(self.terms, moves, strict=True)
                if moved
            ]
            or [np.ones(order.size, dtype=bool)]
        )
        start, end = (np.ascontiguousarray(self.tree.nodes[nodes, place]) for place in (START, END))
        means, roots, sizes = moments(np.ascontiguousarray(values[:, moves]), known, start, end)
        return Moving(
            means,
            roots,
            sizes,
            moves,
            [terms.subject.grid.written if terms.subject.grid else None for terms in self.terms],
        )

    def _accepted(self, here: Ints, state: Ints, places: Floats) -> Mask:
        """Return which cells of some tuples may stand in their rows."""
        good = np.ones((here.size, len(self.terms)), dtype=bool)
        for j, terms in enumerate(self.terms):
            rows, number = self.rows[here], state[here, j] == 0
            if terms.subject.places is None:
                good[:, j] = (
                    ~terms.inside | terms.condition.alone | terms.fits(rows, state[here, j])
                )
            else:
                good[number, j] = terms.accepted(places[here[number], j], rows[number])
        return good

    def _settle(self, rng: Generator, here: Ints, state: Ints, places: Floats) -> None:
        """Give rows that no node had a tuple for their numbers one by one; a category stays the row's own."""
        good = self._accepted(here, state, places)
        for j, terms in enumerate(self.terms):
            wrong = here[~good[:, j]]
            if terms.subject.places is None:
                state[wrong, j] = terms.subject.state[self.rows[wrong]]
            elif wrong.size:
                places[wrong, j] = terms.settled(rng, places[wrong, j], self.rows[wrong])


@dataclass(frozen=True, eq=False, repr=False)
class Moving:
    """The joint kernel of some nodes: their means, Cholesky factors and sizes, and which columns move."""

    means: Floats
    roots: Floats
    sizes: Ints
    moves: Mask
    written: Sequence[object]

    def moved(
        self, rng: Generator, tuples: Floats, number: Mask, node: Ints, bandwidth: float
    ) -> Floats:
        """Return tuples moved by h times a normal with the covariance of their node, and drawn back towards its mean.

        With h = n^(-1/(v+4)) and the factor 1/sqrt(1 + h^2), mean, variances and correlations of
        the node are kept in expectation (the shrunken kernel of Silverman 1986, section 6.4.1, with
        the covariance of Fukunaga 1972).
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


def _places(subject: Subject, rows: Ints) -> Floats:
    return np.zeros(rows.size) if subject.places is None else subject.places[rows]


def cluster(
    terms: Sequence[CriticalTerms],
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

    A category that is critical itself has no axis: its clusters would be of one kind, and replace
    it by itself.

    Parameters
    ----------
    members
        All columns of the class: distances are taken over them, RMSSTD over the critical ones.
    spread
        No cluster is split whose RMSSTD is at most this.
    scale
        How numbers are standardised.
    """
    from veladura.methods.critical.cluster_kernels import divide

    own = {one.subject.name for one in terms}
    parts = {column.name: axes(column.take(donors), scale) for column in members}
    blind = (
        {one.subject.name for one in terms if one.subject.places is None}
        if len(own) < len(parts) or _any_number(terms)
        else set()
    )
    points = np.ascontiguousarray(
        np.column_stack([part for name, part in parts.items() if name not in blind])
    )
    inner = np.ascontiguousarray(
        np.column_stack([part for name, part in parts.items() if name in own])
    )
    numbers = np.ascontiguousarray(np.column_stack([tuple_numbers([one], donors) for one in terms]))
    order, nodes, risk = divide(points, inner, numbers, min_leaf, min_distinct, spread)
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


def _any_number(terms: Sequence[CriticalTerms]) -> bool:
    return any(one.subject.places is not None for one in terms)


def tuple_numbers(terms: Sequence[CriticalTerms], rows: Ints) -> Ints:
    """Return a number for each different tuple of some columns."""
    number = np.zeros(rows.size, dtype=np.int64)
    for one in terms:
        for part in (one.subject.state[rows], _places(one.subject, rows)):
            _, code = np.unique(part, return_inverse=True)
            _, number = np.unique(
                number * (int(code.max(initial=0)) + 1) + code, return_inverse=True
            )
    return number.astype(np.int64)


def axes(column: Column, scale: Scale) -> Floats:
    """Return a column as axes of distance: a number standardised, a category as indicators, missing beside them.

    With scale "rank" a number is its normal score, the normal quantile of its mid-rank: no heavy
    tail can push all other rows into one cluster. With "deviation" it is centred and divided by its
    standard deviation.
    """
    if column.labels is not None and column.field.kind != "ordered":
        count = np.bincount(column.values[~column.missing], minlength=1)
        shown = np.sort(np.argsort(-count, kind="stable")[:MOST_LEVELS])
        return np.where(column.missing[:, None], 0.0, column.values[:, None] == shown[None, :])
    scaled = np.zeros(column.size)
    known = column.values[~column.missing].astype(np.float64)
    if known.size and known.min() < known.max():
        scaled[~column.missing] = (
            _scores(known) if scale == "rank" else (known - known.mean()) / known.std()
        )
    return (
        np.column_stack([scaled, column.missing]) if column.missing.any() else scaled.reshape(-1, 1)
    )


def _scores(numbers: Floats) -> Floats:
    """Return normal scores."""
    from scipy.special import ndtri

    scores: Floats = ndtri(0.5 + ranks(numbers) / (2 * numbers.size))
    return scores
