"""Draws from leaves: Bayesian bootstrap of the donors, then a Gaussian kernel cut to the range of the leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veladura.numeric.trees.tree import END, PARENT, START, Tree

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Accept = Callable[[Floats, Ints], Mask]
Smoothing = Literal["local", "kernel", "none"]

# a kernel cut at both ends accepts half of its draws at worst: what is left then waits for another
# reason
TRIES = 40
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
        from veladura.numeric.trees.draws import pick

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
        if (
            single.size == 0
            or decimals is None
            or (single[-1] - single[0]) * 10.0**decimals > TABLE
        ):
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
    smoothing: Smoothing = "local",
    bandwidth: float = 1.0,
    cut: bool = True,
) -> tuple[Floats, Ints]:
    """Return a number for each row, drawn from its leaf, and the rows whose number was never accepted.

    A donor is drawn by its weight and moved by h times a normal. What is written (rounded) and not
    accepted is drawn anew, then from the node above, up to the root.

    Parameters
    ----------
    values
        The donors' numbers, in the order of the tree.
    written
        Rounds numbers as the column is written.
    accept
        Says which numbers may stand in which rows.
    smoothing
        "kernel": h is the robust bandwidth of the leaf; outside its range donor and normal are
        drawn anew, the exact law of the weighted kernel density cut to that range. "local": h is at
        most the distance to the farther neighbour of the donor in its leaf, twice that at every
        further try (where values are dense, many are refused), and the range reflects (Silverman
        1986, sections 2.10 and 5.3): edges keep their weight and skewness stays. "none": the
        donor's own number.
    bandwidth
        Factor on the robust bandwidth.
    cut
        Whether numbers stay in the range of the leaf.
    """
    from veladura.numeric.trees.draws import by_node, spreads

    nodes = donors.tree.nodes
    result = np.empty(leaves.size)
    failed: list[Ints] = []
    pending = by_node(leaves, len(nodes))
    at = leaves[pending]
    reach = np.full(values.size if smoothing == "local" else 0, np.inf)
    while pending.size:
        mark = np.zeros(len(nodes), dtype=np.int64)
        mark[at] = 1
        used, place = np.flatnonzero(mark), np.cumsum(mark) - 1
        spread = spreads(
            values,
            np.ascontiguousarray(nodes[used, START]),
            np.ascontiguousarray(nodes[used, END]),
            reach,
        )
        width, low, high = (np.take(part, place[at]) for part in spread.T)
        waiting = np.arange(pending.size)
        for attempt in range(TRIES):
            chosen = donors.places(rng, at[waiting])
            drawn = values[chosen]
            if smoothing != "none":
                far = reach[chosen] * 2.0**attempt if smoothing == "local" else np.inf
                ends = (low[waiting], high[waiting]) if smoothing == "local" and cut else None
                drawn = written(
                    moved(rng, drawn, np.minimum(bandwidth * width[waiting], far), ends)
                )
            good = accept(drawn, pending[waiting])
            if cut:
                good &= (drawn >= low[waiting]) & (drawn <= high[waiting])
            result[pending[waiting]] = drawn
            waiting = waiting[~good]
            if not waiting.size:
                break
        above = nodes[at[waiting], PARENT]
        pending, at = pending[waiting], above
        failed.append(pending[above < 0])
        pending, at = pending[above >= 0], at[above >= 0]
        reach[:] = np.inf  # nodes above may hold one another, and their leaves had nothing to give
    return result, np.sort(np.concatenate([np.empty(0, dtype=np.int64), *failed]))


def moved(
    rng: Generator, numbers: Floats, width: Floats, ends: tuple[Floats, Floats] | None
) -> Floats:
    """Return numbers moved by a normal of some width; what falls beyond the ends is as far inside them."""
    numbers = numbers + width * rng.standard_normal(numbers.size)
    if ends is None:
        return numbers
    low, high = ends
    numbers = np.where(numbers < low, 2 * low - numbers, numbers)
    return np.where(numbers > high, 2 * high - numbers, numbers)


def nearest_free(
    number: float,
    taken: Callable[[Floats], Mask],
    low: float,
    high: float,
    step: float,
    written: Callable[[Floats], Floats] = np.asarray,
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
