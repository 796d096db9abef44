"""Simulated incomes with heavy tails, their critical cells, and how well correlations are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from veladura.methods.critical.critical import CriticalCart

if TYPE_CHECKING:
    import pandas as pd

NAMES = ["wage", "rent", "capital"]
WAYS: dict[str, dict[str, Any]] = {
    "tuples": {},
    "column by column": {"groups": []},
    "column by column, no consistency step": {"groups": [], "consistency": False},
}


def incomes(rng: Generator, rows: int = 1000, tail: float | None = 2.5) -> pd.DataFrame:
    """Return three correlated incomes (Gaussian copula) and two columns that go with them.

    With Pareto tails, or log-normal ones.
    """
    import pandas as pd
    from scipy.special import ndtr

    normal = rng.multivariate_normal(
        np.zeros(3), [[1, 0.7, 0.5], [0.7, 1, 0.6], [0.5, 0.6, 1]], rows
    )
    amounts = 20_000 * (np.exp(0.8 * normal) if tail is None else (1 - ndtr(normal)) ** (-1 / tail))
    school = np.round(10 + 2 * normal[:, 0] + rng.normal(0, 2, rows), 1)
    return pd.DataFrame(np.round(amounts, 0), columns=NAMES).assign(
        school=school, age=rng.integers(20, 80, rows)
    )


def conditions(frame: pd.DataFrame, names: Sequence[str], share: float) -> dict[str, str]:
    """Return conditions that make the largest values of some columns critical."""
    return {name: f"{name} > {frame[name].quantile(1 - share):.0f}" for name in names}


def correlation_errors(
    frame: pd.DataFrame, names: list[str], share: float, seed: int, way: dict[str, Any]
) -> list[float]:
    """Return mean absolute errors of correlations: of one dataset, and of the mean of m.

    Among rows critical in at least two columns; Pearson, then Spearman.
    """
    recipe = CriticalCart(
        critical=conditions(frame, names, share), m=5, **{"groups": [names], **way}
    )
    limits = {name: round(frame[name].quantile(1 - share)) for name in names}
    inside = sum((frame[name] > limits[name]).astype(int) for name in names) >= 2
    release = recipe.protect(frame, seed=seed, threads=1)
    upper = np.triu_indices(len(names), 1)
    errors: list[float] = []
    for kind in ("pearson", "spearman"):
        true, *made = (
            data.loc[inside, names].corr(kind).to_numpy()[upper]
            for data in (frame, *release.datasets)
        )
        errors += [
            float(np.abs(np.array(made) - true).mean()),
            float(np.abs(np.mean(made, axis=0) - true).mean()),
        ]
    return errors
