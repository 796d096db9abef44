"""The posterior of a small log-linear model given noisy tables, by Hamiltonian Monte Carlo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from veladura.base.arrays import Floats, Mask
from veladura.numeric.graphical.fit import NoisyTable
from veladura.numeric.graphical.junction import Columns

FLAT = 1e-9  # eigenvalues below this share of the largest: directions that change no table
NEWTON, ENOUGH = 60, 1e-9
TARGET, LENGTH = 0.9, 1.6  # accepted share of proposals; length of a path in standard deviations
MOST_STEPS = 40  # of a path
START = 0.5  # standard deviations: the tails of Laplace's approximation are not those near 0
DEEP, HALVINGS = 2.0, 40  # a start is at most this far below the mode, per parameter
WARM = (150, 300)


@dataclass(frozen=True, eq=False)
class CellModel:
    """A log-linear model over all possible cells, and its posterior given noisy tables.

    p is proportional to exp(E z) over the cells, where the columns of E span the indicators of the
    measured tables. Given the counts n p of the protected table, the noisy tables y are normal
    around A'n p with the stated standard deviations. The prior is that of ``prior`` further people
    in every cell of the largest table, spread evenly: exp(a (mean of E z - log sum exp E z)), the
    conjugate prior of Diaconis and Ylvisaker (1979).

    Attributes
    ----------
    indicators
        A: which cells are in which cell of the measured tables, possible cells in rows.
    noisy, sigma
        The noisy counts, and the standard deviation of their noise.
    n
        The number of rows of the protected table.
    weight
        a: the weight of the prior, in people.
    hidden
        Whether n is only an estimate: the number is then f n with an unknown f, integrated out.
    """

    indicators: Floats = field(repr=False)
    noisy: Floats = field(repr=False)
    sigma: Floats = field(repr=False)
    n: float
    weight: float
    hidden: bool = False

    @classmethod
    def of(
        cls,
        shape: tuple[int, ...],
        possible: Mask,
        measured: Sequence[NoisyTable],
        n: float,
        prior: float,
        *,
        hidden: bool = False,
    ) -> CellModel:
        """Return the model of noisy tables over the possible cells of a domain."""
        blocks = [indicator(shape, table.columns)[possible] for table in measured]
        sizes = [table.noisy.size for table in measured]
        return cls(
            np.hstack(blocks),
            np.concatenate([table.noisy for table in measured]),
            np.repeat([table.sigma for table in measured], sizes),
            n,
            prior * max(sizes),
            hidden,
        )

    @cached_property
    def basis(self) -> Floats:
        """E before scaling: an orthonormal basis of the indicators, without the constant."""
        centred = self.indicators - self.indicators.mean(axis=0)
        left, values, _ = np.linalg.svd(centred, full_matrices=False)
        return np.ascontiguousarray(left[:, values > FLAT * max(values.max(initial=0.0), 1.0)])

    @cached_property
    def _turned(self) -> tuple[Floats, Floats]:
        """The indicators times n, and the noisy counts, in standard deviations of the noise.

        Turned to the few directions that the tables can differ in: tables that share columns
        repeat each other, and what the model cannot move adds a constant only.
        """
        weighted = self.n * self.indicators / self.sigma
        left, values, right = np.linalg.svd(weighted, full_matrices=False)
        kept = values > FLAT * values.max(initial=0.0)
        return left[:, kept] * values[kept], right[kept] @ (self.noisy / self.sigma)

    def density(self, scores: Floats) -> tuple[Floats, Floats]:
        """Return the log posterior density and its gradient by cell, for rows of E z.

        The mean of E z over the cells is 0, and a constant gradient has no effect on z: the basis
        is centred.
        """
        weighted, noisy = self._turned
        peak = scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - peak)
        sums = weights.sum(axis=1, keepdims=True)
        shares = weights / sums
        expected = shares @ weighted
        if self.hidden:
            value, slope = scaled_likelihood(noisy, expected)
        else:
            slope = noisy - expected
            value = -0.5 * np.einsum("ij,ij->i", slope, slope)
        value = value - self.weight * (peak + np.log(sums))[:, 0]
        pull = slope @ weighted.T
        pull -= np.einsum("ij,ij->i", shares, pull)[:, None] + self.weight
        return value, shares * pull

    @staticmethod
    def shares(scores: Floats) -> Floats:
        """Return the shares of the cells, for rows of E z."""
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares: Floats = weights / weights.sum(axis=1, keepdims=True)
        return shares

    def curvature(self, point: Floats) -> Floats:
        """Return the negative Hessian in the basis, by Gauss and Newton."""
        share = self.shares((self.basis @ point)[None, :])[0]
        centred = self.basis - share @ self.basis
        spread = (centred * share[:, None]).T
        covariance = spread @ centred
        weighted = self._turned[0]
        slopes = spread @ (weighted - share @ weighted)
        hessian: Floats = slopes @ slopes.T + self.weight * covariance
        return hessian

    def mode(self) -> Floats:
        """Return the parameters of largest posterior density, by damped Newton steps."""
        point = np.zeros(self.basis.shape[1])
        value, gradient = self.density((self.basis @ point)[None, :])
        for _ in range(NEWTON):
            slope = self.basis.T @ gradient[0]
            hessian = self.curvature(point)
            hessian += 1e-9 * np.trace(hessian) / len(point) * np.eye(len(point))
            step = np.linalg.solve(hessian, slope)
            scale = 1.0
            while scale > 1e-6:  # noqa: PLR2004
                trial = point + scale * step
                new, gradient_there = self.density((self.basis @ trial)[None, :])
                if new[0] >= value[0]:
                    break
                scale /= 2
            gained = float(new[0] - value[0])
            point, value, gradient = trial, new, gradient_there
            if gained < ENOUGH:
                break
        return point


def scaled_likelihood(noisy: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Return the log likelihood of noisy counts around f times the expected ones, and its gradient.

    In standard deviations of the noise, in rows. The factor f has a flat prior and is integrated
    out: with e the expected and y the noisy counts, (e'y)^2 / (2 e'e) - log(e'e) / 2.
    """
    square = np.einsum("ij,ij->i", expected, expected)
    factor = (expected @ noisy) / square
    value = 0.5 * square * factor**2 - 0.5 * np.log(square)
    slope = factor[:, None] * (noisy - factor[:, None] * expected) - expected / square[:, None]
    return value, slope


