"""Compiled growth of trees on binned predictors: arrays in, arrays out.

Predictors are small codes, targets whole numbers (doubled ranks or class codes), so every sum of a
regression tree is exact and no order of addition can move a split. Kernels that call each other
share this file because Numba's cache does not notice a change in another one.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Codes = NDArray[np.uint16]

FEW = 16  # up to here inserting is faster than looking through all bins
ROUNDS = 6  # power iterations: an order of categories needs no more digits
TINY = 1e-11
LARGE = 2048
DENSE = 4  # counts by code and class may be this many times the rows


@njit("int64(int64[::1], int64, int64[::1], int64)", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _sort_present(present: Ints, found: int, count: Ints, levels: int) -> int:
    """Put the codes that occur in ascending order."""
    if found > FEW:
        found = 0
        for code in range(levels):
            if count[code] > 0:
                present[found] = code
                found += 1
        return found
    for i in range(1, found):
        code = present[i]
        j = i - 1
        while j >= 0 and present[j] > code:
            present[j + 1] = present[j]
            j -= 1
        present[j + 1] = code
    return found


@njit("void(int64[::1], int64, float64[::1])", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _sort_by_score(present: Ints, found: int, score: Floats) -> None:
    """Put codes in ascending order of their score, equal ones by code (Shell sort: short, and compiled in no time)."""
    gap = found // 2
    while gap > 0:
        for i in range(gap, found):
            code = present[i]
            j = i
            while j >= gap and (
                score[present[j - gap]] > score[code] or (score[present[j - gap]] == score[code] and present[j - gap] > code)
            ):
                present[j] = present[j - gap]
                j -= gap
            present[j] = code
        gap = gap // 2


@njit("void(int64[::1], int64, int64[::1], int64[::1], int64, float64[::1], int64[::1])", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _sweep_sums(sequence: Ints, found: int, count: Ints, total: Ints, min_leaf: int, best: Floats, cut: Ints) -> None:
    """Find the cut of a sequence of codes that lowers the sum of squares most (Breiman et al. 1984, eq. 8.11).

    The gain is (n S_l - n_l S)^2 / (n n_l n_r), with n_l rows and the sum S_l left of the cut.
    """
    rows = 0
    whole = 0
    for i in range(found):
        rows += count[sequence[i]]
        whole += total[sequence[i]]
    left = 0
    held = 0
    over = best[0] * rows  # the best gain so far as a fraction: comparing products is faster than dividing
    under = 1.0
    for i in range(found - 1):
        left += count[sequence[i]]
        held += total[sequence[i]]
        if left < min_leaf:
            continue
        right = rows - left
        if right < min_leaf:
            break
        shift = float(held) * rows - float(whole) * left
        square = shift * shift
        sides = float(left) * right
        if square * under > over * sides:
            over = square
            under = sides
            cut[0] = i + 1
    if cut[0] > 0:
        best[0] = over / under / rows


@njit(
    "void(int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64, float64, int64, float64[::1], int64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def _sweep_classes(
    sequence: Ints, found: int, first: Ints, count: Ints, classes: Ints, of_class: Ints, moved: Ints,
    rows: int, squares: float, min_leaf: int, best: Floats, cut: Ints,
) -> None:  # fmt: skip
    """Find the cut that lowers the Gini impurity most; the cost is that of the rows, whatever the number of classes.

    Rows move one by one to the left. Squares of class counts are updated, not summed anew.
    """
    squares_left = 0.0
    squares_right = squares
    base = squares / rows
    left = 0
    for i in range(found - 1):
        code = sequence[i]
        for at in range(first[code], first[code] + count[code]):
            k = classes[at]
            squares_left += 2 * moved[k] + 1
            squares_right -= 2 * (of_class[k] - moved[k]) - 1
            moved[k] += 1
        left += count[code]
        right = rows - left
        if left < min_leaf:
            continue
        if right < min_leaf:
            break
        gain = squares_left / left + squares_right / right - base
        if gain > best[0]:
            best[0] = gain
            cut[0] = i + 1
    for i in range(rows):
        moved[classes[i]] = 0


@njit(
    "void(int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64, float64, int64, float64[::1], int64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def _sweep_counts(
    sequence: Ints, found: int, count: Ints, crossed: Ints, of_class: Ints, moved: Ints,
    rows: int, squares: float, min_leaf: int, best: Floats, cut: Ints,
) -> None:  # fmt: skip
    """Find the same cut from counts by code and class: faster where the rows are more than the counts."""
    squares_left = 0.0
    squares_right = squares
    base = squares / rows
    left = 0
    wide = of_class.size
    for i in range(found - 1):
        code = sequence[i]
        for k in range(wide):
            more = crossed[code * wide + k]
            if more > 0:
                squares_left += more * (2.0 * moved[k] + more)
                squares_right -= more * (2.0 * (of_class[k] - moved[k]) - more)
                moved[k] += more
        left += count[code]
        right = rows - left
        if left < min_leaf:
            continue
        if right < min_leaf:
            break
        gain = squares_left / left + squares_right / right - base
        if gain > best[0]:
            best[0] = gain
            cut[0] = i + 1
    for k in range(wide):
        moved[k] = 0


@njit(
    "void(int64[::1], int64, int64[::1], int64[::1], int64[::1], boolean, int64[::1], int64[::1], int64, float64[::1], float64[::1], float64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def _score_by_component(  # noqa: C901, PLR0912  # compiled: counts or rows, one loop
    present: Ints, found: int, first: Ints, count: Ints, classes: Ints, dense: bool, crossed: Ints, of_class: Ints,  # noqa: FBT001
    rows: int, score: Floats, weight: Floats, fresh: Floats,
) -> None:  # fmt: skip
    """Score categories by the first principal component of their class shares (Coppersmith, Hong, Hosking 1999).

    Power iteration from the most frequent class, on the counts or on the rows themselves, whichever
    are fewer, so that the cost does not depend on the number of classes.
    """
    wide = of_class.size if dense else rows
    top = 0 if dense else classes[0]
    for i in range(wide):
        k = i if dense else classes[i]
        weight[k] = 0.0
        if of_class[k] > of_class[top] or (of_class[k] == of_class[top] and k < top):
            top = k
    weight[top] = 1.0
    for _ in range(ROUNDS):
        mean = 0.0
        for i in range(found):
            code = present[i]
            held = 0.0
            if dense:
                for k in range(wide):
                    held += crossed[code * wide + k] * weight[k]
            else:
                for at in range(first[code], first[code] + count[code]):
                    held += weight[classes[at]]
            mean += held
            score[code] = held / count[code]
        mean /= rows
        norm = 0.0
        for i in range(found):
            score[present[i]] -= mean
            norm += count[present[i]] * score[present[i]] ** 2
        if norm <= TINY:
            return
        scale = 1.0 / np.sqrt(norm)
        for i in range(wide):
            fresh[i if dense else classes[i]] = 0.0
        for i in range(found):
            code = present[i]
            step = score[code] * scale
            if dense:
                for k in range(wide):
                    fresh[k] += crossed[code * wide + k] * step
            else:
                for at in range(first[code], first[code] + count[code]):
                    fresh[classes[at]] += step
        for i in range(wide):
            k = i if dense else classes[i]
            weight[k] = fresh[k]


@njit("uint64(uint64[::1])", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _next_random(state: NDArray[np.uint64]) -> np.uint64:
    """Return the next number of splitmix64 (Steele, Lea, Flood 2014); for the choice of predictors in a forest."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@njit("boolean(int64[::1], int64, int64, int64)", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _has_distinct(target: Ints, start: int, end: int, wanted: int) -> bool:
    """Whether at least some number of different values stand in a stretch."""
    if wanted <= 1:
        return True
    seen = np.empty(wanted, dtype=np.int64)
    found = 0
    for i in range(start, end):
        new = True
        for j in range(found):
            if seen[j] == target[i]:
                new = False
                break
        if new:
            seen[found] = target[i]
            found += 1
            if found == wanted:
                return True
    return False


