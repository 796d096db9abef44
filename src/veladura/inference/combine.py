"""Combining rules: one estimate with its variance from the m datasets of a release."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.recipe import Release

CombiningRule = Literal["partial", "full", "imputed", "single"]
Floats = NDArray[np.float64]
NEEDS_TWO = ("partial", "full", "imputed")


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates combined over the datasets: numbers for one quantity, arrays for several.

    Attributes
    ----------
    value, variance, df
        Estimate, its variance, and the degrees of freedom of its t distribution (infinite for a normal one).
    lower, upper
        Ends of the interval at ``level``.
    rule
        The rule that was used.
    names
        What each quantity is called, where that is known.
    """

    value: Any
    variance: Any
    df: Any
    lower: Any
    upper: Any
    level: float
    rule: str
    names: tuple[str, ...] = field(default=())

    @property
    def error(self) -> Any:
        """Standard error."""
        return np.sqrt(self.variance)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        rows = zip(*(np.atleast_1d(part) for part in (self.value, self.error, self.lower, self.upper, self.df)), strict=True)
        names = self.names or tuple(f"q{i}" for i in range(np.atleast_1d(self.value).size))
        width = max(len(name) for name in names)
        head = f"{'':{width}}  {'estimate':>10}  {'error':>10}  {'lower':>10}  {'upper':>10}  {'df':>8}"
        lines = [
            f"{name:{width}}  " + "  ".join(f"{x:10.4g}" for x in row[:4]) + f"  {row[4]:8.3g}"
            for name, row in zip(names, rows, strict=True)
        ]
        return "\n".join([head, *lines, f"rule {self.rule!r}, level {self.level:g}"])


def combine(
    q: ArrayLike,
    v: ArrayLike,
    rule: CombiningRule = "partial",
    *,
    level: float = 0.95,
    rows: int | None = None,
    original_rows: int | None = None,
    proper: bool = True,
) -> Combined:
    """Return one estimate from those of m datasets.

    With b the variance of the m estimates and v their mean variance:

    - "partial": some columns were replaced. T = b/m + v, nu = (m - 1)(1 + m v / b)^2 (Reiter 2003, sec. 2.2).
    - "full": rows are new, each dataset from a posterior draw of its own. T = (1 + 1/m) b - v,
      nu = (m - 1)(1 - m v / ((m + 1) b))^2 (Raghunathan, Reiter and Rubin 2003, eq. 4 and 6). Where T is not
      positive, T = v k/n with m - 1 degrees of freedom (Reiter 2002); nu is at least 1.
    - "imputed": missing values were imputed. T = (1 + 1/m) b + v (Rubin 1987, eq. 3.1.5).
    - "single": every column was replaced, in large samples, for any m. T = v (k/n + (1 + k/n)/m) for proper
      draws, v (k/n + 1/m) for simple ones; b is not used (Raab, Nowok and Dibben 2016, table 1).

    Parameters
    ----------
    q, v
        Estimates and their variances, of shape (m,) or (m, p).
    level
        Of the interval.
    rows, original_rows
        Rows of a dataset (k) and of the original (n), where they differ.
    proper
        Whether each dataset came from a posterior draw; Bayesian-bootstrap leaves are one.

    Examples
    --------
    >>> found = combine([1.0, 1.2, 1.1], [0.04, 0.05, 0.045])
    >>> round(found.value, 3), round(found.variance, 5)
    (1.1, 0.04833)
    """
    if rule not in get_args(CombiningRule):
        what = "rule"
        raise PlanError.unknown(what, str(rule), get_args(CombiningRule))
    if not 0 < level < 1:
        msg = f"level ({level}) must lie between 0 and 1."
        raise PlanError(msg)
    estimates, variances = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    _check(estimates, variances, rule)
    share = 1.0 if rows is None or original_rows is None else rows / original_rows
    m, centre, within = len(estimates), estimates.mean(axis=0), variances.mean(axis=0)
    between = estimates.var(axis=0, ddof=1) if m > 1 else np.zeros_like(centre)
    total, df = _total(rule, m, np.asarray(between), np.asarray(within), share, proper=proper)
    half = _quantile(df, level) * np.sqrt(total)
    value, variance, freedom, lower, upper = (_bare(part) for part in (centre, total, df, centre - half, centre + half))
    return Combined(value, variance, freedom, lower, upper, level, rule)


