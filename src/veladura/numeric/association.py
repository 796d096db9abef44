"""How strongly two columns are associated: Cramér's V of coarse codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.table.codes import Codes

SAMPLED = 5000  # rows: enough to rank associations
BINS = 8


@lru_cache(maxsize=64)
def evenly_spaced(rows: int) -> Ints:
    """Return at most 5000 evenly spaced rows; tables of one size share them, read-only."""
    spaced = np.unique(np.linspace(0, rows - 1, SAMPLED).astype(np.int64))
    spaced.setflags(write=False)
    return spaced


def associations(codes: Codes, names: Sequence[str]) -> Floats:
    """Return Cramér's V of each pair of columns, in at most eight bins, on at most 5000 rows."""
    rows = evenly_spaced(codes[names[0]].size)
    coarse = [coarse_codes(codes[name].key()[rows]) for name in names]
    strength = np.zeros((len(names), len(names)))
    for i in range(len(names)):
        for j in range(i):
            strength[i, j] = strength[j, i] = cramer(coarse[i], coarse[j])
    return strength


def coarse_codes(values: np.ndarray, bins: int = BINS) -> Ints:
    """Return the values as a small number of codes, cut at quantiles."""
    _, codes = np.unique(values, return_inverse=True)
    codes = codes.reshape(-1)
    if codes.max() < bins:
        return codes
    edges = np.quantile(codes, np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(np.unique(edges), codes, side="right")


def cramer(a: Ints, b: Ints) -> float:
    """Return Cramér's V of two columns of codes.

    Examples
    --------
    >>> cramer(np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0]))
    1.0
    """
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    if min(rows, columns) < 2:  # noqa: PLR2004
        return 0.0
    table = (
        np.bincount(a * columns + b, minlength=rows * columns)
        .reshape(rows, columns)
        .astype(np.float64)
    )
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / a.size
    with np.errstate(invalid="ignore", divide="ignore"):
        chi = float(np.nansum((table - expected) ** 2 / expected))
    return float(np.sqrt(chi / a.size / (min(rows, columns) - 1)))
