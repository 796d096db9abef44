"""The law of the leaf for a column whose rows pass in chunks, from the frequency of each number.

The same as that of `veladura.methods.masks.law` for rows that are held: which numbers move, how
far, and what spread the column has without those who stand out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints, Mask
from veladura.errors import PlanError
from veladura.methods.masks.law import EXACT
from veladura.numeric.trees.crowd import Crowd
from veladura.numeric.trees.habits import Habits
from veladura.numeric.trees.law import (
    NumberLaw,
    Spread,
    are_many,
    as_read,
    ends_of,
    steps_of,
)
from veladura.numeric.trees.numbers import NumberGrid
from veladura.numeric.trees.scores import heights_at, mixture, scores_of_shares
from veladura.numeric.trees.stretch import STEPS, Stretch
from veladura.numeric.trees.tail import Quantiles
from veladura.numeric.trees.values import Values
from veladura.table.frequencies import Frequencies, frequencies, most_numbers

if TYPE_CHECKING:
    from veladura.table.codes import Column
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False, repr=False)
class ColumnLaw:
    """How the numbers of a column move. Holds original values: its repr shows none.

    Attributes
    ----------
    shared
        The places of numbers that enough people share, in order: these stay.
    ranked
        The people whose ranks count: those who move or, if these are few, all.
    origin
        What is added to steps of the grid, so that people read them.
    common
        How moved scores spread over the column.
    habits
        The units that numbers are rounded to, of those who move.
    ends
        As places; see `NumberLaw`.
    """

    grid: NumberGrid
    shared: Floats
    ranked: Crowd
    origin: float
    quantiles: Quantiles
    common: Spread
    habits: Habits
    ends: tuple[float, float]

    @classmethod
    def of(cls, counted: Frequencies, min_people: int, sample: Column) -> ColumnLaw | None:
        """Return the law of a column; None where no number moves.

        Parameters
        ----------
        min_people
            A number that fewer people share moves.
        sample
            Some rows, which show to what units people round.
        """
        column, holders = counted.column, counted.rows
        few = holders < min_people
        if not few.any() or _is_wide(column):
            return None
        grid = NumberGrid.of(column)
        everyone = Crowd(grid.places(column.values), holders)
        numbers, origin = as_read(grid, everyone.places, np.ones(few.size, dtype=bool), dates=False)
        moving = everyone.only(few)
        among = few if are_many(moving.size, everyone.size) else np.ones(few.size, dtype=bool)
        ranked = everyone.only(among)
        quantiles = ranked.quantiles(numbers[among])
        score, isolation = scores_of_shares(ranked.shares, ranked.size)
        points, heights = mixture(score, isolation, ranked.holders)
        stretch = None
        if not few[among].all():
            stretch = _stretch(ranked, few[among], quantiles, (points, heights))
        values = Values(everyone.places, np.arange(few.size), holders)
        law = cls(
            grid,
            everyone.places[~few],
            ranked,
            origin,
            quantiles,
            Spread(points, heights, stretch),
            Habits(),
            ends_of(values, min_people),
        )
        return law.with_habits(sample)

    def with_habits(self, sample: Column) -> ColumnLaw:
        """Return the law with the rounding of those of a sample who move."""
        if self.grid.decimals is None:
            return self
        law = self.at(sample)
        return replace(self, habits=Habits.of(np.rint(law.numbers[law.moves]).astype(np.int64)))

    def moves(self, column: Column) -> Mask:
        """Return which rows hold a number that few people share."""
        places = self.grid.places(column.values)
        if not self.shared.size:
            return ~column.missing
        near = np.minimum(np.searchsorted(self.shared, places), self.shared.size - 1)
        return np.asarray(~column.missing & (self.shared[near] != places))

    def at(self, column: Column) -> NumberLaw:
        """Return the law of some rows of the column."""
        places = np.where(column.missing, 0.0, self.grid.places(column.values))
        moves = self.moves(column)
        score, isolation = np.zeros(places.size), np.zeros(places.size)
        score[moves], isolation[moves] = self.ranked.scores_of(places[moves])
        return NumberLaw(
            self.grid,
            places,
            steps_of(self.grid, places, self.origin),
            self.origin,
            moves,
            np.zeros(places.size, dtype=np.int64),
            moves,
            score,
            isolation,
            {0: self.quantiles},
            self.habits,
            self.ends,
            common={0: self.common},
        )

    def smoothed(self, column: Column) -> Floats:
        """Return numbers without what a single person decides; NaN where missing."""
        numbers, moves = column.numbers(), self.moves(column)
        shares = self.ranked.shares_of(self.grid.places(column.values[moves]))
        unit = self.grid.step if self.grid.decimals is not None else 1.0
        steps = self.quantiles.at(shares) - self.origin
        numbers[moves] = steps * unit * self.grid.unit + self.grid.base
        return numbers


def _is_wide(column: Column) -> bool:
    """Whether whole numbers span more than floats can tell apart: then none moves."""
    ends = column.values[[0, -1]].astype(np.float64)
    return column.values.dtype.kind != "f" and bool(ends[1] - ends[0] > EXACT)


def _stretch(
    ranked: Crowd, few: Mask, quantiles: Quantiles, margin: tuple[Floats, Floats]
) -> Stretch:
    """Return what makes up for the people who are ranked and stay."""
    score, isolation = scores_of_shares(ranked.shares[few], ranked.size)
    people = ranked.holders[few]
    own = np.repeat(quantiles.at(ranked.shares[few]), people)
    score, isolation = np.repeat(score, people), np.repeat(isolation, people)
    moved = np.concatenate([score + step * isolation for step in STEPS])
    return Stretch.of(quantiles, own, quantiles.at(heights_at(moved, *margin)))


def counted_numbers(table: Table, name: str) -> Frequencies:
    """Return how many people hold each number of a column, or refuse more than can be held."""
    counted = frequencies(table, name)
    if counted is not None:
        return counted
    msg = (
        f"column {name!r} has more than {most_numbers():,} distinct numbers, and how far each is"
        " from others is not known without them.\n\nHint: round the column or top-code it in an"
        " earlier step, allow more with [run] memory, or set min_people = 0 for noise alone, after"
        " TopCode where people stand out."
    )
    raise PlanError(msg)


def spread_of(law: ColumnLaw | None, counted: Frequencies) -> float:
    """Return the standard deviation of a column without what a single person decides."""
    column, people = counted.column, counted.rows
    if people.sum() < 2 or column.size < 2:  # noqa: PLR2004
        return 0.0
    numbers = column.numbers() if law is None else law.smoothed(column)
    return _deviation(numbers, people)


def _deviation(numbers: Floats, people: Ints) -> float:
    top = float(np.abs(numbers).max())
    if top == 0 or numbers.min() == numbers.max():
        return 0.0
    scaled = numbers / top
    mean = float(np.sum(scaled * people)) / float(people.sum())
    square = float(np.sum((scaled - mean) ** 2 * people)) / (float(people.sum()) - 1)
    return float(np.sqrt(square) * top)
