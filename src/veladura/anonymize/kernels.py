"""Counting groups at a node of the lattice, and walking the lattice: the hot loops of the search.

Tuples are packed into 64-bit words, a few bits a column, so that going up a level is a shift,
a mask and a table look-up. Groups of a node are rolled up from those of a node below it: they are
fewer than the tuples. Where only one column moves, groups are kept sorted with that column
changing fastest, so that those which merge are neighbours and one pass through memory merges
them; elsewhere a group is found by hashing its words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

KEPT_GROUPS = 4_000_000  # groups of nodes near the top that are kept for their neighbours

_I, _U, _SHORT = types.int64, types.uint64, types.int32
_ints, _codes, _tags = types.Array(_I, 1, "C"), types.Array(_SHORT, 1, "C"), types.Array(types.int8, 1, "C")
_grid, _cube = types.Array(_I, 2, "C"), types.Array(_I, 3, "C")
_keys, _table = types.Array(_U, 2, "C"), types.Array(_U, 1, "C")
_words = types.Array(_U, 1, "A")


class Shape(NamedTuple):
    """The lattice: heights and strides of its columns, and the maps between their levels.

    ``places[c]`` is the word, shift and mask of column c in a key; ``lifts[c, a, b]`` is where in
    ``codes`` the map of its level-a codes to level b starts, ``ranks[c]`` where that of the packed
    codes to level 0 does.
    """

    heights: Any
    strides: Any
    places: Any
    lifts: Any
    ranks: Any
    codes: Any


class Desk(NamedTuple):
    """Room to work in: a hash table that needs no clearing, and counters.

    An entry of ``table`` is two words side by side: the key (or its hash, if that is longer), then the
    number of its group below the stamp of the call that made it; other stamps do not count.
    ``tally`` holds the stamp, the groups handled, the nodes counted, and the kept groups.
    """

    table: Any
    tally: Any


class Kept(NamedTuple):
    """Groups of nodes near the top: where each node's start, how many, and the groups."""

    start: Any
    count: Any
    keys: Any
    sizes: Any


_shape = types.NamedTuple([_ints, _ints, _grid, _cube, _ints, _codes], Shape)
_desk = types.NamedTuple([_table, _ints], Desk)
_kept = types.NamedTuple([_ints, _ints, _keys, _ints], Kept)
_LOW = 0xFFFFFFFF  # the half of a word that numbers a group
_MIX = 0x9E3779B97F4A7C15


