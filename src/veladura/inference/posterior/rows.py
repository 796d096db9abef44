"""A number of rows that is known with noise only: its posterior, and shares given all of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from veladura.base.arrays import Floats, Ints
from veladura.inference.posterior.convolve import Convolution, Factor, Law
from veladura.inference.posterior.mixture import Share

REACH = 12.0  # standard deviations of the number of rows that are looked at
FAR = 30.0  # scales of its noise: exp(-30)
NEGLIGIBLE = 1e-12
EACH = 64  # up to so many numbers of rows are taken one by one
NODES = 32  # and more as so many groups


def window(n: int, laws: Sequence[Law], counts: Ints, scale: float) -> int:
    """Return how far from the stated number of rows the true one is looked for."""
    spread = math.sqrt(sum(int(c) * law.variance for law, c in zip(laws, counts, strict=True)))
    reach = min(REACH * spread, FAR * scale) if math.isfinite(scale) else REACH * spread
    return max(8, min(math.ceil(reach), 10 * n + 1000))


def rows_posterior(
    n: int, factors: Sequence[Factor], laws: Sequence[Law], counts: Ints, scale: float, prior: float
) -> Law:
    """Return the posterior of the number of rows.

    Given N rows the release has probability proportional to N! / Gamma(prior + N) C(N), where C(N)
    sums prod f_i(x_i) over the counts that add up to N (the Dirichlet prior of the shares is
    integrated out). C(N) is what the convolution of the tilted laws has at N, times exp(-theta N).
    A Dirichlet-multinomial of R rows adds Gamma(A + N) / Gamma(A + N + R) for each dataset, where A
    is the sum of all alpha: a constant as long as N is known.
    The stated number is n = N plus two-sided geometric noise of a scale; infinite where nothing is
    stated but the cells. The prior of N is flat.
    """
    reach = window(n, laws, counts, scale)
    top = n + reach
    [total] = Convolution(laws, counts, top).sums([counts])
    kept = (total.values >= max(1, n - reach)) & (total.values <= top) & (total.chances > 0)
    values = total.values[kept]
    logs = np.log(total.chances[kept]) - tilt(factors, laws) * (values - n)
    logs += gammaln(values + 1) - gammaln(prior + values)
    if factors[0].scale is None:
        alpha = sum(int(c) * factor.alpha for factor, c in zip(factors, counts, strict=True))
        every = sum(
            int(c) * factor.released.sum() for factor, c in zip(factors, counts, strict=True)
        )
        datasets = factors[0].released.size
        logs += datasets * (gammaln(alpha + values) - gammaln(alpha + values + every / datasets))
    if math.isfinite(scale):
        logs -= np.abs(values - n) / scale
    weights = np.exp(logs - logs.max())
    inside = np.flatnonzero(weights > NEGLIGIBLE)
    first, last = int(inside[0]), int(inside[-1])
    weights = weights[first : last + 1]
    return Law(int(values[first]), weights / weights.sum())


def tilt(factors: Sequence[Factor], laws: Sequence[Law]) -> float:
    """Return theta, from a law and its factor: the law is the factor times exp(theta x)."""
    for factor, law in zip(factors, laws, strict=True):
        if law.chances.size > 1:
            place = min(int(np.argmax(law.chances)), law.chances.size - 2)
            rise = math.log(law.chances[place + 1] / law.chances[place])
            return rise - float(factor.ratios(np.array([float(law.low + place)]))[0])
    return 0.0


def nodes(rows: Law) -> list[tuple[int, float]]:
    """Return numbers of rows with their probabilities: all, or the means of equal groups."""
    values, chances = rows.values, rows.chances
    if values.size <= EACH:
        return [(int(v), float(c)) for v, c in zip(values, chances, strict=True) if c > 0]
    group = np.minimum((np.cumsum(chances) - chances / 2) * NODES, NODES - 1).astype(int)
    weights = np.bincount(group, weights=chances, minlength=NODES)
    means = np.bincount(group, weights=chances * values, minlength=NODES)
    return [
        (round(means[i] / weights[i]), float(weights[i])) for i in np.flatnonzero(weights).tolist()
    ]


@dataclass(frozen=True, eq=False)
class MixedShare(Share):
    """The posterior law of a share where the number of rows is not known: a mixture over it."""

    parts: Sequence[tuple[float, Share]] = field(repr=False)

    @classmethod
    def of(cls, parts: Sequence[tuple[float, Share]]) -> MixedShare:
        """Return the mixture of shares with their probabilities."""
        low = min(share.law.low for _, share in parts)
        high = max(share.law.low + share.law.chances.size for _, share in parts)
        chances = np.zeros(high - low)
        for weight, share in parts:
            first = share.law.low - low
            chances[first : first + share.law.chances.size] += weight * share.law.chances
        total = sum(weight * share.total for weight, share in parts)
        return cls(Law(low, chances), parts[0][1].gamma, total, parts)

    @property
    def mean(self) -> float:
        """The mean over the numbers of rows."""
        return sum(weight * share.mean for weight, share in self.parts)

    @property
    def variance(self) -> float:
        """The variance: within the numbers of rows, and between them."""
        mean = self.mean
        return sum(w * (share.variance + (share.mean - mean) ** 2) for w, share in self.parts)

    def _both(self, points: Floats) -> tuple[Floats, Floats]:
        both = [(weight, share._both(points)) for weight, share in self.parts]  # noqa: SLF001
        return sum(w * b[0] for w, b in both), sum(w * b[1] for w, b in both)  # type: ignore[return-value]

    def _support(self) -> Floats:
        ends = np.array([share._support() for _, share in self.parts])  # noqa: SLF001
        return np.array([ends[:, 0].min(), ends[:, 1].max()])
