"""What a combining rule is: everything that depends on it is asked of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from veladura.base.arrays import Floats
from veladura.errors import PlanError

Total = tuple[Floats, Floats]  # variances of combined estimates, and their degrees of freedom
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
    statistics: ClassVar[bool] = False  # a table of statistics is released: rows are no people
    least_datasets: ClassVar[int] = 1
    redraws: ClassVar[int] = (
        0  # datasets that the posterior gives an analyst, where one was released
    )
    refusal: ClassVar[str] = ""  # why estimates of a model cannot be combined, if they cannot

    @property
    def share(self) -> float:
        """Rows of a dataset over those of the original (k/n)."""
        return 1.0

    @property
    def adds_variance(self) -> bool:
        """Whether the rule adds to the variance that a fit to one dataset gives."""
        return True

    def design_effect(self, figure: str) -> float | None:  # noqa: ARG002
        """Return the design effect that the holder declares for a figure; None for none."""
        return None

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
    def total(self, m: int, between: Floats, within: Floats, df: float = np.inf) -> Total:
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
    small t (Li, Raghunathan and Rubin 1991, eq. 1.17; s = -1 for fully synthetic data, Reiter
    2005).
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
