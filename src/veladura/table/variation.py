"""How much the values of a column differ: constant columns, and a safe standard deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veladura.errors import DataError

if TYPE_CHECKING:
    from veladura.table.codes import Codes


def constant_columns(codes: Codes) -> list[str]:
    """Return the columns with fewer than two distinct values."""
    return [
        name
        for name, column in codes.items()
        if np.unique(column.values[~column.missing]).size <= 1
    ]


def refuse_constant(columns: list[str], why: str) -> None:
    """Refuse columns that a method would leave unchanged."""
    if columns:
        msg = (
            f"columns with fewer than two distinct values {why}: {columns}.\n\nHint: leave them out"
            " of columns."
        )
        raise DataError(msg)


def standard_deviation(numbers: NDArray[np.float64]) -> float:
    """Return the sample standard deviation without NaN; 0 for fewer than two distinct values.

    Numbers are scaled first: squares of large ones would overflow.

    Examples
    --------
    >>> round(standard_deviation(np.array([1.0, np.nan, 3.0])), 6)
    1.414214
    >>> standard_deviation(np.array([0.1, 0.1, 0.1]))
    0.0
    """
    values = numbers[~np.isnan(numbers)]
    if values.size < 2 or values.min() == values.max():  # noqa: PLR2004
        return 0.0
    top = float(np.abs(values).max())
    return float(np.std(values / top, ddof=1) * top)
