"""One variable as it is synthesised: the state of each row, and the numbers.

A state is a category, or for a column of numbers: a number, a spike (a value that many rows share),
or missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import DataError
from veladura.numeric.normal import normal_quantile
from veladura.numeric.transforms import Transform, TransformName
from veladura.numeric.trees.crowd import Crowd
from veladura.numeric.trees.law import MIN_PEOPLE, NumberLaw
from veladura.numeric.trees.numbers import NumberGrid
from veladura.numeric.trees.tree import ranks, ranks_of_places
from veladura.numeric.trees.values import Values
from veladura.table.codes import Column

Smoothing = Literal["local", "none"]
SPIKE_SHARE, SPIKE_PEOPLE = 0.05, 10
FEW_VALUES = 20  # with no more values, most of them shared, a column is in effect a category
MAX_LEVELS = 20_000
SURELY_MANY, NEARLY_ALL = 50, 0.9  # rows, and share of different categories, of an identifier


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """What is known of more rows than those at hand. Its repr shows none.

    Attributes
    ----------
    holders
        People who hold each distinct number of the rows at hand, in order.
    ends
        The smallest and the largest number of all.
    everyone
        All distinct numbers in order, and people who hold each; None where they are too many.
    part
        Whether the rows at hand are people of one kind, and no sample of all.
    """

    holders: Ints
    ends: NDArray[Any]
    everyone: tuple[Column, Ints] | None = None
    part: bool = False

    def crowd(self, grid: NumberGrid, spikes: Floats) -> Crowd | None:
        """Return the people of all whose number may move: spikes stay."""
        if self.everyone is None:
            return None
        column, holders = self.everyone
        crowd = Crowd(grid.places(column.values), holders)
        return crowd.only(~np.isin(crowd.places, spikes))


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
    limits
        The smallest and the largest place that the holder allows.
    law
        How its numbers move from those of their donors.
    transform
        The transformation of its numbers, from places; None for none.
    order
        The place of each row's number among the distinct ones.
    """

    column: Column
    state: Ints
    states: int
    grid: NumberGrid | None = None
    places: Floats | None = None
    spikes: Floats | None = None
    limits: tuple[float, float] = (-np.inf, np.inf)
    law: NumberLaw | None = None
    transform: Transform | None = None
    order: Ints | None = None

    def __repr__(self) -> str:
        return f"Variable({self.column.name!r})"

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def moves(self) -> bool:
        """Whether it holds numbers that are moved."""
        return self.law is not None and bool(self.law.moves.any())

    def numbers(self) -> Floats:
        """Return the numbers of all rows in the units of the column; 0 where a row has none."""
        if self.places is None or self.grid is None:
            return np.zeros(self.state.size)
        numbers: Floats = self.places * self.grid.unit + self.grid.base
        return np.where(self.state == 0, numbers, 0.0)

    def scaled(self) -> Floats:
        """Return the numbers of all rows as trees see them: transformed, if they are."""
        numbers = self.numbers()
        if self.transform is None:
            return numbers
        here = self.state == 0
        numbers[here] = self.transform.of(numbers[here])
        return numbers

    def ranks(self, rows: Ints) -> Ints:
        """Return the doubled mid-ranks about zero of the numbers of some rows, transformed."""
        if self.transform is None and self.order is not None:
            return ranks_of_places(self.order[rows])
        return ranks(self.scaled()[rows])

    def normal_scores(self, rows: Ints) -> Floats:
        """Return the normal scores of the mid-ranks of the numbers of some rows, transformed."""
        if self.transform is None and self.order is not None:
            place = self.order.take(rows)  # equal numbers have equal scores: one for each
        else:
            place = np.unique(self.scaled()[rows], return_inverse=True)[1].reshape(-1)
        count, half = np.bincount(place), 0.5 / rows.size
        share = (np.cumsum(count) - count / 2) / rows.size
        scores: Floats = normal_quantile(np.clip(share, half, 1 - half)).take(place)
        return scores

    def inside(self, places: Floats) -> Mask:
        """Return which numbers are within the limits."""
        return (places >= self.limits[0]) & (places <= self.limits[1])

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
    limits: tuple[float | None, float | None] = (None, None),
    people: Ints | None = None,
    min_people: int = MIN_PEOPLE,
    all_move: bool = False,
    among: Mask | None = None,
    bandwidth: float = 1.0,
    stratum: Ints | None = None,
    transform: TransformName | None = None,
    known: Known | None = None,
) -> Variable:
    """Return how a column is synthesised.

    Parameters
    ----------
    spikes
        Values that many rows share and that stay as they are; detected by default.
    smoothing
        Whether numbers that few people share move ("local"), or none do ("none").
    people
        Whose row each is; every row is a person by default.
    all_move
        Whether numbers that many people share move too; spikes and numbers that are in effect
        categories never do.
    among
        The rows whose numbers are drawn; all of them by default.
    bandwidth
        Factor on the bandwidth of the leaves.
    stratum
        The zero-based stratum of each row, where strata are synthesised separately.
    transform
        The transformation of its numbers, by name.
    known
        How many people of all share a number, where these rows are a sample; and how far each is
        from others. Strata have ranks of their own, among these rows.
    """
    if column.labels is not None and column.field.kind != "ordered":
        levels, gaps = len(column.labels), bool(column.missing.any())
        return Variable(
            column,
            np.where(column.missing, levels, column.values) if gaps else column.values,
            levels + int(gaps),
        )
    column.numbers()  # refuses infinite values
    everyone = None if known is None else known.everyone
    grid = NumberGrid.of(column if everyone is None else everyone[0])
    places = np.where(column.missing, 0.0, grid.places(column.values))
    # on the grid values are as many, and in the same order
    counted = Values.of_column(column).held_by(people, ~column.missing)
    values = replace(counted, distinct=grid.places(counted.distinct))
    if known is not None:
        values = replace(values, holders=known.holders)
    distinct, count = values.distinct, values.holders
    few = is_few(count, min_people) or column.labels is not None
    marked = _spikes(grid, column, distinct, count, spikes, few=few)
    state = np.zeros(places.size, dtype=np.int64)
    for i, spike in enumerate(marked, start=1):
        state[places == spike] = i
    state[column.missing] = marked.size + 1
    ends = tuple(
        _place(grid, end, np.inf * side) for end, side in zip(limits, (-1, 1), strict=True)
    )
    present, holders = state == 0, None
    if among is not None:  # who holds a number outside of them does not hide it
        present &= among
        holders = Values.of(places, present, people).by_row()
    scale = _transform(transform, grid, places, state == 0, column.name)
    law = NumberLaw.of(
        grid,
        places,
        present,
        values,
        holders=holders,
        people=people,
        min_people=0 if few or smoothing == "none" else min_people,
        all_move=all_move,
        dates=column.field.kind == "date",
        bandwidth=bandwidth,
        stratum=stratum,
        everyone=state == 0 if among is not None else None,
        transform=scale,
        crowd=None if known is None or stratum is not None else known.crowd(grid, marked),
        part=known is not None and known.part,
        beyond=None if known is None else grid.places(known.ends),
    )
    return Variable(
        column,
        state,
        1 + marked.size + int(column.missing.any()),
        grid,
        places,
        marked,
        (ends[0], ends[1]),
        law,
        None if transform is None else Transform(transform),
        values.place,
    )


