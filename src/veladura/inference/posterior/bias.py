"""Bias of the posterior mean over many private releases of one table of counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.errors import PlanError
from veladura.inference.posterior.posterior import from_counts
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 2  # cells of a table, and releases of a standard error


@dataclass(frozen=True, eq=False)
class BiasTable:
    """What an analyst estimates on average, by cell.

    Attributes
    ----------
    truth
        Shares of the cells in the table.
    means
        Posterior means: releases, cells.
    alpha
        The Dirichlet parameter of the releases.
    """

    truth: Floats
    means: Floats = field(repr=False)
    alpha: float

    @property
    def bias(self) -> Floats:
        """Mean of the posterior means, less the true share."""
        return np.asarray(self.means.mean(axis=0) - self.truth)

    @property
    def relative(self) -> Floats:
        """The bias over the true share; nan for an empty cell."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.truth > 0, self.bias / self.truth, np.nan)

    @property
    def error(self) -> Floats:
        """Monte Carlo standard error of the bias."""
        return np.asarray(self.means.std(axis=0, ddof=1) / np.sqrt(len(self.means)))

    def to_frame(self) -> pd.DataFrame:
        """Return a line for each cell."""
        import pandas as pd

        return pd.DataFrame(
            {
                "share": self.truth,
                "estimate": self.means.mean(axis=0),
                "bias": self.bias,
                "relative_bias": self.relative,
                "error": self.error,
            }
        )

    def __str__(self) -> str:
        return str(self.to_frame().round(4).to_string())


def bias_table(
    counts: ArrayLike,
    *,
    epsilon: float,
    prior: ArrayLike = 0.5,
    size: int | None = None,
    m: int = 1,
    releases: int = 200,
    seed: int | None = None,
) -> BiasTable:
    """Return the bias of shares estimated from `DirichletMultinomial` releases of a table.

    For public or invented counts, before a budget is spent: what it shows of a confidential table
    is not private. Small epsilon pulls all shares towards those of the prior.

    Parameters
    ----------
    counts
        People in each cell.
    epsilon
        Budget of each release, spent on its m datasets in equal parts.
    prior
        The Dirichlet parameter of the analyst's prior: one number, or one for each cell.
    size
        Rows of a dataset; by default as many as there are people.
    m
        Datasets of each release.
    releases
        Number of releases that are simulated.
    seed
        For the same simulations again.

    Examples
    --------
    >>> table = bias_table([90, 10], epsilon=2, releases=100, seed=1)
    >>> bool(table.bias[0] < 0 < table.bias[1])
    True

    References
    ----------
    Marcolin, A. F. (2018). Métodos estatísticos de proteção de dados confidenciais sob a condição
    de differential privacy. Universidade Federal de Minas Gerais (Tables 4.4 and 4.5).
    """
    cells = np.asarray(counts, dtype=np.float64)
    if cells.ndim != 1 or cells.size < FEWEST or (cells < 0).any() or (cells % 1 != 0).any():
        msg = "counts must be whole numbers of people, none below 0, for at least two cells."
        raise PlanError(msg)
    n = int(cells.sum())
    rows = n if size is None else size
    if n < 1 or rows < 1 or m < 1 or releases < FEWEST or not epsilon > 0:
        msg = (
            "a table of biases needs a person, epsilon above 0, a row, a dataset and two releases;"
            f" got {n} people, epsilon = {epsilon}, size = {rows}, m = {m}, releases = {releases}."
        )
        raise PlanError(msg)
    alpha = float(exact.smallest_alpha(Fraction(str(epsilon)) / m, rows))
    rng = Streams.of(seed)("bias")
    laws = rng.standard_gamma(np.broadcast_to(cells + alpha, (releases, m, cells.size)))
    drawn = rng.multinomial(rows, laws / laws.sum(axis=2, keepdims=True))
    domain = Domain({"cell": tuple(range(cells.size))})
    means = [from_counts(domain, one, n, prior, alpha=alpha).mean for one in drawn]
    return BiasTable(cells / n, np.array(means), alpha)
