"""One model fitted to one dataset: coefficients, covariance, and the likelihood that tests need."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.errors import DataError, PlanError

if TYPE_CHECKING:
    from veladura.inference.sampled_rows import SampledRows

Family = Literal["gaussian", "binomial", "poisson", "gamma", "quasi-binomial", "quasi-poisson"]
BINARY = ("binomial", "quasi-binomial")
LIKELY = ("gaussian", "binomial", "poisson")  # families with a likelihood
COLLINEAR = 1e-13
# A standard error beyond this, on standardised columns: the estimate does not exist.
LARGEST = 100.0


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model.

    Attributes
    ----------
    params, covariance
        Coefficients and their covariance.
    dispersion
        Maximum-likelihood variance of the errors (gaussian), else 1.
    residual
        Degrees of freedom of the t distribution; infinite except for the gaussian family.
    """

    params: Floats
    covariance: Floats
    dispersion: float
    residual: float
    y: Floats = field(repr=False)
    x: Floats = field(repr=False)


def check_family(family: str) -> None:
    """Refuse an unknown family."""
    if family not in get_args(Family):
        what = "family"
        raise PlanError.unknown(what, str(family), get_args(Family))


def fit(
    family: str,
    y: Floats,
    x: Floats,
    weights: Floats | None = None,
    *,
    robust: bool = False,
    number: int = 1,
    sampled: SampledRows | None = None,
    places: Ints | None = None,
) -> Fit:
    """Return a generalised linear model fitted to one dataset.

    With weights, or when ``robust``, the covariance is the sandwich with the factor n/(n - p)
    (White 1980; Binder 1983 for sampling weights); weights are scaled to a mean of one. With a
    design of strata and clusters its middle is the variance of the sums of scores in that design,
    with replicate weights the covariance is that of the estimates with each of them.

    Parameters
    ----------
    sampled, places
        The design of all rows of the dataset, and which of them are used.
    number
        The number of the dataset, for messages.
    """
    _check_response(family, y, number)
    if y.size <= x.shape[1]:
        msg = (
            f"dataset {number} has {y.size} rows for {x.shape[1]} coefficients.\n\nHint: use fewer"
            " terms."
        )
        raise DataError(msg)
    if weights is not None and not weights.any():
        msg = (
            f"all {y.size:,} rows that the model uses have the weight 0 in dataset {number}: they"
            " stand for nobody.\n\nHint: take another group, or count rows equally:"
            " sampling=vd.Sampling() (--no-design)."
        )
        raise DataError(msg)
    load = None if weights is None else weights / weights.mean()
    model = _model(family, y, x, load)
    result = _fitted(model, family, number)
    params = np.asarray(result.params, dtype=np.float64)
    covariance = np.asarray(result.cov_params(), dtype=np.float64)
    spread = x.std(axis=0)
    if (
        family not in ("gaussian", "gamma")
        and (np.sqrt(np.diag(covariance)) * spread).max() > LARGEST
    ):
        raise DataError(unsteady(number))
    dispersion, residual = 1.0, np.inf
    if family == "gaussian":
        dispersion, residual = float(np.mean((y - x @ params) ** 2)), float(y.size - x.shape[1])
    if sampled is not None and places is not None:
        covariance = _by_design(result, family, y, x, load, sampled, places, number)
        residual = sampled.df
    elif robust or load is not None:
        covariance, residual = _sandwich(result, family, y, x, load), np.inf
    return Fit(params, covariance, dispersion, residual, y, x)


def _model(family: str, y: Floats, x: Floats, load: Floats | None) -> Any:
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.regression.linear_model import WLS

    law = family_of(family)
    if law is None:
        return WLS(y, x, weights=1.0 if load is None else load)
    return GLM(y, x, family=law, **({} if load is None else {"var_weights": load}))


def family_of(family: str) -> Any:
    """Return link and variance of a family; None for the gaussian one, which needs neither."""
    from statsmodels.genmod import families

    if family == "gaussian":
        return None
    return {
        "binomial": families.Binomial,
        "poisson": families.Poisson,
        "gamma": lambda: families.Gamma(families.links.Log()),
    }[family.removeprefix("quasi-")]()


