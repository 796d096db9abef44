"""Combining rules: how an analyst gets one estimate, with its variance, from m released datasets.

One class a rule. A method hands out the rule of its release; everything that depends on it (the
variance of an estimate, tests, what may be concluded, the lines an analyst copies) is asked of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError

SMALL = 4.0  # degrees of freedom t = d(m - 1) up to which the second approximation is taken


@dataclass(frozen=True)
class Conclusions:
    """What a recipient may and may not conclude, how to analyse the data, what intervals cover."""

    may: tuple[str, ...]
    may_not: tuple[str, ...]
    how: str
    intervals: str = ""


class Statistic(NamedTuple):
    """An F statistic, its second degrees of freedom, and the relative increase of variance r."""

    value: float
    residual: float
    r: float


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """A combining rule. Fields are what it needs to know of the release; the manifest has them."""

    name: ClassVar[str]
    title: ClassVar[str]
    conclusions: ClassVar[Conclusions]
    synthetic: ClassVar[bool] = True  # values are drawn from a model: no row is a person's own
    private: ClassVar[bool] = False  # differentially private: figures of the data disclose
    posterior: ClassVar[bool] = False  # vd.posterior answers questions
    least_datasets: ClassVar[int] = 1
    refusal: ClassVar[str] = ""  # why estimates of a model cannot be combined, if they cannot

    @property
    def share(self) -> float:
        """Rows of a dataset over those of the original (k/n)."""
        return 1.0

    @property
    def adds_variance(self) -> bool:
        """Whether the rule adds to the variance that a fit to one dataset gives."""
        return True

    def combines(self, m: int) -> bool:
        """Whether the estimates of m datasets can be combined."""
        return not self.refusal and m >= self.least_datasets

    def check(self, m: int) -> None:
        """Refuse a number of datasets that the rule cannot combine."""
        if self.refusal:
            raise PlanError(self.refusal)
        if m < self.least_datasets:
            msg = (
                f"rule {self.name!r} needs the estimates of at least {self.least_datasets}"
                f" datasets, got {m}.\n\nHint: one dataset does not show the variance between"
                " datasets; ask the holder for a release with m = 2 or more."
            )
            raise PlanError(msg)

    @abstractmethod
    def total(
        self, m: int, between: Floats, within: Floats, df: float = np.inf
    ) -> tuple[Floats, Floats]:
        """Return the variance T of the combined estimate and its degrees of freedom.

        Parameters
        ----------
        between, within
            Variance b of the m estimates, and mean v of their variances.
        df
            Degrees of freedom of the fit, for a rule that adds nothing.
        """

    @abstractmethod
    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return the test of d quantities.

        Parameters
        ----------
        form, spread
            The quadratic form (q - Q0)' v^-1 (q - Q0), and tr(b v^-1).
        residual
            Degrees of freedom of the fit, for a rule that adds nothing.
        """

    def snippet(self, formula: str, number: str, m: int) -> str:
        """Return the Python lines of a first analysis.

        Parameters
        ----------
        formula, number
            The arguments of `analyze` for a model of this release, and a number column; empty
            where there is none.
        """
        if formula and self.combines(m):
            return f"print(release.analyze({formula}))"
        if number and self.combines(m):
            return (
                f"release.estimate(lambda data: (data[{number!r}].mean(),"
                f" data[{number!r}].var() / len(data)))"
            )
        return "for data in release.datasets:\n    print(data.describe())"

    def settings(self) -> dict[str, Any]:
        """Return the fields as the manifest writes them."""
        return asdict(self)


