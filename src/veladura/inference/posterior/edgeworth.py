"""Edgeworth approximation of the marginals, where the convolution would take too long."""

from __future__ import annotations

import math

import numpy as np

from veladura.inference.posterior.convolve import Convolution, Law


def approximate_marginals(whole: Convolution) -> tuple[list[Law], float]:
    """Return the law of a cell of each kind given the sum, and the stated error.

    The others' sum has density phi(z) (1 + k3 H3(z) / 6 + k4 H4(z) / 24 + k3^2 H6(z) / 72) with
    standardised cumulants k3, k4 (Edgeworth; Feller 1971, chapter XVI). The stated error is the
    total variation between the laws with and without the last two terms, the largest over the
    kinds: what is left out is smaller.
    """
    cumulants = np.array([_cumulants(law) for law in whole.laws])
    every = whole.counts @ cumulants
    marginals, error = [], 0.0
    for law, own in zip(whole.laws, cumulants, strict=True):
        mean, variance, third, fourth = every - own
        z = (whole.n - law.values - mean) / math.sqrt(variance)
        k3, k4 = third / variance**1.5, fourth / variance**2
        first = np.exp(-(z**2) / 2) * (1 + k3 * (z**3 - 3 * z) / 6)
        last = np.exp(-(z**2) / 2) * (
            k4 * (z**4 - 6 * z**2 + 3) / 24 + k3**2 * (z**6 - 15 * z**4 + 45 * z**2 - 15) / 72
        )
        rough, fine = (law.chances * np.maximum(factor, 0.0) for factor in (first, first + last))
        rough, fine = rough / rough.sum(), fine / fine.sum()
        error = max(error, float(np.abs(rough - fine).sum()) / 2)
        marginals.append(Law(law.low, fine))
    return marginals, error


def _cumulants(law: Law) -> tuple[float, float, float, float]:
    mean = law.mean
    away = law.values - mean
    second, third, fourth = (float(law.chances @ away**power) for power in (2, 3, 4))
    return mean, second, third, fourth - 3 * second**2
