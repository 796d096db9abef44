"""What a private design can be expected to give, from public quantities: n, domain, epsilon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.base.streams import Streams

if TYPE_CHECKING:
    from veladura.methods.private.private import CellRecipe

HOPELESS = 0.9  # of the error of a table that nobody has looked at
POOR = 0.5
REPETITIONS = 20
_WORK = 200_000  # cells drawn in all: a million cells are drawn once


@dataclass(frozen=True)
class Expected:
    """The expected error of a private table, on a reference table of as many cells and rows.

    The shares of the reference fall as 1, 1/2, 1/3, ...: between an even table, which noise hardly
    hurts, and one where everybody is in one cell.

    Attributes
    ----------
    error
        Total variation distance between the released table and the counted one: the share of the
        rows that would have to move.
    ignorance
        The same for a table with as many rows in every cell: nobody has looked at the data.
    """

    error: float
    ignorance: float

    @property
    def ratio(self) -> float:
        """The error over that of a table that nobody has looked at."""
        return self.error / self.ignorance if self.ignorance else 0.0

    @property
    def verdict(self) -> str:
        """One word: hopeless, poor or useful."""
        return "hopeless" if self.ratio > HOPELESS else "poor" if self.ratio > POOR else "useful"


@dataclass(frozen=True)
class Reading:
    """How the figures of an outlook are read, in words.

    Attributes
    ----------
    counted
        What noise is added to, in the plural.
    interval
        What an interval is of, for the head of a column.
    error
        What the expected error is; ``{ignorance}`` is that of nobody looking at the data.
    ignores
        What has that error.
    """

    counted: str = "cells"
    interval: str = "interval of a share, +/-"
    error: str = (
        "expected error: the share of rows that would have to move to make the released table the"
        " true one; a table that ignores the data has {ignorance:.3f}. Computed on an invented"
        " table whose shares fall as 1, 1/2, 1/3, ..."
    )
    ignores: str = "a table that ignores the data"


def reference(cells: int) -> Floats:
    """Return the shares of the reference table: 1, 1/2, 1/3, ..., added up to 1."""
    shares: Floats = 1 / np.arange(1.0, cells + 1)
    shares /= shares.sum()
    return shares


def expected(recipe: CellRecipe, n: int, cells: int) -> Expected:
    """Return what a recipe can be expected to give for n rows in so many possible cells.

    Of a secret sample, the error is that of the whole table: sampling and noise.
    """

    def release(counts: Ints, rng: np.random.Generator) -> Floats:
        if recipe.fraction is not None:
            sampled = recipe.contribution.expected_people(n)
            counts = rng.multivariate_hypergeometric(counts, sampled, method="marginals")
        return recipe.rehearsal(counts, rng).rows

    return expected_error(release, n, cells)


def expected_error(
    release: Callable[[Ints, np.random.Generator], Floats], n: int, cells: int
) -> Expected:
    """Return the expected error of what a function makes of counts, on the reference table."""
    shares = reference(cells)
    rng = Streams(0)("private", "expected")
    distances = []
    for _ in range(max(1, min(REPETITIONS, _WORK // cells))):
        counts = rng.multinomial(n, shares)
        released = release(counts, rng)
        distances.append(_distance(released / released.sum(), counts / n))
    return Expected(float(np.mean(distances)), _distance(shares, np.full(cells, 1 / cells)))


def _distance(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).sum() / 2)


def best_size(recipe: CellRecipe, n: int, cells: int) -> int:
    """Return the number of released rows with the least expected error, of n, n / 2, n / 4, ...

    A Dirichlet-multinomial of fewer rows needs less noise for the same epsilon, and has more
    sampling error.
    """
    sizes: list[int] = [max(1, n // 2**step) for step in range(11)]
    errors = [expected(replace(recipe, size=size), n, cells).error for size in sizes]
    return sizes[int(np.argmin(errors))]