@njit("float64(int64[::1], int64, int64, int64[::1], boolean)", cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator]
def _impurity(target: Ints, start: int, end: int, of_class: Ints, gini: bool) -> float:  # noqa: FBT001
    """Return the sum of squares about the mean, or the Gini impurity times the rows; fill the class counts."""
    rows = end - start
    if gini:
        squares = 0.0
        for i in range(start, end):
            squares += 2 * of_class[target[i]] + 1
            of_class[target[i]] += 1
        return rows - squares / rows
    whole = 0
    for i in range(start, end):
        whole += target[i]
    mean = whole / rows
    squares = 0.0
    for i in range(start, end):
        squares += (target[i] - mean) ** 2
    return squares


@njit(
    "Tuple((int64[::1], int64[:, ::1], float64[:, ::1], uint64[::1]))"
    "(uint16[:, ::1], uint16[:, ::1], int64[::1], boolean[::1], int64[::1], int64[::1], int64, int64[::1], int64[::1], int64, int64, float64, int64, uint64)",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def grow_nodes(  # noqa: C901, PLR0912, PLR0915  # compiled: one loop over nodes, calls cost their arguments
    bins: Codes,
    by_column: Codes,
    features: Ints,
    categorical: NDArray[np.bool_],
    levels: Ints,
    target: Ints,
    class_count: int,
    rows: Ints,
    roots: Ints,
    min_leaf: int,
    min_distinct: int,
    complexity: float,
    tried: int,
    seed: int,
) -> tuple[Ints, Ints, Floats, NDArray[np.uint64]]:
    """Grow trees and return the rows in the order of the leaves, the nodes, their impurities, and sets of categories.

    Parameters
    ----------
    bins
        Codes of all columns, a row a record; the last code of a number column means missing. ``by_column``
        holds the same the other way round: large nodes read column by column, small ones a record at a time.
    features
        The columns that may split. ``categorical`` and ``levels`` are by column of ``bins``.
    target
        For each record a whole number, or a class below ``class_count``; 0 classes for numbers.
    rows
        The records to grow on, those of one root together; ``roots`` says where each begins and ends.
    complexity
        A split must lower the impurity by this share of its root's.
    tried
        Columns tried at each node, at random; 0 for all.

    Notes
    -----
    A node is a row of (feature, cut, left child, missing left, first word of its set, start, end,
    parent, depth); the right child follows the left one. Feature -1 marks a leaf.
    """
    gini = class_count > 2  # noqa: PLR2004  # with two classes both criteria give the same splits
    order = rows.copy()
    size = order.size
    held = np.empty(size, dtype=np.int64)
    for i in range(size):
        held[i] = target[order[i]]
    spare_order = np.empty(size, dtype=np.int64)
    spare_held = np.empty(size, dtype=np.int64)
    room = 2 * (size // max(min_leaf, 1) + roots.size) + 2
    nodes = np.empty((room, 9), dtype=np.int64)
    risks = np.zeros((room, 2))
    sets = np.empty(64, dtype=np.uint64)
    used = 0
    widest = 2
    for f in features:
        widest = max(widest, levels[f] + 1)
    count = np.zeros(widest, dtype=np.int64)
    total = np.zeros(widest, dtype=np.int64)
    first = np.zeros(widest, dtype=np.int64)
    fill = np.zeros(widest, dtype=np.int64)
    score = np.zeros(widest)
    present = np.empty(widest, dtype=np.int64)
    sequence = np.empty(widest, dtype=np.int64)
    kept = np.empty(widest, dtype=np.int64)
    wide = class_count if gini else 1
    of_class = np.zeros(wide, dtype=np.int64)
    moved = np.zeros(wide, dtype=np.int64)
    weight = np.zeros(wide)
    fresh = np.zeros(wide)
    classes = np.empty(size if gini else 1, dtype=np.int64)
    crossed = np.empty(1, dtype=np.int64)
    best = np.zeros(1)
    cut = np.zeros(1, dtype=np.int64)
    choice = features.copy()
    random = np.empty(1, dtype=np.uint64)
    random[0] = np.uint64(seed)
    made = roots.size - 1
    stack = np.empty(room, dtype=np.int64)
    waiting = 0
    for i in range(made):
        nodes[i, 5] = roots[i]
        nodes[i, 6] = roots[i + 1]
        nodes[i, 7] = -1
        nodes[i, 8] = 0
    for i in range(made - 1, -1, -1):
        stack[waiting] = i
        waiting += 1
    needed = 0.0
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        start = nodes[node, 5]
        end = nodes[node, 6]
        rows_here = end - start
        nodes[node, 0] = -1
        nodes[node, 4] = -1
        if rows_here == 0:
            continue
        impurity = _impurity(held, start, end, of_class, gini)
        squares = np.rint(rows_here * (rows_here - impurity))  # of the class counts
        risks[node, 0] = impurity
        if nodes[node, 7] < 0:
            needed = complexity * impurity
        split = rows_here >= 2 * min_leaf and impurity > TINY
        top_gain = max(needed, TINY * impurity)
        top_feature = -1
        top_found = 0
        top_cut = 0
        trials = choice.size
        if split and 0 < tried < trials:
            trials = tried
            for i in range(trials):
                other = i + int(_next_random(random) % np.uint64(choice.size - i))
                choice[i], choice[other] = choice[other], choice[i]
        if not split:
            trials = 0
        for trial in range(trials):
            f = choice[trial]
            found = 0
            dense = gini and min(levels[f], rows_here) * class_count <= DENSE * rows_here
            if dense and crossed.size < widest * class_count:
                crossed = np.empty(widest * class_count, dtype=np.int64)
            large = rows_here > LARGE
            column = by_column[f]
            if large and levels[f] <= LARGE:  # every code is looked at, so none need be noted
                if dense:
                    for k in range(levels[f] * class_count):
                        crossed[k] = 0
                    for i in range(start, end):
                        code = column[order[i]]
                        count[code] += 1
                        crossed[code * class_count + held[i]] += 1
                else:
                    for i in range(start, end):
                        code = column[order[i]]
                        count[code] += 1
                        total[code] += held[i]
                for code in range(levels[f]):
                    if count[code] > 0:
                        present[found] = code
                        found += 1
            elif dense:
                for i in range(start, end):
                    code = bins[order[i], f]
                    if count[code] == 0:
                        present[found] = code
                        found += 1
                        for k in range(class_count):
                            crossed[code * class_count + k] = 0
                    count[code] += 1
                    crossed[code * class_count + held[i]] += 1
            else:
                for i in range(start, end):
                    code = bins[order[i], f]
                    if count[code] == 0:
                        present[found] = code
                        found += 1
                    count[code] += 1
                    total[code] += held[i]
            if found > 1:
                found = _sort_present(present, found, count, levels[f])
                if gini and not dense:
                    at = 0
                    for i in range(found):
                        first[present[i]] = at
                        fill[present[i]] = at
                        at += count[present[i]]
                    for i in range(start, end):
                        code = bins[order[i], f]
                        classes[fill[code]] = held[i]
                        fill[code] += 1
                ways = 1
                if categorical[f]:
                    if found > 2:  # noqa: PLR2004
                        if gini:
                            _score_by_component(
                                present, found, first, count, classes, dense, crossed, of_class, rows_here, score, weight, fresh
                            )
                        else:
                            for i in range(found):
                                score[present[i]] = total[present[i]] / count[present[i]]
                        _sort_by_score(present, found, score)
                elif present[found - 1] == levels[f] - 1:
                    ways = 2
                for way in range(ways):
                    if way == 0:
                        for i in range(found):
                            sequence[i] = present[i]
                    else:  # missing before all values instead of after them
                        sequence[0] = present[found - 1]
                        for i in range(found - 1):
                            sequence[i + 1] = present[i]
                    best[0] = top_gain
                    cut[0] = 0
                    if dense:
                        _sweep_counts(sequence, found, count, crossed, of_class, moved, rows_here, squares, min_leaf, best, cut)
                    elif gini:
                        _sweep_classes(sequence, found, first, count, classes, of_class, moved, rows_here, squares, min_leaf, best, cut)
                    else:
                        _sweep_sums(sequence, found, count, total, min_leaf, best, cut)
                    if cut[0] > 0:
                        top_gain = best[0]
                        top_feature = f
                        top_found = found
                        top_cut = cut[0]
                        for i in range(found):
                            kept[i] = sequence[i]
            for i in range(found):
                count[present[i]] = 0
                total[present[i]] = 0
        if gini:
            for i in range(start, end):
                of_class[held[i]] = 0
        if top_feature < 0:
            continue
        # Which codes go left; fill serves as the mark.
        f = top_feature
        for code in range(levels[f] + 1):
            fill[code] = -1
        for i in range(top_found):
            fill[kept[i]] = 1 if i < top_cut else 0
        at = start
        aside = 0
        for i in range(start, end):
            if fill[bins[order[i], f]] == 1:
                order[at] = order[i]
                held[at] = held[i]
                at += 1
            else:
                spare_order[aside] = order[i]
                spare_held[aside] = held[i]
                aside += 1
        for i in range(aside):
            order[at + i] = spare_order[i]
            held[at + i] = spare_held[i]
        if min_distinct > 1 and not (_has_distinct(held, start, at, min_distinct) and _has_distinct(held, at, end, min_distinct)):
            continue
        larger_left = at - start >= end - at
        nodes[node, 0] = f
        nodes[node, 1] = -1
        nodes[node, 2] = made
        nodes[node, 3] = 1 if larger_left else 0  # where what this node never saw goes
        if categorical[f]:
            words = levels[f] // 64 + 1
            if used + words > sets.size:
                grown = np.empty(2 * (used + words), dtype=np.uint64)
                grown[:used] = sets[:used]
                sets = grown
            for word in range(words):
                sets[used + word] = np.uint64(0)
            for code in range(levels[f] + 1):
                if fill[code] == 1 or (fill[code] == -1 and larger_left):
                    sets[used + code // 64] |= np.uint64(1) << np.uint64(code % 64)
            nodes[node, 4] = used
            used += words
        else:
            missing = levels[f] - 1
            low = -1
            high = missing
            for i in range(top_found):
                if kept[i] != missing and i < top_cut:
                    low = max(low, kept[i])
                elif kept[i] != missing:
                    high = min(high, kept[i])
            nodes[node, 1] = missing if high == missing else -1 if low < 0 else (low + high - 1) // 2
            if fill[missing] >= 0:
                nodes[node, 3] = fill[missing]
        risks[node, 1] = top_gain
        for child in range(2):
            nodes[made, 5] = start if child == 0 else at
            nodes[made, 6] = at if child == 0 else end
            nodes[made, 7] = node
            nodes[made, 8] = nodes[node, 8] + 1
            made += 1
        stack[waiting] = made - 1
        stack[waiting + 1] = made - 2
        waiting += 2
    return order, nodes[:made].copy(), risks[:made].copy(), sets[:used].copy()


@njit(
    "int64[::1](uint16[:, ::1], int64[::1], boolean[::1], int64[::1], int64[:, ::1], uint64[::1], int64[::1], int64[::1])",
    cache=True,
    nogil=True,
    error_model="numpy",
)  # type: ignore[untyped-decorator]
def find_leaves(
    bins: Codes, rows: Ints, categorical: NDArray[np.bool_], levels: Ints, nodes: Ints, sets: NDArray[np.uint64], root: Ints, stop: Ints
) -> Ints:
    """Return the leaf each record falls into; ``stop`` marks nodes that a pruned tree ends at."""
    leaves = np.empty(rows.size, dtype=np.int64)
    short = np.empty((nodes.shape[0], 5), dtype=np.int32)  # what a step needs, close together in memory
    for node in range(nodes.shape[0]):
        for j in range(5):
            short[node, j] = nodes[node, j]
        if stop[node] > 0:
            short[node, 0] = -1
    for i in range(rows.size):
        node = root[i]
        row = rows[i]
        while short[node, 0] >= 0:
            f = short[node, 0]
            code = int(bins[row, f])
            if categorical[f]:
                seen = min(code, levels[f])
                left = (sets[short[node, 4] + seen // 64] >> np.uint64(seen % 64)) & np.uint64(1) == np.uint64(1)
            elif code >= levels[f] - 1:
                left = short[node, 3] == 1
            else:
                left = code <= short[node, 1]
            node = short[node, 2] if left else short[node, 2] + 1
        leaves[i] = node
    return leaves
