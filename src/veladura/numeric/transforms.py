"""Monotone transformations of numbers by name: taken before a model, undone before rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from veladura.base.arrays import Floats, Mask

TransformName = Literal["log", "log1p", "sqrt", "asinh"]
TRANSFORMS: tuple[str, ...] = get_args(TransformName)


def _square(values: Floats) -> Floats:
    return np.asarray(np.maximum(values, 0.0) ** 2)  # no root is below zero


_PAIRS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "log": (np.log, np.exp),
    "log1p": (np.log1p, np.expm1),
    "sqrt": (np.sqrt, _square),
    "asinh": (np.arcsinh, np.sinh),
}
_DOMAINS: dict[str, tuple[str, Callable[[Floats], Mask]]] = {
    "log": ("above 0", lambda values: values > 0),
    "log1p": ("above -1", lambda values: values > -1),
    "sqrt": ("at least 0", lambda values: values >= 0),
    "asinh": ("finite", np.isfinite),
}


@dataclass(frozen=True)
class Transform:
    """A transformation of a column's numbers, and its inverse.

    Attributes
    ----------
    name
        "log" and "sqrt"; "log1p", log(1 + x), for numbers from zero; "asinh" for any sign.
    unit
        What one step of the numbers is worth in the units of the column.

    Examples
    --------
    >>> import numpy as np
    >>> cents = Transform("log1p", unit=0.01)
    >>> cents.undone(cents.of(np.array([0.0, 250.0]))).round(6).tolist()
    [0.0, 250.0]
    """

    name: TransformName
    unit: float = 1.0

    def of(self, numbers: Floats) -> Floats:
        """Return the transformed numbers."""
        return np.asarray(_PAIRS[self.name][0](numbers * self.unit), dtype=np.float64)

    def undone(self, transformed: Floats) -> Floats:
        """Return numbers from transformed ones; those too large to write become the largest."""
        with np.errstate(over="ignore"):
            numbers = np.asarray(_PAIRS[self.name][1](transformed), dtype=np.float64)
        return np.nan_to_num(numbers, posinf=np.finfo(np.float64).max) / self.unit

    def outside(self, numbers: Floats) -> int:
        """Return how many numbers have no transformed value."""
        return int(np.count_nonzero(~_DOMAINS[self.name][1](numbers * self.unit)))

    @property
    def domain(self) -> str:
        """The numbers that it takes, in words."""
        return _DOMAINS[self.name][0]
