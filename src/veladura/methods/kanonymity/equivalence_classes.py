"""Equivalence classes as the privacy models see them: rows, population, sensitive values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from veladura.base.arrays import Floats, Ints

CELLS = 4_000_000  # of a dense table of classes by values, at a time


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """How many rows of each equivalence class hold each sensitive value; only what occurs."""

    group: Ints
    code: Ints
    size: Ints

    def entropy(self, sizes: Ints, *, corrected: bool = False) -> Floats:
        """Return the entropy of each class in natural units.

        It is f(N) - sum of n f(n) / N, where f is the logarithm or Grassberger's correction of it.
        """
        total = np.maximum(sizes, 1)
        logarithm = corrected_logarithm(int(total.max(initial=1))) if corrected else None
        terms = self.size * (np.log(self.size) if logarithm is None else logarithm[self.size])
        summed = np.bincount(self.group, weights=terms, minlength=sizes.size)
        whole = np.log(total) if logarithm is None else logarithm[total]
        return np.asarray(whole - summed / total)

    def top_and_tail(self, l: int, groups: int) -> tuple[Ints, Ints]:  # noqa: E741
        """Return each class's rows with its most frequent value, and from its l-th value on."""
        order = np.lexsort((-self.size, self.group))
        group, size = self.group[order], self.size[order]
        rank = np.arange(group.size) - np.searchsorted(group, group)
        top = np.zeros(groups, dtype=np.int64)
        top[group[rank == 0]] = size[rank == 0]
        tail = np.bincount(group, weights=np.where(rank >= l - 1, size, 0), minlength=groups)
        return top, tail.astype(np.int64)

    def total_variation(self, reference: Ints, sizes: Ints) -> Floats:
        """Return the total variation distance of each class from the reference distribution."""
        rows = int(reference.sum())
        more = np.maximum(self.size * rows - reference[self.code] * sizes[self.group], 0)
        surplus = np.bincount(self.group, weights=more, minlength=sizes.size)
        return surplus / (np.maximum(sizes, 1) * float(rows))


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column: how often each value occurs in the table, and its hierarchy if given."""

    reference: Ints = field(repr=False)
    tree: tuple[Ints, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The equivalence classes of one quasi-identifier at a node.

    Attributes
    ----------
    sizes, population
        Rows of each class that are still there, and people of the population.
    counts
        Gives the counts of the values of a sensitive column.
    """

    sizes: Ints
    population: Ints
    counts: Callable[[str], ValueCounts] = field(repr=False)
    sensitive: Mapping[str, Sensitive] = field(repr=False)

    def reference(self, column: str) -> Ints:
        """Return how often each value of a sensitive column occurs in the original table."""
        return self.sensitive[column].reference

    def ordered_distance(self, column: str) -> Floats:
        """Return the earth mover's distance where a move costs the difference of ranks.

        Li et al. 2007, sec. 5.1.
        """
        steps = max(self.reference(column).size - 1, 1)
        return self._distance(
            column, lambda surplus: np.abs(np.cumsum(surplus, axis=1)).sum(axis=1) / steps
        )

    def hierarchical_distance(self, column: str) -> Floats:
        """Return the earth mover's distance where a move costs the height of the common ancestor.

        Li et al. 2007, sec. 5.2.
        """
        tree = self.sensitive[column].tree

        def cost(surplus: Ints) -> Floats:
            total = np.zeros(len(surplus))
            for height, parent in enumerate(tree, start=1):
                order = np.argsort(parent, kind="stable")
                starts = np.searchsorted(parent[order], np.arange(int(parent.max()) + 1))
                above = np.add.reduceat(surplus[:, order], starts, axis=1)
                more = np.add.reduceat(np.maximum(surplus[:, order], 0), starts, axis=1)
                total += height / len(tree) * np.minimum(more, more - above).sum(axis=1)
                surplus = above
            return total

        return self._distance(column, cost)

    def _distance(self, column: str, cost: Callable[[Ints], Floats]) -> Floats:
        """Return a cost of the differences between each class and the reference, block by block."""
        reference, counts = self.reference(column), self.counts(column)
        rows, values, groups = int(reference.sum()), reference.size, self.sizes.size
        distance = np.zeros(groups)
        block = max(1, CELLS // values)
        for first in range(0, groups, block):
            last = min(first + block, groups)
            here = (counts.group >= first) & (counts.group < last)
            place = (counts.group[here] - first) * values + counts.code[here]
            cells = (last - first) * values
            dense = np.bincount(place, weights=counts.size[here], minlength=cells).astype(np.int64)
            sizes = self.sizes[first:last, None]
            surplus = dense.reshape(-1, values) * rows - reference * sizes
            distance[first:last] = cost(surplus) / (np.maximum(sizes[:, 0], 1) * float(rows))
        return distance


@lru_cache(maxsize=4)
def corrected_logarithm(largest: int) -> Floats:
    """Return Grassberger's corrected logarithm G(n) for n from 0 to the largest; 0 at 0.

    G(n) = psi(n) + (-1)^n / 2 (psi((n + 1) / 2) - psi(n / 2)) (Grassberger 2003, eq. 30).
    """
    from scipy.special import digamma

    n = np.arange(1, largest + 1)
    sign = np.where(n % 2, -1.0, 1.0)
    correction = 0.5 * sign * (digamma((n + 1) / 2) - digamma(n / 2))
    return np.concatenate([[0.0], digamma(n) + correction])
