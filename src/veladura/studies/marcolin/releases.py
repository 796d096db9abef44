"""Releases of the study, and the exact posterior of each."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Mask
from veladura.inference.posterior.posterior import from_counts
from veladura.methods.private import exact
from veladura.methods.private.domain import Domain


class Estimates(NamedTuple):
    """Over releases (rows): posterior means, variances, and whether 95 % intervals hold."""

    mean: Floats
    variance: Floats
    covered: Mask


def alpha_of(epsilon: float, size: int, sets: int = 1) -> float:
    """Return the smallest alpha of a release: size / (exp(epsilon / M) - 1), rounded up."""
    return float(exact.smallest_alpha(Fraction(str(epsilon)) / sets, size))


def released(rng: Generator, counts: Floats, size: int, alpha: float, sets: int = 1) -> Floats:
    """Draw releases of tables: tables, datasets, cells. Shares are drawn for each dataset."""
    laws = rng.standard_gamma(np.repeat(counts[:, None, :], sets, axis=1) + alpha)
    return rng.multinomial(size, laws / laws.sum(axis=2, keepdims=True)).astype(np.float64)


def estimated(
    release: Floats, n: int, alpha: float, prior: float, truth: Floats | None = None
) -> Estimates:
    """Return the exact posterior of each release, and whether it covers true shares, if given."""
    found = [
        _posterior(tuple(map(tuple, one)), n, alpha, prior, truth is not None) for one in release
    ]
    mean, variance = (np.array([one[place] for one in found]) for place in range(2))
    if truth is None:
        return Estimates(mean, variance, np.zeros(mean.shape, dtype=bool))
    low, high = (np.array([one[place] for one in found]) for place in (2, 3))
    return Estimates(mean, variance, (low <= truth) & (truth <= high))


@lru_cache(maxsize=4096)
def _posterior(
    release: tuple[tuple[float, ...], ...],
    n: int,
    alpha: float,
    prior: float,
    intervals: bool,  # noqa: FBT001
) -> tuple[Floats, ...]:
    """Return means and variances, and the ends of the shortest 95 % intervals if asked."""
    domain = Domain({"cell": tuple(range(len(release[0])))})
    found = from_counts(domain, release, n, prior, alpha=alpha)
    ends = tuple(found.interval(0.95)) if intervals else ()
    return (found.mean, found.variance, *ends)
