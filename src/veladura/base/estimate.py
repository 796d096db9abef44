"""A figure with its interval: every measure of risk and utility returns one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Estimate:
    """A value with its interval from lower to upper; both equal the value if it is exact.

    Examples
    --------
    >>> int(Estimate.exact(12)), float(Estimate(0.5, 0.4, 0.6))
    (12, 0.5)
    >>> print(Estimate(0.5, 0.4, 0.6))
    0.5 (0.4 to 0.6)
    """

    value: float
    lower: float
    upper: float
    level: float = 0.95

    def __post_init__(self) -> None:
        if not (math.isnan(self.value) or self.lower <= self.value <= self.upper):
            msg = (
                f"an estimate needs lower <= value <= upper, got {self.lower}, {self.value},"
                f" {self.upper}."
            )
            raise ValueError(msg)

    @classmethod
    def exact(cls, value: float) -> Estimate:
        """Return an exact figure, such as a count."""
        return cls(value, value, value, 1.0)

    @classmethod
    def mean(cls, values: ArrayLike, level: float = 0.95) -> Estimate:
        """Return the mean of one figure per dataset, with a t interval when there are several."""
        figures = np.asarray(values, dtype=float)
        centre = float(figures.mean())
        if figures.size == 1:
            return cls.exact(centre)
        from scipy.special import stdtrit  # loading it takes longer than many a protect

        half = float(
            stdtrit(figures.size - 1, (1 + level) / 2)
            * figures.std(ddof=1)
            / math.sqrt(figures.size)
        )
        return cls(centre, centre - half, centre + half, level)

    @property
    def is_exact(self) -> bool:
        """Whether the figure has no uncertainty."""
        return self.lower == self.upper

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __str__(self) -> str:
        if self.is_exact:
            return f"{self.value:.6g}"
        return f"{self.value:.4g} ({self.lower:.4g} to {self.upper:.4g})"
