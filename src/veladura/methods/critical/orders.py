"""Orders of replacement compared: the source doubts that most critical cells first is the best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.methods.critical.critical import CriticalCart
from veladura.methods.critical.fitted import FittedCritical
from veladura.methods.critical.pools import replaceability

if TYPE_CHECKING:
    import pandas as pd

    from veladura.core.release import Release

MOST_ORDERS = 24


def compare_orders(
    recipe: CriticalCart,
    table: Any,
    orders: Iterable[Sequence[str]] | None = None,
    *,
    seeds: Sequence[int] = (1, 2, 3),
) -> pd.DataFrame:
    """Return what each order of replacement gives, the recipe's own first. Private.

    The source (Aslanyan and Topchyan 2013) replaces the column with most critical values first and
    leaves open whether that is the best. The orders differ where trees see replaced columns
    (``regrow``), and in the branches of a class.

    Parameters
    ----------
    recipe
        The recipe whose orders are compared.
    table
        Anything `veladura.open` takes.
    orders
        The orders, each a list of the confidential columns; by default all of them, or the first 24
        of more.
    seeds
        Each order is drawn with each of these seeds.

    Returns
    -------
    pandas.DataFrame
        A row for each order: replaceability (shares of cells with two donors or more, median
        donors, median range, share widened); the mean absolute difference of the rank correlations
        that involve a confidential column, among rows with a critical cell, and the mean
        Kolmogorov-Smirnov distance of the critical values, both between original and release, with
        standard errors over the seeds.

    Examples
    --------
    >>> import pandas as pd
    >>> import veladura as vd
    >>> people = pd.DataFrame({"a": range(100), "b": [i * i % 97 for i in range(100)]})
    >>> recipe = vd.CriticalCart(critical={"a": "a > 80", "b": "b > 70"}, groups=[], m=2)
    >>> compare_orders(recipe, people, seeds=[1]).index.tolist()
    ['b, a', 'a, b']
    """
    import pandas as pd

    first = tuple(_fitted(recipe, table, seeds[0]).order)
    every = list(permutations(first)) if orders is None else [tuple(order) for order in orders]
    asked = list(dict.fromkeys([first, *every]))[:MOST_ORDERS]
    rows = [_figures(replace(recipe, order=order), table, seeds) for order in asked]
    index = pd.Index([", ".join(order) for order in asked], name="order")
    return pd.DataFrame(rows, index=index)


def _fitted(recipe: CriticalCart, table: Any, seed: int) -> FittedCritical:
    fitted = recipe.fit(table, seed)
    assert isinstance(fitted, FittedCritical)  # noqa: S101  # of that recipe
    return fitted


def _figures(recipe: CriticalCart, table: Any, seeds: Sequence[int]) -> dict[str, float]:
    """Return the figures of one order."""
    fitted = _fitted(recipe, table, seeds[0])
    distances = np.array([_distances(fitted, recipe.protect(table, seed)) for seed in seeds])
    error = distances.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else [np.nan] * 2
    return {
        **replaceability(fitted.pools)["overall"],
        "correlations": float(distances[:, 0].mean()),
        "correlations error": float(error[0]),
        "ks": float(distances[:, 1].mean()),
        "ks error": float(error[1]),
    }


def _distances(fitted: FittedCritical, release: Release) -> tuple[float, float]:
    """Return how far correlations and critical values of a release are from the original."""
    from scipy.stats import ks_2samp, spearmanr

    table = fitted.table
    names = [n for n in table.names if table.schema[n].kind in ("integer", "number", "ordered")]
    inside = [name for name in fitted.confidential if name in names]

    def correlations(columns: dict[str, Floats]) -> Floats:
        if len(names) < 2 or not inside or np.count_nonzero(any_mark) < 3:  # noqa: PLR2004
            return np.zeros(1)
        rows = np.column_stack([columns[name][any_mark] for name in names])
        matrix = np.atleast_2d(spearmanr(rows, nan_policy="omit").statistic)
        if matrix.shape[0] != len(names):  # two columns give one number
            return np.array([float(matrix.reshape(-1)[0])])
        return np.concatenate([matrix[names.index(name)] for name in inside])

    place = np.empty_like(fitted.codes.rows)
    place[fitted.codes.rows] = np.arange(place.size)
    marks = {name: fitted.cells.marks[name][place] for name in fitted.confidential}
    any_mark = np.logical_or.reduce(list(marks.values()))
    before = {name: table.column(name).numbers() for name in names}
    apart, far = [], []
    for dataset in release.tables:
        after = {name: dataset.table.column(name).numbers() for name in names}
        apart.append(np.nanmean(np.abs(correlations(after) - correlations(before))))
        for name in inside:
            mark = marks[name] & ~np.isnan(before[name])
            if mark.any():
                far.append(ks_2samp(before[name][mark], after[name][mark]).statistic)
    return float(np.mean(apart)), float(np.mean(far)) if far else 0.0
