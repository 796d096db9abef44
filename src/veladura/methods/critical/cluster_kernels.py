"""Compiled parts of tuple-wise replacement: divisive clustering, and moments of every leaf.

The nodes have the layout of the trees of this package, so that draws and climbing are shared with
them.
"""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.jit import compiled, inner

ROUNDS = 10  # of the power iteration and of 2-means: a split needs no more
TINY = 1e-12


@inner("float64(float64[:, ::1], int64[::1], int64, int64)")
def _squares(points: Floats, order: Ints, start: int, end: int) -> float:
    """Return the sum of squares about the means, over all columns."""
    whole = 0.0
    for j in range(points.shape[1]):
        mean = 0.0
        for i in range(start, end):
            mean += points[order[i], j]
        mean /= end - start
        for i in range(start, end):
            whole += (points[order[i], j] - mean) ** 2
    return whole


@inner("boolean(int64[:, ::1], int64[::1], int64, int64, int64)")
def _enough(numbers: Ints, order: Ints, start: int, end: int, wanted: int) -> bool:
    """Whether every column has at least some number of distinct values in a stretch."""
    seen = np.empty(max(wanted, 1), dtype=np.int64)
    for j in range(numbers.shape[1]):
        distinct = 0
        for i in range(start, end):
            new = True
            for k in range(distinct):
                if seen[k] == numbers[order[i], j]:
                    new = False
                    break
            if new:
                seen[distinct] = numbers[order[i], j]
                distinct += 1
                if distinct >= wanted:
                    break
        if distinct < wanted:
            return False
    return True


@inner("float64(float64[::1], float64[::1])")
def _dot(first: Floats, second: Floats) -> float:
    """Return a scalar product; a loop compiles in a tenth of the time of an array expression."""
    whole = 0.0
    for j in range(first.size):
        whole += first[j] * second[j]
    return whole


@inner("float64(float64[:, ::1], int64, float64[::1])")
def _place(points: Floats, row: int, axis: Floats) -> float:
    """Return where a point stands on an axis."""
    place = 0.0
    for j in range(axis.size):
        place += points[row, j] * axis[j]
    return place


@inner("float64[::1](float64[:, ::1], int64[::1], int64, int64, float64[::1])")
def _first_axis(points: Floats, order: Ints, start: int, end: int, mean: Floats) -> Floats:
    """Return the first principal axis, by power iteration; zero where nothing varies."""
    axis = np.zeros(mean.size)
    for i in range(start, end):
        for j in range(mean.size):
            axis[j] += (points[order[i], j] - mean[j]) ** 2
    for _ in range(ROUNDS):
        fresh = np.zeros(mean.size)
        middle = _dot(mean, axis)
        for i in range(start, end):
            place = _place(points, order[i], axis) - middle
            for j in range(mean.size):
                fresh[j] += place * (points[order[i], j] - mean[j])
        norm = np.sqrt(_dot(fresh, fresh))
        if norm <= TINY:
            break
        for j in range(mean.size):
            axis[j] = fresh[j] / norm
    return axis


@inner("void(float64[:, ::1], int64[::1], int64, int64, float64[::1])")
def _project(points: Floats, order: Ints, start: int, end: int, along: Floats) -> None:
    """Write the place of every point on the line through the two means of 2-means.

    The iteration starts from the first principal axis.
    """
    wide = points.shape[1]
    rows = end - start
    mean = np.zeros(wide)
    for i in range(start, end):
        for j in range(wide):
            mean[j] += points[order[i], j] / rows
    axis = _first_axis(points, order, start, end, mean)
    middle = _dot(axis, mean)
    sides = np.zeros(2 * wide)
    for _ in range(ROUNDS):
        for j in range(2 * wide):
            sides[j] = 0.0
        count = 0
        for i in range(start, end):
            along[i] = _place(points, order[i], axis)
            side = 0 if along[i] <= middle else 1
            count += side
            for j in range(wide):
                sides[side * wide + j] += points[order[i], j]
        if count in (0, rows):
            break
        moved, turned = 0.0, 0.0
        for j in range(wide):
            left, right = sides[j] / (rows - count), sides[wide + j] / count
            moved += 0.5 * (right**2 - left**2)
            turned += (right - left - axis[j]) ** 2
            axis[j] = right - left
        still = abs(moved - middle) <= TINY
        middle = moved
        if turned <= TINY and still:
            break


@inner("void(float64[::1], int64[::1], int64, int64)")
def _sort_along(along: Floats, order: Ints, start: int, end: int) -> None:
    """Sort points by their places on a line (Shell sort: short, and it compiles fast)."""
    gap = (end - start) // 2
    while gap > 0:
        for i in range(start + gap, end):
            place, row = along[i], order[i]
            j = i
            while j >= start + gap and (
                along[j - gap] > place or (along[j - gap] == place and order[j - gap] > row)
            ):
                along[j], order[j] = along[j - gap], order[j - gap]
                j -= gap
            along[j], order[j] = place, row
        gap = gap // 2


