"""Priors of the disease-mapping model: penalised-complexity or gamma laws of its scales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.methods.geography.icar_model import Graph

SlopePrior = Literal["normal", "icar"]
KINDS = ("spatial", "contrast", "extra")
MOST_CELLS = 400  # whose marginal variance is computed, evenly spaced, for the scale of a graph


@dataclass(frozen=True, kw_only=True)
class Priors:
    """Hyperparameters of the disease-mapping model (see docs/methods/geography.md).

    Each kind of effect has a gamma prior of its precisions, or a penalised-complexity prior of its
    standard deviation where a limit is given: an exponential law with P(sd > limit) = ``tail``
    (Simpson et al. 2017). The standard deviation of an intrinsic CAR (ICAR) effect is that over the
    cells, geometric mean (Sorbye and Rue 2014), so that a limit says the same on any grid. Such a
    prior prefers no effect at all: with little data it takes contrasts away.

    Parameters
    ----------
    intercept_variance
        Variance of the normal prior of mu and of every alpha; its mean is 0.
    spatial_shape, spatial_rate
        Gamma prior of the precision of the common surface theta: how far log intensities of all
        people spread over the map.
    contrast_shape, contrast_rate
        The same of the surfaces phi of levels: how far log relative risks between groups spread
        over the map. A larger rate keeps more of a contrast.
    extra_shape, extra_rate
        The same of the extra variation eps of single cells, which knows no neighbours.
    spatial_sd, contrast_sd, extra_sd
        Limits of standard deviations, each instead of the gamma prior.
    tail
        Prior probability that a standard deviation is above its limit.
    slope
        Prior of the slopes of a covariate over the cells: ``normal``, N(0, v) independently, or
        ``icar``.
    slope_variance
        v: the variance of the slopes (normal), or of their common part beta_0 (icar; 0 leaves it
        out, as Nunes 2018 does). A large v discloses more about who lives where: compare risk and
        utility.
    slope_shape, slope_rate
        Gamma prior of the precision of slopes with the prior ``icar``.

    References
    ----------
    Simpson, D., Rue, H., Riebler, A., Martins, T. and Sorbye, S. (2017). Penalising model component
    complexity. Statistical Science 32(1), 1-28.
    Sorbye, S. and Rue, H. (2014). Scaling intrinsic Gaussian Markov random field priors in spatial
    modelling. Spatial Statistics 8, 39-51.
    """

    intercept_variance: float = 100.0
    spatial_shape: float = 1.0
    spatial_rate: float = 0.1
    contrast_shape: float = 1.0
    contrast_rate: float = 10.0
    extra_shape: float = 1.0
    extra_rate: float = 1.0
    spatial_sd: float | None = None
    contrast_sd: float | None = None
    extra_sd: float | None = None
    tail: float = 0.01
    slope: SlopePrior = "normal"
    slope_variance: float = 1.0
    slope_shape: float = 1.0
    slope_rate: float = 1.0

    def __post_init__(self) -> None:
        scales = [f"{kind}_{part}" for kind in KINDS for part in ("shape", "rate", "sd")]
        for name in ("intercept_variance", "slope_shape", "slope_rate", *scales):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                msg = f"{name} must be a number above 0, got {value!r}."
                raise PlanError(msg)
        if not 0 < self.tail < 1:
            msg = f"tail must be a probability between 0 and 1, got {self.tail!r}."
            raise PlanError(msg)
        if not 0 <= self.slope_variance < np.inf:
            msg = f"slope_variance must be a number of at least 0, got {self.slope_variance!r}."
            raise PlanError(msg)
        if self.slope not in get_args(SlopePrior):
            raise PlanError.unknown("slope prior", str(self.slope), get_args(SlopePrior))

    def of_scales(self, graph: Graph, effects: int, slopes: int = 0) -> Floats:
        """Return a, b, c of p(tau) ~ tau^(a - 1) exp(-b tau - c tau^(-1/2)), by effect, then eps.

        The last ``slopes`` effects are those of covariates.

        A gamma law has c = 0. The exponential law of sd = s / sqrt(tau), s the standard deviation
        at precision 1, has a = -1/2, b = 0 and c = -log(tail) s / limit (Simpson et al. 2017, eq.
        3.3).
        """
        rows = np.zeros((effects + 1, 3))
        for kind, at in zip(KINDS, (slice(0, 1), slice(1, -1), slice(-1, None)), strict=True):
            shape, rate, limit = (
                getattr(self, f"{kind}_{part}") for part in ("shape", "rate", "sd")
            )
            if limit is None:
                rows[at] = shape, rate, 0.0
            else:
                spread = 1.0 if kind == "extra" else unit_spread(graph)
                rows[at] = -0.5, 0.0, -math.log(self.tail) * spread / limit
        rows[effects - slopes : effects] = self.slope_shape, self.slope_rate, 0.0
        return rows


def unit_spread(graph: Graph) -> float:
    """Return the standard deviation of an ICAR effect of precision 1: geometric mean over cells.

    The marginal variance of cell i is entry (i, i) of the generalised inverse of the structure Q of
    its part: x_i for Q x = e_i - 1/n, sum 0. One cell of each part is held at 0 to solve, then x is
    centred. Cells without neighbours have variance 1.

    Examples
    --------
    >>> from veladura.methods.geography.icar_model import Graph
    >>> round(unit_spread(Graph.of_pairs(2, [(0, 1)])) ** 2, 6)  # (u, -u), 4 u^2 tau / 2 in the law
    0.25
    """
    from scipy.sparse import coo_array, csc_array, diags_array
    from scipy.sparse.linalg import splu

    degree = np.diff(graph.start)
    first = np.repeat(np.arange(graph.cells), degree)
    links = coo_array(
        (np.ones(first.size), (first, graph.neighbour)), shape=(graph.cells, graph.cells)
    )
    structure = csc_array(diags_array(degree.astype(np.float64)) - links)
    _, held = np.unique(graph.part, return_index=True)
    free = np.ones(graph.cells, dtype=bool)
    free[held[np.unique(graph.part) >= 0]] = False
    free &= graph.part >= 0
    solve = splu(structure[free][:, free]).solve
    near = np.flatnonzero(graph.part >= 0)
    looked = near[np.linspace(0, near.size - 1, min(near.size, MOST_CELLS)).astype(np.int64)]
    log_variance = []
    for i in looked.tolist():
        mine = graph.part == graph.part[i]
        right = np.where(mine, -1.0 / mine.sum(), 0.0)
        right[i] += 1.0
        x = np.zeros(graph.cells)
        x[free] = solve(right[free])
        log_variance.append(math.log(x[i] - x[mine].mean()))
    lone = graph.cells - near.size
    share = near.size / (near.size + lone)
    return math.exp(0.5 * share * float(np.mean(log_variance)))


__all__ = ["Priors", "SlopePrior", "unit_spread"]
