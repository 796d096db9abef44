"""Numbering groups of packed tuples: the hot loop of the privacy models."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from veladura.base.jit import compiled

_keys = types.Array(types.uint64, 2, "C")
_words = types.Array(types.uint64, 1, "C")
_ints = types.Array(types.int64, 1, "C")


@compiled(types.int64(_keys, _words, _ints, _ints))
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
    found = 0
    for t in range(count):
        mixed = np.uint64(0)
        for w in range(words):
            mixed = (mixed ^ (mixed >> np.uint64(32)) ^ (keys[t, w] & mask[w])) * np.uint64(
                0x9E3779B97F4A7C15
            )
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
            group = found
            slots[slot] = found
            first[group] = t
            found += 1
        ids[t] = group
    return found
