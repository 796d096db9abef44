"""The distinct values of a column: counted where they lie on a short grid, else sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Ints
from veladura.base.sorting import counted, ranked

SCALES = (1.0, 10.0, 100.0)
LONGEST = 4  # cells of the grid for each value
TASTED = 100  # values that tell at once that a column is not on a grid
EXACT = 2.0**53


def distinct(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values in order, and how often each occurs.

    Examples
    --------
    >>> [part.tolist() for part in distinct(np.array([2.5, 1.0, 2.5]))]
    [[1.0, 2.5], [1, 2]]
    """
    grid = _on_grid(values)
    if grid is None:
        return counted(values)
    steps, low, scale = grid
    count = np.bincount(steps)
    return _present(count, low, scale, values.dtype), count[count > 0]


def places(values: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """Return the distinct values in order, and the place of each value among them.

    Examples
    --------
    >>> [part.tolist() for part in places(np.array([2.5, 1.0, 2.5]))]
    [[1.0, 2.5], [1, 0, 1]]
    """
    grid = _on_grid(values)
    if grid is None:
        return ranked(values)
    steps, low, scale = grid
    count = np.bincount(steps)
    rank = np.cumsum(count > 0) - 1
    return _present(count, low, scale, values.dtype), rank[steps]


def _present(count: Ints, low: int, scale: float, dtype: Any) -> NDArray[Any]:
    steps = np.flatnonzero(count) + low
    return (steps if dtype.kind != "f" else steps / scale).astype(dtype)


def _on_grid(values: NDArray[Any]) -> tuple[Ints, int, float] | None:
    """Return values as steps from the least one, that one in steps, and the steps in a unit.

    None where they have more than two decimals, or the grid is long for so few of them.
    """
    if not values.size or values.dtype.kind not in "iuf":
        return None
    if values.dtype.kind != "f":
        low, high = int(values.min()), int(values.max())
        short = high - low < LONGEST * values.size
        return (values.astype(np.int64) - low, low, 1.0) if short else None
    for scale in SCALES:
        if not _written(values[:TASTED], scale):
            continue
        bottom, top = scale * float(values.min()), scale * float(values.max())
        if not top - bottom < LONGEST * values.size or max(-bottom, top) > EXACT:
            return None
        if _written(values, scale):
            least = int(np.rint(bottom))
            return np.rint(values * scale).astype(np.int64) - least, least, scale
    return None


def _written(values: NDArray[Any], scale: float) -> bool:
    """Whether values are whole numbers of steps."""
    return bool(np.all(np.rint(values * scale) / scale == values))