def _check(q: Floats, v: Floats, rule: str) -> None:
    if q.shape != v.shape or q.ndim not in (1, 2) or not q.size:
        msg = f"q and v must both have shape (m,) or (m, p), got {q.shape} and {v.shape}."
        raise PlanError(msg)
    if rule in NEEDS_TWO and len(q) < 2:  # noqa: PLR2004
        msg = f"rule {rule!r} needs the estimates of at least 2 datasets, got {len(q)}."
        raise PlanError(msg)
    if not (np.isfinite(q).all() and np.isfinite(v).all()) or (v < 0).any():
        msg = "q and v must be finite numbers, and variances not negative."
        raise PlanError(msg)


def _total(rule: str, m: int, b: Floats, v: Floats, share: float, *, proper: bool) -> tuple[Floats, Floats]:
    """Return variance and degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if rule == "single":
            total = v * (share + (1 + share if proper else 1.0) / m)
            return total, np.full_like(total, np.inf)
        if rule == "partial":
            within = v * share
            return b / m + within, np.where(b > 0, (m - 1) * (1 + m * within / b) ** 2, np.inf)
        if rule == "imputed":
            return (1 + 1 / m) * b + v, np.where(b > 0, (m - 1) * (1 + m * v / ((m + 1) * b)) ** 2, np.inf)
        total = (1 + 1 / m) * b - v
        good = total > 0
        df = np.where(good, (m - 1) * (1 - m * v / ((m + 1) * b)) ** 2, m - 1)
        return np.where(good, total, share * v), np.maximum(df, 1.0)


def _quantile(df: Floats, level: float) -> Floats:
    finite = np.isfinite(df)
    upper = (1 + level) / 2
    return np.asarray(np.where(finite, stats.t.ppf(upper, np.where(finite, df, 1.0)), stats.norm.ppf(upper)))


def _bare(part: Floats) -> Any:
    return float(part) if np.ndim(part) == 0 else np.asarray(part)


def estimate(release: Release, function: Callable[[Any], Any], *, level: float = 0.95) -> Combined:
    """Return an analysis of every dataset, combined by the rule of the release.

    Parameters
    ----------
    function
        Takes a dataset and returns an estimate with its variance (numbers or arrays), or a fitted
        model with ``params`` and ``bse`` as statsmodels gives it.
    """
    rule = release.rule
    if rule not in get_args(CombiningRule):
        what = {"none": "holds one protected table: analyse it as it is", "posterior": "is differentially private: use its posterior"}
        msg = f"this release {what.get(rule, 'has no combining rule')}."
        raise PlanError(msg)
    results = [_result(function(data)) for data in release.datasets]
    settings = next((step.settings for step in release.steps if "original_rows" in step.settings), {})
    combined = combine(
        np.array([q for q, _, _ in results]), np.array([v for _, v, _ in results]), rule, level=level,  # type: ignore[arg-type]
        rows=settings.get("rows"), original_rows=settings.get("original_rows"), proper=settings.get("synthesis", "proper") == "proper",
    )  # fmt: skip
    return Combined(
        combined.value, combined.variance, combined.df, combined.lower, combined.upper, level, rule, tuple(map(str, results[0][2]))
    )


def _result(found: Any) -> tuple[Any, Any, Sequence[str]]:
    """Return estimates, variances and names of whatever an analysis returned."""
    if hasattr(found, "params") and hasattr(found, "bse"):
        params = found.params
        return np.asarray(params, dtype=float), np.asarray(found.bse, dtype=float) ** 2, list(getattr(params, "index", ()))
    if isinstance(found, Mapping):
        return np.array([pair[0] for pair in found.values()]), np.array([pair[1] for pair in found.values()]), list(found)
    try:
        q, v = found
    except (TypeError, ValueError):
        msg = "the analysis must return an estimate and its variance, a mapping of names to such pairs, or a fitted model with params and bse."
        raise PlanError(msg) from None
    return np.asarray(q, dtype=float), np.asarray(v, dtype=float), list(getattr(q, "index", ()))
