"""Combining rules: one estimate with its variance from the m datasets of a release."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats
from veladura.core.rules import COMBINING, Rule, rule_named
from veladura.errors import PlanError

CombiningRule = Literal["partial", "full", "imputed", "single"]


@dataclass(frozen=True, eq=False)
class Combined:
    """Estimates combined over the datasets: numbers for one quantity, arrays for several.

    Attributes
    ----------
    value, variance, df
        Estimate, its variance, and the degrees of freedom of its t distribution (infinite for a
        normal one).
    lower, upper
        Ends of the confidence interval at ``level``.
    rule
        The combining rule.
    names
        The names of the quantities, if any.
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

    @property
    def p(self) -> Any:
        """Two-sided p-value of the hypothesis that the quantity is 0."""
        df, error = np.asarray(self.df, dtype=float), np.asarray(self.error, dtype=float)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = np.abs(self.value) / error
        finite = np.isfinite(df)
        from scipy.special import ndtr, stdtr  # loading it takes longer than many a protect

        return _bare(np.where(finite, 2 * stdtr(np.where(finite, df, 1.0), -size), 2 * ndtr(-size)))

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        rows = zip(
            *(
                np.atleast_1d(part)
                for part in (self.value, self.error, self.lower, self.upper, self.df)
            ),
            strict=True,
        )
        names = self.names or tuple(f"q{i}" for i in range(np.atleast_1d(self.value).size))
        width = max(len(name) for name in names)
        head = (
            f"{'':{width}}  {'estimate':>10}  {'error':>10}  {'lower':>10}  {'upper':>10} "
            f" {'df':>8}"
        )
        lines = [
            f"{name:{width}}  " + "  ".join(f"{x:10.4g}" for x in row[:4]) + f"  {row[4]:8.3g}"
            for name, row in zip(names, rows, strict=True)
        ]
        return "\n".join([head, *lines, f"rule {self.rule!r}, level {self.level:g}"])


def combine(
    q: ArrayLike,
    v: ArrayLike,
    rule: CombiningRule | Rule = "partial",
    *,
    level: float = 0.95,
    rows: int | None = None,
    original_rows: int | None = None,
    proper: bool = True,
) -> Combined:
    """Return one estimate from those of m datasets.

    With b the variance of the m estimates and v their mean variance:

    - "partial": some columns were replaced. T = b/m + v, nu = (m - 1)(1 + m v / b)^2 (Reiter 2003,
      sec. 2.2).
    - "full": rows are new, each dataset from a posterior draw of its own. T = (1 + 1/m) b - v,
      nu = (m - 1)(1 - m v / ((m + 1) b))^2 (Raghunathan, Reiter and Rubin 2003, eq. 4 and 6). Where
      T is not positive, T = v k/n with m - 1 degrees of freedom (Reiter 2002); nu is at least 1.
    - "imputed": missing values were imputed. T = (1 + 1/m) b + v (Rubin 1987, eq. 3.1.5).
    - "single": every column was replaced, in large samples, for any m. T = v (k/n + (1 + k/n)/m)
      for proper draws, v (k/n + 1/m) for simple ones; b is not used (Raab, Nowok and Dibben 2016,
      table 1).

    Parameters
    ----------
    q, v
        Estimates and their variances, of shape (m,) or (m, p).
    level
        The confidence level of the interval.
    rows, original_rows
        Rows of a dataset (k) and of the original (n), where they differ.
    proper
        Whether each dataset came from a posterior draw; Bayesian-bootstrap leaves are one.

    Examples
    --------
    >>> combined = combine([1.0, 1.2, 1.1], [0.04, 0.05, 0.045])
    >>> round(combined.value, 3), round(combined.variance, 5)
    (1.1, 0.04833)
    """
    chosen = named_rule(rule, rows=rows, original_rows=original_rows, proper=proper)
    return combine_by(chosen, q, v, level=level)


def named_rule(rule: str | Rule, **settings: Any) -> Rule:
    """Return a combining rule by its name; a rule stays as it is."""
    if isinstance(rule, Rule):
        return rule
    if rule not in COMBINING:
        what = "rule"
        raise PlanError.unknown(what, str(rule), COMBINING)
    return rule_named(rule, settings)


def combine_by(
    rule: Rule,
    q: ArrayLike,
    v: ArrayLike,
    *,
    level: float = 0.95,
    df: float = np.inf,
    names: tuple[str, ...] = (),
    effect: float | Floats = 1.0,
) -> Combined:
    """Return one estimate from those of m datasets, by the rule of their release.

    Parameters
    ----------
    effect
        The design effect (Kish 1965, sec. 8.2) of a survey whose clusters are not released. The
        rule has the sampling variance v of independent rows once; (effect - 1) v is added, and
        nothing to the variance of the noise. One number, or one for each quantity.
    """
    check_level(level)
    estimates, variances = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    _check(estimates, variances, rule)
    m, centre, within = len(estimates), estimates.mean(axis=0), variances.mean(axis=0)
    between = estimates.var(axis=0, ddof=1) if m > 1 else np.zeros_like(centre)
    total, freedom = rule.total(m, np.asarray(between), np.asarray(within), df)
    if np.any(np.asarray(effect) > 1):
        # the declared effect is taken as known: only the first part has few degrees of freedom
        widened = total + (np.asarray(effect) - 1) * within
        freedom = freedom * (widened / np.where(total > 0, total, 1.0)) ** 2
        total = widened
    return interval(centre, total, freedom, level, rule.name, names)


def interval(
    value: Any, variance: Any, df: Any, level: float, rule: str, names: tuple[str, ...] = ()
) -> Combined:
    """Return estimates with their t intervals; normal ones for infinite degrees of freedom."""
    centre, total, freedom = (np.asarray(part, dtype=np.float64) for part in (value, variance, df))
    half = _quantile(freedom, level) * np.sqrt(total)
    lower, upper = _bare(centre - half), _bare(centre + half)
    return Combined(_bare(centre), _bare(total), _bare(freedom), lower, upper, level, rule, names)


def check_level(level: float) -> None:
    """Refuse a level outside 0 to 1."""
    if not 0 < level < 1:
        msg = f"level ({level}) must be between 0 and 1, such as 0.95."
        raise PlanError(msg)


def _check(q: Floats, v: Floats, rule: Rule) -> None:
    if q.shape != v.shape or q.ndim not in (1, 2) or not q.size:
        msg = f"q and v must both have shape (m,) or (m, p), got {q.shape} and {v.shape}."
        raise PlanError(msg)
    rule.check(len(q))
    if not (np.isfinite(q).all() and np.isfinite(v).all()) or (v < 0).any():
        msg = "q and v must be finite numbers, and the variances v must not be negative."
        raise PlanError(msg)


def _quantile(df: Floats, level: float) -> Floats:
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(df)
    upper = (1 + level) / 2
    return np.asarray(np.where(finite, stdtrit(np.where(finite, df, 1.0), upper), ndtri(upper)))


def _bare(part: Floats) -> Any:
    return float(part) if np.ndim(part) == 0 else np.asarray(part)
