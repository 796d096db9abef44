"""Compiled growth of classification trees by deviance or by misclassification.

Gini trees are grown by `kernels.py`, from histograms that children share. These two are asked for
rarely, so one short kernel counts every node anew: a row for each code, a column for each class of
the node.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, inner

Bins = NDArray[np.uint16]
Words = NDArray[np.uint64]

TINY = 1e-11
ROUNDS = 6  # power iterations: an order of categories needs no more digits
DEVIANCE, MISCLASSIFICATION = 0, 1


@inner("float64(int64[::1], int64, int64, int64, float64[::1])")
def _impurity(counts: Ints, classes: int, rows: int, criterion: int, xlogx: Floats) -> float:
    """Return the impurity of class counts times their rows."""
    if criterion == MISCLASSIFICATION:
        most = 0
        for k in range(classes):
            most = max(most, counts[k])
        return float(rows - most)
    total = float(xlogx[rows])
    for k in range(classes):
        total -= float(xlogx[counts[k]])
    return total


@inner("void(int64[:, ::1], int64[::1], int64, int64, int64[::1], float64[::1])")
def _score(cells: Ints, count: Ints, distinct: int, classes: int, whole: Ints, out: Floats) -> None:
    """Score categories by the first principal component of their class shares.

    Coppersmith, Hong and Hosking (1999). With two classes it is the order of the share of one of
    them, which holds the best split for any concave impurity (Breiman et al. 1984, theorem 4.5).
    """
    weight, fresh = np.zeros(classes), np.zeros(classes)
    top = 0
    for k in range(classes):
        if whole[k] > whole[top]:
            top = k
    weight[top] = 1.0
    for _ in range(ROUNDS):
        mean = 0.0
        rows = 0
        for i in range(distinct):
            held = 0.0
            for k in range(classes):
                held += cells[i, k] * weight[k]
            mean += held
            rows += count[i]
            out[i] = held / count[i]
        norm = 0.0
        for i in range(distinct):
            out[i] -= mean / rows
            norm += count[i] * out[i] ** 2
        if norm <= TINY:
            return
        fresh[:] = 0.0
        for i in range(distinct):
            for k in range(classes):
                fresh[k] += cells[i, k] * out[i] / np.sqrt(norm)
        weight[:] = fresh


@inner("uint64(uint64[::1])")
def _next_random(state: Words) -> np.uint64:
    """Return the next number of splitmix64 (Steele, Lea and Flood 2014)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@inner(
    "int64(int64[:, ::1], int64[::1], int64[::1], int64, int64, int64[::1], int64, int64, int64,"
    " float64[::1], float64, float64[::1])"
)
def _sweep(
    cells: Ints,
    count: Ints,
    order: Ints,
    distinct: int,
    classes: int,
    whole: Ints,
    rows: int,
    min_leaf: int,
    criterion: int,
    xlogx: Floats,
    impurity: float,
    gain: Floats,
) -> int:
    """Return how many codes of an order go left at the cut that lowers the impurity most."""
    left, right = np.zeros(classes, dtype=np.int64), whole[:classes].copy()
    before = cut = 0
    for i in range(distinct - 1):
        code = order[i]
        for k in range(classes):
            left[k] += cells[code, k]
            right[k] -= cells[code, k]
        before += count[code]
        if before < min_leaf or rows - before < min_leaf:
            continue
        less = impurity
        less -= _impurity(left, classes, before, criterion, xlogx)
        less -= _impurity(right, classes, rows - before, criterion, xlogx)
        if less > gain[0]:
            gain[0] = less
            cut = i + 1
    return cut


@inner("boolean(int64[::1], int64[::1], int64, int64, int64)")
def _varied(target: Ints, order: Ints, start: int, end: int, wanted: int) -> bool:
    """Whether a stretch of rows has at least some number of classes."""
    return np.unique(target[order[start:end]]).size >= wanted


