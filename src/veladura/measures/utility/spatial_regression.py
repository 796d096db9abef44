"""Bayesian spatial regression with exponential covariance and nugget, over several datasets.

y = X beta + w + e, Cov(w) = sigma2 exp(-phi h), Var(e) = tau2 (Nunes 2018, eq. 3.2). The source
runs a chain of 100,000 draws. Here decay phi and nugget ratio tau2 / sigma2 have discrete priors,
so their posterior is a table, sigma2 and beta given them have closed forms, and draws are
independent (Diggle and Ribeiro 2007, sec. 7.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.random import Generator

from veladura.base.arrays import Floats
from veladura.base.blas import one_thread
from veladura.base.deprecation import renamed
from veladura.base.streams import Streams
from veladura.errors import DataError, PlanError
from veladura.methods.geography.rectangles import overlap

if TYPE_CHECKING:
    from veladura.core.release import Release

MOST_DENSE = 2500  # rows whose covariance is decomposed whole
MOST_ROWS = 100_000
DECAYS = 24
RATIOS = np.geomspace(0.02, 50.0, 25)  # tau2 / sigma2, each as likely


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws of the parameters, one column each: coefficients, then sigma2, tau2 and phi."""

    names: tuple[str, ...]
    draws: Floats = field(repr=False)

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return the ends of credible intervals with equal tails."""
        low, high = np.quantile(self.draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    @property
    def mean(self) -> Floats:
        """Posterior means."""
        return np.asarray(self.draws.mean(axis=0))

    def __str__(self) -> str:
        low, high = self.interval()
        wide = max(map(len, self.names))
        rows = zip(self.names, self.mean, low, high, strict=True)
        return "\n".join(
            f"{name:{wide}}  {mean:10.4g}  {lower:10.4g} to {upper:10.4g}"
            for name, mean, lower, upper in rows
        )


class _Table(NamedTuple):
    """What the draws need of each pair of decay and ratio."""

    weight: Floats
    scale: Floats
    centre: Floats
    root: Floats


def fit_spatial(
    points: Floats,
    y: Floats,
    design: Floats,
    rng: Generator,
    draws: int = 10_000,
    *,
    dense: bool | None = None,
) -> Floats:
    """Return independent draws of beta, sigma2, tau2 and phi, a row each.

    Up to 2,500 rows the covariance is decomposed; for more, nearest neighbours stand for all before
    them (Vecchia 1988; `dense` chooses).

    Priors: beta flat, sigma2 proportional to 1 / sigma2, phi uniform between 3 / (largest distance)
    and 60 / (largest distance) on a grid, so that the correlation falls to 0.05 between a twentieth
    of the largest distance and all of it, and the nugget ratio log-uniform between 0.02 and 50 on a
    grid.
    """
    n, p = design.shape
    if n > MOST_ROWS:
        msg = (
            f"the regression has {n} rows; at most {MOST_ROWS} are possible: their neighbours take"
            " hours to find.\n\nHint: take a sample of the rows."
        )
        raise PlanError(msg)
    if n <= p or np.linalg.matrix_rank(design) < p:
        msg = (
            f"the regression has {n} rows and {p} columns: it needs more rows than columns, and"
            " columns that are linearly independent."
        )
        raise DataError(msg)
    decays = np.linspace(3.0, 60.0, DECAYS) / _widest(points)
    if n <= MOST_DENSE if dense is None else dense:
        distance = np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1))
        table = _tables(distance, y, design, decays)
    else:
        table = _sparse_tables(points, y, design, decays)
    pick = rng.choice(table.weight.size, size=draws, p=table.weight)
    sigma2 = table.scale[pick] / (2 * rng.standard_gamma((n - p) / 2, draws))
    noise = np.einsum("dij,dj->di", table.root[pick], rng.standard_normal((draws, p)))
    beta = table.centre[pick] + np.sqrt(sigma2)[:, None] * noise
    phi, ratio = np.repeat(decays, RATIOS.size)[pick], np.tile(RATIOS, DECAYS)[pick]
    return np.column_stack([beta, sigma2, ratio * sigma2, phi])


def _widest(points: Floats) -> float:
    """Return the largest distance of two points, which are corners of their hull."""
    from scipy.spatial import ConvexHull, QhullError
    from scipy.spatial.distance import pdist

    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):  # on a line
        order = np.lexsort(points.T)
        corners = points[order[[0, -1]]]
    return float(pdist(corners).max())


def _sparse_tables(points: Floats, y: Floats, design: Floats, decays: Floats) -> _Table:
    """Return the same as `_tables`, with the likelihood of Vecchia (1988)."""
    from veladura.measures.utility.vecchia import NEIGHBOURS, accumulate, nearest_before

    n, p = design.shape
    order = Streams(0)("vecchia").permutation(n)
    points = np.ascontiguousarray(points[order], dtype=np.float64)
    rows = np.ascontiguousarray(np.column_stack([y, design])[order], dtype=np.float64)
    near = np.empty((n, NEIGHBOURS), dtype=np.int64)
    nearest_before(points, near)
    parts = []
    for decay in decays:
        products, log_size = np.zeros((RATIOS.size, p + 1, p + 1)), np.zeros(RATIOS.size)
        accumulate(points, near, rows, float(decay), RATIOS, products, log_size)
        inside, cross = products[:, 1:, 1:], products[:, 1:, 0]
        at = np.linalg.solve(inside, cross[:, :, None])[:, :, 0]
        squares = products[:, 0, 0] - np.einsum("rp,rp->r", at, cross)
        parts.append(_part(n - p, log_size, inside, at, squares))
    return _stacked(parts)


def _tables(distance: Floats, y: Floats, design: Floats, decays: Floats) -> _Table:
    """Return for each decay and ratio its posterior weight, and sigma2 and beta given them.

    With V = R(phi) + ratio I: log p = -(log |V| + log |X'V^-1 X| + (n - p) log S2) / 2, S2 the
    generalised sum of squares. One decomposition of R serves all ratios.
    """
    n, p = design.shape
    parts = []
    for decay in decays:
        values, vectors = np.linalg.eigh(np.exp(-decay * distance))
        turned_y, turned_x = vectors.T @ y, vectors.T @ design
        weight = 1 / (np.maximum(values, 0.0) + RATIOS[:, None])  # a row a ratio
        inside = np.einsum("rn,np,nq->rpq", weight, turned_x, turned_x, optimize=True)
        at = np.linalg.solve(inside, ((weight * turned_y) @ turned_x)[:, :, None])[:, :, 0]
        squares = np.sum(weight * (turned_y - at @ turned_x.T) ** 2, axis=1)
        parts.append(_part(n - p, -np.log(weight).sum(axis=1), inside, at, squares))
    return _stacked(parts)


def _part(freedom: int, log_size: Floats, inside: Floats, at: Floats, squares: Floats) -> _Table:
    """Return log weight, scale, centre and root of one decay; a row a ratio."""
    size = log_size + np.linalg.slogdet(inside)[1]
    log = -0.5 * (size + freedom * np.log(squares))
    return _Table(log, squares, at, np.linalg.inv(np.linalg.cholesky(inside)).transpose(0, 2, 1))


def _stacked(parts: Sequence[_Table]) -> _Table:
    """Return all decays as one table, its weights normalised."""
    log, scale, centre, root = (np.concatenate(each) for each in zip(*parts, strict=True))
    weights = np.exp(log - log.max())
    return _Table(weights / weights.sum(), scale, centre, root)


@renamed(data="release")
def spatial_regression(
    release: Release | Any,
    response: str,
    predictors: Sequence[str],
    *,
    x: str,
    y: str,
    draws: int = 10_000,
    seed: int = 0,
) -> Posterior:
    """Return the posterior of a spatial regression.

    Parameters
    ----------
    release
        A release, or a frame. The model is fitted to each dataset and the draws are stacked, as a
        Bayesian analysis of several synthetic datasets must be (Zhou and Reiter 2010).
    response
        A column of numbers, or of true and false.
    predictors
        Columns; categories become one column a level, the first left out.
    x, y
        The coordinates, in a plane.
    draws
        Draws from each dataset.
    """
    frames = release.datasets if hasattr(release, "datasets") else [release]
    posteriors = []
    names: tuple[str, ...] = ()
    for number, frame in enumerate(frames):
        design, names = _design(frame, predictors)
        points = np.column_stack([np.asarray(frame[name], dtype=float) for name in (x, y)])
        values, rng = np.asarray(frame[response], dtype=float), Streams(seed)("regression", number)
        # one thread: digits do not depend on their number, and waiting for each other costs more
        with one_thread():
            posteriors.append(fit_spatial(points, values, design, rng, draws))
    return Posterior((*names, "sigma2", "tau2", "phi"), np.concatenate(posteriors))


def posterior_overlap(
    original: Posterior, release: Posterior, level: float = 0.95
) -> dict[str, float]:
    """Return by parameter the overlap of two credible intervals: the geometric mean of shares."""
    shared = overlap(original.interval(level), release.interval(level))
    return dict(zip(original.names, shared.tolist(), strict=True))


def intervals_table(posteriors: Mapping[str, Posterior], level: float = 0.95) -> Any:
    """Return mean and credible interval of each parameter, a row a parameter and source."""
    import pandas as pd

    rows = []
    for source, posterior in posteriors.items():
        low, high = posterior.interval(level)
        for i, name in enumerate(posterior.names):
            rows.append((name, source, posterior.mean[i], low[i], high[i]))
    table = pd.DataFrame(rows, columns=["parameter", "source", "mean", "lower", "upper"])
    order = {name: i for posterior in posteriors.values() for i, name in enumerate(posterior.names)}
    return table.sort_values("parameter", key=lambda names: names.map(order), kind="stable")


def intervals_picture(posteriors: Mapping[str, Posterior], level: float = 0.95) -> bytes:
    """Return the credible intervals as SVG, a panel a parameter, sources below each other."""
    from veladura.base.pictures import image_of, new_figure, style

    names = next(iter(posteriors.values())).names
    rows = list(reversed(list(posteriors.items())))
    colours = ["#9c3d2e", "#1f5f8b", "#8a6d1f", "#4b7a47", "#6b4e8a"]
    with style():
        figure = new_figure(6.0, 0.35 + len(names) * (0.42 + 0.16 * len(posteriors)))
        panels = figure.subplots(len(names), 1, squeeze=False)[:, 0]
        for i, (name, panel) in enumerate(zip(names, panels, strict=True)):
            for row, (_, posterior) in enumerate(rows):
                low, high = (float(end[i]) for end in posterior.interval(level))
                colour = colours[len(posteriors) - 1 - row]
                panel.plot([low, high], [row, row], color=colour, lw=2)
                panel.plot([float(posterior.mean[i])], [row], "o", color=colour, ms=4)
            labels = [f"{name}: {source}" for source, _ in rows]
            panel.set_yticks(range(len(labels)), labels)
            panel.set_ylim(-0.6, len(labels) - 0.4)
        panels[-1].set_xlabel(f"{100 * level:g} % credible intervals")
        return image_of(figure)


def _design(frame: Any, predictors: Sequence[str]) -> tuple[Floats, tuple[str, ...]]:
    """Return the design matrix of some columns, with an intercept, and the names of its columns."""
    import pandas as pd

    table = pd.DataFrame({name: frame[name] for name in predictors})
    labelled = [name for name in predictors if not pd.api.types.is_numeric_dtype(table[name])]
    coded = (
        pd.get_dummies(table, columns=labelled, drop_first=True, dtype=float)
        if labelled
        else table.astype(float)
    )
    return np.column_stack([np.ones(len(table)), coded.to_numpy(dtype=float)]), (
        "intercept",
        *map(str, coded.columns),
    )
