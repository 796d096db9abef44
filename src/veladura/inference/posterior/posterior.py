"""The posterior of the cell shares in the population, from a private release alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from veladura.errors import PlanError
from veladura.inference.posterior import convolve
from veladura.inference.posterior.convolve import Convolution, Factor
from veladura.inference.posterior.noise_aware import NoiseAwarePosterior, noise_aware
from veladura.inference.posterior.rows import rows_posterior, window
from veladura.inference.posterior.shares import Interval, Posterior, shortest
from veladura.methods.private.domain import Domain
from veladura.methods.private.noise_aware import NoiseAware

if TYPE_CHECKING:
    from veladura.core.release import Release

# kinds of cells times the length of a transform: about a minute; beyond it, an approximation
MOST = 1_000_000_000


def posterior(release: Release, prior: ArrayLike = 0.5) -> Posterior | NoiseAwarePosterior:
    """Return the posterior of the cell shares, given a differentially private release.

    Exact for a release that counts every cell. For `Marginals`, noise-aware: posterior draws given
    the noisy tables of the manifest.

    Parameters
    ----------
    release
        In memory or loaded from a package: its manifest has all that is needed.
    prior
        The Dirichlet parameter of the prior: one number for all cells, or an array over cells. For
        `Marginals` one number: people in each cell of the largest measured table.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> table = pd.DataFrame({"sex": ["f"] * 30 + ["m"] * 70})
    >>> recipe = vd.DirichletMultinomial(columns=["sex"], domain={"sex": ["f", "m"]}, epsilon=2)
    >>> release = recipe.protect(table)
    >>> vd.posterior(release).interval(0.95).lower.shape
    (2,)

    References
    ----------
    Charest, A.-S. (2011); Marcolin (2018), section 3.1: the model. The counts and the released
    probabilities are integrated out here; both papers leave that to a sampler.
    """
    from veladura.inference.posterior.reading import model_of

    model = model_of(release)
    if isinstance(model, NoiseAware):
        return noise_aware(model, prior)
    return from_counts(
        model.domain,
        model.released,
        model.n,
        prior,
        alpha=model.alpha,
        scale=model.scale,
        n_scale=model.n_scale,
    )


def from_counts(
    domain: Domain,
    released: ArrayLike,
    n: int,
    prior: ArrayLike = 0.5,
    *,
    alpha: ArrayLike | None = None,
    scale: float | None = None,
    n_scale: float | None = None,
) -> Posterior:
    """Return the posterior from released counts: datasets in rows, cells of the domain in columns.

    Parameters
    ----------
    alpha
        The Dirichlet parameter of the release, for `DirichletMultinomial`: one number, or one a
        cell.
    scale
        The scale of two-sided geometric noise, for `NoisyCounts`.
    n_scale
        The scale of the noise of n, where n is not public; infinite where n is only what the noisy
        counts add up to.
    """
    possible = domain.possible
    gamma = np.where(
        possible, np.broadcast_to(np.asarray(prior, dtype=np.float64), possible.shape), 0.0
    )
    if not np.isfinite(gamma).all() or (gamma[possible] <= 0).any():
        msg = "prior must be a number above 0 in every cell.\n\nHint: prior=0.5."
        raise PlanError(msg)
    rows = np.atleast_2d(np.asarray(released, dtype=np.float64))[:, possible]
    alphas = np.broadcast_to(np.asarray(0.0 if alpha is None else alpha, float), possible.shape)
    keys, kind = np.unique(
        np.column_stack([gamma[possible], alphas[possible], np.sort(rows, axis=0).T]),
        axis=0,
        return_inverse=True,
    )
    kind = kind.ravel()
    factors = [Factor(float(key[0]), key[2:], float(key[1]), scale) for key in keys]
    counts = np.bincount(kind, minlength=len(keys))
    laws = convolve.tilted(factors, counts, n)
    number = None
    if n_scale is not None:
        most = n + window(n, laws, counts, n_scale)
        laws = convolve.tilted(factors, counts, n, most)
        number = rows_posterior(n, factors, laws, counts, n_scale, float(gamma.sum()))
    whole = Convolution(laws, counts, n)
    method = "exact" if len(keys) * whole.length <= MOST else "approximate"
    weights = np.ascontiguousarray(keys[:, 0])
    return Posterior(domain, n, gamma, kind, laws, weights, method, number)


__all__ = ["Interval", "NoiseAwarePosterior", "Posterior", "from_counts", "posterior", "shortest"]
