"""Bayesian analyses of several datasets: one posterior from several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from veladura.base.arrays import Floats
from veladura.errors import PlanError
from veladura.inference.combined import CombiningRule, check_level, combine

IntervalKind = Literal["equal", "shortest"]


@dataclass(frozen=True, eq=False)
class Stacked:
    """A mixture of posteriors with equal weight for each dataset.

    Numbers for one quantity, arrays for several.

    Attributes
    ----------
    value, variance
        Mean and variance of the mixture.
    lower, upper
        Ends of the credible interval at ``level``.
    draws, weights
        All draws, datasets one after the other, and the weight of each.
    rule
        The rule that the spread was fitted to; None for the plain mixture.
    """

    value: Any
    variance: Any
    lower: Any
    upper: Any
    level: float
    draws: Floats = field(repr=False)
    weights: Floats = field(repr=False)
    rule: str | None = None

    @property
    def error(self) -> Any:
        """Standard deviation of the mixture."""
        return np.sqrt(self.variance)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        parts = (np.atleast_1d(part) for part in (self.value, self.error, self.lower, self.upper))
        return "\n".join(
            f"{a:.4g} (sd {b:.3g}; {c:.4g} to {d:.4g})" for a, b, c, d in zip(*parts, strict=True)
        )


def stack(
    draws: Sequence[ArrayLike],
    *,
    level: float = 0.95,
    interval: IntervalKind = "equal",
    rule: CombiningRule | None = None,
    rows: int | None = None,
    original_rows: int | None = None,
    proper: bool = True,
) -> Stacked:
    """Return one posterior from those of m datasets: a mixture with equal weights.

    The plain mixture has variance v + b (m - 1)/m, with v the mean posterior variance and b that of
    the posterior means. That is right in the limit for imputed data (Zhou and Reiter 2010: many
    datasets). After partial synthesis the variance is v + b/m, so that the mixture is too wide from
    m = 3 on; after "single" with m = 1 it is much too narrow. With ``rule`` the posteriors are
    shifted to their common mean and scaled to the variance of the rule: the shape is theirs, the
    variance that of the rule.

    Parameters
    ----------
    draws
        One array a dataset, of shape (draws,) or (draws, p); the numbers of draws may differ.
    interval
        "equal": the same probability beyond both ends; "shortest": the highest-density interval.
    rule, rows, original_rows, proper
        As in `combine`; without a rule the mixture stays as it is.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> stacked = stack([rng.normal(0, 1, 4000), rng.normal(2, 1, 4000)])
    >>> round(stacked.value, 1), round(stacked.variance, 1)
    (1.0, 2.0)

    References
    ----------
    Zhou, X. and Reiter, J. P. (2010). A note on Bayesian inference after multiple imputation. The
    American Statistician 64(2), 159-163.
    """
    check_level(level)
    if interval not in get_args(IntervalKind):
        what = "interval"
        raise PlanError.unknown(what, str(interval), get_args(IntervalKind))
    sets = [np.asarray(drawn, dtype=np.float64) for drawn in draws]
    _check(sets)
    m = len(sets)
    weights = np.concatenate([np.full(len(drawn), 1 / (m * len(drawn))) for drawn in sets])
    every = np.concatenate([drawn.reshape(len(drawn), -1) for drawn in sets])
    centre = weights @ every
    spread = weights @ (every - centre) ** 2
    if rule is not None:
        means, within = (
            np.array([drawn.mean(axis=0) for drawn in sets]),
            np.array([drawn.var(axis=0, ddof=1) for drawn in sets]),
        )
        spread = np.atleast_1d(
            combine(
                means, within, rule, rows=rows, original_rows=original_rows, proper=proper
            ).variance
        )
        own = np.concatenate(
            [
                (drawn - mean).reshape(len(drawn), -1)
                for drawn, mean in zip(sets, means, strict=True)
            ]
        )
        inner = weights @ own**2
        every = centre + own * np.sqrt(
            np.divide(spread, inner, out=np.ones_like(inner), where=inner > 0)
        )
    ends = np.array([_ends(column, weights, level, interval) for column in every.T])
    shape = sets[0].shape[1:]
    value, variance, lower, upper = (
        _bare(part.reshape(shape)) for part in (centre, spread, ends[:, 0], ends[:, 1])
    )
    return Stacked(value, variance, lower, upper, level, every.reshape(-1, *shape), weights, rule)


def _check(sets: Sequence[Floats]) -> None:
    if (
        not sets
        or any(drawn.ndim not in (1, 2) or len(drawn) < 2 for drawn in sets)  # noqa: PLR2004
        or len({drawn.shape[1:] for drawn in sets}) > 1
    ):
        msg = (
            "draws must hold an array of shape (draws,) or (draws, p) for each dataset, got"
            f" {[drawn.shape for drawn in sets]}."
        )
        raise PlanError(msg)
    if not all(np.isfinite(drawn).all() for drawn in sets):
        msg = "draws must be finite numbers."
        raise PlanError(msg)


def _ends(draws: Floats, weights: Floats, level: float, kind: str) -> tuple[float, float]:
    """Return the ends of an interval that holds a share of the weight."""
    order = np.argsort(draws)
    ordered, reached = draws[order], np.cumsum(weights[order])
    if kind == "equal":
        middle = reached - weights[order] / 2
        low, high = np.interp([(1 - level) / 2, (1 + level) / 2], middle, ordered)
        return float(low), float(high)
    before = reached - weights[order]
    last = np.searchsorted(reached, before + level - 1e-12)
    inside = last < ordered.size
    widths = ordered[last[inside]] - ordered[inside]
    first = int(np.flatnonzero(inside)[np.argmin(widths)])
    return float(ordered[first]), float(ordered[last[first]])


def _bare(part: Floats) -> Any:
    return float(part) if part.ndim == 0 else part