@njit(_I(_words, _ints, _table, _U, _U, _U, _I, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _insert(keys: Any, sizes: Any, table: Any, stamp: Any, word: Any, drop: Any, size: int, found: int) -> int:
    """Add rows to the group of a one-word key, or open it; return the number of groups."""
    one = np.uint64(1)  # unsigned throughout: an index that cannot be negative needs no check
    slot = ((word * np.uint64(_MIX)) >> drop) << one
    last = ((np.uint64(0xFFFFFFFFFFFFFFFF) >> drop) << one) | one
    while table[slot | one] >> np.uint64(32) == stamp:
        if table[slot] == word:
            sizes[table[slot | one] & np.uint64(_LOW)] += size
            return found
        slot = (slot + np.uint64(2)) & last
    table[slot] = word
    table[slot | one] = (stamp << np.uint64(32)) | np.uint64(found)
    keys[found] = word
    sizes[found] = size
    return found + 1


@njit(_I(_keys, _ints, _I, _table, _grid, _codes, _keys, _ints, _table, _U, _U), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _roll_long(
    keys: Any, sizes: Any, groups: int, clear: Any, moves: Any, codes: Any, out_keys: Any, out_sizes: Any, table: Any, stamp: Any, drop: Any
) -> int:
    """Roll up keys of several words."""
    words = keys.shape[1]
    last = (np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> drop) << 1) | 1
    word = np.zeros(words, np.uint64)
    found = 0
    for g in range(groups):
        mixed = np.uint64(0)
        for w in range(words):
            word[w] = keys[g, w] & ~clear[w]
        for i in range(moves.shape[0]):
            w, shift, mask = moves[i, 0], np.uint64(moves[i, 1]), np.uint64(moves[i, 2])
            code = (word[w] >> shift) & mask
            word[w] ^= (code ^ np.uint64(codes[moves[i, 3] + np.int64(code)])) << shift
        for w in range(words):
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ word[w]) * np.uint64(_MIX)
        slot = np.int64(mixed >> drop) << 1
        other = -1
        while other < 0 and table[slot + 1] >> np.uint64(32) == stamp:
            other = np.int64(table[slot + 1] & np.uint64(_LOW)) if table[slot] == mixed else -1
            for w in range(words):
                if other >= 0 and out_keys[other, w] != word[w]:
                    other = -1
            if other < 0:
                slot = (slot + 2) & last
        if other >= 0:
            out_sizes[other] += sizes[g]
            continue
        table[slot] = mixed
        table[slot + 1] = (stamp << np.uint64(32)) | np.uint64(found)
        for w in range(words):
            out_keys[found, w] = word[w]
        out_sizes[found] = sizes[g]
        found += 1
    return found


@njit(_I(_ints, _shape, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _table_bits(levels: Any, shape: Any, groups: int) -> int:
    """Return the size of a hash table, as a power of two, for no more groups than a node can have: a small one stays in the cache."""
    most = np.int64(1)
    for c in range(levels.size):
        level = levels[c]
        if level == 0:
            most *= shape.places[c, 2] + 1
        elif level < shape.heights[c]:
            most *= shape.lifts[c, level, level + 1] - shape.lifts[c, level, level]
        if most >= groups:
            most = groups
            break
    bits = 4
    while (1 << bits) < 2 * most:
        bits += 1
    return bits


@njit(_I(_keys, _ints, _I, _ints, _ints, _shape, _keys, _ints, _desk), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def roll_up(keys: Any, sizes: Any, groups: int, low: Any, high: Any, shape: Any, out_keys: Any, out_sizes: Any, desk: Any) -> int:
    """Merge groups of the node ``low`` into those of the node ``high`` above it; return their number."""
    moves, clear = np.empty((low.size, 4), np.int64), np.zeros(keys.shape[1], np.uint64)
    changed = 0
    for c in range(low.size):
        if low[c] != high[c] and high[c] == shape.heights[c]:  # the top is one value, of code 0
            clear[shape.places[c, 0]] |= np.uint64(shape.places[c, 2]) << np.uint64(shape.places[c, 1])
        elif low[c] != high[c]:
            for i in range(3):
                moves[changed, i] = shape.places[c, i]
            moves[changed, 3] = shape.lifts[c, low[c], high[c]]
            changed += 1
    drop = np.uint64(64 - _table_bits(high, shape, groups))
    desk.tally[0] += 1
    desk.tally[1] += groups
    stamp, table = np.uint64(desk.tally[0]), desk.table
    if keys.shape[1] > 1:
        return _roll_long(keys, sizes, groups, clear, moves[:changed], shape.codes, out_keys, out_sizes, table, stamp, drop)  # type: ignore[no-any-return]
    words, out, codes, stay = keys[:, 0], out_keys[:, 0], shape.codes, ~clear[0]
    found = 0
    for g in range(groups):
        word = words[g] & stay
        for i in range(changed):
            shift = np.uint64(moves[i, 1])
            code = (word >> shift) & np.uint64(moves[i, 2])
            word ^= (code ^ np.uint64(codes[np.uint64(moves[i, 3]) + code])) << shift
        found = _insert(out, out_sizes, table, stamp, word, drop, sizes[g], found)
    return found


@njit(types.void(_keys, _ints, _I, _ints, _I, _codes), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _lift(keys: Any, sizes: Any, groups: int, place: Any, start: int, codes: Any) -> None:
    """Map the codes of one column, in place."""
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        keys[g, w] ^= (code ^ np.uint64(codes[start + np.int64(code)])) << shift


@njit(types.void(_keys, _ints, _I, _ints, _keys, _ints), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sort_by(keys: Any, sizes: Any, groups: int, place: Any, out_keys: Any, out_sizes: Any) -> None:
    """Sort groups by the codes of one column, those of one code in the order they have."""
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    ends = np.zeros(place[2] + 2, np.uint64)  # unsigned: an index that cannot be negative needs no check
    one = np.uint64(1)
    if keys.shape[1] == 1:
        words, out = keys[:, 0], out_keys[:, 0]
        for g in range(groups):
            ends[((words[g] >> shift) & mask) + one] += one
        for i in range(1, ends.size):
            ends[i] += ends[i - 1]
        for g in range(groups):
            word = words[g]
            code = (word >> shift) & mask
            to = ends[code]
            ends[code] = to + one
            out[to] = word
            out_sizes[to] = sizes[g]
        return
    for g in range(groups):
        ends[((keys[g, w] >> shift) & mask) + one] += one
    for i in range(1, ends.size):
        ends[i] += ends[i - 1]
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        to = ends[code]
        ends[code] = to + one
        for i in range(keys.shape[1]):
            out_keys[to, i] = keys[g, i]
        out_sizes[to] = sizes[g]


@njit(_I(_keys, _ints, _I, _ints, _I, _codes), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _merge(keys: Any, sizes: Any, groups: int, place: Any, start: int, codes: Any) -> int:
    """Lift the column that changes fastest and merge neighbours that became equal, in place; return the number of groups."""
    w, shift, mask = place[0], np.uint64(place[1]), np.uint64(place[2])
    found = -1
    if keys.shape[1] == 1:  # the common case, with everything in registers
        words, last, total = keys[:, 0], np.uint64(0), np.int64(0)
        for g in range(groups):
            word = words[g]
            code = (word >> shift) & mask
            word ^= (code ^ np.uint64(codes[np.uint64(start) + code])) << shift
            if found < 0 or word != last:
                found += 1
                words[found] = word
                last, total = word, 0
            total += sizes[g]
            sizes[found] = total
        return found + 1
    for g in range(groups):
        code = (keys[g, w] >> shift) & mask
        keys[g, w] ^= (code ^ np.uint64(codes[start + np.int64(code)])) << shift
        same = found >= 0
        for i in range(keys.shape[1]):
            same = same and keys[g, i] == keys[found, i]
        if same:
            sizes[found] += sizes[g]
            continue
        found += 1
        for i in range(keys.shape[1]):
            keys[found, i] = keys[g, i]
        sizes[found] = sizes[g]
    return found + 1


@njit(types.boolean(_ints, _I, _I, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _is_good(sizes: Any, groups: int, k: int, allowed: int) -> bool:
    """Whether groups of fewer than k hold no more rows than may be suppressed."""
    rows = 0
    for g in range(groups):
        if sizes[g] < k:
            rows += sizes[g]
    return rows <= allowed


@njit(types.void(_tags, _shape, _I, types.boolean), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def spread(tags: Any, shape: Any, node: int, good: bool) -> None:  # noqa: FBT001
    """Tag a node and, as goodness only grows, all above a good (1) or below a bad one (-1) that have no tag yet."""
    direction = 1 if good else -1
    tag = np.int8(direction)
    stack = np.empty(1024, np.int64)
    stack[0] = node
    top = 1
    tags[node] = tag
    while top > 0:
        top -= 1
        current = stack[top]
        for c in range(shape.heights.size):
            level = current // shape.strides[c] % (shape.heights[c] + 1)
            if level == (shape.heights[c] if good else 0):
                continue
            near = current + direction * shape.strides[c]
            if tags[near] == 0:
                tags[near] = tag
                if top == stack.size:
                    wider = np.empty(2 * top, np.int64)
                    for i in range(top):
                        wider[i] = stack[i]
                    stack = wider
                stack[top] = near
                top += 1


@njit(_ints(_tags, _shape), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def minimal_nodes(tags: Any, shape: Any) -> Any:
    """Return the good nodes all of whose direct predecessors are bad: the antichain."""
    found = np.empty(tags.size, np.int64)
    count = 0
    for node in range(tags.size):
        least = tags[node] == 1
        for c in range(shape.heights.size):
            if least and node // shape.strides[c] % (shape.heights[c] + 1) > 0 and tags[node - shape.strides[c]] == 1:
                least = False
        if least:
            found[count] = node
            count += 1
    return found[:count].copy()


@njit(types.void(_keys, _ints, _I, _keys, _ints), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _copy(keys: Any, sizes: Any, groups: int, out_keys: Any, out_sizes: Any) -> None:
    """Copy groups; a loop compiles in a tenth of the time that slices take."""
    for g in range(groups):
        out_sizes[g] = sizes[g]
        for w in range(keys.shape[1]):
            out_keys[g, w] = keys[g, w]


@njit(_I(_keys, _ints, _I, _ints, _ints, _I, _shape, _keys, _ints, _desk, _kept), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _count_top(
    keys: Any, sizes: Any, groups: int, low: Any, high: Any, node: int, shape: Any, out_keys: Any, out_sizes: Any, desk: Any, kept: Any
) -> int:
    """Count the groups of a node near the top from the fewest groups at hand, and keep them for its neighbours."""
    source, fewest = -1, groups
    for c in range(high.size):
        below = node - shape.strides[c]
        if high[c] > 0 and kept.start[below] >= 0 and kept.count[below] < fewest:
            source, fewest = c, kept.count[below]
    if source >= 0:
        start = kept.start[node - shape.strides[source]]
        near = high.copy()
        near[source] -= 1
        found = roll_up(
            kept.keys[start : start + fewest], kept.sizes[start : start + fewest], fewest, near, high, shape, out_keys, out_sizes, desk
        )
    else:
        found = roll_up(keys, sizes, groups, low, high, shape, out_keys, out_sizes, desk)
    desk.tally[2] += 1
    used = desk.tally[3]
    if used + found <= kept.sizes.size:
        _copy(out_keys, out_sizes, found, kept.keys[used:], kept.sizes[used:])
        kept.start[node], kept.count[node] = used, found
        desk.tally[3] = used + found
    return found  # type: ignore[no-any-return]


@njit(_I(_ints, _ints, _I, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _offset(levels: Any, strides: Any, first: int, end: int) -> int:
    """Return what some columns at their levels add to the number of a node."""
    node = 0
    for c in range(first, end):
        node += levels[c] * strides[c]
    return node


@njit(types.void(_keys, _ints, _shape, _keys, _ints, _keys, _ints), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _sort_all(keys: Any, sizes: Any, shape: Any, out_keys: Any, out_sizes: Any, other_keys: Any, other_sizes: Any) -> None:
    """Sort tuples with the first column changing fastest, then the second, and so on; codes become those of level 0."""
    columns, count = shape.heights.size, sizes.size
    here_keys, here_sizes, there_keys, there_sizes = out_keys, out_sizes, other_keys, other_sizes
    if columns % 2 == 1:  # passes alternate between two places; the last one must end in the first
        here_keys, here_sizes, there_keys, there_sizes = other_keys, other_sizes, out_keys, out_sizes
    _copy(keys, sizes, count, here_keys, here_sizes)
    for c in range(columns):
        _lift(here_keys, here_sizes, count, shape.places[c], shape.ranks[c], shape.codes)
        _sort_by(here_keys, here_sizes, count, shape.places[c], there_keys, there_sizes)
        here_keys, here_sizes, there_keys, there_sizes = there_keys, there_sizes, here_keys, here_sizes


@njit(_ints(_keys, _ints, _shape, _I, _I, _tags, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def walk(keys: Any, sizes: Any, shape: Any, k: int, allowed: int, tags: Any, budget: int) -> Any:  # noqa: C901  # one loop, one state
    """Tag every node of the lattice as good (1) or bad (-1); return counters of the work done.

    Levels are fixed column after column. With some fixed, the rest at the bottom merges least and
    the rest at the top most: if the last is bad all between are bad, if the first is good all are
    good, and only otherwise the next column is looked into (monotonicity, methods/1). Tags spread
    to all nodes above a good and below a bad one. Stops when ``budget`` groups were handled.
    """
    heights, strides = shape.heights, shape.strides
    columns, count, words = heights.size, sizes.size, keys.shape[1]
    desk = Desk(np.zeros(2 << _table_bits(np.zeros_like(heights), shape, count), np.uint64), np.zeros(4, np.int64))
    room = min(64 * count, KEPT_GROUPS)
    kept = Kept(
        np.full(tags.size, -1, np.int64), np.zeros(tags.size, np.int64), np.empty((room, words), np.uint64), np.empty(room, np.int64)
    )
    # Groups with c columns fixed and the rest at the bottom: in pile c, sorted with the column fixed last changing fastest,
    # then the next ones, then from the first on; or still in the pile of fewer columns, while they are the same (`where`).
    # `at` is the level of the column fixed last that they stand at; it lags while they are not needed.
    pile_keys, pile_sizes = np.empty((columns + 2, count, words), np.uint64), np.empty((columns + 2, count), np.int64)
    spare = columns + 1
    _sort_all(keys, sizes, shape, pile_keys[0], pile_sizes[0], pile_keys[spare], pile_sizes[spare])
    where, found, at = np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64), np.zeros(columns + 1, np.int64)
    found[0] = count
    level, low, high = np.zeros(columns, np.int64), np.zeros(columns, np.int64), np.zeros(columns, np.int64)
    depth = 0
    while desk.tally[1] <= budget:
        bottom = _offset(level, strides, 0, depth)
        top = bottom + _offset(heights, strides, depth, columns)
        for c in range(columns):
            low[c] = level[c] if c < depth else 0
            high[c] = level[c] if c < depth else heights[c]
        here = where[depth]
        if tags[top] == 0:
            if depth > 0:
                low[depth - 1] = at[depth]
            groups = _count_top(
                pile_keys[here], pile_sizes[here], found[depth], low, high, top, shape, pile_keys[spare], pile_sizes[spare], desk, kept
            )
            spread(tags, shape, top, _is_good(pile_sizes[spare], groups, k, allowed))
        if tags[top] == 1 and tags[bottom] != 1:
            if depth > 0 and at[depth] != level[depth - 1]:
                last = depth - 1
                for c in range(here + 1, depth + 1):
                    if c == 1 or level[c - 2] == heights[c - 2]:  # one value, or none before: in order already
                        _copy(pile_keys[c - 1], pile_sizes[c - 1], found[c - 1], pile_keys[c], pile_sizes[c])
                    else:
                        _sort_by(pile_keys[c - 1], pile_sizes[c - 1], found[c - 1], shape.places[c - 2], pile_keys[c], pile_sizes[c])
                    where[c] = c
                desk.tally[1] += found[depth]
                found[depth] = _merge(
                    pile_keys[depth], pile_sizes[depth], found[depth], shape.places[last], shape.lifts[last, at[depth], level[last]], shape.codes
                )  # fmt: skip
                at[depth], here = level[last], depth
            if tags[bottom] == 0:
                spread(tags, shape, bottom, _is_good(pile_sizes[here], found[depth], k, allowed))
            if tags[bottom] == -1:
                level[depth] = 0
                where[depth + 1], found[depth + 1], at[depth + 1] = where[depth], found[depth], 0
                depth += 1
                continue
        # Nothing is open here. If the bottom is good, so is every higher level of the column fixed last.
        while depth > 0 and (tags[bottom] == 1 or level[depth - 1] == heights[depth - 1]):
            depth -= 1
            bottom = _offset(level, strides, 0, depth)
        if depth == 0:
            break
        level[depth - 1] += 1
    return desk.tally
