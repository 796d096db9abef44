"""Groups at a node as privacy models see them: rows, population, and counts of sensitive values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUNDING = (
    1e-12  # a group that meets its limit exactly must not fail by the last digit of a logarithm
)
CELLS = 4_000_000  # of a dense table of groups by values, at a time


@dataclass(frozen=True, eq=False)
class Pairs:
    """How many rows of each group hold each value; only what occurs."""

    group: Ints
    code: Ints
    size: Ints

    def entropy(self, sizes: Ints, *, corrected: bool = False) -> Floats:
        """Return the entropy of each group in natural units: f(N) - sum of n f(n) / N, f the logarithm or its correction."""
        total = np.maximum(sizes, 1)
        logarithm = corrected_logarithm(int(total.max(initial=1))) if corrected else None
        terms = self.size * (np.log(self.size) if logarithm is None else logarithm[self.size])
        summed = np.bincount(self.group, weights=terms, minlength=sizes.size)
        return np.asarray(
            (np.log(total) if logarithm is None else logarithm[total]) - summed / total
        )

    def top_and_tail(self, l: int, groups: int) -> tuple[Ints, Ints]:  # noqa: E741
        """Return the rows of each group's most frequent value, and those from its l-th most frequent value on."""
        order = np.lexsort((-self.size, self.group))
        group, size = self.group[order], self.size[order]
        rank = np.arange(group.size) - np.searchsorted(group, group)
        top = np.zeros(groups, dtype=np.int64)
        top[group[rank == 0]] = size[rank == 0]
        tail = np.bincount(group, weights=np.where(rank >= l - 1, size, 0), minlength=groups)
        return top, tail.astype(np.int64)

    def excess(self, reference: Ints, sizes: Ints) -> Floats:
        """Return half the sum of differences from the reference: what the group has too much of."""
        rows = int(reference.sum())
        more = np.maximum(self.size * rows - reference[self.code] * sizes[self.group], 0)
        return np.bincount(self.group, weights=more, minlength=sizes.size) / (
            np.maximum(sizes, 1) * float(rows)
        )


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A sensitive column: how often each value occurs in the table, and its tree of values if one is given."""

    reference: Ints = field(repr=False)
    tree: tuple[Ints, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False)
class View:
    """The groups of one quasi-identifier at a node.

    Attributes
    ----------
    sizes, population
        Rows of each group that are still there, and persons of the population.
    paired
        Gives the counts of the values of a sensitive column.
    """

    sizes: Ints
    population: Ints
    paired: Callable[[str], Pairs] = field(repr=False)
    sensitive: Mapping[str, Sensitive] = field(repr=False)

    def pairs(self, column: str) -> Pairs:
        """Return the counts of a sensitive column's values."""
        return self.paired(column)

    def reference(self, column: str) -> Ints:
        """Return how often each value of a sensitive column occurs in the original table."""
        return self.sensitive[column].reference

    def ordered(self, column: str) -> Floats:
        """Return the earth mover's distance of each group where moving costs the difference of ranks (Li et al. 2007, sec. 5.1)."""
        steps = max(self.reference(column).size - 1, 1)
        return self._dense(
            column, lambda extra: np.abs(np.cumsum(extra, axis=1)).sum(axis=1) / steps
        )

    def hierarchical(self, column: str) -> Floats:
        """Return the distance where moving costs the height of the closest common ancestor (Li et al. 2007, sec. 5.2)."""
        tree = self.sensitive[column].tree

        def cost(extra: Ints) -> Floats:
            total = np.zeros(len(extra))
            for height, parent in enumerate(tree, start=1):
                order = np.argsort(parent, kind="stable")
                starts = np.searchsorted(parent[order], np.arange(int(parent.max()) + 1))
                above = np.add.reduceat(extra[:, order], starts, axis=1)
                surplus = np.add.reduceat(np.maximum(extra[:, order], 0), starts, axis=1)
                total += height / len(tree) * np.minimum(surplus, surplus - above).sum(axis=1)
                extra = above
            return total

        return self._dense(column, cost)

    def _dense(self, column: str, cost: Callable[[Ints], Floats]) -> Floats:
        """Return a cost of the differences between each group and the reference, a block of groups at a time."""
        reference, pairs = self.reference(column), self.pairs(column)
        rows, values, groups = int(reference.sum()), reference.size, self.sizes.size
        far = np.zeros(groups)
        block = max(1, CELLS // values)
        for first in range(0, groups, block):
            last = min(first + block, groups)
            here = (pairs.group >= first) & (pairs.group < last)
            place = (pairs.group[here] - first) * values + pairs.code[here]
            counts = np.bincount(
                place, weights=pairs.size[here], minlength=(last - first) * values
            ).astype(np.int64)
            sizes = self.sizes[first:last, None]
            extra = counts.reshape(-1, values) * rows - reference * sizes
            far[first:last] = cost(extra) / (np.maximum(sizes[:, 0], 1) * float(rows))
        return far


@lru_cache(maxsize=4)
def corrected_logarithm(largest: int) -> Floats:
    """Return G(n) = psi(n) + (-1)^n / 2 (psi((n + 1) / 2) - psi(n / 2)) for n from 0 on, 0 at 0 (Grassberger 2003, eq. 30)."""
    from scipy.special import digamma

    n = np.arange(1, largest + 1)
    sign = np.where(n % 2, -1.0, 1.0)
    return np.concatenate(
        [[0.0], digamma(n) + 0.5 * sign * (digamma((n + 1) / 2) - digamma(n / 2))]
    )
