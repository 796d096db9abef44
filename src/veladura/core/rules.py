"""Combining rules: how an analyst gets one estimate, with its variance, from m released datasets.

One class a rule. A method hands out the rule of its release; everything that depends on it (the
variance of an estimate, tests, what may be concluded, the lines an analyst copies) is asked of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.settings import from_plain
from veladura.core.rule import AS_IT_IS, PERSON, Conclusions, Rule, Statistic, Total
from veladura.core.synthetic_rules import Full, Imputed, Partial, Single, Synthetic
from veladura.errors import PlanError

__all__ = [
    "COMBINING",
    "RULES",
    "AsReleased",
    "Conclusions",
    "ExactPosterior",
    "Full",
    "Imputed",
    "NoiseAwareRows",
    "Partial",
    "PrivateRows",
    "PrivateStatistics",
    "Rule",
    "Single",
    "Synthetic",
    "rule_named",
]


@dataclass(frozen=True, kw_only=True)
class AsReleased(Rule):
    """One protected table, analysed as it is."""

    name = "none"
    title = "no combining rule: one table, analysed as it is"
    synthetic = False
    conclusions = Conclusions(
        (
            "Analyse the table with the usual tools: counts, means, tables, models.",
            "Expect results close to those of the original, as close as the utility figures say.",
        ),
        (
            *PERSON,
            "Do not take standard errors as complete: they ignore what the protection changed.",
        ),
        AS_IT_IS,
        "Estimates are of the released table as it is. The intervals cover sampling error, not"
        " what the protection changed.",
    )

    @property
    def adds_variance(self) -> bool:
        """Nothing is added."""
        return False

    def combines(self, m: int) -> bool:
        """Return whether there is one table."""
        return m == 1

    def check(self, m: int) -> None:
        """Refuse several tables: nothing says how they belong together."""
        if m > 1:
            msg = (
                f"the manifest has {m} datasets and no combining rule: they cannot be analysed"
                " together."
            )
            raise PlanError(msg)

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return what the fit gave."""
        return within, np.full_like(within, df)

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return the F statistic of the fit."""
        return Statistic(form / d, residual, 0.0)

    def snippet(self, formula: str, number: str, m: int) -> str:
        """Return a model, or a description of the table."""
        if formula or m > 1:
            return super().snippet(formula, "", m)
        last = f"data[[{number!r}]].describe()" if number else "data.describe()"
        return f"data = release.datasets[0]\n{last}"


@dataclass(frozen=True, kw_only=True)
class Uncombined(Rule):
    """A differentially private release: no estimate of a model can be combined."""

    private = True

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Refuse."""
        self.check(m)
        raise AssertionError  # check refuses

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Refuse."""
        self.check(m)
        raise AssertionError  # check refuses


@dataclass(frozen=True, kw_only=True)
class ExactPosterior(Uncombined):
    """A differentially private release whose exact posterior is known."""

    name = "posterior"
    title = "exact posterior distribution given the noise"
    posterior = True
    refusal = (
        "this release is differentially private: a model fitted to its rows would take the noise"
        " for data.\n\nHint: vd.posterior(release) has the exact posterior of every share, veladura"
        " analyze FOLDER --posterior prints it."
    )
    conclusions = Conclusions(
        (
            (
                "Estimate the share of every combination of values, with the uncertainty of"
                " sampling and of the noise."
            ),
        ),
        (
            *PERSON,
            "Do not take the released counts for those of the original: they carry noise.",
        ),
        "Use the exact posterior distribution; the manifest has everything it needs.",
        "Shares come from the exact posterior. The intervals cover sampling error and the noise.",
    )

    def snippet(self, formula: str, number: str, m: int) -> str:
        """Return the posterior and its intervals."""
        return "posterior = vd.posterior(release)\nposterior.mean, posterior.interval(0.95)"


@dataclass(frozen=True, kw_only=True)
class NoiseAwareRows(Rule):
    """Rows are drawn from the posterior given noisy tables, or can be (Räisä et al. 2023).

    Each dataset shows one draw of the population as closely as whole rows can, so the variance
    between datasets is that of the posterior: sampling error and noise. This is the rule of
    Raghunathan, Reiter and Rubin (2003, eq. 4) for datasets so large that the variance within them
    vanishes; Rubin's rule for imputed data would count the sampling error twice.

    Parameters
    ----------
    design_effects
        By figure ("rent" for its mean and models of it, "total rent", "income / rent", "rent ~ age"
        for a coefficient) the variance of the survey over that of as many independent draws, as the
        holder declares it. The posterior takes rows for independent draws: the sampling part of its
        variance is widened.
    """

    name = "noise-aware"
    title = "noise-aware: posterior draws given the noisy tables (Räisä et al. 2023)"
    private = True
    posterior = True
    design_effects: Mapping[str, float] = field(default_factory=dict)

    redraws = 50  # a variance of 50 draws widens an interval by 4 %, of 20 by 9 %
    conclusions = Conclusions(
        (
            (
                "Estimate shares, tables and models of columns that were measured together, with"
                " intervals that include the noise."
            ),
        ),
        (
            *PERSON,
            "Do not take standard errors of one dataset as they are: they ignore the noise.",
            (
                "Do not conclude on relations that the manifest does not list as measured: they"
                " rest on the model."
            ),
        ),
        "Use vd.posterior for shares, tables and odds ratios, and release.analyze for models: both"
        " work from the noisy tables in the manifest.",
        "Estimates are of draws from the posterior given the noisy tables. The intervals cover"
        " sampling error and the noise.",
    )

    def design_effect(self, figure: str) -> float | None:
        """Return the design effect that the holder declares for a figure; None for none."""
        return self.design_effects.get(figure)

    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
        """Return T = (1 + 1/m) b with m - 1 degrees of freedom.

        Where all datasets agree, the variance within them is taken instead.
        """
        agree = between <= 0
        freedom = np.where(agree, np.inf, float(m - 1))
        return np.where(agree, within, (1 + 1 / m) * between), freedom

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return S = form / (d r) with r = (1 + 1/m) tr(b v^-1)/d, all variance being between."""
        r = (1 + 1 / m) * spread / d
        if r <= 0:
            return Statistic(form / d, residual, 0.0)
        return Statistic(form / (d * r), float(max(1, d * (m - 1) - d + 1)), r)

    def snippet(self, formula: str, number: str, m: int) -> str:
        """Return the posterior, and a model where there is one."""
        lines = "posterior = vd.posterior(release)\nprint(posterior)"
        return f"{lines}\nprint(release.analyze({formula}))" if formula else lines