def indicator(shape: tuple[int, ...], columns: Columns) -> Floats:
    """Return which cells of a domain (rows) are in which cell of a table of some columns."""
    grid = np.indices(shape).reshape(len(shape), -1)
    sizes = tuple(shape[column] for column in columns)
    place = np.ravel_multi_index([grid[column] for column in columns], sizes)
    result = np.zeros((grid.shape[1], int(np.prod(sizes))))
    result[np.arange(grid.shape[1]), place] = 1.0
    return result


@dataclass(eq=False)
class Hamiltonian:
    """Chains of Hamiltonian Monte Carlo in coordinates in which the posterior is nearly normal.

    ``scores`` are ``centre`` plus ``turned`` z; each chain has a row of z.
    """

    model: CellModel
    centre: Floats
    turned: Floats
    rng: np.random.Generator
    z: Floats
    log_step: float

    def __post_init__(self) -> None:
        self.value, self.gradient = self.density(self.z)
        self.tuned = 0

    def density(self, z: Floats) -> tuple[Floats, Floats]:
        """Return the log density and its gradient in these coordinates."""
        value, gradient = self.model.density(self.centre + z @ self.turned.T)
        return value, gradient @ self.turned

    def advance(self, *, tune: bool) -> float:
        """Move every chain along a path of random length; return the mean chance of acceptance."""
        rng = self.rng
        step = float(np.exp(self.log_step)) * rng.uniform(0.8, 1.2)
        momentum = rng.standard_normal(self.z.shape)
        start = self.value - 0.5 * (momentum**2).sum(axis=1)
        there, value, slope = self.z, self.value, self.gradient
        for _ in range(min(MOST_STEPS, max(1, round(LENGTH * rng.uniform(0.5, 1.5) / step)))):
            momentum = momentum + 0.5 * step * slope
            there = there + step * momentum
            value, slope = self.density(there)
            momentum = momentum + 0.5 * step * slope
        gain = value - 0.5 * (momentum**2).sum(axis=1) - start
        chance = np.exp(np.minimum(0.0, np.where(np.isfinite(gain), gain, -np.inf)))
        taken = rng.random(len(chance)) < chance
        self.z = np.where(taken[:, None], there, self.z)
        self.value = np.where(taken, value, self.value)
        self.gradient = np.where(taken[:, None], slope, self.gradient)
        if tune:
            self.tuned += 1
            self.log_step += (float(chance.mean()) - TARGET) / np.sqrt(self.tuned + 5)
        return float(chance.mean())

    def rescaled(self, draws: Floats) -> Hamiltonian:
        """Return the chains in coordinates scaled by earlier draws, in rows."""
        size = draws.shape[1]
        spread = np.cov(draws, rowvar=False).reshape(size, size)
        weight = len(draws) / (len(draws) + size)
        lower = np.linalg.cholesky(weight * spread + (1 - weight) * np.diag(np.diag(spread)))
        mean = draws.mean(axis=0)
        return Hamiltonian(
            self.model,
            self.centre + self.turned @ mean,
            self.turned @ lower,
            self.rng,
            np.linalg.solve(lower, (self.z - mean).T).T,
            np.log(0.9 * size**-0.25),
        )

    def run(self, length: int, *, tune: bool) -> Floats:
        """Return the draws of z along the chains: chains, draws, coordinates."""
        draws = np.empty((len(self.z), length, self.z.shape[1]))
        for number in range(length):
            self.advance(tune=tune)
            draws[:, number] = self.z
        return draws


