"""Logistic regression on plain arrays."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats

STEPS, CLOSE = 200, 1e-8


def logistic(matrix: Floats, label: Floats, cross: Floats | None = None) -> Floats:
    """Return fitted probabilities of a logistic regression on a matrix of full rank.

    Its columns are made orthonormal first, so that quasi-Newton steps (L-BFGS) are nearly Newton's:
    one product of the matrix with itself in all, instead of one a step. Where a group has one label
    only, coefficients grow without limit but probabilities converge: steps stop when the deviance
    no longer changes.

    Parameters
    ----------
    cross
        The product of the matrix with itself, where it is there already.
    """
    from scipy import linalg, optimize  # a quarter of a second, and not all plans fit a model

    rows = label.size
    share = float(label.mean())
    squares = matrix.T @ matrix if cross is None else cross
    root = linalg.cholesky(squares / rows, check_finite=False)

    def loss(weights: Floats) -> tuple[float, Floats]:
        linear = start + matrix @ linalg.solve_triangular(root, weights, check_finite=False)
        gradient = matrix.T @ (1 / (1 + np.exp(-np.clip(linear, -35, 35))) - label) / rows
        value = float(np.mean(np.logaddexp(0.0, linear) - label * linear))
        return value, linalg.solve_triangular(root, gradient, trans="T", check_finite=False)

    start = np.log(share / (1 - share))
    result = optimize.minimize(
        loss,
        np.zeros(matrix.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": STEPS, "ftol": CLOSE, "gtol": 1e-7},
    )
    linear = start + matrix @ linalg.solve_triangular(root, result.x, check_finite=False)
    fitted: Floats = 1 / (1 + np.exp(-np.clip(linear, -35, 35)))
    return fitted
