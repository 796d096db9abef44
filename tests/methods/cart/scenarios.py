"""The three scenarios of Martins (2019): a regression on three binary columns, three errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

import veladura as vd

ERRORS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "t2": lambda rng, n: rng.standard_t(2, n),
    "t10": lambda rng, n: rng.standard_t(10, n),
}
TRUTH = np.array([23.0, 1.5, -5.4, 2.5])


def draw(rng, errors, n=1000):
    x1 = rng.random(n) < 0.65
    x2 = rng.random(n) < np.where(x1, 0.45, 0.62)
    x3 = rng.random(n) < np.select([~x1 & ~x2, x1 & ~x2, ~x1 & x2], [0.30, 0.60, 0.75], 0.46)
    y = 23 + 1.5 * x1 - 5.4 * x2 + 2.5 * x3 + ERRORS[errors](rng, n)
    return pd.DataFrame({"x1": x1.astype(int), "x2": x2.astype(int), "x3": x3.astype(int), "y": y})


def regression(data):
    x = np.column_stack([np.ones(len(data)), data[["x1", "x2", "x3"]].to_numpy(float)])
    y = data["y"].to_numpy(float)
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ y
    left = y - x @ slopes
    return slopes, left @ left / (len(y) - 4) * np.diag(inverse)


def overlap(lower, upper, other_lower, other_upper):
    """Karr et al. (2006): mean share of each interval that lies in the other."""
    width = np.minimum(upper, other_upper) - np.maximum(lower, other_lower)
    return np.where(
        width > 0, width / 2 * (1 / (upper - lower) + 1 / (other_upper - other_lower)), 0.0
    )


def mean_overlap(errors, synthesise, repetitions):
    found = []
    for i in range(repetitions):
        data = draw(np.random.default_rng(i), errors)
        slopes, variances = regression(data)
        half = stats.t.ppf(0.975, len(data) - 4) * np.sqrt(variances)
        combined = synthesise(data, i)
        found.append(overlap(slopes - half, slopes + half, combined.lower, combined.upper))
    return float(np.mean(found))


def ours(data, seed):
    return vd.Cart(columns=["y"], m=5).protect(data, seed=seed, threads=1).estimate(regression)


def shuffled(data, seed):
    """Control: y drawn from its column alone."""
    return (
        vd.Cart(columns=["y"], m=5, model="sample")
        .protect(data, seed=seed, threads=1)
        .estimate(regression)
    )


def silverman(data, seed):
    """Control: the normal-reference bandwidth 1.06 sd n^(-1/5), not truncated to the leaf."""
    rng = np.random.default_rng(seed)
    q, v = [], []
    cell = data.groupby(["x1", "x2", "x3"]).ngroup().to_numpy()
    for _ in range(5):
        y = data["y"].to_numpy().copy()
        for c in np.unique(cell):
            inside = data["y"].to_numpy()[cell == c]
            width = 1.06 * inside.std(ddof=1) * inside.size**-0.2
            y[cell == c] = rng.choice(
                inside, inside.size, p=rng.dirichlet(np.ones(inside.size))
            ) + width * rng.standard_normal(inside.size)
        slopes, variances = regression(data.assign(y=y))
        q.append(slopes)
        v.append(variances)
    return vd.combine(np.array(q), np.array(v))