def _transform(
    name: TransformName | None, grid: NumberGrid, places: Floats, present: Mask, column: str
) -> Transform | None:
    """Return the transformation of numbers in steps of the grid; refuse a column it cannot take."""
    if name is None:
        return None
    step = 1.0 if grid.decimals is None else grid.step
    plain = Transform(name)
    if outside := plain.outside(places[present] * grid.unit + grid.base):
        msg = (
            f"transform.{column}: {name} takes numbers that are {plain.domain}, and {outside} rows"
            ' hold others.\n\nHint: use "log1p" for numbers from 0 or "asinh" for numbers of any'
            " sign; or name a value that many rows share in spikes, which are not transformed."
        )
        raise DataError(msg)
    return Transform(name, step * grid.unit)


def is_few(count: Ints, min_people: int) -> bool:
    """Whether a column of numbers is in effect a category: few values, most of them shared.

    Parameters
    ----------
    count
        People who hold each distinct value.
    """
    shared = int(count[count >= max(min_people, 1)].sum())
    return bool(count.size <= FEW_VALUES and 2 * shared >= count.sum())


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
    """Return the spikes: those given that occur, else values that many people share among many."""
    if given is not None:
        places = grid.places(np.asarray(given, dtype=column.values.dtype))
        return places[np.isin(places, distinct)]
    if few:
        return np.empty(0)
    spikes: Floats = distinct[(count >= SPIKE_PEOPLE) & (count >= SPIKE_SHARE * count.sum())]
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
