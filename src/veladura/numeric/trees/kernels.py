"""Compiled growth of trees on binned predictors: arrays in, arrays out.

A record is a few words of memory: its target, its row, and the codes of its predictors, a byte each
(two for more than 256 codes). Records are moved when a node is split, so that those of a node
always lie side by side and no read misses the cache. Targets are whole numbers (doubled ranks or
class codes), so every sum of a regression tree is exact and no order of addition can move a split;
a number and the count of it share a word, its mass. Kernels that call each other share this file
because Numba's cache does not notice a change in another one.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Floats, Ints

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero
inner = partial(jit.inner, wraparound=False)

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
Scratch = tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]

ROUNDS = 6  # power iterations: an order of categories needs no more digits
TINY = 1e-11
BLOCK = 512  # records read at a time, so that they stay in the cache for every predictor
DENSE = 4  # counts by code and class may be this many times the rows
FEW_CLASSES = 8  # up to here a branch that cannot be guessed costs more than it saves
CUT_LUCK, SET_LUCK = 0.85, 0.64  # what the best of several cuts gains by chance: see `_luck`
SMALL = 200  # rows of a node below which only the foremost predictors are looked at
LEAVES = 100  # smallest leaves that a sample has room for
LARGE = 2  # a node is large when its codes, times this, outnumber the cells of a histogram

TARGET, ROW, HEAD = 0, 1, 2  # words of a record before its codes
FEATURE, AT, HIGH, LEVELS, CATEGORICAL, BASE, LUCK = range(7)  # of a predictor: see `grow_nodes`
# beside the best gain: the least, that of one cut by chance, unadjusted, whether all are ranked
NEEDED, UNIT, RAW, RANKED = range(1, 5)
BEST, DISTINCT, CUT = range(
    3
)  # the best split so far: predictor, codes present, codes that go left


@intrinsic  # type: ignore[untyped-decorator]
def _lowest(_context: Any, _word: Any) -> Any:
    """Return the place of the lowest bit that is set."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@inner("int64[::1](int64)")
def _ints(size: int) -> Ints:
    """Return zeros; one function, because every place that makes an array takes time to compile."""
    return np.zeros(size, dtype=np.int64)


@inner("float64[::1](int64)")
def _floats(size: int) -> Floats:
    return np.zeros(size, dtype=np.float64)


@inner("uint64[::1](int64)")
def _words(size: int) -> Words:
    return np.zeros(size, dtype=np.uint64)


@inner("int64[:, ::1](int64, int64)")
def _table(rows: int, columns: int) -> Ints:
    return np.empty((rows, columns), dtype=np.int64)


@inner("uint64[::1](uint64[::1], int64, int64)")
def _lengthened(sets: Words, used: int, more: int) -> Words:
    """Return the sets with room for some more."""
    if used + more <= sets.size:
        return sets
    grown = _words(2 * (used + more))
    for i in range(used):
        grown[i] = sets[i]
    return grown


@inner("int64(uint8[:, ::1], int64, int64, int64)")
def _code(codes: Bytes, i: int, at: int, high: int) -> int:
    """Return the code of a record."""
    return int(codes[i, at]) if high == 0 else int(codes[i, at]) | int(codes[i, high]) << 8


@inner("void(int64[::1], int64, float64[::1])")
def _sort_by_score(present: Ints, distinct: int, score: Floats) -> None:
    """Sort codes by their score, equal ones by code (Shell sort: short, and it compiles fast)."""
    gap = distinct // 2
    while gap > 0:
        for i in range(gap, distinct):
            code = present[i]
            j = i
            while j >= gap and (
                score[present[j - gap]] > score[code]
                or (score[present[j - gap]] == score[code] and present[j - gap] > code)
            ):
                present[j] = present[j - gap]
                j -= gap
            present[j] = code
        gap = gap // 2


@inner("float64(int64[:, ::1], int64, int64, float64[::1])")
def _luck(layout: Ints, f: int, distinct: int, gain: Floats) -> float:
    """Return what the best cut of a predictor gains by chance, beyond what a single cut does.

    In units of what one cut gains by chance, the maximum over the cuts between d values in order is
    1 + 0.85 log(d - 1) on average, over the sets of d categories in order of their means
    1 + 0.64 (d - 2), to within 0.7 for 20 to 1000 rows (by simulation).
    """
    if layout[f, LUCK] == 0 or distinct < 3:  # noqa: PLR2004
        return 0.0
    if layout[f, CATEGORICAL] > 0:
        return float(SET_LUCK * (distinct - 2) * gain[UNIT])
    return float(CUT_LUCK * np.log(distinct - 1) * gain[UNIT])


@inner("float64(float64[::1], float64)")
def _handicap(gain: Floats, luck: float) -> float:
    """Raise what a predictor must gain by its luck; return the best gain so far.

    Where predictors are ranked, the gain of each counts, not only that of the best.
    """
    before = gain[0]
    gain[0] = gain[NEEDED] if gain[RANKED] > 0 else max(before + luck, gain[NEEDED])
    return float(before)


