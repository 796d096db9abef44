"""The search for minimal sample uniques: which columns tell a person from all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.numeric.coding import common_codes, dense
from veladura.table.units import people_per_cell, person_numbers

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_SETS = 20_000
MOST_VISITS = 1_000_000_000  # rows times sets that are searched unless a size is asked for
USUAL = 3  # the size that is searched even then


@dataclass(frozen=True, eq=False)
class MinimalUniques:
    """The minimal sample uniques of a table, up to a number of columns.

    Attributes
    ----------
    sets
        How many minimal sets of 1, 2, ... columns each row has; a row a size.
    people
        How many people have a minimal set of 1, 2, ... columns, set by set.
    columns
        The same of the sets with each column; a row a size.
    shares
        What each column adds to the score of each row, where a worth of sets was given: a minimal
        set adds its worth to each of its columns.
    persons
        The person of each row, numbered from 0.
    sharing
        How many people share each of the distinct tuples of all columns.
    """

    sets: NDArray[np.int32] = field(repr=False)
    people: Ints
    columns: Ints = field(repr=False)
    shares: Floats = field(repr=False)
    persons: Ints = field(repr=False)
    sharing: Ints = field(repr=False)


def minimal_uniques(
    table: Table, names: Sequence[str], largest: int, worth: Sequence[float] = ()
) -> MinimalUniques:
    """Return the minimal sample uniques of a table with at most so many columns."""
    from veladura.measures.risk.suda2_kernels import MANY, Found, search

    check_sets(len(names), largest)
    coded = [common_codes([table.column(name)]) for name in names]
    # The column that tells most people apart comes last: what it has split needs least work.
    order = sorted(range(len(names)), key=lambda i: coded[i][1])
    coded = [coded[i] for i in order]
    cells, number = _cells(coded)
    first = np.empty(number, dtype=np.int64)
    first[cells[::-1]] = np.arange(table.rows)[::-1]
    persons = person_numbers(table)
    holder = persons[first]
    if table.person is None:
        sharing = np.bincount(cells, minlength=number).astype(np.int64)
    else:
        sharing = people_per_cell(cells, persons, number)
    holder[sharing > 1] = MANY
    found = Found(
        np.zeros((largest + 1, number), dtype=np.int32),
        np.zeros((largest + 1, len(names) + 1), dtype=np.int64),
        np.zeros((number if len(worth) else 0, len(names))),
        np.zeros(int(persons.max()) + 1, dtype=np.int32),
    )
    codes = np.array([code[first] for code, _ in coded], dtype=np.int32)
    levels = max(levels for _, levels in coded)
    each = np.array([0.0, *worth] if len(worth) else np.zeros(largest + 1))
    search(codes, holder.astype(np.int32), _starts(len(names), largest), levels, each, found)
    place = np.argsort(order)
    return MinimalUniques(
        found.sets[1:, cells],
        found.people[1:, -1],
        found.people[1:, place],
        found.shares[:, place][cells] if len(worth) else found.shares,
        persons,
        sharing,
    )


def check_sets(columns: int, largest: int) -> None:
    """Refuse to search more sets of columns than can be searched."""
    if (number := number_of_sets(columns, largest)) > MOST_SETS:
        msg = (
            f"{number} sets of columns are too many to search (at most {MOST_SETS}).\n\nHint: name"
            " fewer columns in known, or a smaller max_size."
        )
        raise PlanError(msg)


def number_of_sets(columns: int, largest: int) -> int:
    """Return how many sets of at most so many of the columns there are."""
    return sum(comb(columns, size) for size in range(1, largest + 1))


def affordable_size(rows: int, columns: int, *, least: int = USUAL, most: int = MOST_VISITS) -> int:
    """Return the most columns of a set for which all sets are searched without being asked.

    Parameters
    ----------
    least
        The size that is searched in any case.
    most
        Rows times sets that may be visited.

    Examples
    --------
    >>> affordable_size(91_600, 7), affordable_size(10_000_000, 12)
    (7, 3)
    """
    largest = columns
    while largest > least and (
        number_of_sets(columns, largest) > MOST_SETS
        or number_of_sets(columns, largest) * rows > most
    ):
        largest -= 1
    return largest


def _cells(coded: Sequence[tuple[Ints, int]]) -> tuple[Ints, int]:
    """Return the number of the tuple of each row, in the order of the last column first."""
    cells, number = coded[-1]
    for codes, levels in coded[-2::-1]:
        cells, number = dense(cells * levels + codes, number * levels)
    return dense(cells, number)


def _starts(columns: int, largest: int) -> NDArray[np.int64]:
    """Return where sets of columns stand among all sets; see `suda2_kernels.search`."""
    starts = np.zeros((largest + 1, columns + 1), dtype=np.int64)
    for size in range(1, largest + 1):
        starts[size] = [*(comb(c, size) for c in range(columns)), number_of_sets(columns, size - 1)]
    return starts
