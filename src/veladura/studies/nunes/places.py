"""The simulated study: 500 rows on [0, 10]^2 whose places follow twelve mixtures of normals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats, Mask

if TYPE_CHECKING:
    import pandas as pd

SIDE = 10.0
FINE = 40
# By outcome, x1 and x2: centres with variances and covariance of an equal mixture (Table 3).
MIXTURES: dict[tuple[int, int, int], list[tuple[float, ...]]] = {
    (0, 1, 1): [(3, 7, 1, 1, 0), (7, 3, 1, 1, 0)],
    (0, 1, 2): [(3, 3, 1, 1, 0), (7, 7, 1, 1, 0)],
    (0, 1, 3): [(5, 5, 0.3, 4.5, 0)],
    (0, 2, 1): [(3, 5, 1, 1, 0), (7, 5, 1, 1, 0)],
    (0, 2, 2): [(5, 3, 0.8, 0.8, 0), (5, 7, 1, 1, 0)],
    (0, 2, 3): [(7, 3, 1, 2, 0)],
    (1, 1, 1): [(1.5, 5, 0.3, 4.5, 0)],
    (1, 1, 2): [(5, 5, 1.5, 2, 0.9 * 3**0.5)],
    (1, 1, 3): [(8.5, 5, 0.3, 4.5, 0)],
    (1, 2, 1): [(5, 2, 2.5, 0.7, 0)],
    (1, 2, 2): [(5, 5, 1.5, 2, -1.35)],
    (1, 2, 3): [(5, 7.5, 2.5, 0.7, 0)],
}
COMBINATIONS = tuple(MIXTURES)
NAMES = tuple(f"y = {y}, x1 = {x1}, x2 = {x2}" for y, x1, x2 in COMBINATIONS)


def simulate(rng: Generator, rows: int = 500) -> pd.DataFrame:
    """Return one data set: attributes, outcome, places and a continuous variable (sec. 3.1, 4)."""
    import pandas as pd

    x1 = np.where(rng.random(rows) < 0.6, 1, 2)
    x2 = np.where(
        x1 == 1, rng.choice([1, 2, 3], rows), rng.choice([1, 2, 3], rows, p=[0.6, 0.1, 0.3])
    )
    logit = -1 + 1.5 * (x1 == 2) - 0.5 * (x2 == 2) + 0.5 * (x2 == 3)
    outcome = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(int)
    places = np.empty((rows, 2))
    for key in MIXTURES:
        mine = np.flatnonzero((outcome == key[0]) & (x1 == key[1]) & (x2 == key[2]))
        places[mine] = _places(rng, density(key, FINE), mine.size)
    z = (
        50
        - 3.5 * outcome
        + (x1 == 2)
        - 1.5 * (x2 == 2)
        + 2.0 * (x2 == 3)
        + np.sqrt(10) * rng.standard_normal(rows)
    )
    frame = pd.DataFrame({"y": outcome, "x1": x1, "x2": x2}).astype(str).astype("category")
    return frame.assign(east=places[:, 0].round(6), north=places[:, 1].round(6), z=z.round(4))


def density(key: tuple[int, int, int], side: int) -> Floats:
    """Return the shares of the squares of a raster, by the density at their centres.

    Rows run from south to north, squares within a row from west to east.
    """
    found = np.zeros(side * side)
    at = _centres(side)
    for east, north, first, second, both in MIXTURES[key]:
        matrix = np.array([[first, both], [both, second]])
        apart = at - (east, north)
        exponent = -0.5 * np.einsum("ni,ij,nj->n", apart, np.linalg.inv(matrix), apart)
        found += np.exp(exponent) / np.sqrt(np.linalg.det(matrix))
    return np.asarray(found / found.sum())


def _centres(side: int) -> Floats:
    middle = (np.arange(side) + 0.5) * SIDE / side
    return np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)


def _places(rng: Generator, shares: Floats, rows: int) -> Floats:
    """Draw squares of the fine raster, then points in them."""
    square = rng.choice(len(shares), rows, p=shares)
    width = SIDE / FINE
    return np.asarray(_centres(FINE)[square] + width * (rng.random((rows, 2)) - 0.5))


def of_combination(frame: pd.DataFrame, key: Sequence[int]) -> Mask:
    """Return the rows of one combination of attributes."""
    columns = [frame[name].astype(str).to_numpy() for name in ("y", "x1", "x2")]
    same = [column == str(value) for column, value in zip(columns, key, strict=True)]
    return np.asarray(np.all(same, axis=0))


def points(frame: pd.DataFrame) -> Floats:
    """Return the places of a frame."""
    return np.asarray(frame[["east", "north"]].to_numpy(), dtype=np.float64)
