"""Continuous variables: their cell means, and new values for rows in their new cells.

"normal" draws from a normal law around the cell mean. "quantile" draws a normal score there, turns
it into a share of the combination's own distribution, and lets the number of the person at that
share move by the law of synthetic numbers (`numeric/trees/law.py`): bounds, skewness, heaps and
whole numbers stay, and no single number is copied or left out because somebody has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.bounds import Bounds
from veladura.methods.geography.icar_model import standardise
from veladura.numeric.trees.law import LeafLaw
from veladura.numeric.trees.variable import variable_of
from veladura.table.codes import Column

Shape = tuple[int, int]

FEW_ROWS = 5  # with fewer rows a combination takes mean and spread of all: its own would disclose


POINTS = 257  # of a distribution function of scores


@dataclass(frozen=True, eq=False)
class Surface:
    """One variable by combination and cell. Learnt from the original: never released.

    Attributes
    ----------
    covariate
        Cell means standardised within each combination, 0 where it has no row (Nunes 2018, sec.
        2.3).
    mean
        Cell means shrunk towards the mean of the combination, shape (B, G).
    spread
        Pooled standard deviation of people within the cells of each combination.
    """

    covariate: Floats = field(repr=False)
    mean: Floats = field(repr=False)
    spread: Floats = field(repr=False)

    def scores(self, rng: Generator, combination: Ints, cell: Ints) -> Floats:
        """Draw Z ~ N(mean of combination and new cell, spread^2 of the combination) for rows."""
        noise: Floats = rng.standard_normal(cell.size)
        return self.mean[combination, cell] + self.spread[combination] * noise


@dataclass(frozen=True, eq=False)
class Redrawn:
    """How a column is drawn anew. Learnt from the original: never released.

    Attributes
    ----------
    surface
        Means and spreads of its numbers; of their normal scores, to draw by quantiles.
    donors
        By combination, the rows that have a number in the order of their numbers; all rows for a
        combination with few.
    points, shares
        By combination, the distribution function of drawn scores over the cells of its people.
    """

    column: Column = field(repr=False)
    placed: Mask = field(repr=False)
    covariate: Floats = field(repr=False)
    surface: Surface
    law: LeafLaw | None = field(default=None, repr=False)
    limits: tuple[float, float] = (-np.inf, np.inf)
    donors: Sequence[Ints] = field(default=(), repr=False)
    points: Floats = field(default_factory=lambda: np.empty((0, POINTS)), repr=False)
    shares: Floats = field(default_factory=lambda: np.empty((0, POINTS)), repr=False)

    @classmethod
    def normal(
        cls, column: Column, placed: Mask, combination: Ints, cell: Ints, shape: Shape
    ) -> Self:
        """Return the law of Nunes (2018), with people's own spread."""
        surface = surface_of(column.numbers()[placed], combination, cell, shape)
        return cls(column, placed, surface.covariate, surface)

    @classmethod
    def quantile(
        cls,
        column: Column,
        placed: Mask,
        combination: Ints,
        cell: Ints,
        shape: Shape,
        *,
        people: Ints | None = None,
        bounds: Bounds | None = None,
    ) -> Self:
        """Return the law that keeps the distribution within each combination."""
        numbers = column.numbers()
        some = np.flatnonzero(placed & ~column.missing)
        scores = np.full(numbers.size, np.nan)
        scores[some] = normal_scores(numbers[some])
        surface = surface_of(scores[placed], combination, cell, shape)
        group = np.full(numbers.size, -1, dtype=np.int64)
        group[placed] = combination
        ordered = some[np.argsort(numbers[some], kind="stable")]
        many = np.bincount(group[some], minlength=shape[0]) >= FEW_ROWS
        donors = [ordered[group[ordered] == b] if many[b] else ordered for b in range(shape[0])]
        held = np.bincount(combination * shape[1] + cell, minlength=shape[0] * shape[1])
        laws = [
            _distribution(surface.mean[b], surface.spread[b], row)
            for b, row in enumerate(held.reshape(shape))
        ]
        low, high = (None, None) if bounds is None else (bounds.min, bounds.max)
        if low is None and some.size and numbers[some].min() >= 0:
            low = 0.0  # nobody is below 0, and nobody comes to be
        return cls(
            column,
            placed,
            surface_of(numbers[placed], combination, cell, shape).covariate,
            surface,
            _law(column, placed, people) if some.size else None,
            (-np.inf if low is None else low, np.inf if high is None else high),
            donors,
            np.array([law[0] for law in laws]),
            np.array([law[1] for law in laws]),
        )

    def draw(
        self,
        rng: Generator,
        combination: Ints,
        cell: Ints,
        column: Column | None = None,
        placed: Mask | None = None,
    ) -> Column:
        """Return the column with new numbers for rows that have a place and a number.

        Parameters
        ----------
        column, placed
            Of other rows than those that it was learnt from.
        """
        column = self.column if column is None else column
        placed = self.placed if placed is None else placed
        scores = self.surface.scores(rng, combination, cell)
        values = column.numbers()
        if not self.donors:
            values[placed] = scores
        elif self.law is not None:
            values[placed] = self._numbers(rng, self.law, combination, scores)
        values[column.missing] = np.nan
        return self.column.rounded(values)

    def _numbers(self, rng: Generator, law: LeafLaw, combination: Ints, scores: Floats) -> Floats:
        """Return the moved numbers of the donors at the shares of some scores."""
        share = rng.random(scores.size)  # where a combination does not vary
        donor = np.empty(scores.size, dtype=np.int64)
        for b in np.unique(combination).tolist():
            mine = np.flatnonzero(combination == b)
            if self.surface.spread[b] > 0:
                share[mine] = np.interp(scores[mine], self.points[b], self.shares[b])
            rows = self.donors[b]
            rank = np.minimum((share[mine] * rows.size).astype(np.int64), rows.size - 1)
            donor[mine] = rows[rank]
        places = law.drawn(rng, donor)
        numbers = law.law.grid.values(places).astype(np.float64)
        low, high = self.limits
        numbers = np.where(numbers < low, 2 * low - numbers, numbers)
        return np.clip(np.where(numbers > high, 2 * high - numbers, numbers), low, high)


