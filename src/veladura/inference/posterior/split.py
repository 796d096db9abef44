"""Exact independent draws of counts that add up to n, by recursive halving of the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.signal import fftconvolve

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled
from veladura.inference.posterior.convolve import Law


@compiled("void(int64[::1], float64[::1], int64, float64[::1], int64, float64[::1], int64[::1])")
def _split(
    totals: Ints,
    uniforms: Floats,
    low: int,
    left: Floats,
    other_low: int,
    right: Floats,
    out: Ints,
) -> None:
    """Draw the left part v of each total s with odds left(v) right(s - v)."""
    for i in range(totals.size):
        first = max(low, totals[i] - other_low - right.size + 1)
        last = min(low + left.size - 1, totals[i] - other_low)
        mass = 0.0
        for v in range(first, last + 1):
            mass += left[v - low] * right[totals[i] - v - other_low]
        wanted = uniforms[i] * mass
        drawn = last
        for v in range(first, last + 1):
            wanted -= left[v - low] * right[totals[i] - v - other_low]
            if wanted < 0.0:
                drawn = v
                break
        out[i] = drawn


@dataclass(frozen=True, eq=False)
class SumNode:
    """The law of the sum of some cells, and of the two halves of them."""

    law: Law
    halves: tuple[SumNode, SumNode] | None


def build(laws: Sequence[Law]) -> SumNode:
    """Return the tree of sums over cells; equal halves are built once."""
    nodes: dict[tuple[int, ...], SumNode] = {}

    def node(first: int, last: int) -> SumNode:
        key = tuple(id(law) for law in laws[first:last])
        if key not in nodes:
            if last - first == 1:
                nodes[key] = SumNode(laws[first], None)
            else:
                middle = (first + last) // 2
                halves = node(first, middle), node(middle, last)
                nodes[key] = SumNode(_sum(halves[0].law, halves[1].law), halves)
        return nodes[key]

    return node(0, len(laws))


def _sum(first: Law, second: Law) -> Law:
    """Return the law of the sum of two independent counts, without negligible probabilities."""
    chances = np.maximum(fftconvolve(first.chances, second.chances), 0.0)
    inside = np.flatnonzero(chances > chances.max() * 1e-17)
    low, high = int(inside[0]), int(inside[-1])
    kept = chances[low : high + 1]
    return Law(first.low + second.low + low, kept / kept.sum())


def draw(rng: Generator, tree: SumNode, n: int | Ints, size: int) -> Ints:
    """Return ``size`` independent draws of all counts, in rows; every row adds up to its n."""
    columns: list[Ints] = []

    def descend(node: SumNode, totals: Ints) -> None:
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