@inner("int64(float64[::1], int64, int64, int64)")
def _best_cut(along: Floats, start: int, end: int, min_rows: int) -> int:
    """Return how many sorted places to cut off for the least squares on both sides, 0 for none."""
    rows = end - start
    whole = 0.0
    for i in range(start, end):
        whole += along[i]
    held = 0.0
    best = TINY
    cut = 0
    for i in range(1, rows):
        held += along[start + i - 1]
        if i < min_rows or rows - i < min_rows or along[start + i] <= along[start + i - 1]:
            continue
        shift = held * rows - whole * i
        gain = shift / i * (shift / (rows - i))
        if gain > best:
            best = gain
            cut = i
    return cut


@compiled(
    "Tuple((int64[::1], int64[:, ::1], float64[::1]))(float64[:, ::1], float64[:, ::1], int64[:,"
    " ::1], int64, int64, float64)"
)
def divide(
    points: Floats, critical: Floats, numbers: Ints, min_rows: int, min_distinct: int, small: float
) -> tuple[Ints, Ints, Floats]:
    """Cluster points by repeated splits; return rows by leaf, the nodes, and the RMSSTD of each.

    A node is cut across the line through the means that 2-means finds, where the squares on both
    sides are least among the cuts that leave enough rows on each. RMSSTD = sqrt(sum_j sum_i (x_ij -
    mean_j)^2 / (v (n - 1))) over the v critical columns (Sharma 1996). A split is made while it
    leaves enough rows and distinct values on both sides and RMSSTD falls (pooled over both sides),
    and none is made where it is small already.

    Parameters
    ----------
    points
        The columns of the class, standardised: distances are taken here.
    critical
        The critical columns: RMSSTD is taken here.
    numbers
        The critical columns as a number for each distinct value: each of them must keep enough.
    """
    size = points.shape[0]
    wide = max(critical.shape[1], 1)
    order, along = np.empty(size, dtype=np.int64), np.empty(size)
    for i in range(size):
        order[i] = i
    room = 2 * (size // max(min_rows, 1) + 1) + 1
    nodes = np.zeros((room, 9), dtype=np.int64)
    spread = np.zeros(room)
    stack = np.empty(room, dtype=np.int64)
    nodes[0, 6] = size
    nodes[0, 7] = -1
    stack[0] = 0
    waiting = 1
    made = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        start = nodes[node, 5]
        end = nodes[node, 6]
        rows = end - start
        nodes[node, 0] = -1
        nodes[node, 4] = -1
        squares = _squares(critical, order, start, end)
        spread[node] = np.sqrt(squares / (wide * max(rows - 1, 1)))
        if rows < 2 * min_rows or rows <= 2 or spread[node] <= small:  # noqa: PLR2004
            continue
        _project(points, order, start, end, along)
        _sort_along(along, order, start, end)
        cut = _best_cut(along, start, end, min_rows)
        if cut == 0:
            continue
        at = start + cut
        if not (
            _enough(numbers, order, start, at, min_distinct)
            and _enough(numbers, order, at, end, min_distinct)
        ):
            continue
        parts = _squares(critical, order, start, at) + _squares(critical, order, at, end)
        if np.sqrt(parts / (wide * (rows - 2))) >= spread[node]:
            continue
        nodes[node, 0] = 0
        nodes[node, 2] = made
        for child in range(2):
            nodes[made, 5] = start if child == 0 else at
            nodes[made, 6] = at if child == 0 else end
            nodes[made, 7] = node
            nodes[made, 8] = nodes[node, 8] + 1
            made += 1
        stack[waiting] = made - 1
        stack[waiting + 1] = made - 2
        waiting += 2
    return order, nodes[:made].copy(), spread[:made].copy()


@compiled(
    "Tuple((float64[:, ::1], float64[:, :, ::1], int64[::1]))(float64[:, ::1], boolean[::1],"
    " int64[::1], int64[::1])"
)
def moments(  # noqa: C901, PLR0912  # compiled: loops over stretches, rows and columns
    values: Floats, complete: Mask, start: Ints, end: Ints
) -> tuple[Floats, Floats, Ints]:
    """Return mean, lower Cholesky factor of the covariance, and number of rows of each stretch.

    Only rows whose numbers are all known count. A column that does not vary given those before it
    has a factor of zero: it will not move.
    """
    wide = values.shape[1]
    means = np.zeros((start.size, wide))
    roots = np.zeros((start.size, wide, wide))
    sizes = np.zeros(start.size, dtype=np.int64)
    for s in range(start.size):
        for i in range(start[s], end[s]):
            if complete[i]:
                sizes[s] += 1
                for j in range(wide):
                    means[s, j] += values[i, j]
        if sizes[s] < 2:  # noqa: PLR2004
            continue
        for j in range(wide):
            means[s, j] /= sizes[s]
        covariance = np.zeros((wide, wide))
        for i in range(start[s], end[s]):
            if complete[i]:
                for j in range(wide):
                    for k in range(j + 1):
                        covariance[j, k] += (
                            (values[i, j] - means[s, j])
                            * (values[i, k] - means[s, k])
                            / (sizes[s] - 1)
                        )
        for j in range(wide):
            for k in range(j + 1):
                left = covariance[j, k]
                for q in range(k):
                    left -= roots[s, j, q] * roots[s, k, q]
                if j == k:
                    roots[s, j, j] = np.sqrt(left) if left > TINY * covariance[j, j] else 0.0
                elif roots[s, k, k] > 0:
                    roots[s, j, k] = left / roots[s, k, k]
    return means, roots, sizes