@compiled(
    "Tuple((int64[:, ::1], float64[:, ::1], uint64[::1], int64, int64))(uint16[:, ::1],"
    " int64[::1], int64[::1], boolean[::1], int64[::1], int64, int64[::1], int64[::1], int64,"
    " int64, int64, float64, int64, uint64)"
)
def grow_classes(  # noqa: C901, PLR0912, PLR0915  # compiled: one loop over nodes
    bins: Bins,
    features: Ints,
    levels: Ints,
    categorical: NDArray[np.bool_],
    target: Ints,
    classes: int,
    order: Ints,
    roots: Ints,
    criterion: int,
    min_leaf: int,
    min_distinct: int,
    complexity: float,
    tried: int,
    seed: int,
) -> tuple[Ints, Floats, Words, int, int]:
    """Grow trees; return nodes, impurities and gains, sets of categories, used nodes and words.

    The rows of ``order`` are left in the order of the leaves. Nodes are as in
    `veladura.numeric.trees.kernels.grow_nodes`.
    """
    size = order.size
    xlogx = np.zeros(size + 1)
    for i in range(2, size + 1):
        xlogx[i] = i * np.log(i)
    widest = 2
    for f in range(features.size):
        widest = max(widest, levels[features[f]] + 1)
    room = 2 * (size // max(min_leaf, 1) + roots.size) + 2
    nodes, risks = np.zeros((room, 9), dtype=np.int64), np.zeros((room, 2))
    sets, used = np.zeros(64, dtype=np.uint64), 0
    place, side = np.zeros(widest, dtype=np.int64), np.zeros(widest, dtype=np.int64)
    present = np.zeros(widest, dtype=np.int64)
    class_place, spare = np.zeros(classes, dtype=np.int64), np.zeros(size, dtype=np.int64)
    choice, random = features.copy(), np.array([seed], dtype=np.uint64)
    gain = np.zeros(1)
    made = roots.size - 1
    stack = np.zeros(room, dtype=np.int64)
    waiting = 0
    for i in range(made):
        nodes[i] = (-1, -1, 0, 0, -1, roots[i], roots[i + 1], -1, 0)
        stack[waiting] = made - 1 - i
        waiting += 1
    needed = 0.0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        start, end = nodes[node, 5], nodes[node, 6]
        rows = end - start
        if rows == 0:
            continue
        held = np.unique(target[order[start:end]])
        wide = held.size
        whole = np.zeros(wide, dtype=np.int64)
        for k in range(wide):
            class_place[held[k]] = k
        for i in range(start, end):
            whole[class_place[target[order[i]]]] += 1
        impurity = _impurity(whole, wide, rows, criterion, xlogx)
        risks[node, 0] = impurity
        if nodes[node, 7] < 0:
            needed = complexity * impurity
        gain[0] = max(needed, TINY * impurity)
        best = -1
        best_cut = best_distinct = 0
        kept = np.zeros(0, dtype=np.int64)
        if rows >= 2 * min_leaf and impurity > TINY:
            choice[:] = features
            trials = features.size
            if 0 < tried < features.size:
                trials = tried
                for i in range(tried):
                    other = i + int(_next_random(random) % np.uint64(features.size - i))
                    choice[i], choice[other] = choice[other], choice[i]
            for t in range(trials):
                f = choice[t]
                place[:] = -1
                for i in range(start, end):
                    place[bins[order[i], f]] = 0
                distinct = 0
                for code in range(levels[f] + 1):
                    if place[code] == 0:
                        place[code] = distinct
                        present[distinct] = code
                        distinct += 1
                if distinct < 2:  # noqa: PLR2004
                    continue
                cells = np.zeros((distinct, wide), dtype=np.int64)
                count = np.zeros(distinct, dtype=np.int64)
                for i in range(start, end):
                    code = place[bins[order[i], f]]
                    cells[code, class_place[target[order[i]]]] += 1
                    count[code] += 1
                sequence = np.arange(distinct)
                if categorical[f] and distinct > 2:  # noqa: PLR2004
                    score = np.zeros(distinct)
                    _score(cells, count, distinct, wide, whole, score)
                    sequence = np.argsort(score, kind="mergesort")
                missing = not categorical[f] and present[distinct - 1] == levels[f] - 1
                for way in range(2 if missing else 1):
                    if way == 1:  # missing before all values instead of after them
                        sequence = np.roll(sequence, 1)
                    cut = _sweep(
                        cells,
                        count,
                        sequence,
                        distinct,
                        wide,
                        whole,
                        rows,
                        min_leaf,
                        criterion,
                        xlogx,
                        impurity,
                        gain,
                    )
                    if cut > 0:
                        best, best_cut, best_distinct = f, cut, distinct
                        kept = present[sequence]
        if best < 0:
            continue
        side[:] = -1
        for i in range(best_distinct):
            side[kept[i]] = 1 if i < best_cut else 0
        at, aside = start, 0
        for i in range(start, end):
            row = order[i]
            if side[bins[row, best]] == 1:
                order[at] = row
                at += 1
            else:
                spare[aside] = row
                aside += 1
        order[at:end] = spare[:aside]
        if min_distinct > 1 and not (
            _varied(target, order, start, at, min_distinct)
            and _varied(target, order, at, end, min_distinct)
        ):
            continue
        larger_left = at - start >= end - at
        nodes[node, 0], nodes[node, 2], nodes[node, 3] = best, made, int(larger_left)
        risks[node, 1] = gain[0]
        if categorical[best]:
            words = levels[best] // 64 + 1
            if used + words > sets.size:
                longer = np.zeros(2 * (used + words), dtype=np.uint64)
                longer[:used] = sets[:used]
                sets = longer
            nodes[node, 4] = used
            for code in range(levels[best] + 1):
                if side[code] == 1 or (side[code] == -1 and larger_left):
                    sets[used + code // 64] |= np.uint64(1) << np.uint64(code % 64)
            used += words
        else:
            none = levels[best] - 1
            low, high = -1, none
            for i in range(best_distinct):
                if kept[i] != none and i < best_cut:
                    low = max(low, kept[i])
                elif kept[i] != none:
                    high = min(high, kept[i])
            nodes[node, 1] = none if high == none else -1 if low < 0 else (low + high - 1) // 2
            if side[none] >= 0:
                nodes[node, 3] = side[none]
        depth = nodes[node, 8] + 1
        nodes[made] = (-1, -1, 0, 0, -1, start, at, node, depth)
        nodes[made + 1] = (-1, -1, 0, 0, -1, at, end, node, depth)
        stack[waiting], stack[waiting + 1] = made + 1, made
        waiting += 2
        made += 2
    return nodes, risks, sets, made, used
