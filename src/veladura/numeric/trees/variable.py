"""What is drawn of one column: a state (its category, missing, a spike, or a number) and the numbers themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.numeric.trees.leaf import Singles, Smoothing, nearest_free
from veladura.table.codes import Column

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPIKE_SHARE, SPIKE_ROWS = 0.05, 10
FEW_VALUES = (
    20  # a number column with no more values is drawn from its donors: a kernel would blur it
)
CLOCK = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1000)


@dataclass(frozen=True)
class Grid:
    """How the numbers of a column are written: whole ones as steps from a base, others with their decimals."""

    base: int
    unit: int
    decimals: int | None
    whole: bool

    @classmethod
    def of(cls, column: Column) -> Grid:
        """Return the grid of a column; times stand on the coarsest clock that all of them fit."""
        if column.values.dtype.kind == "f":
            return cls(0, 1, column.decimals, whole=False)
        values = column.values[~column.missing]
        if not values.size:
            return cls(0, 1, 0, whole=True)
        step = next(
            (
                unit
                for unit in CLOCK
                if column.field.kind == "date" and not np.any(values % unit) and np.any(values)
            ),
            1,
        )
        base = int(values.min())
        return cls(base, step, 0, whole=True)

    def places(self, values: NDArray[np.int64] | Floats) -> Floats:
        """Return numbers as the places that trees and kernels see."""
        return (
            ((values - self.base) // self.unit).astype(np.float64)
            if self.whole
            else values.astype(np.float64)
        )

    def written(self, places: Floats) -> Floats:
        """Round places as the column is written."""
        return places if self.decimals is None else np.round(places, self.decimals) + 0.0

    def values(self, places: Floats) -> NDArray[np.int64] | Floats:
        """Return places as the numbers of the column."""
        return np.rint(places).astype(np.int64) * self.unit + self.base if self.whole else places

    @property
    def step(self) -> float:
        """The distance of neighbours."""
        return 1e-9 if self.decimals is None else 10.0**-self.decimals


@dataclass(frozen=True, eq=False, repr=False)
class Subject:
    """One column as it is synthesised. Holds original values: its repr shows none.

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
        Whether numbers that occur once may not come out.
    """

    column: Column
    state: Ints
    states: int
    grid: Grid | None = None
    places: Floats | None = None
    spikes: Floats | None = None
    smoothing: Smoothing = "local"
    guarded: bool = True
    limits: tuple[float, float] = (-np.inf, np.inf)

    def __repr__(self) -> str:
        return f"Subject({self.column.name!r})"

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @cached_property
    def singles(self) -> Singles:
        """The numbers that occur once."""
        if self.places is None or self.grid is None or not self.guarded:
            return Singles(np.empty(0))
        return Singles.of(self.places[~self.column.missing], self.grid.decimals)

    @cached_property
    def range(self) -> tuple[float, float]:
        """Smallest and largest number, cut to the limits."""
        values = np.zeros(1) if self.places is None else self.places[~self.column.missing]
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
        return max(low, self.limits[0]), min(high, self.limits[1])

    @cached_property
    def free(self) -> bool:
        """Whether a number exists that may come out; without one the guard cannot be kept."""
        if not self.singles.sorted.size:
            return True
        low, high = self.range
        return (
            self._nearest(low - self.grid.step) is not None if self.grid and low <= high else True
        )

    def accepted(self, places: Floats) -> Mask:
        """Return which numbers may come out."""
        inside = (places >= self.limits[0]) & (places <= self.limits[1])
        return inside & ~self.singles.hit(places) if self.free else inside

    def settle(self, places: Floats) -> Floats:
        """Return the nearest numbers that may come out, for those that never were accepted."""
        if not self.free or self.grid is None:
            return np.clip(places, *self.limits)
        low, high = self.range
        settled = np.clip(places, low, high)
        for i in np.flatnonzero(~self.accepted(settled)):
            found = self._nearest(float(settled[i]))
            settled[i] = settled[i] if found is None else found
        return settled

    def _nearest(self, place: float) -> float | None:
        assert self.grid is not None  # noqa: S101  # a column of numbers has one
        return nearest_free(place, self.singles.hit, *self.range, self.grid.step, self.grid.written)

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


def subject_of(
    column: Column,
    *,
    spikes: Sequence[float] | None = None,
    smoothing: Smoothing = "local",
    guarded: bool = True,
    limits: tuple[float | None, float | None] = (None, None),
) -> Subject:
    """Return how a column is synthesised.

    Parameters
    ----------
    spikes
        Values that many rows share and that must stay as they are; found where not given.
    """
    if column.labels is not None and column.field.kind != "ordered":
        levels = len(column.labels)
        return Subject(
            column,
            np.where(column.missing, levels, column.values),
            levels + int(column.missing.any()),
        )
    column.numbers()  # refuses infinite values
    grid = Grid.of(column)
    places = np.where(column.missing, 0.0, grid.places(column.values))
    known = places[~column.missing]
    distinct, count = np.unique(known, return_counts=True)
    few = distinct.size <= FEW_VALUES or column.labels is not None
    given = (
        grid.places(np.asarray(spikes, dtype=column.values.dtype)) if spikes is not None else None
    )
    marked = (
        np.empty(0)
        if few and given is None
        else _found(distinct, count)
        if given is None
        else given[np.isin(given, distinct)]
    )
    state = np.zeros(column.size, dtype=np.int64)
    for i, spike in enumerate(marked, start=1):
        state[places == spike] = i
    state[column.missing] = marked.size + 1
    ends = tuple(
        _place(grid, end, np.inf * side) for end, side in zip(limits, (-1, 1), strict=True)
    )
    return Subject(
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


def _place(grid: Grid, end: float | None, none: float) -> float:
    return none if end is None else (end - grid.base) / grid.unit


def _found(distinct: Floats, count: Ints) -> Floats:
    """Return the values that many rows share, among many that few do."""
    found: Floats = distinct[(count >= SPIKE_ROWS) & (count >= SPIKE_SHARE * count.sum())]
    return found


def check_levels(column: Column, most: int) -> None:
    """Refuse a column of categories that looks like an identifier: nearly all differ, or there are too many."""
    if column.labels is None:
        return
    present, distinct = int(np.count_nonzero(~column.missing)), len(column.labels)
    if distinct > most:
        why = f"{distinct} categories, more than {most}"
    elif present >= 50 and distinct > 0.9 * present:  # noqa: PLR2004
        why = f"{distinct} categories in {present} rows"
    else:
        return
    msg = (
        f"column {column.name!r} has {why}: it is an identifier or free text, and drawing from it"
        " would copy it.\n\nHint: declare role 'identifier' to drop it, or recode it first."
    )
    raise DataError(msg)
