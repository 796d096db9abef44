"""Draws from leaves: which donors, and how far their scores move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.jit import compiled, inner
from veladura.base.sorting import argsort
from veladura.numeric.trees.tree import END, START, Tree

Draws = Literal["bayesian", "plain"]


BLOCK = 200  # rows of a balanced draw
LARGE = 1000  # donors of a leaf that NumPy sorts faster


@dataclass(frozen=True, eq=False, repr=False)
class Donors:
    """The donors of a tree with their weights, cumulated: a leaf and the nodes above share them.

    With Dirichlet(1, ..., 1) weights a draw is a posterior draw (the Bayesian bootstrap): one
    exponential variate per donor, so that within any stretch of donors the steps are proportional
    to the gaps between sorted uniforms of Rubin (1981).

    Plain draws have equal weights and are balanced over neighbouring leaves, so that one dataset
    has the margin of the column with less chance in it (stratified sampling, as in McKay et al.
    1979): of 200 rows whose leaves are side by side, each draws from another 200th of the donors
    in order of value. Within a small leaf rows are drawn all but independently.
    """

    tree: Tree
    heights: Floats
    draws: Draws = "bayesian"

    @classmethod
    def weighted(cls, tree: Tree, rng: Generator, draws: Draws = "bayesian") -> Donors:
        """Return the donors with weights drawn once; one set of weights serves one dataset."""
        size = tree.order.size
        if draws == "plain":
            return cls(tree, np.empty(0), draws)  # equal weights need no heights
        return cls(tree, np.append(0.0, np.cumsum(rng.standard_exponential(size))), draws)

    @cached_property
    def stretches(self) -> Ints:
        """Where the donors of each node begin and end; kept while these are drawn from."""
        return self.tree.stretches()

    def places(self, rng: Generator, nodes: Ints) -> Ints:
        """Return for each row a donor of its node, as a place in the order of the tree."""
        if self.draws == "plain":
            places: Ints = np.empty(nodes.size, dtype=np.int64)
            pick_evenly(self.stretches, nodes, self._balanced(rng, nodes), places)
            return places
        uniforms = rng.random(nodes.size)
        return pick(self.heights, self.stretches, nodes, uniforms)

    def _balanced(self, rng: Generator, nodes: Ints) -> Floats:
        """Return a uniform variate for each row: in a block of 200, one in each 200th."""
        size, start = nodes.size, np.ascontiguousarray(self.stretches[:, 0])
        begins = np.zeros(int(start.max(initial=0)) + 1, dtype=bool)
        begins[start] = True
        rank: Ints = np.cumsum(begins, dtype=np.int64).take(start)  # from left to right
        order = by_node(rank.take(nodes), int(rank.max(initial=0)) + 1)
        uniforms = np.empty(size)
        stratify(order, rng.random(size), rng.random(size), uniforms)
        return uniforms


def by_value(tree: Tree, values: Floats | Ints) -> Tree:
    """Return the tree with the donors of each leaf in order of value.

    Parameters
    ----------
    values
        Of the rows of the original.
    """
    order, leaves = tree.order.copy(), tree.leaves()
    keys = values.take(order).astype(np.float64, copy=False)
    start, end = (np.ascontiguousarray(tree.nodes[leaves, at]) for at in (START, END))
    large = end - start > LARGE
    sort_stretches(keys, order, start[~large], end[~large])
    for first, last in zip(start[large], end[large], strict=True):
        order[first:last] = order[first:last][argsort(keys[first:last])]
    return replace(tree, order=order)


@compiled("void(float64[::1], int64[::1], int64[::1], int64[::1])")
def sort_stretches(keys: Floats, order: Ints, start: Ints, end: Ints) -> None:
    """Sort keys and what belongs to them within each of some stretches (insertion by gaps)."""
    for i in range(start.size):
        gap = (end[i] - start[i]) // 2
        while gap > 0:
            for j in range(start[i] + gap, end[i]):
                key = keys[j]
                row = order[j]
                at = j
                while at >= start[i] + gap and keys[at - gap] > key:
                    keys[at] = keys[at - gap]
                    order[at] = order[at - gap]
                    at -= gap
                keys[at] = key
                order[at] = row
            gap = gap // 2


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


@compiled("void(int64[:, ::1], int64[::1], float64[::1], int64[::1])", wraparound=False)
def pick_evenly(stretches: Ints, which: Ints, uniforms: Floats, picked: Ints) -> None:
    """Write what `pick` does for equal weights."""
    for i in range(uniforms.size):
        start, end = stretches[which[i], 0], stretches[which[i], 1]
        picked[i] = min(int(start + uniforms[i] * (end - start)), end - 1)


@compiled("void(int64[::1], float64[::1], float64[::1], float64[::1])", wraparound=False)
def stratify(places: Ints, shuffle: Floats, within: Floats, uniforms: Floats) -> None:
    """Write a uniform variate for each of some places: in a block of 200, one in each 200th.

    The 200ths are in random order (Fisher and Yates; Knuth 1998, algorithm 3.4.2P).
    """
    order = np.empty(BLOCK)
    for first in range(0, within.size, BLOCK):
        size = min(BLOCK, within.size - first)
        for i in range(size):
            order[i] = i
        for i in range(size - 1, 0, -1):
            j = min(int(shuffle[first + i] * (i + 1)), i)
            order[i], order[j] = order[j], order[i]
        for i in range(size):
            uniforms[places[first + i]] = (order[i] + within[first + i]) / size


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


def by_node(nodes: Ints, count: int) -> Ints:
    """Return the places of the rows, those of one node after those of another.

    Rows that are drawn in that order read memory in order too.
    """
    places = np.empty(nodes.size, dtype=np.int64)  # by NumPy, which asks for large pages
    sort_by_node(nodes, count, places)
    return places


@compiled("void(int64[::1], int64, int64[::1])", wraparound=False)
def sort_by_node(nodes: Ints, count: int, places: Ints) -> None:
    """Write the places of the rows, those of one node after those of another."""
    begin = np.zeros(count + 1, dtype=np.int64)
    for i in range(nodes.size):
        begin[nodes[i] + 1] += 1
    for node in range(count):
        begin[node + 1] += begin[node]
    for i in range(nodes.size):
        places[begin[nodes[i]]] = i
        begin[nodes[i]] += 1


@inner("float64(float64[::1], float64)")
def _bandwidth(part: Floats, deviation: float) -> float:
    """Return Silverman's rule of thumb for sorted numbers, with their standard deviation.

    0.9 min(sd, IQR / 1.34) n^(-1/5) (Silverman 1986, eq. 3.31), with sd alone where the quartiles
    are equal. Quartiles are interpolated (type 7).
    """
    quartiles = np.empty(2)
    for q in range(2):
        place = (part.size - 1) * (0.25 + 0.5 * q)
        low = int(place)
        high = min(low + 1, part.size - 1)
        quartiles[q] = part[low] + (place - low) * (part[high] - part[low])
    between = (quartiles[1] - quartiles[0]) / 1.34
    width = deviation if between <= 0 else min(deviation, between)
    return float(0.9 * width * part.size**-0.2)


@inner("void(float64[:, ::1], boolean[::1], int64[::1], int64[::1], int64, float64)")
def _leaf_step(
    steps: Floats, moves: Mask, order: Ints, members: Ints, count: int, bandwidth: float
) -> None:
    """Write centre and scale of those members of one leaf that move, over score and isolation."""
    part = np.empty(count)
    mean = 0.0
    for k in range(count):
        part[k] = steps[0, members[k]]
        mean += part[k] / count
    squares = 0.0
    for value in part:
        squares += (value - mean) ** 2
    if squares <= 0:
        return
    _sort(part)
    deviation = np.sqrt(squares / (count - 1))
    width = bandwidth * np.sqrt(3.0) * _bandwidth(part, deviation)
    spread = squares = 0.0
    for k in range(count):
        j = members[k]
        if moves[order[j]]:
            steps[1, j] = max(steps[1, j], width)
            spread += steps[1, j] ** 2
            squares += (steps[0, j] - mean) ** 2
    shrink = np.sqrt(max(0.0, 1 - spread / (3 * max(squares, 1e-300))))
    for k in range(count):
        j = members[k]
        if moves[order[j]]:
            steps[0, j] = mean + (steps[0, j] - mean) * shrink


def leaf_steps(
    score: Floats,
    isolation: Floats,
    pool: Mask,
    moves: Mask,
    order: Ints,
    start: Ints,
    end: Ints,
    bandwidth: float,
) -> Floats:
    """Return the centre and the scale of the donors of some leaves, by the formulas of the law.

    Only those of the pool count; the others, those that do not move, and one alone in its leaf keep
    score and isolation. Those that move keep their own variance around the mean of the leaf: where
    the others stay, nobody would make up for what is drawn towards it.

    Parameters
    ----------
    score, isolation, pool, moves
        Of the rows of the original.
    order
        The rows, those of each leaf side by side.
    """
    steps = np.empty((2, order.size))  # by NumPy, which asks for large pages
    members = np.empty(int(np.max(end - start, initial=0)), dtype=np.int64)
    np.take(score, order, out=steps[0], mode="clip")
    np.take(isolation, order, out=steps[1], mode="clip")
    write_steps(pool, moves, order, start, end, bandwidth, members, steps)
    return steps


@compiled(
    "void(boolean[::1], boolean[::1], int64[::1], int64[::1], int64[::1], float64, int64[::1],"
    " float64[:, ::1])"
)
def write_steps(
    pool: Mask,
    moves: Mask,
    order: Ints,
    start: Ints,
    end: Ints,
    bandwidth: float,
    members: Ints,
    steps: Floats,
) -> None:
    """Write centre and scale over score and isolation of donors, leaf by leaf.

    Parameters
    ----------
    members
        Memory for the donors of a leaf.
    """
    for i in range(start.size):
        count = 0
        for j in range(start[i], end[i]):
            if pool[order[j]]:
                members[count] = j
                count += 1
        if count > 1:
            _leaf_step(steps, moves, order, members, count, bandwidth)
