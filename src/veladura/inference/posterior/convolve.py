"""Marginals of independent counts given their sum, by tilted convolution.

Given the release, the counts x of the cells have P(x) proportional to prod f_i(x_i) on sum x_i = n;
the Dirichlet variables are integrated out (docs/methods/differential-privacy.md). Each f_i is
tilted by exp(theta x) so that the sum has mean n: that changes no conditional law, and puts n where
the convolution is most precise. Kinds of cells that look alike share one transform. Arrays in,
arrays out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln

from veladura.base.arrays import Floats, Ints

DEPTH = 52.0  # what is exp(-52) below the top of a factor is left out
FEW = 4096  # up to so many rows every count is a node
TAIL = 46.0  # the sum is beyond the transform with probability exp(-46)


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution on whole numbers: their probabilities from ``low`` on."""

    low: int
    chances: Floats

    @cached_property
    def values(self) -> Floats:
        """The numbers, as floats."""
        return self.low + np.arange(self.chances.size, dtype=np.float64)

    @cached_property
    def mean(self) -> float:
        """The expected number."""
        return float(self.chances @ self.values)

    @cached_property
    def variance(self) -> float:
        """The variance of the number."""
        return float(self.chances @ (self.values - self.mean) ** 2)


@dataclass(frozen=True, eq=False)
class Factor:
    """The factor f of one kind of cell, known by its ratios: no gamma function, and no digit lost.

    With a Dirichlet-multinomial, f(x) = Gamma(gamma + x) / x! prod_m Gamma(alpha + x + r_m) /
    Gamma(alpha + x) for released counts r_m; with two-sided geometric noise, f(x) = Gamma(gamma +
    x) / x! exp(-|r - x| / scale).
    """

    gamma: float
    released: Floats
    alpha: float = 1.0
    scale: float | None = None

    def ratios(self, x: Floats) -> Floats:
        """Return log f(x + 1) - log f(x)."""
        prior: Floats = np.log(self.gamma + x) - np.log1p(x)
        if self.scale is not None:
            prior += (np.abs(self.released[0] - x) - np.abs(self.released[0] - x - 1)) / self.scale
            return prior
        for released in self.released:
            prior += np.log1p(released / (self.alpha + x))
        return prior

    def logs(self, x: Floats) -> Floats:
        """Return log f(x), good enough to see where its mass is."""
        prior = gammaln(self.gamma + x) - gammaln(x + 1)
        if self.scale is not None:
            return np.asarray(prior - np.abs(self.released[0] - x) / self.scale)
        for released in self.released:
            prior += gammaln(self.alpha + x + released) - gammaln(self.alpha + x)
        return np.asarray(prior)

    def nodes(self, n: int) -> Floats:
        """Return counts that resolve every mode of f: all, or a grid as fine as a mode is wide."""
        if n <= FEW:
            return np.arange(n + 1, dtype=np.float64)
        fine = 2.0 * max(1.0, math.sqrt(self.released.size))
        grid = np.floor((np.arange(0.0, fine * math.sqrt(n) + 1) / fine) ** 2)
        near = (self.released[:, None] + np.arange(-50, 51)).ravel()
        return np.unique(np.clip(np.concatenate([np.arange(100.0), grid, near, [n]]), 0, n))


