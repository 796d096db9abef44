"""Figures of a point pattern: Ripley's K, smoothed intensity, Moran's I. Plain arrays."""

from __future__ import annotations

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.methods.geography.cells import Cells


def ripley_l(points: Floats, area: float, radii: Floats) -> Floats:
    """Return L(r) = sqrt(K(r) / pi) of Ripley (1977).

    K(r) = area / (n (n - 1)) times the ordered pairs at most r apart. Without correction at the
    border: two patterns of one region are compared, and lose the same there.

    Examples
    --------
    >>> ripley_l(np.array([[0.0, 0.0], [1.0, 0.0]]), np.pi, np.array([0.5, 1.0])).tolist()
    [0.0, 1.0]
    """
    from scipy.spatial import KDTree

    n = len(points)
    tree = KDTree(points)
    pairs = np.asarray(tree.count_neighbors(tree, radii), dtype=float) - n
    return np.asarray(np.sqrt(area * pairs / (max(n * (n - 1), 1) * np.pi)))


def moran(values: Floats, pairs: Ints) -> float:
    """Return Moran's I of one value a cell, neighbours of weight one (Moran 1950).

    It is nan where all values are equal.

    Examples
    --------
    >>> pairs = np.array([[0, 1], [1, 0], [1, 2], [2, 1], [2, 3], [3, 2]])
    >>> round(moran(np.array([0.0, 0.0, 1.0, 1.0]), pairs), 6)
    0.333333
    """
    apart = values - values.mean()
    spread = float(np.sum(apart**2))
    if spread == 0 or not len(pairs):
        return float("nan")
    return float(
        values.size / len(pairs) * np.sum(apart[pairs[:, 0]] * apart[pairs[:, 1]]) / spread
    )


class Smoother:
    """A Gaussian kernel over a fine raster of a region, corrected at its border.

    Parameters
    ----------
    grid
        Its region and plane are used; the raster is finer.
    bandwidth
        Standard deviation of the kernel, in the plane.
    """

    FINE = 64

    def __init__(self, grid: Cells, bandwidth: float) -> None:
        west, south, east, north = grid.region.bounds
        (self.west, self.east), (self.south, self.north) = grid.plane.forward(
            np.array([west, east]), np.array([south, north])
        )
        self.sigma = (
            bandwidth * self.FINE / (self.north - self.south),
            bandwidth * self.FINE / (self.east - self.west),
        )
        across = self.west + (np.arange(self.FINE) + 0.5) * (self.east - self.west) / self.FINE
        up = self.south + (np.arange(self.FINE) + 0.5) * (self.north - self.south) / self.FINE
        x, y = grid.plane.back(*(part.ravel() for part in np.meshgrid(across, up)))
        self.usable = grid.region.usable(x, y).reshape(self.FINE, self.FINE)
        self.border = np.maximum(self._spread(self.usable.astype(float)), 1e-12)

    def _spread(self, raster: Floats) -> Floats:
        from scipy.ndimage import gaussian_filter

        return np.asarray(gaussian_filter(raster, self.sigma, mode="constant", truncate=4.0))

    def intensity(self, points: Floats) -> Floats:
        """Return the share of points by raster square, smoothed, where the region is usable."""
        edges = (
            np.linspace(self.south, self.north, self.FINE + 1),
            np.linspace(self.west, self.east, self.FINE + 1),
        )
        count = np.histogram2d(points[:, 1], points[:, 0], bins=edges)[0]
        return np.asarray((self._spread(count) / self.border)[self.usable] / max(len(points), 1))


def bandwidth_of(points: Floats) -> float:
    """Return Scott's bandwidth in two dimensions (Scott 1992, eq. 6.42).

    It is n^(-1/6) times the mean standard deviation.
    """
    return float(len(points) ** (-1 / 6) * points.std(axis=0).mean())


def correlation(first: Floats, second: Floats) -> float:
    """Return the correlation of two surfaces; nan where one is flat."""
    if first.std() == 0 or second.std() == 0:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
