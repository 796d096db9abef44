"""Draws from leaves: Bayesian bootstrap of the donors, then a Gaussian kernel within the leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.jit import compiled, inner
from veladura.numeric.trees.tree import END, PARENT, START, Tree

Accept = Callable[[Floats, Ints], Mask]
Smoothing = Literal["local", "kernel", "none"]

# A kernel cut at both ends accepts at least half of its draws: what is still left after so many
# tries is refused for another reason.
TRIES = 40


@dataclass(frozen=True, eq=False, repr=False)
class Donors:
    """The donors of a tree with Dirichlet(1, ..., 1) weights in every node at once.

    One exponential variate per donor, cumulated: within any stretch of donors the steps are
    proportional to the gaps between sorted uniforms of Rubin (1981), so a leaf and the nodes above
    it share them.
    """

    tree: Tree
    heights: Floats

    @classmethod
    def weighted(cls, tree: Tree, rng: Generator) -> Donors:
        """Return the donors with weights drawn once; one set of weights serves one dataset."""
        return cls(tree, np.append(0.0, np.cumsum(rng.standard_exponential(tree.order.size))))

    def places(self, rng: Generator, nodes: Ints) -> Ints:
        """Return for each row a donor of its node, as a place in the order of the tree."""
        places: Ints = pick(self.heights, self.tree.stretches, nodes, rng.random(nodes.size))
        return places


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
    """Return a number for each row, drawn from its leaf, and the rows where none was accepted.

    A donor is drawn by its weight and moved by h times a normal variate. A number that is not
    accepted after rounding is drawn again, then from the node above, up to the root.

    Parameters
    ----------
    values
        The donors' numbers, in the order of the tree.
    written
        Rounds numbers as the column is written.
    accept
        Says which numbers may stand in which rows.
    smoothing
        "kernel": h is the robust bandwidth of the leaf; outside its range donor and normal variate
        are drawn again, the exact law of the weighted kernel density truncated to that range.
        "local": h is at most the distance to the farther neighbour of the donor in its leaf, twice
        that at every further try (where values are dense, many are refused), and the range reflects
        (Silverman 1986, sections 2.10 and 5.3): edges keep their weight and skewness stays.
        "none": the donor's own number.
    bandwidth
        Factor on the robust bandwidth.
    cut
        Whether numbers stay in the range of the leaf.
    """
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
    """Return numbers plus a normal variate of some width, reflected at the ends."""
    numbers = numbers + width * rng.standard_normal(numbers.size)
    if ends is None:
        return numbers
    low, high = ends
    numbers = np.where(numbers < low, 2 * low - numbers, numbers)
    return np.where(numbers > high, 2 * high - numbers, numbers)


@compiled("int64[::1](float64[::1], int64[:, ::1], int64[::1], float64[::1])")
def pick(heights: Floats, stretches: Ints, which: Ints, uniforms: Floats) -> Ints:
    """Return for each uniform variate the place whose step of the cumulated weights it falls on.

    A stretch is a pair of start and end; ``which`` says in which stretch each variate is looked up.
    ``heights`` has one entry more than there are places and begins with zero.
    """
    picked = np.empty(uniforms.size, dtype=np.int64)
    for i in range(uniforms.size):
        low = stretches[which[i], 0]
        end = stretches[which[i], 1]
        wanted = heights[low] + uniforms[i] * (heights[end] - heights[low])
        left = end - low
        while left > 1:  # halved without a branch to guess: the reads of several rows overlap
            half = left >> 1
            low += half * (heights[low + half] <= wanted)
            left -= half
        picked[i] = low
    return picked


@inner("void(float64[::1])")
def _sort(values: Floats) -> None:
    """Sort numbers in place (Shell sort: leaves are small, and it compiles fast)."""
    gap = values.size // 2
    while gap > 0:
        for i in range(gap, values.size):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap = gap // 2


@inner("void(float64[::1], float64[::1], int64, int64, float64[::1])")
def _note_reach(part: Floats, values: Floats, start: int, end: int, reach: Floats) -> None:
    """Write for each value of a stretch its distance to the farther of its two neighbours.

    ``part`` holds the values of the stretch, sorted.
    """
    distinct = np.empty(part.size)
    count = 0
    for value in part:
        if count == 0 or value > distinct[count - 1]:
            distinct[count] = value
            count += 1
    for j in range(start, end):
        low = 0
        left = count
        while left > 1:
            half = left >> 1
            low += half * (distinct[low + half] <= values[j])
            left -= half
        below = distinct[low] - distinct[low - 1] if low > 0 else 0.0
        above = distinct[low + 1] - distinct[low] if low + 1 < count else 0.0
        reach[j] = max(below, above)


@compiled("int64[::1](int64[::1], int64)")
def by_node(nodes: Ints, count: int) -> Ints:
    """Return the places of the rows, those of one node after those of another.

    Rows that are drawn in that order read memory in order too.
    """
    begin = np.zeros(count + 1, dtype=np.int64)
    for i in range(nodes.size):
        begin[nodes[i] + 1] += 1
    for node in range(count):
        begin[node + 1] += begin[node]
    places = np.empty(nodes.size, dtype=np.int64)
    for i in range(nodes.size):
        places[begin[nodes[i]]] = i
        begin[nodes[i]] += 1
    return places


@compiled("float64[:, ::1](float64[::1], int64[::1], int64[::1], float64[::1])")
def spreads(values: Floats, start: Ints, end: Ints, reach: Floats) -> Floats:
    """Return bandwidth, smallest and largest value of each stretch; write the reach of each value.

    The bandwidth is Silverman's rule of thumb, 0.9 min(sd, IQR / 1.34) n^(-1/5) (Silverman 1986,
    eq. 3.31), with sd alone where the quartiles are equal. Quartiles are interpolated (type 7).
    A value reaches as far as the farther of the two other values next to it in the stretch.
    Nothing is written into an empty ``reach``.
    """
    spread = np.empty((start.size, 3))
    for i in range(start.size):
        size = end[i] - start[i]
        part = np.empty(size)
        for j in range(size):
            part[j] = values[start[i] + j]
        _sort(part)
        mean = 0.0
        for value in part:
            mean += value / size
        squares = 0.0
        for value in part:
            squares += (value - mean) ** 2
        deviation = np.sqrt(squares / max(size - 1, 1))
        quartiles = np.empty(2)
        for q in range(2):
            place = (size - 1) * (0.25 + 0.5 * q)
            low = int(place)
            high = min(low + 1, size - 1)
            quartiles[q] = part[low] + (place - low) * (part[high] - part[low])
        between = (quartiles[1] - quartiles[0]) / 1.34
        width = deviation if between <= 0 else min(deviation, between)
        spread[i, 0] = 0.9 * width * size**-0.2
        spread[i, 1] = part[0]
        spread[i, 2] = part[size - 1]
        if reach.size > 0:
            _note_reach(part, values, start[i], end[i], reach)
    return spread
