"""A log-linear model of many columns, computed with by belief propagation on a junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.numeric.graphical.junction import Columns, JunctionTree, junction_tree

NEVER = -1e5  # log weight of an impossible cell: exp of it is 0, and sums of it stay finite


@dataclass(frozen=True, eq=False)
class LogLinear:
    """Which tables have parameters, and which cells are impossible.

    p(x) is proportional to prod_i m_i(x_i) exp(sum over tables t of theta_t(x_t)) on the possible
    cells, with reference shares m_i of each column.

    Attributes
    ----------
    shape
        The number of categories of each column.
    tables
        The columns of each table of parameters, ascending.
    zeros
        Structural zeros: columns, and which of the cells of their table are possible.
    reference
        The reference shares of each column; uniform ones unless given.
    """

    shape: tuple[int, ...]
    tables: tuple[Columns, ...]
    zeros: tuple[tuple[Columns, Floats], ...] = field(default=(), repr=False)
    reference: tuple[Floats, ...] = field(default=(), repr=False)

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree that the model is computed with."""
        return junction_tree(self.shape, [*self.tables, *(columns for columns, _ in self.zeros)])

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the parameters of each table stand in the vector of all parameters."""
        ends = np.cumsum([0, *(int(np.prod(self.tree.sizes(table))) for table in self.tables)])
        return tuple(slice(int(a), int(b)) for a, b in pairwise(ends))

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.places[-1].stop if self.places else 0

    @cached_property
    def _homes(self) -> tuple[int, ...]:
        """The clique of each table."""
        return tuple(self.tree.holder(table) for table in self.tables)

    @cached_property
    def _base(self) -> tuple[Floats, ...]:
        """The log weights of the cliques without parameters: references and structural zeros."""
        base = [np.zeros(self.tree.sizes(clique)) for clique in self.tree.cliques]
        for column, shares in enumerate(self.reference):
            place = self.tree.holder((column,))
            base[place] += self.spread(np.log(shares), (column,), self.tree.cliques[place])
        for columns, possible in self.zeros:
            place = self.tree.holder(columns)
            base[place] += self.spread(
                np.where(possible > 0, 0.0, NEVER), columns, self.tree.cliques[place]
            )
        return tuple(base)

    def spread(self, values: Floats, columns: Columns, clique: Columns) -> Floats:
        """Return a table so that it broadcasts over a clique that holds its columns."""
        return values.reshape([self.shape[c] if c in columns else 1 for c in clique])

    def potentials(self, theta: Floats) -> list[Floats]:
        """Return the log weights of the cliques."""
        result = [base.copy() for base in self._base]
        for table, place, home in zip(self.tables, self.places, self._homes, strict=True):
            result[home] += self.spread(theta[place], table, self.tree.cliques[home])
        return result

    def beliefs(self, theta: Floats) -> Beliefs:
        """Return the shares of all cliques by belief propagation (Lauritzen and Spiegelhalter)."""
        tree, logs = self.tree, self.potentials(theta)
        conditionals: list[Floats] = [np.empty(0)] * len(logs)
        log_total = 0.0
        for place in range(len(logs) - 1, -1, -1):
            weights, axes = logs[place], self.residual(place)
            peak = weights.max(axis=axes, keepdims=True)
            ratios = np.exp(weights - peak)
            sums = ratios.sum(axis=axes, keepdims=True)
            conditionals[place] = ratios / sums
            message = peak + np.log(sums)
            parent = tree.parents[place]
            if parent < 0:
                log_total += float(message.ravel()[0])
            else:
                kept = message.reshape(tree.sizes(tree.separators[place]))
                logs[parent] += self.spread(kept, tree.separators[place], tree.cliques[parent])
        shares: list[Floats] = []
        for place, conditional in enumerate(conditionals):
            parent = tree.parents[place]
            if parent < 0:
                shares.append(conditional)
            else:
                separator = self.summed(
                    shares[parent], tree.cliques[parent], tree.separators[place]
                )
                shares.append(
                    conditional
                    * self.spread(separator, tree.separators[place], tree.cliques[place])
                )
        return Beliefs(self, tuple(shares), tuple(conditionals), log_total)

    def residual(self, place: int) -> tuple[int, ...]:
        """Return the axes of a clique that its parent does not have."""
        separator = self.tree.separators[place]
        return tuple(i for i, c in enumerate(self.tree.cliques[place]) if c not in separator)

    @staticmethod
    def summed(table: Floats, columns: Columns, kept: Columns) -> Floats:
        """Return a table summed over the columns that are not kept."""
        result: Floats = table.sum(axis=tuple(i for i, c in enumerate(columns) if c not in kept))
        return result

    def gathered(self, cliques: Sequence[Floats]) -> Floats:
        """Return the tables of clique values, in the order of the parameters."""
        return np.concatenate(
            [
                self.summed(cliques[home], self.tree.cliques[home], table).ravel()
                for table, home in zip(self.tables, self._homes, strict=True)
            ]
            or [np.empty(0)]
        )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """The shares of the cliques of a model at given parameters.

    Attributes
    ----------
    shares, conditionals
        The share of each cell of a clique, and its share given the columns of the parent.
    log_total
        The logarithm of the normalising constant.
    """

    model: LogLinear
    shares: tuple[Floats, ...] = field(repr=False)
    conditionals: tuple[Floats, ...] = field(repr=False)
    log_total: float

    @cached_property
    def tables(self) -> Floats:
        """The shares of the cells of all tables of parameters, one after the other."""
        return self.model.gathered(self.shares)

    @cached_property
    def _messages(self) -> dict[tuple[int, Columns], Floats]:
        return {}

    def table(self, columns: Sequence[int]) -> Floats:
        """Return the shares of the table of some columns, axes in ascending order of columns."""
        wanted, tree = tuple(sorted(columns)), self.model.tree
        home = tree.holder(wanted)
        if home >= 0:
            return self.model.summed(self.shares[home], tree.cliques[home], wanted)
        roots = [place for place, parent in enumerate(tree.parents) if parent < 0]
        pieces: list[Any] = []
        for root in roots:
            own = tuple(c for c in wanted if c in self._below[root])
            if own:
                pieces += [self._joint(root, own), list(own)]
        result: Floats = np.einsum(*pieces, list(wanted))
        return result

    def _joint(self, root: int, wanted: Columns) -> Floats:
        """Return the shares of some columns below a clique: at the lowest that has them all."""
        tree = self.model.tree
        for child in self._children[root]:
            separator = set(tree.separators[child])
            if set(wanted) <= set(self._below[child]) | separator and set(wanted) - separator:
                return self._joint(child, wanted)
        operands: list[Any] = [self.shares[root], list(tree.cliques[root])]
        operands += self._branches(root, wanted)
        result: Floats = np.einsum(*operands, list(wanted), optimize="greedy")
        return result

    def _branches(self, place: int, wanted: Columns) -> list[Any]:
        """Return what the cliques below one say of columns that it does not have itself."""
        operands: list[Any] = []
        for child in self._children[place]:
            own = tuple(c for c in wanted if c in self._below[child])
            if own:
                separator = self.model.tree.separators[child]
                operands += [self._message(child, own), [*separator, *own]]
        return operands

    def _message(self, place: int, wanted: Columns) -> Floats:
        """Return the shares of columns below a clique given the columns it shares with its parent.

        Cliques without wanted columns are left out: given their parents, their shares add up to 1.
        """
        if (place, wanted) not in self._messages:
            tree = self.model.tree
            operands: list[Any] = [self.conditionals[place], list(tree.cliques[place])]
            operands += self._branches(place, wanted)
            self._messages[place, wanted] = np.einsum(
                *operands, [*tree.separators[place], *wanted], optimize="greedy"
            )
        return self._messages[place, wanted]

    @cached_property
    def _children(self) -> list[list[int]]:
        parents = self.model.tree.parents
        return [
            [child for child, parent in enumerate(parents) if parent == place]
            for place in range(len(parents))
        ]

    @cached_property
    def _below(self) -> list[Columns]:
        """The columns that appear in or below a clique, without those of its parent."""
        tree = self.model.tree
        below: list[set[int]] = [
            set(clique) - set(separator)
            for clique, separator in zip(tree.cliques, tree.separators, strict=True)
        ]
        for place in range(len(below) - 1, -1, -1):
            if tree.parents[place] >= 0:
                below[tree.parents[place]] |= below[place]
        return [tuple(sorted(columns)) for columns in below]
