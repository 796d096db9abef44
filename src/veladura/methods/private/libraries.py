"""OpenDP, loaded when used: vetted noise and private choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import PlanError


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
    return int(_chosen_at(sensitivity, rho)(list(scores)))


def _noisy_max(scale: float) -> Any:
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)


@lru_cache(maxsize=64)
def _chosen_at(sensitivity: float, rho: float) -> Any:
    """Return the private choice that costs rho, as OpenDP itself states the cost."""

    def cost(scale: float) -> float:
        return float(_noisy_max(scale).map(sensitivity))

    low, high = 0.0, sensitivity / math.sqrt(rho)
    while cost(high) > rho:
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if cost(middle) <= rho else (middle, high)
    return _noisy_max(high)