@dataclass(frozen=True, kw_only=True)
class PrivateRows(Uncombined):
    """A private release of an earlier version, without its noisy tables: counts and shares only."""

    name = "private"
    title = "no combining rule: counts carry noise"
    refusal = (
        "this release is differentially private and has no posterior: no interval of a model would"
        " cover the noise.\n\nHint: take counts and shares from release.datasets; the manifest"
        " gives the noise. vd.posterior is for dirichlet-multinomial, beta-binomial and"
        " noisy-counts."
    )
    conclusions = Conclusions(
        (
            (
                "Estimate counts and shares of the columns that were measured together; the"
                " manifest gives their noise."
            ),
        ),
        (
            *PERSON,
            "Do not take standard errors as complete: they ignore the noise.",
            "Do not conclude on relations that the manifest does not list as measured.",
        ),
        AS_IT_IS,
    )


@dataclass(frozen=True, kw_only=True)
class PrivateStatistics(Uncombined):
    """A differentially private table of statistics, each with its interval: no rows of people."""

    name = "statistics"
    title = "statistics with intervals that include the noise"
    statistics = True
    refusal = (
        "this release holds statistics and no rows of people: there is no table to fit a model to."
        "\n\nHint: read value, lower and upper from release.datasets[0]."
    )
    conclusions = Conclusions(
        (
            "Use every statistic with its interval: it includes the noise.",
            (
                "Read intervals of means, quantiles and shares as those of the population that the"
                " rows are a random sample of; of counts, sums and standard deviations as those of"
                " the table itself."
            ),
        ),
        (
            *PERSON,
            "Do not add or compare statistics as if they were exact.",
        ),
        "Read value, lower and upper of each row; the manifest has the noisy sums behind them.",
        "Intervals include the noise and, where they are about the population, sampling error.",
    )

    def snippet(self, formula: str, number: str, m: int) -> str:
        """Return the table."""
        return "release.datasets[0]"


RULES: tuple[type[Rule], ...] = (
    AsReleased,
    Partial,
    Full,
    Single,
    Imputed,
    ExactPosterior,
    NoiseAwareRows,
    PrivateRows,
    PrivateStatistics,
)
COMBINING: dict[str, type[Rule]] = {rule.name: rule for rule in (Partial, Full, Imputed, Single)}


def rule_named(name: str, settings: Mapping[str, Any], own: Iterable[type[Rule]] = ()) -> Rule:
    """Return the rule of a manifest.

    Parameters
    ----------
    settings
        Its fields, as `Rule.settings` wrote them; others are ignored.
    own
        Rules that the methods of the release define themselves.
    """
    rules = {rule.name: rule for rule in (*own, *RULES)}
    if name not in rules:
        what = "combining rule"
        raise PlanError.unknown(what, str(name), rules)
    rule, hints = rules[name], get_type_hints(rules[name])
    known = [each.name for each in fields(rule) if each.name in settings]
    given = {key: from_plain(hints[key], settings[key], f"rule_settings.{key}") for key in known}
    if any(isinstance(value, int) and value < 1 and value is not False for value in given.values()):
        msg = "rule_settings: a number of rows below 1."
        raise PlanError(msg)
    return rule(**given)