@inner("boolean(float64[::1], float64, float64, int64, int64, float64[::1])")
def _settle(gain: Floats, luck: float, before: float, cut: int, f: int, worth: Floats) -> bool:
    """Write the best gain after a predictor was tried, without its luck; whether it is its own."""
    own = gain[0] - luck
    if cut > 0:
        worth[f] = max(worth[f], own)
    if cut > 0 and own > before:
        gain[RAW] = gain[0]
        gain[0] = own
        return True
    gain[0] = before
    return False


@inner("int64(int64[::1], int64, int64, int64, int64, int64, float64[::1])")
def _sweep_sums(
    mass: Ints, distinct: int, rows: int, whole: int, shift: int, min_leaf: int, gain: Floats
) -> int:
    """Return the cut of a sequence of masses that lowers the sum of squares most, 0 for none.

    Breiman et al. (1984), equation 8.11.
    The gain is (n S_l - n_l S)^2 / (n n_l n_r), with n_l rows and the sum S_l left of the cut.
    """
    counted = (1 << shift) - 1
    before = 0
    i = 0
    while i < distinct - 1 and (before + mass[i]) & counted < min_leaf:
        before += mass[i]
        i += 1
    # the best gain so far as a fraction: comparing products is faster than dividing
    first = gain[0]
    over = first * rows
    under = 1.0
    cut = 0
    while i < distinct - 1:
        before += mass[i]
        i += 1
        left = before & counted
        right = rows - left
        if right < min_leaf:
            break
        shifted = float(before >> shift) * rows - float(whole) * left
        square = shifted * shifted
        sides = float(left) * right
        if square * under > over * sides:
            over = square
            under = sides
            cut = i
            gain[0] = 0.0  # a store: without it every step would wait for the one before
    gain[0] = over / under / rows if cut > 0 else first
    return cut


@inner("float64(float64)")
def _surely_less(value: float) -> float:
    """Return a little less: only what is above it is worth two divisions."""
    return value * (1 - TINY)


@inner(
    "int64(int64[::1], int64, int64[::1], int64[::1], int64[::1], int64[::1], int64[::1], int64,"
    " float64, int64, float64[::1])"
)
def _sweep_classes(
    sequence: Ints,
    distinct: int,
    first: Ints,
    count: Ints,
    classes: Ints,
    of_class: Ints,
    moved: Ints,
    rows: int,
    squares: float,
    min_leaf: int,
    gain: Floats,
) -> int:
    """Return the cut that lowers the Gini impurity most.

    The cost depends on the rows, not on the number of classes: rows move one by one to the left,
    and squares of class counts are updated, not summed again. With n_k rows of a class, a_k of them
    on the left, the squares on the right are those of all, less twice the sum of n_k a_k, plus
    those on the left.
    """
    squares_left, crossed, every = 0, 0, int(squares)
    level = squares / rows
    least = _surely_less(gain[0] + level)
    left = cut = 0
    for i in range(distinct - 1):
        code = sequence[i]
        for at in range(first[code], first[code] + count[code]):
            k = classes[at]
            squares_left += 2 * moved[k] + 1
            crossed += of_class[k]
            moved[k] += 1
        left += count[code]
        right = rows - left
        if left < min_leaf:
            continue
        if right < min_leaf:
            break
        squares_right = every - 2 * crossed + squares_left
        sides = float(left) * right
        if float(squares_left) * right + float(squares_right) * left > least * sides:
            less = squares_left / left + squares_right / right - level
            if less > gain[0]:
                gain[0] = less
                least = _surely_less(less + level)
                cut = i + 1
    for i in range(rows):
        moved[classes[i]] = 0
    return cut


@inner(
    "int64(int64[::1], int64, int64[::1], int64[::1], int64, int64[::1], int64[::1], int64,"
    " float64, int64, float64[::1])"
)
def _sweep_counts(
    sequence: Ints,
    distinct: int,
    count: Ints,
    cells: Ints,
    base: int,
    of_class: Ints,
    moved: Ints,
    rows: int,
    squares: float,
    min_leaf: int,
    gain: Floats,
) -> int:
    """Return the same cut from counts by code and class: faster where rows outnumber counts."""
    squares_left, squares_right = 0, int(squares)
    level = squares / rows
    least = _surely_less(gain[0] + level)
    left = cut = 0
    wide = of_class.size
    few = wide <= FEW_CLASSES
    for i in range(distinct - 1):
        code = sequence[i]
        for k in range(wide):
            more = cells[base + code * wide + k]
            if few or more > 0:
                held = moved[k]
                squares_left += more * (2 * held + more)
                squares_right -= more * (2 * (of_class[k] - held) - more)
                moved[k] = held + more
        left += count[code]
        right = rows - left
        if left < min_leaf:
            continue
        if right < min_leaf:
            break
        sides = float(left) * right
        if float(squares_left) * right + float(squares_right) * left > least * sides:
            less = squares_left / left + squares_right / right - level
            if less > gain[0]:
                gain[0] = less
                least = _surely_less(less + level)
                cut = i + 1
    for k in range(wide):
        moved[k] = 0
    return cut


