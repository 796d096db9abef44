"""Compiled: merging the equivalence classes of one node into those of another, by hashing.

Tuples are packed into 64-bit words, a few bits a column, so that going up a level is a shift,
a mask and a table look-up, and a group is found by hashing its words. Groups of a node are
rolled up from those of a node below it: they are fewer than the tuples.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from veladura.base.jit import compiled, inner

_I, _U, _SHORT = types.int64, types.uint64, types.int32
_ints, _codes = types.Array(_I, 1, "C"), types.Array(_SHORT, 1, "C")
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
    """Room to work in: a hash table that needs no clearing.

    An entry of ``table`` is two words side by side: the key (or its hash, if that is longer), then
    the number of its group below the stamp of the call that made it; other stamps do not count.
    ``stamp`` holds the last one.
    """

    table: Any
    stamp: Any


SHAPE = types.NamedTuple([_ints, _ints, _grid, _cube, _ints, _codes], Shape)
_desk = types.NamedTuple([_table, _ints], Desk)
_LOW = 0xFFFFFFFF  # the half of a word that numbers a group
_MIX = 0x9E3779B97F4A7C15


@inner(_I(_words, _ints, _table, _U, _U, _U, _I, _I))
def _insert(
    keys: Any, sizes: Any, table: Any, stamp: Any, word: Any, drop: Any, size: int, groups: int
) -> int:
    """Add rows to the group of a one-word key, or open it; return the number of groups."""
    one = np.uint64(1)  # unsigned throughout: an index that cannot be negative needs no check
    slot = ((word * np.uint64(_MIX)) >> drop) << one
    last = ((np.uint64(0xFFFFFFFFFFFFFFFF) >> drop) << one) | one
    while table[slot | one] >> np.uint64(32) == stamp:
        if table[slot] == word:
            sizes[table[slot | one] & np.uint64(_LOW)] += size
            return groups
        slot = (slot + np.uint64(2)) & last
    table[slot] = word
    table[slot | one] = (stamp << np.uint64(32)) | np.uint64(groups)
    keys[groups] = word
    sizes[groups] = size
    return groups + 1


@inner(_I(_keys, _ints, _I, _table, _grid, _codes, _keys, _ints, _table, _U, _U))
def _roll_long(  # noqa: C901  # loops over words
    keys: Any,
    sizes: Any,
    groups: int,
    clear: Any,
    moves: Any,
    codes: Any,
    out_keys: Any,
    out_sizes: Any,
    table: Any,
    stamp: Any,
    drop: Any,
) -> int:
    """Roll up keys of several words."""
    words = keys.shape[1]
    last = (np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> drop) << 1) | 1
    word = np.zeros(words, np.uint64)
    merged = 0
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
            other = np.int64(table[slot + 1] & np.uint64(_LOW)) if table[slot] == mixed else -1  # type: ignore[assignment]
            for w in range(words):
                if other >= 0 and out_keys[other, w] != word[w]:
                    other = -1
            if other < 0:
                slot = (slot + 2) & last
        if other >= 0:
            out_sizes[other] += sizes[g]
            continue
        table[slot] = mixed
        table[slot + 1] = (stamp << np.uint64(32)) | np.uint64(merged)
        for w in range(words):
            out_keys[merged, w] = word[w]
        out_sizes[merged] = sizes[g]
        merged += 1
    return merged


@inner(_I(_ints, SHAPE, _I))
def _table_bits(levels: Any, shape: Any, groups: int) -> int:
    """Return the bits of a hash table for as many groups as a node can have.

    A small table stays in the processor's cache.
    """
    most = 1
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


@compiled(_I(_keys, _ints, _I, _ints, _ints, SHAPE, _keys, _ints, _desk))
def roll_up(
    keys: Any,
    sizes: Any,
    groups: int,
    low: Any,
    high: Any,
    shape: Any,
    out_keys: Any,
    out_sizes: Any,
    desk: Any,
) -> int:
    """Merge the groups of node ``low`` into those of ``high`` above it; return their number."""
    moves, clear = np.empty((low.size, 4), np.int64), np.zeros(keys.shape[1], np.uint64)
    changed = 0
    for c in range(low.size):
        if low[c] != high[c] and high[c] == shape.heights[c]:  # the top is one value, of code 0
            clear[shape.places[c, 0]] |= np.uint64(shape.places[c, 2]) << np.uint64(
                shape.places[c, 1]
            )
        elif low[c] != high[c]:
            for i in range(3):
                moves[changed, i] = shape.places[c, i]
            moves[changed, 3] = shape.lifts[c, low[c], high[c]]
            changed += 1
    drop = np.uint64(64 - _table_bits(high, shape, groups))
    desk.stamp[0] += 1
    stamp, table = np.uint64(desk.stamp[0]), desk.table
    if keys.shape[1] > 1:
        return _roll_long(
            keys,
            sizes,
            groups,
            clear,
            moves[:changed],
            shape.codes,
            out_keys,
            out_sizes,
            table,
            stamp,
            drop,
        )
    words, out, codes, stay = keys[:, 0], out_keys[:, 0], shape.codes, ~clear[0]
    merged = 0
    for g in range(groups):
        word = words[g] & stay
        for i in range(changed):
            shift = np.uint64(moves[i, 1])
            code = (word >> shift) & np.uint64(moves[i, 2])
            word ^= (code ^ np.uint64(codes[np.uint64(moves[i, 3]) + code])) << shift
        merged = _insert(out, out_sizes, table, stamp, word, drop, sizes[g], merged)
    return merged


@compiled(_I(_keys, _table, _ints, _ints))
def number_groups(keys: Any, mask: Any, ids: Any, first: Any) -> int:
    """Number the groups of tuples that agree in the masked bits; return how many there are.

    ``ids`` takes the number of each tuple's group, ``first`` the first tuple of each group.
    """
    count, words = keys.shape
    bits = 4
    while (1 << bits) < 2 * count:
        bits += 1
    drop = np.uint64(64 - bits)
    last = np.int64((1 << bits) - 1)
    slots = np.full(1 << bits, -1, np.int64)
    groups = 0
    for t in range(count):
        mixed = np.uint64(0)
        for w in range(words):
            word = keys[t, w] & mask[w]
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ word) * np.uint64(_MIX)
        slot = np.int64(mixed >> drop)
        group = -1
        while slots[slot] >= 0:
            other = first[slots[slot]]
            same = True
            for w in range(words):
                if (keys[other, w] ^ keys[t, w]) & mask[w]:
                    same = False
                    break
            if same:
                group = slots[slot]
                break
            slot = (slot + 1) & last
        if group < 0:
            group = groups
            slots[slot] = groups
            first[group] = t
            groups += 1
        ids[t] = group
    return groups
