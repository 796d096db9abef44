"""The disease-mapping model as plain arrays: counts, neighbours, design, priors.

log lambda_ib = mu + sum_k alpha_k[x_k(b)] + theta_i + sum_k phi_ik[x_k(b)] + beta_i Zbar_ib +
eps_ib + log area_i (Nunes 2018, eqs. 2.1 to 2.9 and 2.19, after Paiva et al. 2014; here with the
usable area as offset).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """Which cells are neighbours, in compressed rows, and the connected part of each.

    Parameters
    ----------
    start
        Where the neighbours of each cell begin in ``neighbour``; one entry more than cells.
    neighbour
        The neighbours of cell 0, then of cell 1, ...; each pair stands in it twice.
    part
        The connected part of each cell, the largest first; -1 for a cell without neighbours.
    """

    start: Ints
    neighbour: Ints
    part: Ints

    @classmethod
    def of_pairs(cls, cells: int, pairs: ArrayLike) -> Self:
        """Return the graph from pairs of neighbours, each given once or twice, in any order."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        if ends.size and (
            ends.min() < 0 or ends.max() >= cells or np.any(ends[:, 0] == ends[:, 1])
        ):
            msg = f"neighbours must be pairs of two different cells out of {cells}."
            raise PlanError(msg)
        both = np.unique(np.concatenate([ends, ends[:, ::-1]]), axis=0)
        start = np.searchsorted(both[:, 0], np.arange(cells + 1)).astype(np.int64)
        links = coo_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(cells, cells))
        label = connected_components(links, directed=False)[1]
        size = np.bincount(label, minlength=1)
        rank = np.empty(size.size, dtype=np.int64)
        rank[np.argsort(-size, kind="stable")] = np.arange(size.size)
        part = np.where(size[label] > 1, rank[label], -1)
        return cls(start, np.ascontiguousarray(both[:, 1]), part.astype(np.int64))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.start.size - 1

    @property
    def parts(self) -> int:
        """The number of connected parts; a cell without neighbours does not count."""
        return int(self.part.max(initial=-1)) + 1

    @property
    def rank(self) -> int:
        """The rank of an intrinsic CAR precision: cells less connected parts."""
        return self.cells - self.parts

    @property
    def pairs(self) -> Ints:
        """The pairs of neighbours, each once."""
        first = np.repeat(np.arange(self.cells), np.diff(self.start))
        once = first < self.neighbour
        return np.stack([first[once], self.neighbour[once]], axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class CellCounts:
    """Rows of each combination in each cell. Holds original counts: never released.

    Parameters
    ----------
    values
        Rows by combination and cell, shape (B, G).
    offset
        Log of the usable area of each cell, shape (G,).
    """

    values: Ints
    offset: Floats

    def __post_init__(self) -> None:
        values, offset = np.asarray(self.values), np.asarray(self.offset)
        if (
            values.ndim != 2  # noqa: PLR2004
            or values.size == 0
            or not np.issubdtype(values.dtype, np.integer)
            or values.min() < 0
        ):
            msg = "counts must be whole numbers of at least 0, by combination and cell."
            raise PlanError(msg)
        if offset.shape != values.shape[1:] or not np.all(np.isfinite(offset)):
            msg = (
                f"the offset must be one finite log area for each of {values.shape[1]} cells, got"
                f" an array of shape {offset.shape}."
            )
            raise PlanError(msg)

    def __repr__(self) -> str:
        return f"CellCounts({self.values.shape[0]} combinations, {self.values.shape[1]} cells)"


@dataclass(frozen=True, eq=False, repr=False)
class EffectDesign:
    """Which levels and which covariates a combination has.

    Parameters
    ----------
    codes
        The level of each attribute, from 0, by combination and attribute, shape (B, A). Level 0 is
        the reference: its effects are 0. Every level up to the largest must occur.
    covariates
        Cell-by-combination means standardised within each combination (see :func:`standardise`), 0
        where the combination has no row; shape (K, B, G), K of 0 for none.
    """

    codes: Ints
    covariates: Floats = field(default_factory=lambda: np.zeros((0, 0, 0)))

    def __post_init__(self) -> None:
        codes = np.asarray(self.codes)
        if codes.ndim != 2 or not np.issubdtype(codes.dtype, np.integer):  # noqa: PLR2004
            msg = "codes must be whole numbers by combination and attribute."
            raise PlanError(msg)
        if any(
            not np.array_equal(np.unique(column), np.arange(column.max() + 1)) for column in codes.T
        ):
            msg = "every level of an attribute, from 0 to the largest, must occur in a combination."
            raise PlanError(msg)
        if not np.all(np.isfinite(self.covariates)):
            msg = (
                "covariates must be finite.\n\nHint: standardise() gives 0 where a combination has"
                " no row."
            )
            raise PlanError(msg)

    @property
    def levels(self) -> tuple[int, ...]:
        """The number of levels of each attribute."""
        return tuple(int(column.max()) + 1 for column in self.codes.T)

    @property
    def dummies(self) -> NDArray[np.uint8]:
        """The spatial effects of combinations, shape (1 + sum of (levels - 1), B): common first."""
        rows = [np.ones(len(self.codes), dtype=np.uint8)]
        rows += [
            (column == level).astype(np.uint8)
            for column in self.codes.T
            for level in range(1, int(column.max()) + 1)
        ]
        return np.stack(rows)

    @property
    def names(self) -> tuple[str, ...]:
        """A name of each spatial effect: common, attribute and level, covariate."""
        of_levels = [
            f"attribute {k} level {j}"
            for k, levels in enumerate(self.levels)
            for j in range(1, levels)
        ]
        return ("common", *of_levels, *(f"covariate {k}" for k in range(len(self.covariates))))


def standardise(means: ArrayLike, counts: ArrayLike) -> Floats:
    """Return cell means of a covariate standardised within each combination, 0 in empty cells.

    Mean and standard deviation run over the non-empty cells of the combination; a combination whose
    cells do not differ gets 0 everywhere. Both arguments have the shape (B, G).
    """
    held = np.asarray(counts) > 0
    values = np.where(held, np.asarray(means, dtype=np.float64), 0.0)
    cells = np.maximum(held.sum(axis=1, keepdims=True), 1)
    centred = np.where(held, values - values.sum(axis=1, keepdims=True) / cells, 0.0)
    spread = np.sqrt((centred**2).sum(axis=1, keepdims=True) / np.maximum(cells - 1, 1))
    flat = spread <= np.abs(values).max(axis=1, keepdims=True) * 1e-12
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, spread))