@inner(
    "void(int64[::1], int64, int64[::1], int64[::1], int64[::1], boolean, int64[::1], int64,"
    " int64[::1], int64, float64[::1], float64[::1], float64[::1])"
)
def _score_by_component(  # noqa: C901, PLR0912  # compiled: counts or rows, one loop
    present: Ints,
    distinct: int,
    first: Ints,
    count: Ints,
    classes: Ints,
    dense: bool,
    cells: Ints,
    base: int,
    of_class: Ints,
    rows: int,
    score: Floats,
    weight: Floats,
    fresh: Floats,
) -> None:
    """Score categories by the first principal component of their class shares.

    Coppersmith, Hong and Hosking (1999). Power iteration from the most frequent class, on the
    counts or on the rows themselves, whichever are fewer, so that the cost does not depend on the
    number of classes.
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
        for i in range(distinct):
            code = present[i]
            held = 0.0
            if dense:
                for k in range(wide):
                    held += cells[base + code * wide + k] * weight[k]
            else:
                for at in range(first[code], first[code] + count[code]):
                    held += weight[classes[at]]
            mean += held
            score[code] = held / count[code]
        mean /= rows
        norm = 0.0
        for i in range(distinct):
            score[present[i]] -= mean
            norm += count[present[i]] * score[present[i]] ** 2
        if norm <= TINY:
            return
        scale = 1.0 / np.sqrt(norm)
        for i in range(wide):
            fresh[i if dense else classes[i]] = 0.0
        for i in range(distinct):
            code = present[i]
            step = score[code] * scale
            if dense:
                for k in range(wide):
                    fresh[k] += cells[base + code * wide + k] * step
            else:
                for at in range(first[code], first[code] + count[code]):
                    fresh[classes[at]] += step
        for i in range(wide):
            k = i if dense else classes[i]
            weight[k] = fresh[k]


@inner("uint64(uint64[::1])")
def _next_random(state: Words) -> np.uint64:
    """Return the next number of splitmix64 (Steele, Lea and Flood 2014).

    A forest chooses predictors by it.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.uint64(z ^ (z >> np.uint64(31)))


@inner("boolean(int64[:, ::1], int64, int64, int64)")
def _has_distinct(records: Ints, start: int, end: int, wanted: int) -> bool:
    """Whether at least some number of different targets stand in a stretch."""
    seen = _ints(wanted)
    distinct = 0
    for i in range(start, end):
        new = True
        for j in range(distinct):
            if seen[j] == records[i, TARGET]:
                new = False
                break
        if new:
            seen[distinct] = records[i, TARGET]
            distinct += 1
            if distinct == wanted:
                return True
    return False


@inner("float64(int64[:, ::1], int64, int64, int64[::1], boolean, int64, int64[::1])")
def _impurity(
    records: Ints, start: int, end: int, of_class: Ints, gini: bool, shift: int, whole: Ints
) -> float:
    """Return the sum of squares about the mean, or the Gini impurity times the rows.

    The sum or the class counts are filled in.
    """
    rows = end - start
    if gini:
        of_all = 0
        for i in range(start, end):
            k = records[i, TARGET]
            of_all += 2 * of_class[k] + 1
            of_class[k] += 1
        return rows - of_all / rows
    total = 0
    for i in range(start, end):
        total += records[i, TARGET] >> shift
    whole[0] = total
    mean = total / rows
    first = second = 0.0  # two sums: an addition need not wait for the one before
    for i in range(start, end - 1, 2):
        first += ((records[i, TARGET] >> shift) - mean) ** 2
        second += ((records[i + 1, TARGET] >> shift) - mean) ** 2
    if rows % 2 == 1:
        first += ((records[end - 1, TARGET] >> shift) - mean) ** 2
    return first + second


@inner(
    "void(int64[:, ::1], uint8[:, ::1], int64, int64, int64[:, ::1], int64[::1], int64, int64,"
    " boolean, int64[::1])"
)
def _fill_cells(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    layout: Ints,
    choice: Ints,
    active: int,
    wide: int,
    gini: bool,
    cells: Ints,
) -> None:
    """Add up masses by code, or count records by code and class, for all predictors at once."""
    for i in range(cells.size):
        cells[i] = 0
    for block in range(start, end, BLOCK):
        stop = min(block + BLOCK, end)
        for j in range(active):
            at, high, base = (
                layout[choice[j], AT],
                layout[choice[j], HIGH],
                layout[choice[j], BASE] * wide,
            )
            if gini:
                for i in range(block, stop):
                    cells[base + _code(codes, i, at, high) * wide + records[i, TARGET]] += 1
            else:
                for i in range(block, stop):
                    cells[base + _code(codes, i, at, high)] += records[i, TARGET]


@inner("int64(uint64[::1], int64)")
def _mark(bits: Words, code: int) -> int:
    """Set the bit of a code; return which word it is in."""
    word = code >> 6
    bits[word] |= np.uint64(1) << np.uint64(code & 63)
    return word


@inner("int64(uint64[::1], int64, int64[::1])")
def _list_bits(bits: Words, words: int, present: Ints) -> int:
    """List the codes whose bits are set in ascending order, and clear them."""
    distinct = 0
    for word in range(words):
        left = bits[word]
        bits[word] = np.uint64(0)
        while left != np.uint64(0):
            present[distinct] = (word << 6) + int(_lowest(left))
            left &= left - np.uint64(1)
            distinct += 1
    return distinct


