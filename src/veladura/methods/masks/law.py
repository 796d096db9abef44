"""The law of the leaf for masks: numbers that few people share are moved, shared ones stay.

A mask that leaves a lone number where it is, or near, discloses it: swapped, it comes out in
another row; with noise of the column's size an outlier is still the outlier; a group's mean hardly
hides one that is a thousand times the others. So the masks begin with what synthesis does to a
donor's number (`veladura.numeric.trees.law`), without leaves: it moves by its own isolation, the
way to five other people, and a fitted tail stands for those who stand out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError
from veladura.numeric.trees.habits import Habits
from veladura.numeric.trees.law import MIN_PEOPLE, NumberLaw
from veladura.numeric.trees.numbers import NumberGrid
from veladura.numeric.trees.values import Values
from veladura.table.schema import NUMERIC

if TYPE_CHECKING:
    from veladura.table.codes import Column

MOVABLE = (*NUMERIC, "date")
EXACT = 2.0**53  # whole numbers beyond have no exact floats

__all__ = ["MIN_PEOPLE", "check_min_people", "habits_of", "law_of", "moved", "smoothed"]


def check_min_people(value: object) -> None:
    """Refuse a number of people that says nothing."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or value == 1:
        msg = (
            f"min_people ({value}) must be 0 or a whole number of at least 2: a number that so many"
            " people share stays, any other is moved; with 0 none is."
        )
        raise PlanError(msg)


def law_of(column: Column, people: Ints | None, min_people: int) -> NumberLaw | None:
    """Return the law of a column's numbers; None where none of them moves.

    Parameters
    ----------
    people
        Whose row each is; None if every row is a person.
    min_people
        A number that fewer people share moves.
    """
    if column.field.kind not in MOVABLE or not min_people or column.missing.all():
        return None
    values = column.values[~column.missing].astype(np.float64)
    if column.values.dtype.kind != "f" and np.ptp(values) > EXACT:
        return None
    grid = NumberGrid.of(column)
    places = np.where(column.missing, 0.0, grid.places(column.values))
    law = NumberLaw.of(
        grid,
        places,
        ~column.missing,
        Values.of(places, ~column.missing, people),
        people=people,
        min_people=min_people,
        dates=column.field.kind == "date",
    )
    return law if law.moves.any() else None


def moved(law: NumberLaw | None, column: Column, rng: Generator) -> Floats:
    """Return the numbers of a column, those that few people share moved; NaN where missing."""
    numbers = column.numbers()
    if law is None:
        return numbers
    rows = np.flatnonzero(law.moves)
    places = law.alone(rows).drawn(rng, np.arange(rows.size))
    numbers[rows] = law.grid.values(places)
    return numbers


def smoothed(law: NumberLaw | None, column: Column) -> Floats:
    """Return the numbers of a column without what a single person decides; NaN where missing.

    Those that move are taken from the quantile function at their ranks: its knots are means of
    five people and more, its tails fitted. Spread and correlations of these can be used in the
    open.
    """
    numbers = column.numbers()
    if law is None:
        return numbers
    unit = law.grid.step if law.grid.decimals is not None else 1.0
    for part, quantiles in law.quantiles.items():
        pool = law.pool & (law.stratum == part)
        here = np.flatnonzero(law.moves & pool)
        ranked = np.sort(law.score[pool])
        below, above = (
            np.searchsorted(ranked, law.score[here], side) for side in ("left", "right")
        )
        steps = quantiles.at((below + above) / (2 * ranked.size))
        numbers[here] = (steps - law.origin) * unit * law.grid.unit + law.grid.base
    return numbers


def habits_of(column: Column) -> Habits:
    """Return the units that the numbers of a column are rounded to; zeros say nothing."""
    if column.decimals is None:
        return Habits()
    steps = column.numbers()[~column.missing] * 10.0**column.decimals
    if not steps.size or np.abs(steps).max() > EXACT:
        return Habits()
    whole = np.rint(steps).astype(np.int64)
    return Habits.of(whole[whole != 0])
