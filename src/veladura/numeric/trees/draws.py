"""Compiled parts of drawing: a donor by its weight, the bin of a number, and the spread of every leaf."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veladura.base.jit import compiled, inner

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@compiled("int64[::1](float64[::1], int64[:, ::1], int64[::1], float64[::1])")
def pick(heights: Floats, stretches: Ints, which: Ints, uniforms: Floats) -> Ints:
    """Return for each uniform the place in a stretch whose step of the cumulated weights it falls on.

    A stretch is a pair of start and end; ``which`` says whose uniform it is. ``heights`` has one
    entry more than there are places and begins with nought.
    """
    found = np.empty(uniforms.size, dtype=np.int64)
    for i in range(uniforms.size):
        low = stretches[which[i], 0]
        end = stretches[which[i], 1]
        wanted = heights[low] + uniforms[i] * (heights[end] - heights[low])
        left = end - low
        while left > 1:  # halved without a branch to guess: the reads of several rows overlap
            half = left >> 1
            low += half * (heights[low + half] <= wanted)
            left -= half
        found[i] = low
    return found


@compiled("uint16[::1](float64[::1], float64[::1])")
def bin_of(edges: Floats, values: Floats) -> NDArray[np.uint16]:
    """Return how many edges lie below each value (``searchsorted`` for few edges and many values in no order)."""
    found = np.zeros(values.size, dtype=np.uint16)
    if edges.size == 0:
        return found
    for i in range(values.size):
        low = 0
        left = edges.size
        while left > 1:
            half = left >> 1
            low += half * (edges[low + half - 1] < values[i])
            left -= half
        found[i] = low + (edges[low] < values[i])
    return found


@inner("void(float64[::1])")
def _sort(values: Floats) -> None:
    """Put numbers in order (Shell sort: leaves are small, and it is compiled in no time)."""
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
    """Write down for each value of a stretch, sorted in ``part``, how far the farther of the two other values next to it is."""
    distinct = np.empty(part.size)
    found = 0
    for value in part:
        if found == 0 or value > distinct[found - 1]:
            distinct[found] = value
            found += 1
    for j in range(start, end):
        low = 0
        left = found
        while left > 1:
            half = left >> 1
            low += half * (distinct[low + half] <= values[j])
            left -= half
        below = distinct[low] - distinct[low - 1] if low > 0 else 0.0
        above = distinct[low + 1] - distinct[low] if low + 1 < found else 0.0
        reach[j] = max(below, above)


@compiled("int64[::1](int64[::1], int64)")
def by_node(nodes: Ints, count: int) -> Ints:
    """Return the places of the rows of each node, one node after the other: drawn in that order, memory is read in order too."""
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
    """Return bandwidth, smallest and largest value of each stretch; write down how far each value may reach.

    The bandwidth is Silverman's rule of thumb, 0.9 min(sd, IQR / 1.34) n^(-1/5) (Silverman 1986,
    eq. 3.31), with sd alone where the quartiles are equal. Quartiles are interpolated (type 7).
    A value reaches as far as the farther of the two other values next to it in the stretch.
    ``reach`` may be empty: then none is written.
    """
    found = np.empty((start.size, 3))
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
        found[i, 0] = 0.9 * width * size**-0.2
        found[i, 1] = part[0]
        found[i, 2] = part[size - 1]
        if reach.size > 0:
            _note_reach(part, values, start[i], end[i], reach)
    return found
