"""The log-linear model nearest to noisy tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from veladura.base.arrays import Floats
from veladura.numeric.graphical.junction import Columns
from veladura.numeric.graphical.model import Beliefs, LogLinear

SMOOTHING = 0.5  # residuals of this share of the noisiest table's noise, times theta
STEPS = 200
LEAST = 1e-4  # share of a reference that is spread over all categories
TOLERANCE = 0.02  # of the residuals, in standard deviations of the noise


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """One noisy table of counts: its columns, its numbers, the standard deviation of the noise."""

    columns: Columns
    noisy: Floats = field(repr=False)
    sigma: float


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model: its parameters, and the shares of its cliques."""

    model: LogLinear
    theta: Floats = field(repr=False)
    beliefs: Beliefs = field(repr=False)


def merged(measured: Sequence[NoisyTable]) -> list[NoisyTable]:
    """Return one table for each set of columns: repeated ones averaged by their precision."""
    by_columns: dict[Columns, list[NoisyTable]] = {}
    for table in measured:
        by_columns.setdefault(table.columns, []).append(table)
    result = []
    for columns, tables in by_columns.items():
        precision = np.array([table.sigma**-2 for table in tables])
        mean = precision @ np.array([table.noisy for table in tables]) / precision.sum()
        result.append(NoisyTable(columns, mean, float(precision.sum() ** -0.5)))
    return result


def fit(
    shape: tuple[int, ...],
    measured: Sequence[NoisyTable],
    n: float,
    *,
    zeros: Sequence[tuple[Columns, Floats]] = (),
    start: Fit | None = None,
    steps: int = STEPS,
    smoothing: float = SMOOTHING,
) -> Fit:
    """Return the model nearest to noisy tables, of those the nearest to independent columns.

    Minimises sum_t |y_t - n mu_t|^2 / (2 sigma_t^2) + lambda n KL(p | m) over the distributions p
    on the possible cells, where mu_t are the shares of table t, and m is the product of the shares
    of the columns in ``start``, or uniform. As lambda falls to 0 this is the weighted least-squares
    estimate of McKenna, Sheldon and Miklau (2019, eq. 2); lambda above 0 keeps noise from being
    taken for a relation. Its dual is smooth and has no constraints,

        n A(theta) - theta'y + lambda / 2 sum_t sigma_t^2 |theta_t|^2,

    with A the log normalising constant, so that L-BFGS solves it with one belief propagation a
    step. At the optimum y_t - n mu_t = lambda sigma_t^2 theta_t. Lambda is ``smoothing`` over the
    largest sigma.

    Parameters
    ----------
    start
        A fit to some of the tables, to start from.
    """
    from scipy.optimize import minimize

    tables = merged(measured)
    reference = () if start is None else margins(start)
    columns = tuple(table.columns for table in tables)
    model = LogLinear(shape, columns, tuple(zeros), reference)
    noisy = np.concatenate([table.noisy for table in tables])
    sigma = np.repeat([t.sigma for t in tables], [t.noisy.size for t in tables])
    ridge = smoothing / sigma.max() * sigma**2
    scale = 1.0 / np.sqrt(ridge + n / noisy.size)  # brings the curvatures nearer to each other

    def objective(scaled: Floats) -> tuple[float, Floats]:
        theta = scaled * scale
        beliefs = model.beliefs(theta)
        value = n * beliefs.log_total - theta @ noisy + 0.5 * ridge @ theta**2
        gradient = n * beliefs.tables - noisy + ridge * theta
        return float(value) / n, gradient * scale / n

    theta = minimize(
        objective,
        carried(model, start) / scale,
        jac=True,
        method="L-BFGS-B",
        options={
            "maxiter": steps,
            "maxcor": 20,
            "ftol": 1e-12,
            "gtol": TOLERANCE * float((sigma * scale).min()) / n,
        },
    ).x
    return Fit(model, theta * scale, model.beliefs(theta * scale))


def margins(fit: Fit) -> tuple[Floats, ...]:
    """Return the shares of every column in a fitted model, kept above 0."""
    shares = [fit.beliefs.table((column,)) for column in range(len(fit.model.shape))]
    return tuple((share + LEAST / share.size) / (1 + LEAST) for share in shares)


def carried(model: LogLinear, start: Fit | None) -> Floats:
    """Return parameters that give a model the distribution of another fit.

    Its tables are among those of the model. A change of the reference shares of a column is made up
    for in the table of that column.
    """
    theta = np.zeros(model.size)
    if start is None:
        return theta
    places = dict(zip(model.tables, model.places, strict=True))
    for table, place in zip(start.model.tables, start.model.places, strict=True):
        theta[places[table]] = start.theta[place]
    before = start.model.reference or [np.ones(size) for size in model.shape]
    for column, (old, new) in enumerate(zip(before, model.reference, strict=True)):
        if (column,) in places:
            theta[places[column,]] += np.log(old) - np.log(new)
    return theta
