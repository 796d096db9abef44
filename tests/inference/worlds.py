"""Simulated releases of which everything is known, and a table of people to make real ones from.

The releases are m estimates of a mean that is 0, with their variances, for many replicates at once.
Original: n rows of N(0, 1). Each function returns q and v of shape (m, replicates), drawn from the
exact laws of means and variances of normal samples, so that no rows are needed.
"""

from __future__ import annotations

import numpy as np
import pandas as pd


def sample(rng, mean, variance, rows):
    """Draw mean and variance of ``rows`` normal values."""
    return rng.normal(mean, np.sqrt(variance / rows)), variance * rng.chisquare(
        rows - 1, np.shape(mean)
    ) / (rows - 1)


def posterior(rng, mean, variance, rows, *, proper):
    """Draw mean and variance from their posterior, or keep the estimates (simple synthesis)."""
    if not proper:
        return mean, variance
    drawn = variance * (rows - 1) / rng.chisquare(rows - 1, np.shape(mean))
    return rng.normal(mean, np.sqrt(drawn / rows)), drawn


def joined(one, other, rows):
    """Return mean and variance of the mean of two samples of ``rows`` values put together."""
    (a, s), (b, t) = one, other
    total = (rows - 1) * (s + t) + rows * (a - b) ** 2 / 2
    return (a + b) / 2, total / (2 * rows - 1) / (2 * rows)


def replaced(rng, m, n, replicates, k=None, *, proper=True):
    """Every row is new: k of them from the model of n originals."""
    k = k or n
    mean, variance = sample(rng, np.zeros(replicates), 1.0, n)
    sets = [sample(rng, *posterior(rng, mean, variance, n, proper=proper), k) for _ in range(m)]
    return np.array([q for q, _ in sets]), np.array([s / k for _, s in sets])


def half_replaced(rng, m, n, replicates, *, proper=True):
    """Half of the rows stay, the others are drawn from the model of those they replace."""
    half = n // 2
    stays, goes = (sample(rng, np.zeros(replicates), 1.0, half) for _ in range(2))
    sets = [
        joined(stays, sample(rng, *posterior(rng, *goes, half, proper=proper), half), half)
        for _ in range(m)
    ]
    return np.array([q for q, _ in sets]), np.array([v for _, v in sets])


def half_missing(rng, m, n, replicates):
    """Half of the rows are missing and imputed from the model of the others."""
    half = n // 2
    seen = sample(rng, np.zeros(replicates), 1.0, half)
    sets = [
        joined(seen, sample(rng, *posterior(rng, *seen, half, proper=True), half), half)
        for _ in range(m)
    ]
    return np.array([q for q, _ in sets]), np.array([v for _, v in sets])


def people(n=400, seed=0):
    """Return a table in which income depends on age and sex, and smoking on sex."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["east", "north", "west"], n),
        }
    )
    frame["income"] = np.exp(
        7 + 0.01 * frame.age + 0.3 * (frame.sex == "m") + rng.normal(0, 0.5, n)
    ).round(2)
    frame["smokes"] = np.where(rng.random(n) < 0.25 + 0.3 * (frame.sex == "m"), "yes", "no")
    frame["visits"] = rng.poisson(np.exp(0.2 + 0.01 * frame.age))
    frame["weight"] = rng.uniform(0.5, 3, n).round(2)
    return frame
