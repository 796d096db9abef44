"""OpenDP and mbi, loaded when used: vetted noise, private choice, models of noisy tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError


@dataclass(frozen=True)
class NoisyTable:
    """One noisy table: its columns, its numbers, and the standard deviation of the noise."""

    names: tuple[str, ...]
    noisy: Floats = field(repr=False)
    sigma: float


def opendp() -> Any:
    """Return OpenDP, or say how to install it."""
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        msg = "this method needs OpenDP.\n\nHint: pip install 'veladura[dp]'."
        raise PlanError(msg) from None
    dp.enable_features("contrib")
    return dp


def geometric(scale: Fraction, sensitivity: int) -> tuple[Any, Fraction]:
    """Return OpenDP's two-sided geometric noise for counts, and the epsilon that it states."""
    dp = opendp()
    noise = dp.m.make_laplace(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64"), scale=float(scale)
    )
    return noise, Fraction(noise.map(sensitivity))


def gaussian(counts: Ints, sigma: float) -> Floats:
    """Return counts with OpenDP's integer Gaussian noise of standard deviation sigma."""
    dp = opendp()
    noise = dp.m.make_gaussian(
        dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float), scale=sigma
    )
    return np.array(noise(counts.tolist()), dtype=np.float64)


def noisy_maximum(scores: Sequence[float], sensitivity: float, rho: float) -> int:
    """Return the place of a high score, chosen privately by OpenDP at a cost of rho."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)

    def cost(scale: float) -> float:
        return float(
            dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale).map(
                sensitivity
            )
        )

    low, high = 0.0, sensitivity / rho**0.5
    while cost(high) > rho:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:  # the scale that costs rho, as OpenDP itself states the cost
        middle = (low + high) / 2
        low, high = (low, middle) if cost(middle) <= rho else (middle, high)
    return int(
        dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=high)(list(scores))
    )


def mbi() -> Any:
    """Return mbi in double precision, or say how to install it."""
    try:
        import jax
    except ModuleNotFoundError:
        msg = "this method needs mbi.\n\nHint: pip install 'veladura[dp]'."
        raise PlanError(msg) from None
    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about caches of JAX that are not used
        import mbi as library
    return library


def fit_model(
    names: Sequence[str],
    shape: tuple[int, ...],
    measured: Sequence[NoisyTable],
    n: int,
    before: Any,
) -> Any:
    """Return the graphical model nearest to the noisy tables, starting from the one before."""
    library = mbi()
    tables = [
        library.LinearMeasurement(table.noisy, table.names, table.sigma) for table in measured
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = library.estimation.MirrorDescent()
        return estimator.estimate(
            library.Domain(names, shape), tables, known_total=float(n), iters=300, warm_start=before
        )