def f_freedom(d: int, m: int, r: float, sign: float) -> float:
    """Return the second degrees of freedom w of an F statistic.

    w = 4 + (t - 4)(1 + s (1 - 2/t)/r)^2 with t = d(m - 1), or (d + 1)(m - 1)(1 + s/r)^2 / 2 for
    small t (Li, Raghunathan and Rubin 1991, eq. 1.17; s = -1 for fully synthetic data, Reiter 2005).
    """
    if r <= 0:
        return float("inf")
    t = d * (m - 1)
    if t > SMALL:
        return float(SMALL + (t - SMALL) * (1 + sign * (1 - 2 / t) / r) ** 2)
    return max(1.0, (d + 1) * (m - 1) * (1 + sign / r) ** 2 / 2)


PERSON = (
    "Do not take a single row as a true statement about a person.",
    "Do not try to identify anybody, or link rows with other data to do so.",
)
MANY = (
    "Do not treat one dataset as the original, and do not stack the datasets into one: confidence"
    " intervals come out too narrow."
)
COMBINE = (
    "Analyse each dataset in the same way, then combine the results with the combining rule of the"
    " manifest. The library does both in one call."
)
BOTH = (
    "Estimates are combined over the datasets by the combining rule of the manifest. The intervals"
    " cover sampling error and synthesis error."
)
AS_IT_IS = "Analyse the table as it is, and report how it was protected with every result."


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

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
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

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
        """Return T = b/m + v and nu = (m - 1)(1 + m v / b)^2."""
        inside = within * self.share
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = np.where(between > 0, (m - 1) * (1 + m * inside / between) ** 2, np.inf)
        return between / m + inside, freedom

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

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
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
        """Return S = form / (d (r - 1)) with r = (1 + 1/m) tr(b v^-1)/d, above 1 only (Reiter 2005)."""
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
                "Estimate means, tables and models of large samples, with the wider intervals that the"
                " rule gives."
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
        """Return T over v: k/n + (1 + k/n)/m for proper draws, k/n + 1/m for simple ones (table 1)."""
        return self.share + (1 + self.share if self.proper else 1.0) / m

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
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

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
        """Return T = (1 + 1/m) b + v (eq. 3.1.5) and nu = (m - 1)(1 + m v / ((m + 1) b))^2."""
        with np.errstate(divide="ignore", invalid="ignore"):
            freedom = (m - 1) * (1 + m * within / ((m + 1) * between)) ** 2
        return (1 + 1 / m) * between + within, np.where(between > 0, freedom, np.inf)

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Return S = form / (d (1 + r)) with r = (1 + 1/m) tr(b v^-1)/d (Li et al. 1991)."""
        r = (1 + 1 / m) * spread / d
        return Statistic(form / (d * (1 + r)), f_freedom(d, m, r, 1.0), r)


@dataclass(frozen=True, kw_only=True)
class Uncombined(Rule):
    """A differentially private release: no estimate of a model can be combined."""

    private = True

    def total(
        self,
        m: int,
        between: Floats,
        within: Floats,
        df: float = np.inf,
    ) -> tuple[Floats, Floats]:
        """Refuse."""
        self.check(m)
        raise AssertionError  # check refuses

    def test(self, form: float, spread: float, d: int, m: int, residual: float) -> Statistic:
        """Refuse."""
        self.check(m)
        raise AssertionError  # check refuses


@dataclass(frozen=True, kw_only=True)
class Posterior(Uncombined):
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
                "Estimate the share of every combination of values, with the uncertainty of sampling"
                " and of the noise."
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
class PrivateRows(Uncombined):
    """A differentially private release without a posterior: counts and shares only."""

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
                "Estimate counts and shares of the columns that were measured together; the manifest"
                " gives their noise."
            ),
        ),
        (
            *PERSON,
            "Do not take standard errors as complete: they ignore the noise.",
            "Do not conclude on relations that the manifest does not list as measured.",
        ),
        AS_IT_IS,
    )


RULES: tuple[type[Rule], ...] = (
    AsReleased,
    Partial,
    Full,
    Single,
    Imputed,
    Posterior,
    PrivateRows,
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
    rule = rules[name]
    known = {field.name for field in fields(rule)}
    return rule(**{key: value for key, value in settings.items() if key in known})
