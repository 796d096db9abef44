"""Combining rules of synthetic data, and that of imputed data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from veladura.base.arrays import Floats
from veladura.core.rule import (
    BOTH,
    COMBINE,
    MANY,
    PERSON,
    Conclusions,
    Rule,
    Statistic,
    Total,
    f_freedom,
)
from veladura.errors import PlanError


@dataclass(frozen=True, kw_only=True)
class Synthetic(Rule):
    """A rule for synthetic data.

    Parameters
    ----------
    rows, original_rows
        Rows of a dataset (k) and of the original (n), where they differ.
    proper
        Whether each dataset comes from a posterior draw; Bayesian-bootstrap leaves are one.
    """

    rows: int | None = None
    original_rows: int | None = None
    proper: bool = True

    def __post_init__(self) -> None:
        given = [rows for rows in (self.rows, self.original_rows) if rows is not None]
        if any(isinstance(rows, bool) or not isinstance(rows, int) or rows < 1 for rows in given):
            msg = f"rows and original_rows must be whole numbers of at least 1, got {given}."
            raise PlanError(msg)

    @property
    def share(self) -> float:
        """Rows of a dataset over those of the original, 1 where they are not given."""
        if self.rows is None or self.original_rows is None:
            return 1.0
        return self.rows / self.original_rows


@dataclass(frozen=True, kw_only=True)
class Partial(Synthetic):
    """Some columns or cells were replaced (Reiter 2003, sec. 2.2; tests: Reiter 2005, sec. 3)."""

    name = "partial"
    title = "partially synthetic data (Reiter 2003)"
    least_datasets = 2
    conclusions = Conclusions(
        ("Estimate means, tables and models with valid intervals, combined over the datasets.",),
        (
            *PERSON,
            MANY,
            "Do not conclude on relations that the model of the replaced columns did not contain.",
        ),
        COMBINE,
        BOTH,
    )

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return T = b/m + v and nu = (m - 1)(1 + m v / b)^2.

        Where v has degrees of freedom of its own, those of a survey with few clusters, both are
        combined as by Satterthwaite (1946): nu = T^2 / ((b/m)^2 / (m - 1) + v^2 / df).
        """
        inside = within * self.share
        total = between / m + inside
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(between > 0, (m - 1) * (1 + m * inside / between) ** 2, np.inf)
            if np.isfinite(df):
                freedom = 1 / (1 / freedom + (inside / total) ** 2 / df)
        return total, freedom

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return S = form / (d (1 + r)) with r = tr(b v^-1)/(m d)."""
        r = spread / (m * d * self.share)
        return Statistic(form / (d * (1 + r) * self.share), f_freedom(d, m, r, 1.0), r)


@dataclass(frozen=True, kw_only=True)
class Full(Synthetic):
    """Rows are new, each dataset from a posterior draw of its own (Raghunathan et al. 2003)."""

    name = "full"
    title = "fully synthetic data (Raghunathan, Reiter and Rubin 2003)"
    least_datasets = 2
    conclusions = Conclusions(
        ("Estimate means, tables and models with valid intervals, combined over the datasets.",),
        (
            *PERSON,
            MANY,
            "Do not conclude on relations that the synthesis model did not contain.",
        ),
        COMBINE,
        BOTH,
    )

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return T = (1 + 1/m) b - v and nu = (m - 1)(1 - m v / ((m + 1) b))^2 (eq. 4 and 6).

        Where T is not positive, T = v k/n with m - 1 degrees of freedom (Reiter 2002); nu is at
        least 1.
        """
        total = (1 + 1 / m) * between - within
        good = total > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = (m - 1) * (1 - m * within / ((m + 1) * between)) ** 2
        freedom = np.maximum(np.where(good, freedom, m - 1), 1.0)
        return np.where(good, total, self.share * within), freedom

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return S = form / (d (r - 1)) with r = (1 + 1/m) tr(b v^-1)/d > 1 (Reiter 2005)."""
        r = (1 + 1 / m) * spread / d
        if r <= 1:
            msg = (
                "the test cannot be computed: the estimates vary less between the datasets than"
                f" within them (r = {r:.3g}, above 1 is needed).\n\nHint: rule 'full' wants m of 20"
                " or more; rule 'single' needs no variance between datasets."
            )
            raise PlanError(msg)
        return Statistic(form / (d * (r - 1)), f_freedom(d, m, r, -1.0), r)


@dataclass(frozen=True, kw_only=True)
class Single(Synthetic):
    """Every column was replaced, in large samples, for any m (Raab, Nowok and Dibben 2016)."""

    name = "single"
    title = "synthetic data, one dataset or more (Raab, Nowok and Dibben 2016)"
    conclusions = Conclusions(
        (
            (
                "Estimate means, tables and models of large samples, with the wider intervals"
                " that the rule gives."
            ),
        ),
        (
            *PERSON,
            "Do not take the standard errors of one dataset as they are: the rule widens them.",
            "Do not conclude on relations that the synthesis model did not contain.",
        ),
        COMBINE,
        BOTH,
    )

    def factor(self, m: int) -> float:
        """Return T / v: k/n + (1 + k/n)/m for proper draws, k/n + 1/m for simple ones (table 1)."""
        return self.share + (1 + self.share if self.proper else 1.0) / m

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return T = v times the factor; the variance between datasets is not used."""
        total = within * self.factor(m)
        return total, np.full_like(total, np.inf)

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return the chi-square over d of the form divided by the factor."""
        factor = self.factor(m)
        return Statistic(form / (d * factor), float("inf"), factor - 1)


@dataclass(frozen=True, kw_only=True)
class Imputed(Rule):
    """Missing values were imputed (Rubin 1987): not for releases, for the analyst's own data."""

    name = "imputed"
    title = "multiple imputation (Rubin 1987)"
    least_datasets = 2
    conclusions = Partial.conclusions

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return T = (1 + 1/m) b + v (eq. 3.1.5) and nu = (m - 1)(1 + m v / ((m + 1) b))^2."""
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = (m - 1) * (1 + m * within / ((m + 1) * between)) ** 2
        return (1 + 1 / m) * between + within, np.where(between > 0, freedom, np.inf)

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return S = form / (d (1 + r)) with r = (1 + 1/m) tr(b v^-1)/d (Li et al. 1991)."""
        r = (1 + 1 / m) * spread / d
        return Statistic(form / (d * (1 + r)), f_freedom(d, m, r, 1.0), r)
