"""Exact independent draws of counts that add up to n: a total is split in two, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from veladura.base.jit import compiled
from veladura.inference.posterior.convolve import Law

Array = NDArray[np.float64]


@compiled("void(int64[::1], float64[::1], int64, float64[::1], int64, float64[::1], int64[::1])")
def _split(
    totals: NDArray[np.int64],
    uniforms: Array,
    low: int,
    left: Array,
    other_low: int,
    right: Array,
    out: NDArray[np.int64],
) -> None:
    """Draw the left part v of each total s from chances proportional to left(v) right(s - v)."""
    for i in range(totals.size):
        first = max(low, totals[i] - other_low - right.size + 1)
        last = min(low + left.size - 1, totals[i] - other_low)
        mass = 0.0
        for v in range(first, last + 1):
            mass += left[v - low] * right[totals[i] - v - other_low]
        wanted = uniforms[i] * mass
        found = last
        for v in range(first, last + 1):
            wanted -= left[v - low] * right[totals[i] - v - other_low]
            if wanted < 0.0:
                found = v
                break
        out[i] = found


@dataclass(frozen=True, eq=False)
class Node:
    """The law of the sum of some cells, and of the two halves of them."""

    law: Law
    halves: tuple[Node, Node] | None


def build(laws: Sequence[Law]) -> Node:
    """Return the tree of sums over cells; equal halves are built once."""
    known: dict[tuple[int, ...], Node] = {}

    def node(first: int, last: int) -> Node:
        key = tuple(id(law) for law in laws[first:last])
        if key not in known:
            if last - first == 1:
                known[key] = Node(laws[first], None)
            else:
                middle = (first + last) // 2
                halves = node(first, middle), node(middle, last)
                known[key] = Node(_sum(halves[0].law, halves[1].law), halves)
        return known[key]

    return node(0, len(laws))


def _sum(one: Law, other: Law) -> Law:
    """Return the law of the sum of two independent numbers, without what is below the last digit."""
    chances = np.maximum(fftconvolve(one.chances, other.chances), 0.0)
    inside = np.flatnonzero(chances > chances.max() * 1e-17)
    first, last = int(inside[0]), int(inside[-1])
    kept = chances[first : last + 1]
    return Law(one.low + other.low + first, kept / kept.sum())


def draw(rng: Generator, tree: Node, n: int, size: int) -> NDArray[np.int64]:
    """Return ``size`` independent draws of the counts of all cells, one row each; every row adds to n."""
    columns: list[NDArray[np.int64]] = []

    def descend(node: Node, totals: NDArray[np.int64]) -> None:
        if node.halves is None:
            columns.append(totals)
            return
        left, right = node.halves
        part = np.empty(size, dtype=np.int64)
        _split(
            totals,
            rng.random(size),
            left.law.low,
            left.law.chances,
            right.law.low,
            right.law.chances,
            part,
        )
        descend(left, part)
        descend(right, totals - part)

    descend(tree, np.full(size, n, dtype=np.int64))
    return np.column_stack(columns)
