"""Compiled: the search for minimal sample uniques, one set of columns after the other.

Sets are visited column by column, each lower than the one before it, so that all parts of a set
come before the set. Tuples that agree in the columns of a set lie together, a group each; a further
column splits every group, and only what can still matter is kept: a tuple that a smaller set tells
from all others has no larger minimal set, and keeps nobody else from being unique; a group of which
every tuple is held by several people has nobody to be found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from veladura.base.jit import compiled, inner

_I, _U = types.int64, types.uint64
_ints, _floats = types.Array(_I, 1, "C"), types.Array(types.float64, 1, "C")
_rows, _bits = types.Array(types.int32, 1, "C"), types.Array(_U, 1, "C")
_grid, _piles = types.Array(_I, 2, "C"), types.Array(types.int32, 2, "C")
_sets, _shares = types.Array(_U, 2, "C"), types.Array(types.float64, 2, "C")
MANY, MIXED = -1, -2  # holders of tuples that several people hold, and of tuples of several holders


class Cells(NamedTuple):
    """Room to split a group: the cells of the codes that occur in it.

    ``group`` is the last group in which a code occurred and ``cell`` its cell there; ``holder`` is
    who holds the tuples of a cell, and ``place`` first their number, then where the next one goes.
    """

    group: Any
    cell: Any
    holder: Any
    place: Any


_cells = types.NamedUniTuple(_ints, 4, Cells)


class Found(NamedTuple):
    """What is counted; see `search`. ``seen`` has room for a number of each person."""

    sets: Any
    people: Any
    shares: Any
    seen: Any


FOUND = types.NamedTuple([_piles, _grid, _shares, _rows], Found)


@inner(_I(_ints, _I, _I, _grid))
def _place(chosen: Any, size: int, left_out: int, starts: Any) -> Any:
    """Return where a set of columns, one of them left out, stands among all sets."""
    place, taken = 0, 0
    for j in range(size - 1, -1, -1):
        if j != left_out:
            taken += 1
            place += starts[taken, chosen[j]]
    place += starts[taken, starts.shape[1] - 1]
    return place


@inner(types.void(_ints, _I, _grid, _sets, _bits))
def _unique_in_parts(chosen: Any, size: int, starts: Any, unique: Any, below: Any) -> None:
    """Set the bits of tuples that are unique in a set with one column less."""
    for i in range(below.size):
        below[i] = np.uint64(0)
    for left_out in range(size if size > 1 else 0):
        part = unique[_place(chosen, size, left_out, starts)]
        for i in range(below.size):
            below[i] |= part[i]


@inner(types.boolean(_bits, _I))
def _has(bits: Any, row: int) -> Any:
    """Whether the bit of a tuple is set."""
    return (bits[row >> 6] >> np.uint64(row & 63)) & np.uint64(1) != 0


@inner(_I(_rows, _I, _I, _rows, _rows, _bits, _I, _cells))
def _split(
    rows: Any, first: int, end: int, codes: Any, holder: Any, below: Any, group: int, cells: Any
) -> int:
    """Count the tuples of a group by their codes, and tell who holds those of a code."""
    count = 0
    for i in range(first, end):
        row = rows[i]
        if _has(below, row):
            continue
        code = codes[row]
        if cells.group[code] != group:
            cells.group[code], cells.cell[code] = group, count
            cells.holder[count], cells.place[count] = holder[row], 1
            count += 1
        else:
            cell = cells.cell[code]
            cells.place[cell] += 1
            if cells.holder[cell] != holder[row]:
                cells.holder[cell] = MIXED
    return count


@inner(_I(_I, _I, _I, _rows, _rows))
def _note(row: int, person: int, visit: int, seen: Any, found: Any) -> int:
    """Note a minimal sample unique; return 1 if it is the person's first one in this set."""
    found[row] += 1
    if seen[person] == visit:
        return 0
    seen[person] = visit
    return 1


@inner(types.void(_I, _ints, _I, _ints))
def _add_people(people: int, chosen: Any, size: int, found: Any) -> None:
    """Add the people with a minimal set to those of its columns, and of all sets of its size."""
    found[found.size - 1] += people
    for j in range(size):
        found[chosen[j]] += people


@compiled(types.void(_piles, _rows, _grid, _I, _floats, FOUND))
def search(  # noqa: C901, PLR0912  # one loop, one state
    codes: Any, holder: Any, starts: Any, levels: int, worth: Any, found: Any
) -> None:
    """Count the minimal sample uniques of each tuple.

    Parameters
    ----------
    codes
        The code of each tuple in each column, below ``levels``; a row a column.
    holder
        The one person who holds each tuple, or `MANY`.
    starts
        Row i has the binomial coefficients c over i, and last the number of sets of fewer than i
        columns: a set stands at the sum of those of its columns (combinatorial number system). As
        many rows as the largest sets have columns, and one.
    worth
        What a set of each size adds to the shares of its columns.
    found
        Filled. ``sets``: how many minimal sets each tuple has; a row a size. ``people``: for each
        size the people with minimal sets that have a column, set by set, and last with any.
        ``shares``: what each column adds for each tuple; none are counted where it has no rows.
    """
    (columns, count), largest = codes.shape, starts.shape[0] - 1
    unique = np.zeros((starts[largest, columns], (count + 63) >> 6), np.uint64)
    below = np.zeros((count + 63) >> 6, np.uint64)
    piles = np.empty((largest + 1, count), np.int32)
    begins = np.zeros((largest + 1, count + 1), np.int64)  # of the groups of each pile
    groups = np.zeros(largest + 1, np.int64)
    for row in range(count):
        piles[0, row] = row
    begins[0, 1], groups[0] = count, 1
    cells = Cells(
        np.full(levels, -1, np.int64),
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
        np.empty(levels, np.int64),
    )
    chosen, following = np.zeros(largest, np.int64), np.zeros(largest + 1, np.int64)
    depth = visit = split = 0
    while depth >= 0:
        if depth == largest or following[depth] == (columns if depth == 0 else chosen[depth - 1]):
            depth -= 1
            continue
        c, size = following[depth], depth + 1
        chosen[depth], following[depth], following[size] = c, c + 1, 0
        visit += 1
        _unique_in_parts(chosen, size, starts, unique, below)
        column, rows = codes[c], piles[depth]
        goes_on, filled, new, people = size < largest and c > 0, 0, 0, 0
        for g in range(groups[depth]):
            first, end = begins[depth, g], begins[depth, g + 1]
            split += 1
            matters = goes_on
            for cell in range(_split(rows, first, end, column, holder, below, split, cells)):
                number, cells.place[cell] = cells.place[cell], filled
                matters |= cells.holder[cell] >= 0
                if goes_on and cells.holder[cell] == MIXED:
                    begins[size, new] = filled
                    filled, new = filled + number, new + 1
            for i in range(first, end if matters else first):
                row = rows[i]
                if _has(below, row):
                    continue
                cell = cells.cell[column[row]]
                person = cells.holder[cell]
                if person == MIXED and goes_on:
                    piles[size, cells.place[cell]] = row
                    cells.place[cell] += 1
                elif person >= 0:
                    below[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
                    people += _note(row, person, visit, found.seen, found.sets[size])
                    if found.shares.shape[0] > 0:
                        for j in range(size):
                            found.shares[row, chosen[j]] += worth[size]
        begins[size, new], groups[size] = filled, new
        _add_people(people, chosen, size, found.people[size])
        if size < largest:
            own = unique[_place(chosen, size, -1, starts)]
            for i in range(below.size):
                own[i] = below[i]
        depth = size