@inner(
    "int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64, int64, int64[::1], uint64[::1],"
    " int64[::1], int64[::1])"
)
def _note_sums(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    at: int,
    high: int,
    cells: Ints,
    bits: Words,
    present: Ints,
    mass: Ints,
) -> int:
    """List the codes of one predictor in a small node, in ascending order, with their masses."""
    top = 0
    for i in range(start, end):
        code = _code(codes, i, at, high)
        top = max(top, _mark(bits, code))
        cells[code] += records[i, TARGET]
    distinct = _list_bits(bits, top + 1, present)
    for i in range(distinct):
        mass[i] = cells[present[i]]
        cells[present[i]] = 0
    return distinct


@inner("int64(int64, int64[::1], int64, int64[::1], int64[::1])")
def _list_sums(levels: int, cells: Ints, base: int, present: Ints, mass: Ints) -> int:
    """List the codes that occur in a histogram, with their masses."""
    distinct = 0
    for code in range(levels):
        present[distinct] = code
        mass[distinct] = cells[base + code]
        distinct += cells[base + code] != 0
    return distinct


@inner("void(int64[::1], int64[::1], int64, int64, int64[::1], float64[::1])")
def _sort_by_mean(
    present: Ints, mass: Ints, distinct: int, shift: int, spare: Ints, score: Floats
) -> None:
    """Put categories in ascending order of their mean target (Fisher 1958)."""
    counted = (1 << shift) - 1
    for i in range(distinct):
        spare[present[i]] = mass[i]
        score[present[i]] = (mass[i] >> shift) / (mass[i] & counted)
    _sort_by_score(present, distinct, score)
    for i in range(distinct):
        mass[i] = spare[present[i]]
        spare[present[i]] = 0


@inner("void(int64[::1], int64)")
def _turn(values: Ints, distinct: int) -> None:
    """Put the last before all others."""
    last = values[distinct - 1]
    for i in range(distinct - 1, 0, -1):
        values[i] = values[i - 1]
    values[0] = last


@inner("void(int64, int64[::1], int64, int64, int64[::1], int64[::1])")
def _keep(f: int, sequence: Ints, distinct: int, cut: int, split: Ints, kept: Ints) -> None:
    """Write down the best split so far."""
    split[BEST] = f
    split[DISTINCT] = distinct
    split[CUT] = cut
    for i in range(distinct):
        kept[i] = sequence[i]


@inner("void(int64[::1], int64, int64)")
def _retire(choice: Ints, j: int, active: int) -> None:
    """Put a predictor that varies nowhere below behind the active ones."""
    f = choice[j]
    for i in range(j, active - 1):
        choice[i] = choice[i + 1]
    choice[active - 1] = f


@inner(
    "int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64[:, ::1], int64[::1], int64, int64,"
    " boolean, int64[::1], uint64[::1],UniTuple(int64[::1], 9), UniTuple(float64[::1], 4), int64,"
    " int64, int64, float64[::1], int64[::1])"
)
def _search_sums(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    layout: Ints,
    choice: Ints,
    active: int,
    trials: int,
    large: bool,  # noqa: FBT001, RUF100
    cells: Ints,
    bits: Words,
    scratch: Scratch,
    scores: tuple[Floats, Floats, Floats, Floats],
    whole: int,
    shift: int,
    min_leaf: int,
    gain: Floats,
    split: Ints,
) -> int:
    """Find the best split for numbers or two classes; return how many predictors still vary.

    The others go last in ``choice``.
    """
    present, mass, kept, spare = scratch[0], scratch[1], scratch[2], scratch[3]
    j = 0
    while j < trials:
        f = choice[j]
        levels = layout[f, LEVELS]
        if large:
            distinct = _list_sums(levels, cells, layout[f, BASE], present, mass)
        else:
            distinct = _note_sums(
                records,
                codes,
                start,
                end,
                layout[f, AT],
                layout[f, HIGH],
                cells,
                bits,
                present,
                mass,
            )
        if distinct < 2:  # noqa: PLR2004
            _retire(choice, j, active)
            active -= 1
            trials = min(trials, active)
            continue
        j += 1
        categorical = layout[f, CATEGORICAL] > 0
        if categorical and distinct > 2:  # noqa: PLR2004
            _sort_by_mean(present, mass, distinct, shift, spare, scores[0])
        luck = _luck(layout, f, distinct, gain)
        for way in range(1 + int(not categorical and present[distinct - 1] == levels - 1)):
            if way == 1:  # missing before all values instead of after them
                _turn(present, distinct)
                _turn(mass, distinct)
            before = _handicap(gain, luck)
            cut = _sweep_sums(mass, distinct, end - start, whole, shift, min_leaf, gain)
            if _settle(gain, luck, before, cut, f, scores[3]):
                _keep(f, present, distinct, cut, split, kept)
    return active


@inner(
    "int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64, int64, int64, boolean, int64[::1],"
    " int64, uint64[::1], int64[::1], int64[::1])"
)
def _note_classes(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    at: int,
    high: int,
    wide: int,
    dense: bool,
    cells: Ints,
    base: int,
    bits: Words,
    count: Ints,
    present: Ints,
) -> int:
    """Count the codes of one predictor in a small node, by class too where that is cheap.

    Those that occur are listed in ascending order.
    """
    top = 0
    for i in range(start, end):
        code = _code(codes, i, at, high)
        top = max(top, _mark(bits, code))
        count[code] += 1
        if dense:
            cells[base + code * wide + records[i, TARGET]] += 1
    return int(_list_bits(bits, top + 1, present))


