"""Counting groups at a node of the lattice, and walking the lattice: the hot loops of the search.

Tuples are packed into 64-bit words, a few bits a column, so that going up a level is a shift,
a mask and a table look-up, and a group is found by hashing its words. Groups of a node are
rolled up from those of a node below it: they are fewer than the tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types

KEPT_GROUPS = 4_000_000  # groups of nodes near the top that are kept for their neighbours

_I, _U, _SHORT = types.int64, types.uint64, types.int32
_ints, _codes, _tags = types.Array(_I, 1, "C"), types.Array(_SHORT, 1, "C"), types.Array(types.int8, 1, "C")
_grid, _cube = types.Array(_I, 2, "C"), types.Array(_I, 3, "C")
_keys, _key_stack, _size_stack = types.Array(_U, 2, "C"), types.Array(_U, 3, "C"), types.Array(_I, 2, "C")
_words = types.Array(_U, 1, "A")


class Shape(NamedTuple):
    """The lattice: heights and strides of its columns, and the maps between their levels.

    ``places[c]`` is the word, shift and mask of column c in a key; ``lifts[c, a, b]`` is where in
    ``codes`` the map of its level-a codes to level b starts.
    """

    heights: Any
    strides: Any
    places: Any
    lifts: Any
    codes: Any


class Desk(NamedTuple):
    """Room to work in: a hash table that needs no clearing, and counters.

    An entry of ``slots`` counts only if it bears the stamp of the present call. ``tally`` holds the
    stamp, the groups handled, the nodes counted, and the kept groups.
    """

    slots: Any
    stamps: Any
    tally: Any


class Kept(NamedTuple):
    """Groups of nodes near the top: where each node's start, how many, and the groups."""

    start: Any
    count: Any
    keys: Any
    sizes: Any


_shape = types.NamedTuple([_ints, _ints, _grid, _cube, _codes], Shape)
_desk = types.NamedTuple([_codes, _codes, _ints], Desk)
_kept = types.NamedTuple([_ints, _ints, _keys, _ints], Kept)


@njit(_I(_words, _ints, _desk, _U, _U, _I, _I), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _insert(keys: Any, sizes: Any, desk: Any, word: Any, drop: Any, size: int, found: int) -> int:
    """Add rows to the group of a one-word key, or open it; return the number of groups."""
    slot = np.int64((word * np.uint64(0x9E3779B97F4A7C15)) >> drop)
    last = np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> drop)
    stamp = np.int32(desk.tally[0])
    while desk.stamps[slot] == stamp:
        other = desk.slots[slot]
        if keys[other] == word:
            sizes[other] += size
            return found
        slot = (slot + 1) & last
    desk.stamps[slot] = stamp
    desk.slots[slot] = found
    keys[found] = word
    sizes[found] = size
    return found + 1


@njit(_I(_keys, _ints, _I, _grid, _codes, _keys, _ints, _desk, _U), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def _roll_long(keys: Any, sizes: Any, groups: int, moves: Any, codes: Any, out_keys: Any, out_sizes: Any, desk: Any, drop: Any) -> int:
    """Roll up keys of several words."""
    words = keys.shape[1]
    last = np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> drop)
    stamp = np.int32(desk.tally[0])
    word = np.zeros(words, np.uint64)
    found = 0
    for g in range(groups):
        mixed = np.uint64(0)
        for w in range(words):
            word[w] = keys[g, w]
        for i in range(moves.shape[0]):
            w, shift, mask = moves[i, 0], np.uint64(moves[i, 1]), np.uint64(moves[i, 2])
            code = (word[w] >> shift) & mask
            word[w] ^= (code ^ np.uint64(codes[moves[i, 3] + np.int64(code)])) << shift
        for w in range(words):
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ word[w]) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64(mixed >> drop)
        other = -1
        while other < 0 and desk.stamps[slot] == stamp:
            other = int(desk.slots[slot])
            for w in range(words):
                if out_keys[other, w] != word[w]:
                    other = -1
                    slot = (slot + 1) & last
                    break
        if other >= 0:
            out_sizes[other] += sizes[g]
            continue
        desk.stamps[slot] = stamp
        desk.slots[slot] = found
        for w in range(words):
            out_keys[found, w] = word[w]
        out_sizes[found] = sizes[g]
        found += 1
    return found


@njit(_I(_keys, _ints, _I, _ints, _ints, _shape, _keys, _ints, _desk), cache=True, nogil=True)  # type: ignore[untyped-decorator]
def roll_up(keys: Any, sizes: Any, groups: int, low: Any, high: Any, shape: Any, out_keys: Any, out_sizes: Any, desk: Any) -> int:
    """Merge groups of the node ``low`` into those of the node ``high`` above it; return their number."""
    moves = np.empty((low.size, 4), np.int64)
    changed = 0
    for c in range(low.size):
        if low[c] != high[c]:
            for i in range(3):
                moves[changed, i] = shape.places[c, i]
            moves[changed, 3] = shape.lifts[c, low[c], high[c]]
            changed += 1
    bits = 4
    while (1 << bits) < 2 * groups:
        bits += 1
    drop = np.uint64(64 - bits)
    desk.tally[0] += 1
    desk.tally[1] += groups
    if keys.shape[1] > 1:
        return _roll_long(keys, sizes, groups, moves[:changed], shape.codes, out_keys, out_sizes, desk, drop)  # type: ignore[no-any-return]
    words, out, codes = keys[:, 0], out_keys[:, 0], shape.codes
    found = 0
    if changed == 1:  # the common case, with everything in registers
        shift, mask, start = np.uint64(moves[0, 1]), np.uint64(moves[0, 2]), moves[0, 3]
        for g in range(groups):
            word = words[g]
            code = (word >> shift) & mask
            word ^= (code ^ np.uint64(codes[start + np.int64(code)])) << shift
            found = _insert(out, out_sizes, desk, word, drop, sizes[g], found)
        return found
    for g in range(groups):
        word = words[g]
        for i in range(changed):
            shift = np.uint64(moves[i, 1])
            code = (word >> shift) & np.uint64(moves[i, 2])
            word ^= (code ^ np.uint64(codes[moves[i, 3] + np.int64(code)])) << shift
        found = _insert(out, out_sizes, desk, word, drop, sizes[g], found)
    return found


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
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    desk = Desk(np.empty(1 << bits, np.int32), np.zeros(1 << bits, np.int32), np.zeros(4, np.int64))
    room = min(64 * count, KEPT_GROUPS)
    kept = Kept(
        np.full(tags.size, -1, np.int64), np.zeros(tags.size, np.int64), np.empty((room, words), np.uint64), np.empty(room, np.int64)
    )
    # Groups with c columns fixed and the rest at the bottom: in one of two buffers of their own, or in that of the
    # columns before. `at` is the level of the column fixed last that they stand at; it lags while they are not needed.
    pile_keys, pile_sizes = np.empty((2 * columns + 2, count, words), np.uint64), np.empty((2 * columns + 2, count), np.int64)
    _copy(keys, sizes, count, pile_keys[0], pile_sizes[0])
    spare = 2 * columns + 1
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
                there = 2 * depth if here != 2 * depth else 2 * depth - 1
                low[depth - 1] = at[depth]
                for c in range(columns):
                    high[c] = level[c] if c < depth else 0
                found[depth] = roll_up(
                    pile_keys[here], pile_sizes[here], found[depth], low, high, shape, pile_keys[there], pile_sizes[there], desk
                )
                where[depth], at[depth], here = there, level[depth - 1], there
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
