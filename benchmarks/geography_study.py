"""The simulated study of the source.

500 rows on [0, 10]^2 whose places follow twelve mixtures of normals (Nunes 2018, sec. 3.1).
"""

from __future__ import annotations

import numpy as np
import pandas as pd

# By outcome, x1 and x2: centres with variances and covariance of an equal mixture.
MIXTURES = {
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
FINE = 40


def simulate(rng: np.random.Generator, rows: int = 500) -> pd.DataFrame:
    """Return one data set: attributes, outcome, places and a continuous variable."""
    x1 = np.where(rng.random(rows) < 0.6, 1, 2)
    x2 = np.where(
        x1 == 1, rng.choice([1, 2, 3], rows), rng.choice([1, 2, 3], rows, p=[0.6, 0.1, 0.3])
    )
    logit = -1 + 1.5 * (x1 == 2) - 0.5 * (x2 == 2) + 0.5 * (x2 == 3)
    outcome = (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(int)
    places = np.empty((rows, 2))
    for key, mixture in MIXTURES.items():
        mine = np.flatnonzero((outcome == key[0]) & (x1 == key[1]) & (x2 == key[2]))
        places[mine] = _places(rng, mixture, mine.size)
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


def _places(rng: np.random.Generator, mixture: list[tuple[float, ...]], rows: int) -> np.ndarray:
    """Draw squares of a fine raster by the density at their centres, then points in them."""
    side = 10 / FINE
    centres = np.stack(
        np.meshgrid((np.arange(FINE) + 0.5) * side, (np.arange(FINE) + 0.5) * side), axis=-1
    ).reshape(-1, 2)
    density = np.zeros(len(centres))
    for east, north, first, second, both in mixture:
        matrix = np.array([[first, both], [both, second]])
        apart = centres - (east, north)
        density += np.exp(
            -0.5 * np.einsum("ni,ij,nj->n", apart, np.linalg.inv(matrix), apart)
        ) / np.sqrt(np.linalg.det(matrix))
    square = rng.choice(len(centres), rows, p=density / density.sum())
    return centres[square] + side * (rng.random((rows, 2)) - 0.5)