def tilted(factors: Sequence[Factor], counts: Ints, n: int, most: int | None = None) -> list[Law]:
    """Return the law of each kind of cell, tilted so that the sum over all cells has mean n.

    Parameters
    ----------
    counts
        How many cells are of each kind.
    most
        The largest count of a cell, where the number of rows is not known to be n.
    """
    seen = [(nodes := factor.nodes(most or n), factor.logs(nodes)) for factor in factors]
    place = np.array([float(min(n - 1, n // int(counts.sum())))])
    theta = -float(np.average([factor.ratios(place)[0] for factor in factors], weights=counts))
    low, high, step = -math.inf, math.inf, 1.0 / n
    for _ in range(200):
        laws = [_law(factor, theta, *at) for factor, at in zip(factors, seen, strict=True)]
        excess = sum(c * law.mean for c, law in zip(counts.tolist(), laws, strict=True)) - n
        spread = sum(c * law.variance for c, law in zip(counts.tolist(), laws, strict=True))
        if abs(excess) <= 0.05 * math.sqrt(spread) + 1e-9 * n:  # the tilt changes no result
            break
        low, high = (theta, high) if excess < 0 else (low, theta)
        newton = theta - excess / spread if spread > 0 else math.nan
        if math.isfinite(low) and math.isfinite(high):
            theta = newton if low < newton < high else (low + high) / 2
        else:  # no bracket yet: walk, ever faster, and let Newton cut the walk short
            walk = theta + (step if excess < 0 else -step)
            theta = newton if math.isfinite(newton) and abs(newton - theta) < step else walk
            step *= 3
    return laws


def _law(factor: Factor, theta: float, nodes: Floats, logs: Floats) -> Law:
    """Return a factor times exp(theta x), as chances over the window that holds its mass."""
    rough = logs + theta * nodes
    inside = np.flatnonzero(rough > rough.max() - DEPTH)
    first = int(nodes[max(int(inside[0]) - 1, 0)])
    last = int(nodes[min(int(inside[-1]) + 1, nodes.size - 1)])
    exact = np.zeros(last - first + 1)
    np.cumsum(factor.ratios(np.arange(first, last, dtype=np.float64)) + theta, out=exact[1:])
    exact -= exact.max()
    kept = np.flatnonzero(exact > -DEPTH)
    low, high = int(kept[0]), int(kept[-1])
    chances = np.exp(exact[low : high + 1])
    return Law(first + low, chances / chances.sum())


@dataclass(frozen=True, eq=False)
class Convolution:
    """Kinds of cells, how many there are of each, and the number that all cells add up to."""

    laws: Sequence[Law]
    counts: Ints
    n: int

    def marginals(self) -> tuple[list[Law], float]:
        """Return the law of a cell of each kind given the sum, and the error in adding up.

        P(x_i = v | sum = n) is proportional to g_i(v) P(the others add to n - v). All others of
        each kind are multiplied without a division: what is small in one factor is never divided
        out again.
        """
        length = self.length
        spectra = self._spectra(length)
        marginals: list[Law] = [self.laws[0]] * len(self.laws)
        masses = np.zeros(len(self.laws))
        base = sum(law.low * int(c) for law, c in zip(self.laws, self.counts, strict=True))
        for kind, others in _leave_one_out(spectra, self.counts):
            law = self.laws[kind]
            rest = irfft(others, length)
            places = self.n - base - np.arange(law.chances.size)  # of the others above their least
            weights = law.chances * np.where(
                places >= 0, np.maximum(rest[places % length], 0.0), 0.0
            )
            masses[kind] = weights.sum()
            marginals[kind] = _trimmed(law.low, weights)
        total = sum(int(c) * law.mean for law, c in zip(marginals, self.counts, strict=True))
        error = max(float(np.ptp(masses) / masses.max()), abs(total - self.n) / self.n)
        return marginals, error

    def sums(self, groups: Sequence[Ints]) -> list[Law]:
        """Return the tilted law of the sum of each group of cells.

        Parameters
        ----------
        groups
            The number of cells of each kind in each group.
        """
        length = self.length
        products = np.ones((len(groups), length // 2 + 1), dtype=complex)
        for kind, law in enumerate(self.laws):
            spectrum = rfft(law.chances, length)
            for place, group in enumerate(groups):
                if group[kind]:
                    products[place] *= _power(spectrum, int(group[kind]))
        return [
            self._sum(irfft(product, length), group)
            for product, group in zip(products, groups, strict=True)
        ]

    def _sum(self, wrapped: Floats, group: Ints) -> Law:
        """Return the law of a group's sum from its transform, unwrapped around its mean."""
        kinds = np.flatnonzero(group).tolist()
        low = sum(self.laws[kind].low * int(group[kind]) for kind in kinds)
        mean = sum(self.laws[kind].mean * int(group[kind]) for kind in kinds)
        first = max(low, math.floor(mean) - wrapped.size // 2)
        chances = np.maximum(np.roll(wrapped, -((first - low) % wrapped.size)), 0.0)
        chances[chances < chances.max() * 1e-17] = 0.0  # below the last digit of the transform
        return _trimmed(first, chances[: max(1, self.n - first + 1)])

    def _spectra(self, length: int) -> NDArray[np.complex128]:
        """Return the transform of each kind, without frequencies that vanish in the product."""
        weight, least = np.zeros(length // 2 + 1), np.zeros(length // 2 + 1)
        for law, count in zip(self.laws, self.counts.tolist(), strict=True):
            with np.errstate(divide="ignore"):
                size = np.maximum(np.log(np.abs(rfft(law.chances, length))), -700.0)
            weight += count * size
            least = np.minimum(least, size)
        alone = len(self.laws) == 1 and self.counts[0] == 1
        useful = weight.size if alone else int(np.flatnonzero(weight - least > -DEPTH)[-1]) + 1
        return np.array([rfft(law.chances, length)[:useful] for law in self.laws])

    @cached_property
    def length(self) -> int:
        """The length of the transform: the support of the sum, without negligible tails."""
        widths = np.array([law.chances.size for law in self.laws])
        whole = int(widths @ self.counts) + int(widths.max()) + 1
        enough = (
            whole if whole <= 1 << 12 else min(whole, 2 * self._radius() + 2 * int(widths.max()))
        )
        return int(next_fast_len(enough, real=True))

    def _radius(self) -> int:
        """Return the distance from the mean with tail probability exp(-46) at most (Chernoff)."""
        spread = math.sqrt(
            sum(int(c) * law.variance for law, c in zip(self.laws, self.counts, strict=True))
        )
        reaches = []
        for sign in (1, -1):
            bounds = [
                (self._log_moment(sign * t / spread) + TAIL) * spread / t
                for t in (1.0, 3.0, 6.0, 9.0)
            ]
            reaches.append(min(bounds))
        return math.ceil(max(reaches))

    def _log_moment(self, t: float) -> float:
        """Return the log of E exp(t (sum - its mean))."""
        total = 0.0
        for law, count in zip(self.laws, self.counts.tolist(), strict=True):
            powers = t * (law.values - law.mean)
            top = float(powers.max())
            total += count * (top + math.log(float(law.chances @ np.exp(powers - top))))
        return total


def _leave_one_out(
    spectra: NDArray[np.complex128], counts: Ints
) -> Iterator[tuple[int, NDArray[np.complex128]]]:
    """Yield for each kind the product of all cells but one of that kind, by halves."""
    powers = [_power(base, int(c)) for base, c in zip(spectra, counts, strict=True)]

    def halves(
        first: int, last: int, outside: NDArray[np.complex128]
    ) -> Iterator[tuple[int, NDArray[np.complex128]]]:
        if last - first == 1:
            yield first, outside * _power(spectra[first], int(counts[first]) - 1)
            return
        middle = (first + last) // 2
        yield from halves(first, middle, outside * np.prod(powers[middle:last], axis=0))
        yield from halves(middle, last, outside * np.prod(powers[first:middle], axis=0))

    yield from halves(0, len(powers), np.ones(spectra.shape[1], dtype=complex))


def _power(base: NDArray[np.complex128], exponent: int) -> NDArray[np.complex128]:
    """Return a whole power by squaring."""
    result = np.ones_like(base)
    while exponent:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent >>= 1
    return result


def _trimmed(low: int, weights: Floats) -> Law:
    """Return weights as a law without the zeros at its ends."""
    inside = np.flatnonzero(weights > 0)
    first, last = int(inside[0]), int(inside[-1])
    kept = weights[first : last + 1]
    return Law(low + first, kept / kept.sum())
