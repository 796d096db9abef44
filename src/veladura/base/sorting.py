"""Sorting of many numbers by their digits: in linear time, stable, two to four times as fast."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base import jit
from veladura.base.arrays import Ints

compiled = partial(jit.compiled, wraparound=False)  # no index is below zero

MANY = 20_000  # with fewer, comparing is as fast
BITS, DIGITS = 11, 6
TOP = np.uint64(1 << 63)

Keys = NDArray[np.uint64]
Places = NDArray[np.uint32]


def argsort(values: NDArray[Any]) -> Ints:
    """Return the places of numbers in ascending order; of many equal ones the first comes first.

    Examples
    --------
    >>> argsort(np.array([0.5, -1.0, 0.25])).tolist()
    [1, 2, 0]
    """
    if values.size < MANY or values.dtype.kind not in "if":
        return np.argsort(values, kind="stable")
    return _in_order(values)[1].astype(np.int64)


def ranked(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct numbers in order, and the place of each number among them.

    Examples
    --------
    >>> [part.tolist() for part in ranked(np.array([2.5, 1.0, 2.5]))]
    [[1.0, 2.5], [1, 0, 1]]
    """
    if values.size < MANY or values.dtype.kind not in "if":
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct, inverse.reshape(-1)
    keys, order = _in_order(values)
    place = np.empty(values.size, dtype=np.int64)
    first = np.empty(values.size, dtype=np.uint32)
    size = number_places(keys, order, place, first)
    return values[first[:size]], place


def counted(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the distinct numbers in order, and how often each occurs.

    Examples
    --------
    >>> [part.tolist() for part in counted(np.array([2.5, 1.0, 2.5]))]
    [[1.0, 2.5], [1, 2]]
    """
    if values.size < MANY or values.dtype.kind not in "if":
        present, count = np.unique(values, return_counts=True)
        return present, count
    keys, order = _in_order(values)
    first = np.append(0, np.flatnonzero(keys[1:] != keys[:-1]) + 1)
    return values[order[first]], np.diff(first, append=keys.size)


def _in_order(values: NDArray[Any]) -> tuple[Keys, Places]:
    """Return whole numbers that are ordered as some numbers are, sorted, and their places."""
    if values.dtype.kind == "f":
        bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # a negative zero is zero
        keys = np.where(bits >= TOP, ~bits, bits | TOP)
    else:
        keys = values.astype(np.int64).view(np.uint64) ^ TOP
    spare = np.empty_like(keys)
    order, spare_order = (np.empty(keys.size, dtype=np.uint32) for _ in range(2))
    if sort_by_digits(keys, order, spare, spare_order):
        return spare, spare_order
    return keys, order


@compiled("boolean(uint64[::1], uint32[::1], uint64[::1], uint32[::1])")
def sort_by_digits(keys: Keys, order: Places, spare: Keys, spare_order: Places) -> bool:
    """Sort keys, and write their places; whether the result is in the spare memory.

    From the last digit of 11 bits to the first (Knuth 1998, algorithm 5.2.5R); digits that all
    keys share are passed over.
    """
    radix, size = 1 << BITS, keys.size
    mask = np.uint64(radix - 1)
    count = np.zeros((DIGITS, radix), dtype=np.int64)
    for i in range(size):
        order[i] = i
        for d in range(DIGITS):
            count[d, (keys[i] >> np.uint64(BITS * d)) & mask] += 1
    aside = False
    for d in range(DIGITS):
        shift = np.uint64(BITS * d)
        if count[d, (keys[0] >> shift) & mask] == size:
            continue
        begin = 0
        for digit in range(radix):
            begin, count[d, digit] = begin + count[d, digit], begin
        source, target = (spare, keys) if aside else (keys, spare)
        source_order, target_order = (spare_order, order) if aside else (order, spare_order)
        for i in range(size):
            digit = (source[i] >> shift) & mask
            at = count[d, digit]
            count[d, digit] = at + 1
            target[at] = source[i]
            target_order[at] = source_order[i]
        aside = not aside
    return aside


@compiled("int64(uint64[::1], uint32[::1], int64[::1], uint32[::1])")
def number_places(keys: Keys, order: Places, place: Ints, first: Places) -> int:
    """Write which of the distinct keys each number is, and who holds each first; return them."""
    size = 0
    for i in range(keys.size):
        if i == 0 or keys[i] != keys[i - 1]:
            first[size] = order[i]
            size += 1
        place[order[i]] = size - 1
    return size
