"""The three scenarios: a regression on three binary columns with normal, t(2) or t(10) errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

DEGREES = {"normal": None, "t2": 2, "t10": 10}
TRUTH = np.array([23.0, 1.5, -5.4, 2.5])
NAMES = ("b0", "b1", "b2", "b3")
FIRST, SECOND = 0.65, (0.62, 0.45)  # Tables 3.1 and 3.2
THIRD = {(0, 0): 0.30, (1, 0): 0.60, (0, 1): 0.75, (1, 1): 0.46}  # Table 3.3


def scenario(
    rng: Generator, errors: str, rows: int = 1000, *, rotated: bool = True
) -> pd.DataFrame:
    """Return a table of a scenario.

    Parameters
    ----------
    errors
        "normal", "t2" or "t10".
    rotated
        Whether columns have the roles of Table 3.4, which the document's data follow: x3 is drawn
        first, then x1 given x3, then x2 given both. Else those of Tables 3.1 to 3.3.
    """
    import pandas as pd

    first = rng.random(rows) < FIRST
    second = rng.random(rows) < np.where(first, SECOND[1], SECOND[0])
    chance = np.select(
        [~first & ~second, first & ~second, ~first & second], [0.30, 0.60, 0.75], 0.46
    )
    third = rng.random(rows) < chance
    x1, x2, x3 = (second, third, first) if rotated else (first, second, third)
    x = np.column_stack([x1, x2, x3]).astype(int)
    degrees = DEGREES[errors]
    noise = rng.standard_normal(rows) if degrees is None else rng.standard_t(degrees, rows)
    frame = pd.DataFrame(x, columns=["x1", "x2", "x3"])
    return frame.assign(y=TRUTH[0] + x @ TRUTH[1:] + noise)


def combinations() -> dict[tuple[int, int, int], tuple[float, float]]:
    """Return mean and probability of each (x1, x2, x3), with the roles of Table 3.4."""
    found = {}
    for x1, x2, x3 in np.ndindex(2, 2, 2):
        p3 = FIRST if x3 else 1 - FIRST
        p1 = SECOND[x3] if x1 else 1 - SECOND[x3]
        p2 = THIRD[x3, x1] if x2 else 1 - THIRD[x3, x1]
        found[x1, x2, x3] = (float(TRUTH @ (1, x1, x2, x3)), p3 * p1 * p2)
    return found


def regression(data: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return least-squares coefficients of y on x1, x2 and x3, and their variances."""
    x = np.column_stack([np.ones(len(data)), data[["x1", "x2", "x3"]].to_numpy(float)])
    y = data["y"].to_numpy(float)
    inverse = np.linalg.inv(x.T @ x)
    slopes = inverse @ x.T @ y
    left = y - x @ slopes
    return slopes, left @ left / (len(y) - 4) * np.diag(inverse)