def _fitted(model: Any, family: str, number: int) -> Any:
    """Return the fit; refuse one that did not converge."""
    settings = (
        {}
        if family == "gaussian"
        else {"maxiter": 100, **({"scale": "X2"} if family.startswith("quasi-") else {})}
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # convergence is checked below
        try:
            result = model.fit(**settings)
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            raise DataError(unsteady(number)) from None
    if (
        not getattr(result, "converged", True)
        or not np.isfinite(result.params).all()
        or not np.isfinite(result.bse).all()
    ):
        raise DataError(unsteady(number))
    return result


def unsteady(number: int) -> str:
    """Say that a model has no estimate in a dataset."""
    return (
        f"the model does not converge in dataset {number}.\n\nHint: a category may determine the"
        " response completely (separation), or columns may have very different scales; merge rare"
        " categories, use scale(column), or use fewer terms."
    )


def _check_response(family: str, y: Floats, number: int) -> None:
    if family.removeprefix("quasi-") == "poisson" and (y < 0).any():
        msg = (
            f"family {family} needs a response of at least 0: dataset {number} has"
            f" {int((y < 0).sum())} negative values."
        )
        raise PlanError(msg)
    if family == "gamma" and (y <= 0).any():
        msg = (
            f"family gamma needs a response above 0: dataset {number} has {int((y <= 0).sum())}"
            " values of 0 or less."
        )
        raise PlanError(msg)
    _check_constant(float(np.ptp(y)), number)


def check_ends(family: str, lowest: float, highest: float, number: int) -> None:
    """Refuse a response that the family does not have, from its lowest and highest value."""
    if family.removeprefix("quasi-") == "poisson" and lowest < 0:
        msg = f"family {family} needs a response of at least 0 in dataset {number}."
        raise PlanError(msg)
    if family == "gamma" and lowest <= 0:
        msg = f"family gamma needs a response above 0 in dataset {number}."
        raise PlanError(msg)
    _check_constant(highest - lowest, number)


def _check_constant(spread: float, number: int) -> None:
    if spread == 0:
        msg = f"the response is constant in dataset {number}: there is nothing to model."
        raise DataError(msg)


def _sandwich(result: Any, family: str, y: Floats, x: Floats, load: Floats | None) -> Floats:
    """Return A^-1 B A^-1: A the information, B the sum of squared scores, times n/(n - p)."""
    bread, scores = _bread_and_scores(result, family, y, x, load)
    made: Floats = bread @ (scores.T @ scores) @ bread * (y.size / (y.size - x.shape[1]))
    return made


def _bread_and_scores(
    result: Any, family: str, y: Floats, x: Floats, load: Floats | None
) -> tuple[Floats, Floats]:
    """Return the inverse information, and what each row adds to the estimating equations."""
    weights = np.ones_like(y) if load is None else load
    if family == "gaussian":
        residuals, curvature = y - x @ result.params, np.ones_like(y)
    else:
        law, mean = result.model.family, np.asarray(result.fittedvalues)
        slope = 1 / law.link.deriv(mean)
        residuals, curvature = (
            (y - mean) * slope / law.variance(mean),
            slope**2 / law.variance(mean),
        )
    scores = x * (weights * residuals)[:, None]
    bread = np.linalg.inv((x * (weights * curvature)[:, None]).T @ x)
    return np.asarray(bread, dtype=np.float64), scores


def _by_design(
    result: Any,
    family: str,
    y: Floats,
    x: Floats,
    load: Floats | None,
    sampled: SampledRows,
    places: Ints,
    number: int,
) -> Floats:
    """Return the covariance of the coefficients under a sampling design."""
    if sampled.replicates.shape[1]:

        def refitted(weights: Floats) -> Floats:
            used = weights[places] > 0
            load = weights[places][used]
            model = _model(family, y[used], x[used], load / load.mean())
            return np.asarray(_fitted(model, family, number).params, dtype=np.float64)

        return sampled.replicated(refitted, np.asarray(result.params, dtype=np.float64))
    bread, scores = _bread_and_scores(result, family, y, x, load)
    every = np.zeros((sampled.weights.size, x.shape[1]))
    every[places] = scores
    made: Floats = bread @ sampled.variance(every) @ bread
    return made


def log_likelihood(family: str, params: Floats, dispersion: float, y: Floats, x: Floats) -> float:
    """Return the log-likelihood at given coefficients, up to a constant of the data."""
    linear = x @ params
    if family == "gaussian":
        return float(
            -0.5 * y.size * np.log(dispersion) - 0.5 * np.sum((y - linear) ** 2) / dispersion
        )
    if family == "binomial":
        return float(np.sum(y * linear - np.logaddexp(0.0, linear)))
    return float(np.sum(y * linear - np.exp(linear)))


def check_columns(x: Sequence[Floats], names: Sequence[str]) -> None:
    """Refuse columns that are empty or collinear in a dataset, and name them."""
    absent = {
        name: [i + 1 for i, matrix in enumerate(x) if not matrix[:, j].any()]
        for j, name in enumerate(names)
    }
    if lacking := {name: places for name, places in absent.items() if places}:
        name, places = next(iter(lacking.items()))
        more = f" (and {len(lacking) - 1} more terms)" if len(lacking) > 1 else ""
        where = "the data" if len(x) == 1 else f"datasets {places} of {len(x)}"
        msg = (
            f"no row of {where} has the term {name!r}{more}: its coefficient cannot be"
            " estimated.\n\nHint: merge rare categories, or leave the term out."
        )
        raise DataError(msg)
    for i, matrix in enumerate(x):
        scaled = matrix / np.linalg.norm(matrix, axis=0)
        values, vectors = np.linalg.eigh(scaled.T @ scaled)
        if values[0] < COLLINEAR:
            together = [
                name
                for name, load in zip(names, np.abs(vectors[:, 0]), strict=True)
                if load > 0.1  # noqa: PLR2004
            ]
            msg = (
                f"the terms {together} are collinear in dataset {i + 1}: their coefficients cannot"
                " be estimated.\n\nHint: leave one of them out."
            )
            raise DataError(msg)
