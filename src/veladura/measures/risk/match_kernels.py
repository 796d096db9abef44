"""Compiled kernels of match risk: the most likely rows of each target, in memory of rows only.

Arrays in, arrays out. They are in one file because Numba's cache does not notice a change in
another one.
Bit i of a row's mask tells whether the row matches the target in release i; rows with equal masks
are equally likely, so it is enough to know how many rows have each mask.
"""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.jit import compiled, inner

TIE = 1e-9


@inner("int64(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1], int64)")
def _flip(row: int, bit: int, mask: Ints, count: Ints, active: Ints, place: Ints, held: int) -> int:
    """Set or clear a bit of a row's mask; return how many different masks are held by some row."""
    old = mask[row]
    new = old ^ bit
    mask[row] = new
    if old > 0:
        count[old] -= 1
        if count[old] == 0:
            held -= 1
            last = active[held]
            active[place[old]] = last
            place[last] = place[old]
    if new > 0:
        if count[new] == 0:
            active[held] = new
            place[new] = held
            held += 1
        count[new] += 1
    return held


@inner("float64(int64, float64[::1])")
def _chance(mask: int, weight: Floats) -> float:
    """Return the probability of a row with this mask: the weights of the releases it matches."""
    total = 0.0
    for i in range(weight.size):
        if mask >> i & 1:
            total += weight[i]
    return total


@inner("float64(int64[::1], float64, float64[::1])")
def _weigh(matches: Ints, people: float, weight: Floats) -> float:
    """Fill in the weight of a match in each release; return the probability of no match."""
    inside = 0.0
    for i in range(matches.size):
        weight[i] = 0.0
        if matches[i] > 0:
            weight[i] = 1.0 / (matches.size * max(float(matches[i]), people))
            inside += matches[i] * weight[i]
    return 1.0 - inside


@compiled(
    "void(int64[::1], float64[::1], int64[:, ::1], int64[::1], int64[::1], float64[::1],"
    " float64[::1], float64[::1], boolean, int64, int64[::1], int64[::1])"
)
def slide(  # noqa: C901  # compiled code takes arrays one by one
    rows: Ints,
    values: Floats,
    starts: Ints,
    targets: Ints,
    cells: Ints,
    low: Floats,
    high: Floats,
    people: Floats,
    decline: bool,  # noqa: FBT001
    size: int,
    ties: Ints,
    hits: Ints,
) -> None:
    """Find the most likely rows of every target by windows that only move up.

    Within a cell the targets rise, so each released row enters and leaves the window of its release
    once: time in proportion to rows x releases, and memory too.

    Parameters
    ----------
    rows, values
        The released rows by release, cell and value: which original row each is, and its value.
    starts
        Where the rows of each cell begin, for each release; one more entry for the end.
    targets, cells, low, high
        The targets by cell and value, their cells, and the ends of the values that the intruder
        considers possible.
    people
        How many of the population match each target; 0 when the intruder knows that it is in the
        data.
    decline
        Whether no row is picked when it is most likely that the target is not in the data.
    ties, hits
        Filled in by target: how many rows share the largest probability, and whether the true one
        is among them.
    """
    releases = starts.shape[0]
    mask = np.zeros(size, dtype=np.int64)
    count = np.zeros(1 << releases, dtype=np.int64)
    active = np.zeros(1 << releases, dtype=np.int64)
    place = np.zeros(1 << releases, dtype=np.int64)
    chance = np.zeros(1 << releases, dtype=np.float64)
    weight = np.zeros(releases, dtype=np.float64)
    matches = np.zeros(releases, dtype=np.int64)
    first = np.zeros(releases, dtype=np.int64)
    last = np.zeros(releases, dtype=np.int64)
    held = 0
    cell = -1
    for k in range(targets.size):
        for i in range(releases):
            bit = 1 << i
            if cells[k] != cell:
                for place_ in range(first[i], last[i]):
                    held = _flip(rows[place_], bit, mask, count, active, place, held)
                first[i] = starts[i, cells[k]]
                last[i] = first[i]
            end = starts[i, cells[k] + 1]
            while last[i] < end and values[last[i]] <= high[k]:
                held = _flip(rows[last[i]], bit, mask, count, active, place, held)
                last[i] += 1
            while first[i] < last[i] and values[first[i]] < low[k]:
                held = _flip(rows[first[i]], bit, mask, count, active, place, held)
                first[i] += 1
            matches[i] = last[i] - first[i]
        cell = cells[k]
        absent = _weigh(matches, people[k], weight)
        best = 0.0
        for a in range(held):
            chance[active[a]] = _chance(active[a], weight)
            best = max(best, chance[active[a]])
        if best == 0.0 or (decline and absent > best + TIE):
            continue
        for a in range(held):
            if chance[active[a]] >= best - TIE:
                ties[k] += count[active[a]]
        own = mask[targets[k]]
        hits[k] = 1 if own > 0 and chance[own] >= best - TIE else 0


