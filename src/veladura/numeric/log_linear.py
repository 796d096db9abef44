"""Poisson log-linear models of a table of counts, and what they say of those who are unique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

import numpy as np

from veladura.base.arrays import Floats, Ints

MOST_CELLS = 500_000  # of the whole table, fitted and judged cell by cell
ROUNDS = 200
CLOSE = 1e-4  # people by which a fitted margin may differ
NODES = 48
FAR = 40.0  # exp(-40): what an integral leaves out


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """Expected people of the sample in the cells that occur.

    Attributes
    ----------
    order
        1 for main effects (independent columns), 2 with all pairs of columns.
    expected
        Expected people of the sample in each cell.
    misfit
        B1 over its standard error: above 0 the model is too simple, below 0 it follows chance; NaN
        for a table that is too large to judge.
    """

    order: int
    expected: Floats = field(repr=False)
    misfit: float


def fit_log_linear(
    codes: Ints, levels: Sequence[int], sizes: Ints, fraction: float, order: int | None = None
) -> LogLinearFit:
    """Return a Poisson log-linear model of the cells of a sample.

    Main effects or all pairs of columns, whichever has the smaller estimated error of the number of
    population uniques, B1 over its standard error (Skinner and Shlomo 2008, sec. 3.3). A table of
    too many cells gets main effects.

    Parameters
    ----------
    codes
        The cells that occur, one a row, one column a variable.
    levels
        Number of values of each variable.
    sizes
        People of the sample in each of these cells.
    order
        1 or 2 to take that model.
    """
    cells = prod(levels)
    if cells > MOST_CELLS:
        return LogLinearFit(1, _independent(codes, levels, sizes), float("nan"))
    place = np.ravel_multi_index(tuple(codes.T), tuple(levels))
    counts = np.zeros(cells)
    np.add.at(counts, place, sizes)
    fits = []
    for number in (1, 2) if order is None else (order,):
        fitted = _scaled(counts.reshape(levels), number).ravel()
        misfit = error_of_uniques(counts, fitted, fraction)
        fits.append(LogLinearFit(number, fitted[place], misfit))
    return min(fits, key=lambda fit: abs(fit.misfit))


def _independent(codes: Ints, levels: Sequence[int], sizes: Ints) -> Floats:
    total = float(sizes.sum())
    expected = np.full(len(codes), total)
    for column, number in enumerate(levels):
        margin = np.bincount(codes[:, column], weights=sizes, minlength=number)
        expected *= margin[codes[:, column]] / total
    return expected


def _scaled(counts: Floats, order: int) -> Floats:
    """Return the fit by iterative proportional fitting to all margins of one or two columns."""
    axes = range(counts.ndim)
    number = min(order, counts.ndim)
    others = [
        tuple(axis for axis in axes if axis not in kept) for kept in combinations(axes, number)
    ]
    wanted = [counts.sum(axis=rest, keepdims=True) for rest in others]
    fitted = np.full(counts.shape, counts.sum() / counts.size)
    for _ in range(ROUNDS):
        worst = 0.0
        for rest, margin in zip(others, wanted, strict=True):
            own = fitted.sum(axis=rest, keepdims=True)
            worst = max(worst, float(np.abs(own - margin).max()))
            fitted *= np.divide(margin, own, out=np.zeros_like(own), where=own > 0)
        if worst < CLOSE:
            break
    return fitted


def error_of_uniques(counts: Floats, expected: Floats, fraction: float) -> float:
    """Return B1 / sqrt(v): by how much a model misjudges population uniques, in standard errors.

    B1 = sum over cells of lambda exp(-lambda) (1 - pi) {-(f - mu) + (1 - pi) ((f - mu)^2 - f) /
    (2 pi)}, with mu = pi lambda; v = sum of lambda^2 exp(-2 lambda) (1 - pi)^2 {mu + (1 - pi)^2
    mu^2 / (2 pi^2)} (Skinner and Shlomo 2008, eq. 12; the variance is that of Poisson counts).
    """
    rate = expected / fraction
    load, half = rate * np.exp(-rate) * (1 - fraction), (1 - fraction) / (2 * fraction)
    off = counts - expected
    error = float(load @ (half * (off**2 - counts) - off))
    variance = float(load**2 @ (expected + 2 * half**2 * expected**2))
    return error / variance**0.5 if variance > 0 else 0.0


def unique_chance(expected: Floats, fraction: float) -> Floats:
    """Return P(F = 1 | f = 1) = exp(-(1 - pi) lambda) of each cell."""
    return np.asarray(np.exp(-(1 - fraction) / fraction * expected))


def match_chance(sizes: Ints, expected: Floats, fraction: float) -> Floats:
    """Return E(1/F | f), where F - f is Poisson with mean m = (1 - pi) lambda.

    It is the integral of t^(f - 1) exp(-m (1 - t)) over t from 0 to 1; (1 - exp(-m)) / m for f = 1
    (Skinner and Shlomo 2008, eq. 3).

    Examples
    --------
    >>> match_chance(np.array([1, 2]), np.array([0.5, 0.0]), 0.5).round(4).tolist()
    [0.7869, 0.5]
    """
    more = (1 - fraction) / fraction * expected
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    share, weights = (nodes + 1) / 2, weights / 2
    steep = sizes - 1 + more
    reach = np.minimum(1.0, FAR / np.maximum(steep, FAR))[:, None]
    inside = (sizes - 1)[:, None] * np.log1p(-reach * share) - more[:, None] * reach * share
    return np.asarray((np.exp(inside) * reach) @ weights)