@inner("int64(int64, int64, int64[::1], int64, int64[::1], int64[::1])")
def _list_classes(
    levels: int, wide: int, cells: Ints, base: int, count: Ints, present: Ints
) -> int:
    """List the codes that occur in a histogram by class, and count their records."""
    distinct = 0
    for code in range(levels):
        rows = 0
        for k in range(wide):
            rows += cells[base + code * wide + k]
        count[code] = rows
        present[distinct] = code
        distinct += rows > 0
    return distinct


@inner(
    "void(int64[:, ::1], uint8[:, ::1], int64, int64, int64, int64, int64[::1], int64, int64[::1],"
    " int64[::1], int64[::1], int64[::1])"
)
def _group_classes(
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    at: int,
    high: int,
    present: Ints,
    distinct: int,
    first: Ints,
    fill: Ints,
    count: Ints,
    classes: Ints,
) -> None:
    """Put the classes of a node's records in the order of their codes."""
    place = 0
    for i in range(distinct):
        code = present[i]
        first[code] = place
        fill[code] = place
        place += count[code]
    for i in range(start, end):
        code = _code(codes, i, at, high)
        classes[fill[code]] = records[i, TARGET]
        fill[code] += 1


@inner(
    "int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64[:, ::1], int64[::1], int64, int64,"
    " int64, boolean, int64[::1], uint64[::1],UniTuple(int64[::1], 9), UniTuple(float64[::1], 4),"
    " float64, int64, float64[::1], int64[::1])"
)
def _search_classes(  # noqa: C901, PLR0912  # compiled: one loop over predictors
    records: Ints,
    codes: Bytes,
    start: int,
    end: int,
    layout: Ints,
    choice: Ints,
    active: int,
    trials: int,
    wide: int,
    large: bool,  # noqa: FBT001, RUF100
    cells: Ints,
    bits: Words,
    scratch: Scratch,
    scores: tuple[Floats, Floats, Floats, Floats],
    squares: float,
    min_leaf: int,
    gain: Floats,
    split: Ints,
) -> int:
    """Find the best split for several classes; return how many predictors still vary.

    The others go last in ``choice``.
    """
    present, _, kept, first, fill, count, classes, of_class, moved = scratch
    rows = end - start
    j = 0
    while j < trials:
        f = choice[j]
        at, high, levels, base = (
            layout[f, AT],
            layout[f, HIGH],
            layout[f, LEVELS],
            layout[f, BASE] * wide,
        )
        dense = large or min(levels, rows) * wide <= DENSE * rows
        if large:
            distinct = _list_classes(levels, wide, cells, base, count, present)
        else:
            distinct = _note_classes(
                records, codes, start, end, at, high, wide, dense, cells, base, bits, count, present
            )
        if distinct > 1 and not dense:
            _group_classes(
                records, codes, start, end, at, high, present, distinct, first, fill, count, classes
            )
        categorical = layout[f, CATEGORICAL] > 0
        if categorical and distinct > 2:  # noqa: PLR2004
            _score_by_component(
                present,
                distinct,
                first,
                count,
                classes,
                dense,
                cells,
                base,
                of_class,
                rows,
                scores[0],
                scores[1],
                scores[2],
            )
            _sort_by_score(present, distinct, scores[0])
        luck = _luck(layout, f, distinct, gain)
        for way in range(
            0 if distinct == 1 else 1 + int(not categorical and present[distinct - 1] == levels - 1)
        ):
            if way == 1:  # missing before all values instead of after them
                _turn(present, distinct)
            before = _handicap(gain, luck)
            if dense:
                cut = _sweep_counts(
                    present,
                    distinct,
                    count,
                    cells,
                    base,
                    of_class,
                    moved,
                    rows,
                    squares,
                    min_leaf,
                    gain,
                )
            else:
                cut = _sweep_classes(
                    present,
                    distinct,
                    first,
                    count,
                    classes,
                    of_class,
                    moved,
                    rows,
                    squares,
                    min_leaf,
                    gain,
                )
            if _settle(gain, luck, before, cut, f, scores[3]):
                _keep(f, present, distinct, cut, split, kept)
        for i in range(distinct):
            count[present[i]] = 0
            if dense and not large:
                for k in range(wide):
                    cells[base + present[i] * wide + k] = 0
        if distinct > 1:
            j += 1
        else:
            _retire(choice, j, active)
            active -= 1
            trials = min(trials, active)
    return active


@inner("int64(int64[:, ::1], uint8[:, ::1], int64, int64, int64, int64, int64[::1], int64[:, ::1])")
def _divide(
    records: Ints, codes: Bytes, start: int, end: int, at: int, high: int, mark: Ints, target: Ints
) -> int:
    """Copy the records of a node, those that go left from the front, the others from the end.

    Return where the others begin. Each record is written to both places and only one of them moves
    on: no branch for the processor to guess.
    """
    width = records.shape[1]
    left, right = start, end - 1
    for i in range(start, end):
        goes_left = mark[_code(codes, i, at, high)]
        for k in range(width):
            word = records[i, k]
            target[left, k] = word
            target[right, k] = word
        left += goes_left
        right -= 1 - goes_left
    return left