@inner("int64(float64[::1], int64, int64, float64, boolean)")
def _search(values: Floats, start: int, end: int, wanted: float, after: bool) -> int:  # noqa: FBT001
    """Return the first place with at least the wanted value; with ``after``, with a larger one."""
    while start < end:
        middle = (start + end) // 2
        if values[middle] < wanted or (after and values[middle] == wanted):
            start = middle + 1
        else:
            end = middle
    return start


@inner("boolean(float64[:, ::1], int64, float64[:, ::1], float64[:, ::1], int64)")
def _fits(values: Floats, place: int, low: Floats, high: Floats, k: int) -> bool:
    """Whether a row is possible for a target in all columns after the first."""
    for c in range(1, values.shape[0]):  # compiled
        if values[c, place] < low[c, k] or values[c, place] > high[c, k]:
            return False
    return True


@compiled(
    "void(int64[::1], float64[:, ::1], int64[:, ::1], int64[::1], int64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[::1], boolean, int64, int64[::1], int64[::1])"
)
def scan(  # noqa: C901  # compiled code takes arrays one by one
    rows: Ints,
    values: Floats,
    starts: Ints,
    targets: Ints,
    cells: Ints,
    low: Floats,
    high: Floats,
    people: Floats,
    decline: bool,  # noqa: FBT001
    size: int,
    ties: Ints,
    hits: Ints,
) -> None:
    """Find the most likely rows of every target, for several columns with a radius.

    Parameters are those of `slide`. The window of the first column is searched, the other columns
    are checked.
    """
    releases = starts.shape[0]
    mask = np.zeros(size, dtype=np.int64)
    touched = np.zeros(size, dtype=np.int64)
    weight = np.zeros(releases, dtype=np.float64)
    matches = np.zeros(releases, dtype=np.int64)
    for k in range(targets.size):
        held = 0
        for i in range(releases):
            start, end = starts[i, cells[k]], starts[i, cells[k] + 1]
            begin = _search(values[0], start, end, low[0, k], False)
            stop = _search(values[0], start, end, high[0, k], True)
            matches[i] = 0
            for place in range(begin, stop):
                if _fits(values, place, low, high, k):
                    matches[i] += 1
                    if mask[rows[place]] == 0:
                        touched[held] = rows[place]
                        held += 1
                    mask[rows[place]] |= 1 << i
        absent = _weigh(matches, people[k], weight)
        best = 0.0
        for a in range(held):
            best = max(best, _chance(mask[touched[a]], weight))
        if best > 0.0 and not (decline and absent > best + TIE):
            for a in range(held):
                if _chance(mask[touched[a]], weight) >= best - TIE:
                    ties[k] += 1
            own = mask[targets[k]]
            hits[k] = 1 if own > 0 and _chance(own, weight) >= best - TIE else 0
        for a in range(held):
            mask[touched[a]] = 0


@compiled("int64[::1](float64[:, ::1], int64[::1], int64[::1], float64[:, ::1], float64[:, ::1])")
def tally(values: Floats, starts: Ints, cells: Ints, low: Floats, high: Floats) -> Ints:
    """Return how many rows of one table, sorted by cell and first value, match each target."""
    matches = np.zeros(cells.size, dtype=np.int64)
    for k in range(cells.size):
        start, end = starts[cells[k]], starts[cells[k] + 1]
        begin = _search(values[0], start, end, low[0, k], False)
        stop = _search(values[0], start, end, high[0, k], True)
        for place in range(begin, stop):
            matches[k] += _fits(values, place, low, high, k)
    return matches
