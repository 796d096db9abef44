"""Logistic regression against scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from veladura.numeric.logistic import logistic


def test_the_fit_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4))
    y = (rng.random(500) < 1 / (1 + np.exp(-x[:, 0] + 0.5 * x[:, 1]))).astype(float)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x, y).predict_proba(x)[:, 1]
    np.testing.assert_allclose(logistic(np.column_stack([np.ones(500), x]), y), theirs, atol=2e-3)
