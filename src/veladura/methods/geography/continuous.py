"""Continuous variables: their cell means, and new values for rows in their new cells."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.icar_model import standardise

FEW_ROWS = 5  # with fewer rows a combination takes mean and spread of all: its own would disclose


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

    def draw(self, rng: Generator, combination: Ints, cell: Ints) -> Floats:
        """Draw Z ~ N(mean of combination and new cell, spread^2 of the combination) for rows."""
        noise: Floats = rng.standard_normal(cell.size)
        return self.mean[combination, cell] + self.spread[combination] * noise


def surface_of(values: Floats, combination: Ints, cell: Ints, shape: tuple[int, int]) -> Surface:
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
