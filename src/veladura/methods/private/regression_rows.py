"""Regressions from noisy sufficient statistics: coefficients whose intervals include the noise.

The statistics without noise are drawn from their distribution given the noisy ones (flat prior);
every draw gives coefficients, to which the sampling error given that draw is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.streams import Streams
from veladura.methods.private.queries import STEPS, Noisy, Query
from veladura.methods.private.summary_rows import POPULATION, Row

DRAWS = 2000
NEWTON = 25
ENOUGH = 0.95  # share of the draws that must give a model; else the noise outweighs the data


@dataclass(frozen=True, eq=False)
class Products(Query):
    """Sums of products of all pairs of terms and outcome, each from -1 to 1; upper triangle.

    Attributes
    ----------
    norm
        The largest square of a row's length.
    """

    norm: float = 1.0

    def change(self, neighbours: str) -> tuple[int, float]:
        """Return by how much a row changes the sums: sum of amounts, and root of squares.

        The root of the squared products of a row is at most its squared length, and at most the
        root of their number.
        """
        times = 1 if neighbours == "add-remove" else 2
        entries = self.values.size
        return times * entries * STEPS, times * min(math.sqrt(entries), self.norm) * STEPS


def products(design: Floats, outcome: Floats, norm: float) -> Products:
    """Return the sums of products of a linear regression, on whole steps."""
    terms = np.column_stack([design, outcome])
    upper = np.triu_indices(terms.shape[1])
    sums = np.array(
        [int(np.rint(terms[:, i] * terms[:, j] * STEPS).sum()) for i, j in zip(*upper, strict=True)]
    )
    return Products("products", "", STEPS, sums[None, :], norm)


def linear(noisy: Noisy, terms: int, draws: int = DRAWS) -> tuple[Floats, Floats]:
    """Return the coefficients of a linear regression, and draws of them (scaled terms).

    With G the sums of products, b = Gxx^-1 Gxy, and given G the population's coefficients are
    normal around b with the variance s^2 Gxx^-1 (Bernstein and Sheldon 2019, section 3: the model;
    the prior here is flat).
    """
    rng = Streams(0)("private regression", "draws")
    value = _solved(_square(noisy.values[0] / STEPS, terms + 1))
    drawn = noisy.draws(rng, draws)[:, 0] / STEPS
    listed = [_moved(_square(one, terms + 1), rng) for one in drawn]
    return value, np.array([one for one in listed if one is not None]).reshape(-1, terms)


def _square(upper: Floats, size: int) -> Floats:
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T


def _solved(gram: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(gram[:-1, :-1], gram[:-1, -1], rcond=None)[0], float)


def _moved(gram: Floats, rng: np.random.Generator) -> Floats | None:
    """Return coefficients of the population, drawn given sums of products; None without a model."""
    inner, cross = gram[:-1, :-1], gram[:-1, -1]
    try:
        root = np.linalg.cholesky(inner)
    except np.linalg.LinAlgError:
        return None
    b = np.linalg.solve(inner, cross)
    rest = max(float(gram[-1, -1] - b @ cross), 0.0) / max(gram[0, 0] - b.size, 1.0)
    moved: Floats = b + math.sqrt(rest) * np.linalg.solve(root.T, rng.normal(size=b.size))
    return moved


def logistic(noisy: Noisy, cells: Floats, draws: int = DRAWS) -> tuple[Floats, Floats]:
    """Return the coefficients of a logistic regression, and draws of them.

    The counts of every cell of the terms, with and without the outcome, are sufficient. The score
    sum_c x_c (n_c1 - n_c p_c) is linear in them, so noisy counts leave it unbiased and are taken
    as they are, negative ones too.

    Parameters
    ----------
    cells
        The terms of each cell.
    """
    rng = Streams(0)("private regression", "draws")
    start = _newton(np.maximum(noisy.values, 0.0), cells, np.zeros(cells.shape[1]), NEWTON)
    value = None if start is None else _newton(noisy.values, cells, start, NEWTON)
    if value is None or start is None:
        return np.zeros(cells.shape[1]), np.empty((0, cells.shape[1]))
    listed = []
    for counts in noisy.draws(rng, draws):
        if (b := _newton(counts, cells, value, NEWTON)) is not None:
            root = np.linalg.cholesky(_information(counts, cells, b))
            listed.append(b + np.linalg.solve(root.T, rng.normal(size=b.size)))
    return value, np.array(listed).reshape(-1, cells.shape[1])


def half_bins(parts: Sequence[Sequence[Sequence[float]]]) -> Floats:
    """Return by term half the width of its bins, on the scale from -1 to 1; 0 for categories.

    Parameters
    ----------
    parts
        The terms of every category or bin of each column: a number is one term that goes below 0.

    Examples
    --------
    >>> half_bins([[[-0.5], [0.5]], [[0.0], [1.0]]]).tolist()
    [0.0, 0.5, 0.0]
    """
    halves = [0.0]
    for part in parts:
        number = len(part[0]) == 1 and part[0][0] < 0
        halves += [1 / len(part)] if number else [0.0] * len(part[0])
    return np.array(halves)


def place_shifts(noisy: Noisy, cells: Floats, value: Floats, halves: Floats) -> Floats | None:
    """Return by how much coefficients can shift, given where numbers are within their bins.

    Counts of bins do not say where. The model is fitted again with the numbers of a column at the
    lower ends of their bins, at the upper ends (which move the constant), all towards their mean
    and all away from it (which move the slope most). None where noise leaves no such model.

    Returns
    -------
    Floats
        Columns of numbers, then these four places, then coefficients.
    """
    people = np.maximum(noisy.values.sum(axis=1), 0.0)
    shifts = []
    for term in np.flatnonzero(halves):
        centre = float(people @ cells[:, term]) / max(float(people.sum()), 1.0)
        away = np.sign(cells[:, term] - centre)
        for step in (np.ones(len(cells)), -np.ones(len(cells)), away, -away):
            moved = cells.copy()
            moved[:, term] += halves[term] * step
            if (b := _newton(noisy.values, moved, value, NEWTON)) is None:
                return None
            shifts.append(b - value)
    return np.array(shifts).reshape(-1, 4, value.size)


def widening(shifts: Floats) -> tuple[Floats, Floats]:
    """Return how far intervals reach down and up for the shifts, added up over columns."""
    down, up = np.minimum(shifts, 0.0).min(axis=1), np.maximum(shifts, 0.0).max(axis=1)
    return -down.sum(axis=0), up.sum(axis=0)


def _information(counts: Floats, cells: Floats, b: Floats) -> Floats:
    p = 1 / (1 + np.exp(-cells @ b))
    information: Floats = cells.T @ (cells * (counts.sum(axis=1) * p * (1 - p))[:, None])
    return information


def _newton(counts: Floats, cells: Floats, b: Floats, steps: int) -> Floats | None:
    """Return where the score is zero; None where noisy counts leave no such place."""
    for _ in range(steps):
        p = 1 / (1 + np.exp(-np.clip(cells @ b, -30, 30)))
        score = cells.T @ (counts[:, 1] - counts.sum(axis=1) * p)
        try:
            np.linalg.cholesky(information := _information(counts, cells, b))
        except np.linalg.LinAlgError:
            return None
        step = np.linalg.solve(information, score)
        b = b + step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-8:  # noqa: PLR2004
            return b
    return None


def coefficient_rows(
    terms: Sequence[str],
    value: Floats,
    draws: Floats,
    back: tuple[Floats, float],
    level: float,
    shifts: Floats | None,
) -> list[Row]:
    """Return a row for each coefficient, in the units of the columns.

    Parameters
    ----------
    back
        The matrix that brings coefficients of scaled terms to those of the columns, and what the
        constant gets besides.
    shifts
        What `place_shifts` gives; without any columns of numbers in bins, empty.
    """
    matrix, constant = back
    added = np.zeros(len(terms))
    added[0] = constant
    best, tail = matrix @ value + added, (1 - level) / 2
    if (
        shifts is None or len(draws) < ENOUGH * DRAWS
    ):  # no ends are released: the noise leaves every value possible
        return [
            Row(0, name, "coefficient", float(b), -math.inf, math.inf, POPULATION)
            for name, b in zip(terms, best, strict=True)
        ]
    lower, upper = np.quantile(draws @ matrix.T + added, [tail, 1 - tail], axis=0)
    down, up = widening(shifts @ matrix.T)
    return [
        Row(
            0,
            name,
            "coefficient",
            float(min(max(b, low), high)),
            float(low),
            float(high),
            POPULATION,
        )
        for name, b, low, high in zip(terms, best, lower - down, upper + up, strict=True)
    ]
