"""Linear and generalised linear models of rows that stream by, from sufficient statistics.

Each pass keeps one triangular matrix: the R of a QR decomposition of all rows so far, whose R'R is
X'WX with the response beside it (Golub and Van Loan 2013, section 5.3; stable where X'X itself
loses digits). A linear model needs one pass, others one for each step of iteratively reweighted
least squares (McCullagh and Nelder 1989, section 2.5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import DataError
from veladura.inference.model import (
    LARGEST,
    Fit,
    check_columns,
    check_ends,
    family_of,
    unsteady,
)
from veladura.inference.streamed_design import Piece

MOST_PASSES = 60
SMALL_STEP = 1e-7  # of a standard error: the error after such a step is about its square

Pieces = Callable[[], Iterator[Piece]]


@dataclass(frozen=True, eq=False)
class Moments:
    """What the first pass finds: rows, weights, the response and the scale of the columns."""

    rows: int
    weight: float  # the mean weight
    lowest: float
    highest: float
    mean: float
    spread: Floats


class Triangle:
    """The triangular matrix of all rows so far."""

    def __init__(self, columns: int) -> None:
        self.r = np.zeros((0, columns + 1))  # the response is the last

    def add(self, x: Floats, y: Floats, weights: Floats) -> None:
        """Take in some rows: columns, response and weights."""
        root = np.sqrt(weights)[:, None]
        rows = np.vstack([self.r, root * np.column_stack([x, y])])
        self.r = np.asarray(np.linalg.qr(rows, mode="r"))

    def solved(self) -> tuple[Floats, Floats, float]:
        """Return least-squares coefficients, the inverse of X'WX, and the sum of squares left."""
        columns = self.r.shape[1] - 1
        upper, right = self.r[:columns, :columns], self.r[:columns, columns]
        inverse = np.linalg.inv(upper)
        left = float(self.r[columns, columns] ** 2) if self.r.shape[0] > columns else 0.0
        return inverse @ right, inverse @ inverse.T, left


def first_pass(pieces: Pieces, names: tuple[str, ...], number: int) -> Moments:
    """Return what the rows are like; refuse too few of them, or columns that tell nothing."""
    columns = len(names)
    triangle, rows, weight, total = Triangle(columns), 0, 0.0, 0.0
    sums, ends = np.zeros(columns), (np.inf, -np.inf)
    for piece in pieces():
        if not piece.y.size:
            continue
        triangle.add(piece.x, piece.y, np.ones(piece.y.size))
        rows, weight = rows + piece.y.size, weight + float(piece.weights.sum())
        sums, total = sums + piece.x.sum(axis=0), total + float(piece.y.sum())
        ends = min(ends[0], float(piece.y.min())), max(ends[1], float(piece.y.max()))
    if rows <= columns:
        msg = (
            f"dataset {number} has {rows} rows for {columns} coefficients.\n\nHint: use fewer"
            " terms."
        )
        raise DataError(msg)
    check_columns([triangle.r[:columns, :columns]], names)
    squares = (triangle.r[:, :columns] ** 2).sum(axis=0)
    spread = np.sqrt(np.maximum(squares / rows - (sums / rows) ** 2, 0.0))
    return Moments(rows, weight / rows, *ends, total / rows, spread)


def fit_stream(
    family: str,
    pieces: Pieces,
    moments: Moments,
    *,
    weighted: bool = False,
    robust: bool = False,
    number: int = 1,
) -> Fit:
    """Return a generalised linear model of one dataset, as `veladura.inference.model.fit` does."""
    law = family_of(family)
    check_ends(family, moments.lowest, moments.highest, number)
    params, inverse, left = (
        _linear(pieces, moments) if law is None else _iterated(pieces, moments, law, number)
    )
    degrees = moments.rows - params.size
    scale, residual, dispersion = 1.0, np.inf, 1.0
    if law is None:
        scale, residual, dispersion = left / degrees, float(degrees), left / moments.rows
    elif family.startswith("quasi-") or family == "gamma":
        scale = left / degrees  # Pearson's
    covariance = scale * inverse
    if not np.isfinite(params).all() or not np.isfinite(np.diag(covariance)).all():
        raise DataError(unsteady(number))
    errors = np.sqrt(np.diag(covariance))
    if family not in ("gaussian", "gamma") and (errors * moments.spread).max() > LARGEST:
        raise DataError(unsteady(number))
    if robust or weighted:
        covariance, residual = _sandwich(pieces, moments, law, params, inverse), np.inf
    return Fit(params, covariance, dispersion, residual, np.zeros(0), np.zeros((0, params.size)))


def _linear(pieces: Pieces, moments: Moments) -> tuple[Floats, Floats, float]:
    triangle = Triangle(moments.spread.size)
    for piece in pieces():
        triangle.add(piece.x, piece.y, piece.weights / moments.weight)
    return triangle.solved()


def _iterated(
    pieces: Pieces, moments: Moments, law: Any, number: int
) -> tuple[Floats, Floats, float]:
    """Return coefficients, the inverse information, and Pearson's sum of squares."""
    params: Floats | None = None
    for _ in range(MOST_PASSES):
        triangle, pearson = Triangle(moments.spread.size), 0.0
        for piece in pieces():
            load = piece.weights / moments.weight
            with np.errstate(all="ignore"):
                mean = _mean(law, piece, params, moments)
                slope, variance = law.link.deriv(mean), law.variance(mean)
                working = law.link(mean) + slope * (piece.y - mean)
                pearson += float((load * (piece.y - mean) ** 2 / variance).sum())
            if not np.isfinite(working).all():
                raise DataError(unsteady(number))
            triangle.add(piece.x, working, load / (slope**2 * variance))
        try:
            found, inverse, _ = triangle.solved()
        except np.linalg.LinAlgError:
            raise DataError(unsteady(number)) from None
        if params is not None:
            step = np.abs(found - params) / np.sqrt(np.diag(inverse))
            if step.max() < SMALL_STEP:
                return found, inverse, pearson
        params = found
    raise DataError(unsteady(number))


def _mean(law: Any, piece: Piece, params: Floats | None, moments: Moments) -> Floats:
    """Return the fitted means; at the start the response, drawn towards its mean."""
    if params is None:
        made: Floats = (piece.y + moments.mean) / 2
        return made
    mean: Floats = np.asarray(law.link.inverse(piece.x @ params))
    return mean


def _sandwich(pieces: Pieces, moments: Moments, law: Any, params: Floats, bread: Floats) -> Floats:
    """Return A^-1 B A^-1 with B the sum of squared scores, times n/(n - p)."""
    middle = np.zeros((params.size, params.size))
    for piece in pieces():
        load = piece.weights / moments.weight
        if law is None:
            residuals = piece.y - piece.x @ params
        else:
            mean = np.asarray(law.link.inverse(piece.x @ params))
            residuals = (piece.y - mean) / (law.link.deriv(mean) * law.variance(mean))
        scores = piece.x * (load * residuals)[:, None]
        middle += scores.T @ scores
    made: Floats = bread @ middle @ bread * (moments.rows / (moments.rows - params.size))
    return made
