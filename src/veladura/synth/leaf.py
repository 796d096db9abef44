"""Draws from leaves: Bayesian bootstrap of the donors, then a Gaussian kernel cut to the range of the leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.synth.tree import END, PARENT, START, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Accept = Callable[[Floats, Ints], Mask]

TRIES = 40  # a kernel cut at both ends accepts half of its draws at worst: what is left then waits for another reason
TABLE = 10_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Donors:
    """The donors of a tree with Dirichlet(1, ..., 1) weights in every node at once.

    One exponential a donor, cumulated: within any stretch of donors the steps are proportional to
    the gaps between sorted uniforms of Rubin (1981), so a leaf and the nodes above it share them.
    """

    tree: Tree
    heights: Floats

    @classmethod
    def weighted(cls, tree: Tree, rng: Generator) -> Donors:
        """Return the donors with weights drawn once; one set of weights serves one dataset."""
        return cls(tree, np.append(0.0, np.cumsum(rng.standard_exponential(tree.order.size))))

    def places(self, rng: Generator, nodes: Ints) -> Ints:
        """Return for each row a donor of its node, as a place in the order of the tree."""
        from veladura.synth.draws import pick

        found: Ints = pick(self.heights, self.tree.stretches, nodes, rng.random(nodes.size))
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Singles:
    """The numbers that occur once in an original column, for quick questions. Its repr shows none."""

    sorted: Floats
    low: float = 0.0
    scale: float = 0.0
    table: Mask | None = field(default=None)

    @classmethod
    def of(cls, values: Floats, decimals: int | None) -> Singles:
        """Return the numbers of a column that occur once; a table of yes and no where the grid is small.

        Examples
        --------
        >>> Singles.of(np.array([1.0, 1.0, 2.0, 5.0]), 0).hit(np.array([1.0, 2.0, 3.0, 5.0, 9.0])).tolist()
        [False, True, False, True, False]
        """
        distinct, count = np.unique(values, return_counts=True)
        single = distinct[count == 1]
        if single.size == 0 or decimals is None or (single[-1] - single[0]) * 10.0**decimals > TABLE:
            return cls(single)
        scale, low = 10.0**decimals, float(single[0])
        table = np.zeros(int(np.rint((single[-1] - low) * scale)) + 1, dtype=bool)
        table[np.rint((single - low) * scale).astype(np.int64)] = True
        return cls(single, low, scale, table)

    def hit(self, values: Floats) -> Mask:
        """Return which values are among them."""
        if self.sorted.size == 0:
            return np.zeros(values.shape, dtype=bool)
        if self.table is not None:
            place = np.rint((values - self.low) * self.scale)
            inside = (place >= 0) & (place < self.table.size)
            return inside & self.table[np.where(inside, place, 0).astype(np.int64)]
        place = np.minimum(np.searchsorted(self.sorted, values), self.sorted.size - 1)
        return np.asarray(self.sorted[place] == values)


def draw_numbers(
    rng: Generator,
    donors: Donors,
    values: Floats,
    leaves: Ints,
    *,
    written: Callable[[Floats], Floats],
    accept: Accept,
    smooth: bool = True,
    bandwidth: float = 1.0,
    keep_donor: bool = False,
    cut: bool = True,
) -> tuple[Floats, Ints]:
    """Return a number for each row, drawn from its leaf, and the rows whose number was never accepted.

    A donor is drawn by its weight and moved by h times a normal. Outside the range of the leaf both
    are drawn anew: the exact law of the weighted kernel density cut to that range. What is written
    (rounded) and not accepted is drawn anew as well, then from the node above, up to the root.

    Parameters
    ----------
    values
        The donors' numbers, in the order of the tree.
    written
        Rounds numbers as the column is written.
    accept
        Says which numbers may stand in which rows.
    smooth
        Without it the donor's own number is taken.
    bandwidth
        Factor on the robust bandwidth.
    keep_donor
        Outside the range draw only the normal anew: each donor's own kernel is cut, so that donors at the
        edge keep their weight. Another law; it loses less of the variance of small leaves.
    cut
        Whether numbers stay in the range of the leaf.
    """
    from veladura.synth.draws import spreads

    nodes = donors.tree.nodes
    result = np.empty(leaves.size)
    failed: list[Ints] = []
    pending, at = np.arange(leaves.size), leaves
    while pending.size:
        mark = np.zeros(len(nodes), dtype=np.int64)
        mark[at] = 1
        used, place = np.flatnonzero(mark), np.cumsum(mark) - 1
        spread = spreads(values, np.ascontiguousarray(nodes[used, START]), np.ascontiguousarray(nodes[used, END]))[place[at]]
        waiting = np.arange(pending.size)
        again, chosen = np.empty(0, dtype=bool), np.empty(0, dtype=np.int64)
        for _ in range(TRIES):
            fresh = donors.places(rng, at[waiting])
            chosen = np.where(again, chosen, fresh) if again.size else fresh
            drawn = values[chosen]
            if smooth:
                drawn = written(drawn + bandwidth * spread[waiting, 0] * rng.standard_normal(waiting.size))
            inside = (drawn >= spread[waiting, 1]) & (drawn <= spread[waiting, 2]) | (not cut)
            good = inside & accept(drawn, pending[waiting])
            result[pending[waiting]] = drawn
            again, chosen = keep_donor & ~inside[~good], chosen[~good]
            waiting = waiting[~good]
            if not waiting.size:
                break
        above = nodes[at[waiting], PARENT]
        pending, at = pending[waiting], above
        failed.append(pending[above < 0])
        pending, at = pending[above >= 0], at[above >= 0]
    return result, np.sort(np.concatenate([np.empty(0, dtype=np.int64), *failed]))


def nearest_free(
    number: float, taken: Callable[[Floats], Mask], low: float, high: float, step: float, written: Callable[[Floats], Floats] = np.asarray
) -> float | None:
    """Return the nearest number on a grid that is not taken, or None when every one is.

    Examples
    --------
    >>> nearest_free(3.0, lambda x: np.isin(x, [2.0, 3.0, 4.0]), 0.0, 9.0, 1.0)
    1.0
    """
    reach = 16
    while True:
        offsets = np.arange(1, reach + 1)
        around = written(np.concatenate([number - offsets * step, number + offsets * step]))
        free = around[(around >= low) & (around <= high) & ~taken(around)]
        if free.size:
            return float(free[np.argmin(np.abs(free - number))])
        if number - reach * step < low and number + reach * step > high:
            return None
        reach *= 8