@inner("void(int64, int64[::1], int64[::1], int64[::1])")
def _mark_sides(levels: int, kept: Ints, split: Ints, mark: Ints) -> None:
    """Mark codes: 1 goes left, 0 goes right, -1 is new to the node."""
    for code in range(levels + 1):
        mark[code] = -1
    for i in range(split[DISTINCT]):
        mark[kept[i]] = 1 if i < split[CUT] else 0


@inner("boolean(int64, int64, int64, int64)")
def _new_goes_left(code: int, node: int, left: int, rows: int) -> bool:
    """Whether a code that is new to a node goes left: as many do, by chance, as there are rows.

    Sent to the larger side, rows of areas that a small node has not seen would all take its
    commonest values, and shares and means would be biased where a column has many levels.
    """
    mixed = np.uint64(code) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(node)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(33)) % rows < left


@inner(
    "int64(int64[:, ::1], int64, int64[:, ::1], int64[::1], int64[::1], int64[::1], int64, int64,"
    " uint64[::1], int64)"
)
def _write_split(
    nodes: Ints,
    node: int,
    layout: Ints,
    kept: Ints,
    split: Ints,
    mark: Ints,
    left: int,
    rows: int,
    sets: Words,
    used: int,
) -> int:
    """Write where codes go at a node; return the used part of sets.

    New categories go to both sides, in proportion to the rows that go left; missing numbers, where
    there were none, to the larger side.
    """
    f = split[BEST]
    levels = layout[f, LEVELS]
    nodes[node, 0] = layout[f, FEATURE]
    nodes[node, 1] = -1
    nodes[node, 3] = 1 if 2 * left >= rows else 0
    if layout[f, CATEGORICAL] > 0:
        nodes[node, 4] = used
        for word in range(levels // 64 + 1):
            sets[used + word] = np.uint64(0)
        for code in range(levels + 1):
            new = mark[code] == -1
            if mark[code] == 1 or (new and _new_goes_left(code, node, left, rows)):
                sets[used + code // 64] |= np.uint64(1) << np.uint64(code % 64)
        return int(used + levels // 64 + 1)
    missing = levels - 1
    low = -1
    high = missing
    for i in range(split[DISTINCT]):
        code = kept[i]
        if code != missing and i < split[CUT]:
            low = max(low, code)
        elif code != missing:
            high = min(high, code)
    nodes[node, 1] = missing if high == missing else -1 if low < 0 else (low + high - 1) // 2
    if mark[missing] >= 0:
        nodes[node, 3] = mark[missing]
    return used


@inner("void(int64[::1], int64, int64, uint64[::1])")
def _choose(choice: Ints, active: int, tried: int, random: Words) -> None:
    """Put the predictors that vary in order, or some of them, chosen at random, in front."""
    for i in range(1, active):
        f = choice[i]
        j = i
        while j > 0 and choice[j - 1] > f:
            choice[j] = choice[j - 1]
            j -= 1
        choice[j] = f
    for i in range(min(tried, active - 1)):
        other = i + int(_next_random(random) % np.uint64(active - i))
        choice[i], choice[other] = choice[other], choice[i]


@inner("int64(int64[:, ::1], int64, int64, int64, int64[:, ::1])")
def _sample(records: Ints, start: int, end: int, stride: int, target: Ints) -> int:
    """Copy every so manieth record of a node; return where the copies end."""
    last = start
    for i in range(start, end, stride):
        for k in range(records.shape[1]):
            target[last, k] = records[i, k]
        last += 1
    return last


@inner("int64(uint8[:, ::1], int64, int64, int64, int64, int64[::1])")
def _number_left(codes: Bytes, start: int, end: int, at: int, high: int, mark: Ints) -> int:
    """Return how many of some records go left."""
    left = 0
    for i in range(start, end):
        left += mark[_code(codes, i, at, high)]
    return left


@inner("void(int64[:, ::1], int64, int64, boolean, uint64[::1], int64[::1])")
def _mark_unseen(
    nodes: Ints, node: int, levels: int, categorical: bool, sets: Words, mark: Ints
) -> None:
    """Mark codes that a sample did not have, as `_write_split` says where they go."""
    for code in range(levels + 1):
        if mark[code] < 0 and categorical:
            word = sets[nodes[node, 4] + code // 64]
            mark[code] = int((word >> np.uint64(code % 64)) & np.uint64(1))
        elif mark[code] < 0:
            by_cut = code < levels - 1
            mark[code] = int(code <= nodes[node, 1]) if by_cut else nodes[node, 3]


@inner("int64(int64[::1], int64, int64, float64[::1])")
def _foremost(choice: Ints, active: int, few: int, worth: Floats) -> int:
    """Put the predictors that gained most in front, and return how many they are."""
    for i in range(1, active):
        f = choice[i]
        j = i
        while j > 0 and worth[choice[j - 1]] < worth[f]:
            choice[j] = choice[j - 1]
            j -= 1
        choice[j] = f
    return min(active, few)


@inner("void(int64[:, ::1], int64, int64, int64, int64, int64)")
def _write_node(nodes: Ints, node: int, start: int, end: int, parent: int, depth: int) -> None:
    """Write down a node, a leaf until it is split."""
    nodes[node, 0] = nodes[node, 1] = nodes[node, 4] = -1
    nodes[node, 2] = nodes[node, 3] = 0
    nodes[node, 5] = start
    nodes[node, 6] = end
    nodes[node, 7] = parent
    nodes[node, 8] = depth


@inner("void(int64[:, ::1], int64, int64, int64, int64, int64)")
def _push(stack: Ints, place: int, node: int, active: int, slot: int, moved: int) -> None:
    stack[place, 0] = node
    stack[place, 1] = active
    stack[place, 2] = slot
    stack[place, 3] = moved


@compiled(
    "Tuple((uint64[::1], int64, int64))(int64[:, ::1], uint8[:, ::1], int64[:, ::1], uint8[:, ::1],"
    " int64[:, ::1], int64, int64, int64[::1], int64, int64, float64, int64, int64, int64, uint64,"
    " int64[:, ::1], int64[:, ::1], float64[::1])"
)
def grow_nodes(  # noqa: C901, PLR0912, PLR0915  # compiled: one loop over nodes
    first_records: Ints,
    first_codes: Bytes,
    spare: Ints,
    spare_codes: Bytes,
    layout: Ints,
    class_count: int,
    shift: int,
    roots: Ints,
    min_leaf: int,
    min_distinct: int,
    complexity: float,
    tried: int,
    few: int,
    sample: int,
    seed: int,
    nodes: Ints,
    stack: Ints,
    risks: Floats,
) -> tuple[Words, int, int]:
    """Grow trees; return sets of categories, the number of nodes and of used words.

    The rows in the first records are left in the order of the leaves.

    Parameters
    ----------
    first_records
        A record a line: target, row, then codes. ``first_codes`` is the same memory in bytes;
        ``spare`` is as large, and a split copies records from one to the other. The target is a
        class below ``class_count`` or, for numbers and for no more than two classes, a mass: a
        whole number shifted by ``shift`` bits, plus one, so that a sum of masses holds the sum of
        the numbers and how many they are.
    layout
        For each predictor its column, the byte of its code in a record, that of the high part (0
        for none), its number of codes, whether they are categories, how many codes the
        predictors before it have, and whether its gains are compared without what chance gives
        them. The last code of a number column means missing.
    roots
        Where the records of each root begin and end.
    complexity
        A split must lower the impurity by this share of its root's.
    tried
        Predictors tried at each node, at random; 0 for all.
    few
        Predictors looked at below a node of fewer than 200 rows: those that gain most there.
    sample
        Rows that choose the split of a node with at least twice as many, at least 100 smallest
        leaves of them; 0 for all.
    nodes, stack, risks
        Memory for the nodes, for those that wait, and for impurity and gain of each.

    Notes
    -----
    A node is a row of (feature, cut, left child, missing left, first word of its set, start, end,
    parent, depth); the right child follows the left one. Feature -1 marks a leaf.

    Large nodes keep a histogram of all predictors. That of the smaller child is counted, that of
    the larger is the difference; the smaller is grown first, so few of them are kept at a time.
    """
    gini = class_count > 2  # noqa: PLR2004  # with two classes both criteria give the same splits
    wide = class_count if gini else 1
    size, predictors = first_records.shape[0], layout.shape[0]
    all_codes, widest = 0, 2
    choice = _ints(predictors)
    for f in range(predictors):
        choice[f] = f
        all_codes += layout[f, LEVELS]
        widest = max(widest, layout[f, LEVELS] + 1)
    least = max(
        all_codes * wide // (LARGE * max(predictors, 1)), 4 * min_leaf
    )  # rows of a large node
    slots = 0
    while slots < 60 and size >> slots >= least:  # noqa: PLR2004
        slots += 1
    histograms = _table(slots + 2 if slots > 0 else 1, all_codes * wide if slots > 0 else 1)
    free = _ints(slots + 2)
    for i in range(free.size):
        free[i] = i
    in_use = 0
    cells, bits = _ints(all_codes * wide if gini else widest), _words(widest // 64 + 1)
    of_class, moved, fill, kept = _ints(wide), _ints(wide), _ints(widest), _ints(widest)
    scratch = (
        _ints(widest),
        _ints(widest),
        kept,
        _ints(widest),
        fill,
        _ints(widest),
        _ints(size if gini else 1),
        of_class,
        moved,
    )
    scores = (_floats(widest), _floats(wide), _floats(wide), _floats(predictors))
    # on the stack: node, predictors looked at, its histogram or -1, whether records are in spare
    sets, used = _words(64), 0
    gain, whole, split, random = _floats(5), _ints(1), _ints(3), _words(1)
    random[0] = seed
    made = roots.size - 1
    for i in range(made):
        _write_node(nodes, i, roots[i], roots[i + 1], -1, 0)
        _push(stack, made - 1 - i, i, predictors, -1, 0)
    waiting = made
    needed = 0.0
    while waiting > 0:
        waiting -= 1
        node, active, slot = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        aside = stack[waiting, 3]
        records, other = (first_records, spare) if aside == 0 else (spare, first_records)
        codes = first_codes if aside == 0 else spare_codes
        start, end = nodes[node, 5], nodes[node, 6]
        rows = end - start
        if rows == 0:
            continue
        impurity = _impurity(records, start, end, of_class, gini, shift, whole)
        risks[2 * node] = impurity
        if nodes[node, 7] < 0:
            needed = complexity * impurity
        stride = rows // max(sample, LEAVES * min_leaf) if sample > 0 else 1
        sampled = stride > 1 and impurity > TINY
        everyone = rows
        if sampled:
            for k in range(of_class.size):
                of_class[k] = 0
            last = _sample(records, start, end, stride, other)
            looked, looked_codes = other, spare_codes if aside == 0 else first_codes
            rows = last - start
            impurity = _impurity(looked, start, last, of_class, gini, shift, whole)
        else:
            looked, looked_codes, last = records, codes, end
        share = everyone / rows
        gain[NEEDED] = max(needed / share, TINY * impurity)
        gain[0] = -np.inf  # the best split is made even if chance would explain it
        gain[UNIT] = impurity / rows
        if gini:  # the gain is a sum over classes: the more there are, the less it varies
            gain[UNIT] /= np.sqrt(max(1.0, rows / (rows - impurity) - 1))
        split[BEST] = -1
        if rows >= 2 * min_leaf and impurity > TINY:
            _choose(choice, active, tried, random)
            large = rows >= least
            if large and slot < 0:
                slot = free[in_use]
                in_use += 1
                _fill_cells(
                    looked,
                    looked_codes,
                    start,
                    last,
                    layout,
                    choice,
                    active,
                    wide,
                    gini,
                    histograms[slot],
                )
            trials = tried if 0 < tried < active else active
            squares = np.rint(rows * (rows - impurity))  # of the class counts
            mine = histograms[slot] if large else cells
            ranked = rows < SMALL and few < active and trials == active
            gain[RANKED] = 1.0 if ranked else 0.0
            if ranked:
                for f in range(predictors):
                    scores[3][f] = -np.inf
            if gini:
                vary = _search_classes(
                    looked,
                    looked_codes,
                    start,
                    last,
                    layout,
                    choice,
                    active,
                    trials,
                    wide,
                    large,
                    mine,
                    bits,
                    scratch,
                    scores,
                    squares,
                    min_leaf,
                    gain,
                    split,
                )
            else:
                vary = _search_sums(
                    looked,
                    looked_codes,
                    start,
                    last,
                    layout,
                    choice,
                    active,
                    trials,
                    large,
                    mine,
                    bits,
                    scratch,
                    scores,
                    whole[0],
                    shift,
                    min_leaf,
                    gain,
                    split,
                )
            if not sampled:
                active = _foremost(choice, vary, few, scores[3]) if ranked else vary
            elif large:  # the histogram is one of the sample
                in_use -= 1
                free[in_use] = slot
                slot = -1
        if gini:
            for i in range(start, last):
                of_class[looked[i, TARGET]] = 0
        at = end
        if split[BEST] >= 0:
            f = split[BEST]
            levels = layout[f, LEVELS]
            _mark_sides(levels, kept, split, fill)
            if sampled:
                sets = _lengthened(sets, used, levels // 64 + 1)
                left = _number_left(looked_codes, start, last, layout[f, AT], layout[f, HIGH], fill)
                used = _write_split(
                    nodes, node, layout, kept, split, fill, left, last - start, sets, used
                )
                _mark_unseen(nodes, node, levels, layout[f, CATEGORICAL] > 0, sets, fill)
            at = _divide(records, codes, start, end, layout[f, AT], layout[f, HIGH], fill, other)
            if min_distinct > 1 and not (
                _has_distinct(other, start, at, min_distinct)
                and _has_distinct(other, at, end, min_distinct)
            ):
                at = end
        if at == end:
            if slot >= 0:
                in_use -= 1
                free[in_use] = slot
            if aside > 0:
                for i in range(start, end):
                    first_records[i, ROW] = records[i, ROW]
            _write_node(nodes, node, start, end, nodes[node, 7], nodes[node, 8])
            continue
        larger_left = at - start >= end - at
        if not sampled:
            sets = _lengthened(sets, used, layout[split[BEST], LEVELS] // 64 + 1)
            used = _write_split(
                nodes, node, layout, kept, split, fill, at - start, end - start, sets, used
            )
        risks[2 * node + 1] = gain[RAW] * share
        nodes[node, 2] = made
        _write_node(nodes, made, start, at, node, nodes[node, 8] + 1)
        _write_node(nodes, made + 1, at, end, node, nodes[node, 8] + 1)
        smaller = made + 1 if larger_left else made
        larger = 2 * made + 1 - smaller
        of_smaller = -1
        if slot >= 0 and nodes[larger, 6] - nodes[larger, 5] >= least:
            of_smaller = free[in_use]
            _fill_cells(
                other,
                spare_codes if aside == 0 else first_codes,
                nodes[smaller, 5],
                nodes[smaller, 6],
                layout,
                choice,
                active,
                wide,
                gini,
                histograms[of_smaller],
            )
            for i in range(histograms.shape[1]):
                histograms[slot, i] -= histograms[of_smaller, i]
            if nodes[smaller, 6] - nodes[smaller, 5] >= least:
                in_use += 1
            else:
                of_smaller = -1
        elif slot >= 0:
            in_use -= 1
            free[in_use] = slot
            slot = -1
        _push(stack, waiting, larger, active, slot, 1 - aside)
        _push(stack, waiting + 1, smaller, active, of_smaller, 1 - aside)
        waiting += 2
        made += 2
    return sets, made, used