def near_mode(model: CellModel, centre: Floats, turned: Floats, z: Floats) -> Floats:
    """Return starts drawn nearer to the mode until their density is one that draws have.

    Where a cell is nearly empty its logarithm is hardly known, and Laplace's approximation reaches
    as far up as down: a start up there has thousands of people too many, and a chain that begins
    millions of units below the mode never comes back.
    """
    peak = model.density(centre[None, :])[0][0]
    for _ in range(HALVINGS):
        far = ~(model.density(centre + z @ turned.T)[0] > peak - DEEP * z.shape[1])
        if not far.any():
            break
        z = np.where(far[:, None], z / 2, z)
    return z


def warmed(model: CellModel, rng: np.random.Generator, chains: int = 4) -> Hamiltonian:
    """Return chains that are ready to be kept: started, scaled and tuned.

    They start from draws of the Laplace approximation, which scales the coordinates first; their
    own draws scale them anew twice. The step is set so that four in five proposals are accepted
    (Neal 2011, sections 4.1 and 5.4).
    """
    mode = model.mode()
    lower = np.linalg.cholesky(model.curvature(mode) + 1e-9 * np.eye(mode.size))
    turned = np.linalg.solve(lower, model.basis.T).T
    z = near_mode(
        model, model.basis @ mode, turned, START * rng.standard_normal((chains, mode.size))
    )
    step = np.log(0.9 * max(mode.size, 1) ** -0.25)
    walk = Hamiltonian(model, model.basis @ mode, turned, rng, z, step)
    if mode.size:
        for length in WARM:
            draws = walk.run(length, tune=True)[:, length // 3 :]
            walk = walk.rescaled(draws.reshape(-1, mode.size))
        walk.run(WARM[0], tune=True)
    return walk
