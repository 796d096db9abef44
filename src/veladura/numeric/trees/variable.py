"""One variable as it is synthesised: the state of each row, and the numbers.

A state is a category, or for a column of numbers: a number, a spike (a value that many rows share),
or missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError
from veladura.numeric.trees.leaf import Smoothing
from veladura.numeric.trees.numbers import AllowedNumbers, NumberGrid
from veladura.table.codes import Column

SPIKE_SHARE, SPIKE_ROWS = 0.05, 10
FEW_VALUES = 20  # with no more values a column is drawn from its donors: a kernel would blur it
MAX_LEVELS = 20_000
SURELY_MANY, NEARLY_ALL = 50, 0.9  # rows, and share of different categories, of an identifier


@dataclass(frozen=True, eq=False, repr=False)
class Variable:
    """One variable as it is synthesised. Holds original values: its repr shows none.

    Attributes
    ----------
    state
        For each row: its category, or 0 for a number, then the spikes, then missing.
    states
        Number of states.
    places
        The numbers of a column that has them, as places on its grid; None for categories.
    smoothing
        How numbers are moved from those of their donors.
    guarded
        Whether numbers that occur once in the original may not be released.
    """

    column: Column
    state: Ints
    states: int
    grid: NumberGrid | None = None
    places: Floats | None = None
    spikes: Floats | None = None
    smoothing: Smoothing = "local"
    guarded: bool = True
    limits: tuple[float, float] = (-np.inf, np.inf)

    def __repr__(self) -> str:
        return f"Variable({self.column.name!r})"

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @cached_property
    def allowed(self) -> AllowedNumbers:
        """The numbers that may be released."""
        assert self.places is not None  # noqa: S101  # asked of columns of numbers only
        assert self.grid is not None  # noqa: S101
        numbers = self.places[~self.column.missing]
        return AllowedNumbers.of(numbers, self.grid, self.limits, guarded=self.guarded)

    def assemble(self, state: Ints, places: Floats | None) -> Column:
        """Return the column made of drawn states and numbers."""
        missing = (
            state == self.states - 1
            if self.column.missing.any()
            else np.zeros(state.size, dtype=bool)
        )
        if self.places is None or places is None or self.grid is None:
            return self.column.with_values(np.where(missing, 0, state), missing)
        if self.spikes is not None and self.spikes.size:
            spike = (state > 0) & ~missing
            places = np.where(spike, self.spikes[np.where(spike, state - 1, 0)], places)
        values = self.grid.values(np.where(missing, 0.0, places))
        return self.column.with_values(
            np.where(missing, 0, values).astype(self.column.values.dtype), missing
        )


def variable_of(
    column: Column,
    *,
    spikes: Sequence[float] | None = None,
    smoothing: Smoothing = "local",
    guarded: bool = True,
    limits: tuple[float | None, float | None] = (None, None),
) -> Variable:
    """Return how a column is synthesised.

    Parameters
    ----------
    spikes
        Values that many rows share and that stay as they are; detected by default.
    """
    if column.labels is not None and column.field.kind != "ordered":
        levels = len(column.labels)
        return Variable(
            column,
            np.where(column.missing, levels, column.values),
            levels + int(column.missing.any()),
        )
    column.numbers()  # refuses infinite values
    grid = NumberGrid.of(column)
    places = np.where(column.missing, 0.0, grid.places(column.values))
    distinct, count = np.unique(places[~column.missing], return_counts=True)
    few = distinct.size <= FEW_VALUES or column.labels is not None
    marked = _spikes(grid, column, distinct, count, spikes, few=few)
    state = np.zeros(places.size, dtype=np.int64)
    for i, spike in enumerate(marked, start=1):
        state[places == spike] = i
    state[column.missing] = marked.size + 1
    ends = tuple(
        _place(grid, end, np.inf * side) for end, side in zip(limits, (-1, 1), strict=True)
    )
    return Variable(
        column,
        state,
        1 + marked.size + int(column.missing.any()),
        grid,
        places,
        marked,
        "none" if few else smoothing,
        guarded and column.labels is None,
        (ends[0], ends[1]),
    )


def _place(grid: NumberGrid, end: float | None, none: float) -> float:
    return none if end is None else (end - grid.base) / grid.unit


def _spikes(
    grid: NumberGrid,
    column: Column,
    distinct: Floats,
    count: Ints,
    given: Sequence[float] | None,
    *,
    few: bool,
) -> Floats:
    """Return the spikes: those given that occur, else values that many rows share among many."""
    if given is not None:
        places = grid.places(np.asarray(given, dtype=column.values.dtype))
        return places[np.isin(places, distinct)]
    if few:
        return np.empty(0)
    spikes: Floats = distinct[(count >= SPIKE_ROWS) & (count >= SPIKE_SHARE * count.sum())]
    return spikes


def check_rows(rows: int, min_leaf: int) -> None:
    """Refuse a table with fewer rows than a leaf."""
    if rows < min_leaf:
        msg = (
            f"the table has {rows} rows, fewer than a leaf needs (min_leaf = {min_leaf}).\n\nHint:"
            " give a table with more rows."
        )
        raise DataError(msg)


def check_levels(column: Column) -> None:
    """Refuse a column whose categories are too many, or nearly all differ: an identifier."""
    if column.labels is None:
        return
    present, distinct = int(np.count_nonzero(~column.missing)), len(column.labels)
    if distinct > MAX_LEVELS:
        why = f"{distinct} categories, more than {MAX_LEVELS}"
    elif present >= SURELY_MANY and distinct > NEARLY_ALL * present:
        why = f"{distinct} categories in {present} rows"
    else:
        return
    msg = (
        f"column {column.name!r} has {why}: it looks like an identifier or free text, and synthetic"
        " values would be copies.\n\nHint: declare role 'identifier' to drop it, or recode it"
        " first."
    )
    raise DataError(msg)
