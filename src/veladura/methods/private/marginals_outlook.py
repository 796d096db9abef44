"""What a table of `Marginals` can be expected to give: from its cells and its noise alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.private.expected import Expected, expected_error, reference
from veladura.methods.private.noisy import nearest


@dataclass(frozen=True)
class TableNoise:
    """Gaussian noise of the same spread on every cell of a table.

    Attributes
    ----------
    sigma
        Its standard deviation, in rows.
    """

    sigma: float

    def expected(self, n: int, cells: int) -> Expected:
        """Return the expected error of a table of n rows, on the reference table."""

        def noisy(counts: Ints, rng: np.random.Generator) -> Floats:
            moved = counts + rng.normal(0.0, self.sigma, counts.size)
            return nearest(moved, float(counts.sum()))

        return expected_error(noisy, n, cells)

    def half_width(self, n: int, cells: int) -> float:
        """Return half the average width of 95 % intervals of the cells.

        Of shares as of the reference table: sampling and noise, p (1 - p) / n + sigma^2 / n^2.
        """
        shares = reference(cells)
        variance = shares * (1 - shares) / n + (self.sigma / n) ** 2
        return float(1.96 * np.sqrt(variance).mean())
