"""Tests of several quantities at once, combined over the datasets: Wald and likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from veladura.base.arrays import Floats
from veladura.core.rules import Rule
from veladura.errors import PlanError
from veladura.inference.pooling import Pooling


@dataclass(frozen=True)
class Test:
    """A test of a hypothesis about several quantities.

    Attributes
    ----------
    statistic, df, residual
        An F statistic with its degrees of freedom; ``residual`` is infinite where it is a
        chi-square over ``df``.
    p
        Probability of such a statistic or a larger one under the hypothesis.
    r
        Relative increase of the variance by the combining rule.
    kind, what, rule
        "Wald" or "likelihood ratio", the tested terms, and the combining rule.
    """

    statistic: float
    df: int
    residual: float
    p: float
    r: float
    kind: str
    rule: str
    what: str = ""

    __test__ = False  # pytest takes the name for its own

    def __float__(self) -> float:
        return self.p

    def __str__(self) -> str:
        law = (
            f"F({self.df}, {self.residual:.4g})"
            if np.isfinite(self.residual)
            else f"F({self.df}, inf)"
        )
        return (
            f"{self.kind} test{f' of {self.what}' if self.what else ''}: {law} ="
            f" {self.statistic:.4g}, p = {self.p:.3g}"
        )


def wald(
    q: ArrayLike,
    covariances: ArrayLike,
    rule: str | Rule | Pooling = "partial",
    null: ArrayLike = 0.0,
    *,
    residual: float = np.inf,
    what: str = "",
) -> Test:
    """Return the Wald test of H0: Q = Q0 from the estimates of m datasets and their covariances.

    With d quantities, v the mean covariance and b that of the estimates, S = (q - Q0)' v^-1 (q -
    Q0) / (d c):

    - partial (Reiter 2005, sec. 3): r = tr(b v^-1)/(m d), c = 1 + r;
    - imputed (Li, Raghunathan and Rubin 1991): r = (1 + 1/m) tr(b v^-1)/d, c = 1 + r;
    - full (Reiter 2005, sec. 2): the same r, c = r - 1, defined for r > 1 only;
    - single: c = k/n + (1 + k/n)/m, or k/n + 1/m for simple synthesis, referred to a chi-square;
    - none: c = 1, an F with the degrees of freedom of the fit.

    Parameters
    ----------
    q, covariances
        Of shape (m, d) and (m, d, d).
    rule
        Its name, or a `Pooling` where the rows differ or the synthesis is simple.
    null
        Q0, a number or d of them.
    residual
        Degrees of freedom of the fit, for the rule "none".

    References
    ----------
    Reiter, J. P. (2005). Significance tests for multi-component estimands from multiply imputed,
    synthetic microdata. Journal of Statistical Planning and Inference 131, 365-377.
    """
    estimates, within = np.asarray(q, dtype=np.float64), np.asarray(covariances, dtype=np.float64)
    pooling = _pooling(rule, len(estimates))
    m, d = _shape(estimates, within, pooling)
    mean = within.mean(axis=0)
    distance = estimates.mean(axis=0) - np.asarray(null, dtype=np.float64)
    try:
        form = float(distance @ np.linalg.solve(mean, distance))
        spread = (
            0.0
            if m == 1
            else float(np.trace(np.linalg.solve(mean, np.atleast_2d(np.cov(estimates.T, ddof=1)))))
        )
    except np.linalg.LinAlgError:
        msg = (
            f"the covariance of the {d} quantities cannot be inverted: some of them are collinear."
            "\n\nHint: test fewer of them."
        )
        raise PlanError(msg) from None
    return _test(form, spread, d, pooling, residual, "Wald", what)


def likelihood_ratio(
    own: ArrayLike,
    pooled: ArrayLike,
    d: int,
    rule: str | Rule | Pooling = "partial",
    *,
    what: str = "",
) -> Test:
    """Return the likelihood-ratio test of d restrictions from the statistics of m datasets.

    The variance between datasets comes from the statistics alone: with L^ their mean at each
    dataset's own estimates and L their mean at the averaged ones, tr(b v^-1) is about m (L^ - L)/(m
    - 1) (Meng and Rubin 1992; Reiter 2005, sec. 4, for synthetic data). The rest is as in `wald`,
    with L for the quadratic form.

    Parameters
    ----------
    own, pooled
        Twice the difference of log-likelihoods in each dataset, at its own estimates and at the
        averaged ones.
    d
        Number of restrictions.
    """
    at_own, at_mean = np.asarray(own, dtype=np.float64), np.asarray(pooled, dtype=np.float64)
    m = at_own.size
    pooling = _pooling(rule, m)
    pooling.rule.check(m)
    if (
        at_own.shape != at_mean.shape
        or at_own.ndim != 1
        or not m
        or not (np.isfinite(at_own).all() and np.isfinite(at_mean).all())
    ):
        msg = (
            f"own and pooled must hold one finite statistic a dataset, got shapes {at_own.shape}"
            f" and {at_mean.shape}."
        )
        raise PlanError(msg)
    spread = 0.0 if m == 1 else max(0.0, float(at_own.mean() - at_mean.mean())) * m / (m - 1)
    return _test(
        max(0.0, float(at_mean.mean())), spread, d, pooling, np.inf, "likelihood ratio", what
    )


def _pooling(rule: str | Rule | Pooling, m: int) -> Pooling:
    return rule if isinstance(rule, Pooling) else Pooling(rule, m)  # type: ignore[arg-type]


def _shape(q: Floats, covariances: Floats, pooling: Pooling) -> tuple[int, int]:
    if q.ndim != 2 or covariances.shape != (*q.shape, q.shape[1]) or not q.size:  # noqa: PLR2004
        msg = (
            f"q and covariances must have shapes (m, d) and (m, d, d), got {q.shape} and"
            f" {covariances.shape}."
        )
        raise PlanError(msg)
    pooling.rule.check(len(q))
    if not (np.isfinite(q).all() and np.isfinite(covariances).all()):
        msg = "estimates and covariances must be finite numbers."
        raise PlanError(msg)
    return q.shape


def _test(
    form: float, spread: float, d: int, pooling: Pooling, residual: float, kind: str, what: str
) -> Test:
    """Return the test from the quadratic form (q - Q0)' v^-1 (q - Q0) and tr(b v^-1)."""
    statistic = pooling.rule.test(form, spread, d, pooling.m, residual)
    p = _tail(statistic.value, d, statistic.residual)
    return Test(
        statistic.value, d, statistic.residual, p, statistic.r, kind, pooling.rule.name, what
    )


def _tail(statistic: float, d: int, residual: float) -> float:
    return float(
        stats.f.sf(statistic, d, residual)
        if np.isfinite(residual)
        else stats.chi2.sf(d * statistic, d)
    )