def _law(column: Column, placed: Mask, people: Ints | None) -> LeafLaw | None:
    """Return how the numbers of donors move; heaps stay as they are."""
    law = variable_of(column, people=people, among=placed).law
    return None if law is None else law.alone(np.arange(column.size))


def normal_scores(numbers: Floats) -> Floats:
    """Return Phi^-1 of the mid-rank share of each number.

    Examples
    --------
    >>> normal_scores(np.array([7.0, 1.0, 7.0])).round(3).tolist()
    [0.431, -0.967, 0.431]
    """
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return np.asarray(ndtri((rankdata(numbers) - 0.5) / max(numbers.size, 1)))


def _distribution(mean: Floats, spread: float, held: Ints) -> tuple[Floats, Floats]:
    """Return the distribution function of N(mean of a cell, spread^2) over the cells of people."""
    from scipy.special import ndtr

    some = np.flatnonzero(held)
    reach = 5 * max(float(spread), 1e-9)
    centres, weights = (mean[some], held[some]) if some.size else (np.zeros(1), np.ones(1))
    points = np.linspace(centres.min() - reach, centres.max() + reach, POINTS)
    below = ndtr((points[:, None] - centres) / max(float(spread), 1e-9))
    return points, np.asarray(below @ (weights / weights.sum()))


def surface_of(values: Floats, combination: Ints, cell: Ints, shape: Shape) -> Surface:
    """Return cell means and spreads of a variable; missing values are left out.

    Nunes (2018) draws with variance one on the scale of standardised cell means, which is the
    spread of means and not of people; here people keep their own spread, s_b. A cell with one row
    has that person's value as its mean, so means are shrunk towards that of the combination by
    n_ib / (n_ib + s_b^2 / t_b^2), t_b^2 the variance of cell means. An empty cell takes the mean of
    combination b.
    """
    present = ~np.isnan(values)
    z, place = values[present], combination[present] * shape[1] + cell[present]
    size = shape[0] * shape[1]
    count = np.bincount(place, minlength=size).reshape(shape).astype(float)
    total = np.bincount(place, weights=z, minlength=size).reshape(shape)
    means = np.divide(total, count, out=np.zeros(shape), where=count > 0)
    squares = (
        np.bincount(place, weights=(z - means.ravel()[place]) ** 2, minlength=size)
        .reshape(shape)
        .sum(axis=1)
    )
    rows, cells = count.sum(axis=1), (count > 0).sum(axis=1)
    centre = np.divide(total.sum(axis=1), rows, out=np.zeros(shape[0]), where=rows > 0)
    within = np.divide(squares, rows - cells, out=np.full(shape[0], np.nan), where=rows > cells)
    group = combination[present]
    alone = np.bincount(group, weights=(z - centre[group]) ** 2, minlength=shape[0])
    within = np.where(
        np.isnan(within) | (within <= 0),
        np.divide(alone, rows - 1, out=np.zeros(shape[0]), where=rows > 1),
        within,
    )
    few = rows < FEW_ROWS
    centre = np.where(few, z.mean() if z.size else 0.0, centre)
    within = np.where(few, z.var(ddof=1) if z.size > 1 else 0.0, within)
    apart = np.where(count > 0, (means - centre[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(
        cells - 1, 1
    )
    ratio = np.divide(within, apart, out=np.full(shape[0], np.inf), where=(apart > 0) & ~few)
    weight = np.divide(count, count + ratio[:, None], out=np.zeros(shape), where=count > 0)
    return Surface(
        standardise(means, count),
        centre[:, None] + weight * np.where(count > 0, means - centre[:, None], 0.0),
        np.sqrt(within),
    )
