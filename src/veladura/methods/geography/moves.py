"""Moves of people between cells: a gravity model, near and populous cells attract.

The next home of a person of combination b who lives in cell g is in cell h with probability
proportional to lambda_hb exp(-d_gh / delta), d the distance between the middles of the cells
(Wilson 1971, the origin-constrained model with an exponential deterrence function).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.cells import Cells
from veladura.methods.geography.projection import diagonal

REACHES = 32  # values of delta, evenly spaced in the logarithm
LONGEST = 4.0  # times the size of the region: by then distance hardly matters
MOST_PAIRS = 4_000_000  # origins times cells that are held in memory at once


@dataclass(frozen=True, eq=False)
class Moves:
    """Moves between cells. Holds who moved from where to where: never released.

    Parameters
    ----------
    origin, target
        The cells of each move.
    group
        The combination of the person who moved.
    """

    cells: Cells
    origin: Ints = field(repr=False)
    target: Ints = field(repr=False)
    group: Ints = field(repr=False)

    @cached_property
    def middles(self) -> Floats:
        """The middle of each cell, in the plane."""
        return np.column_stack(self.cells.plane.forward(*self.cells.centres()))

    @cached_property
    def reaches(self) -> Floats:
        """The values of delta that are weighed: from half a cell to beyond the region."""
        size = diagonal(self.cells.plane, self.cells.region.bounds)
        return np.geomspace(0.5 * float(self.cells.diagonal.min()), LONGEST * size, REACHES)

    def distances(self, origin: Ints) -> Floats:
        """Return the distance from some cells to every cell."""
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(self.middles[origin], self.middles))

    def weights(self, intensity: Floats) -> Floats:
        """Return the posterior probabilities of the values of delta, given the intensities.

        The prior is flat in the logarithm; the likelihood is the product over the moves of
        exp(-d / delta) / sum_h lambda_hb exp(-d_gh / delta).
        """
        apart = np.hypot(*(self.middles[self.origin] - self.middles[self.target]).T)
        log = -apart.sum() / self.reaches
        pairs, number = np.unique(
            np.column_stack([self.origin, self.group]), axis=0, return_counts=True
        )
        for some in _chunks(len(pairs), self.cells.cells):
            origin, group = pairs[some].T
            distance, share = self.distances(origin), intensity[group]
            for at, reach in enumerate(self.reaches):
                total = np.einsum("ij,ij->i", share, np.exp(-distance / reach))
                log[at] -= number[some] @ np.log(np.maximum(total, np.finfo(float).tiny))
        weight = np.exp(log - log.max())
        return np.asarray(weight / weight.sum())

    def draw_reach(self, rng: Generator, intensity: Floats) -> float:
        """Draw delta from its posterior, given the intensities."""
        return float(rng.choice(self.reaches, p=self.weights(intensity)))

    def draw(
        self, rng: Generator, intensity: Floats, reach: float, origin: Ints, group: Ints
    ) -> Ints:
        """Draw the next cell of people who live in some cells."""
        cells = np.empty(origin.size, dtype=np.int64)
        u = rng.random(origin.size)
        pairs, pair = np.unique(np.column_stack([origin, group]), axis=0, return_inverse=True)
        order = np.argsort(pair.ravel(), kind="stable")
        ends = np.searchsorted(pair.ravel()[order], np.arange(len(pairs) + 1))
        for some in _chunks(len(pairs), self.cells.cells):
            start, combination = pairs[some].T
            ladders = np.cumsum(
                intensity[combination] * np.exp(-self.distances(start) / reach), axis=1
            )
            for at, ladder in enumerate(ladders, start=some.start):
                mine = order[ends[at] : ends[at + 1]]
                found = np.searchsorted(ladder, u[mine] * ladder[-1], side="right")
                cells[mine] = np.minimum(found, ladder.size - 1)
        return cells


def _chunks(rows: int, width: int) -> list[slice]:
    """Return slices of rows that fit into memory."""
    step = max(1, MOST_PAIRS // width)
    return [slice(at, min(at + step, rows)) for at in range(0, rows, step)]
