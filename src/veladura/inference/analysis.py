"""A model of a release: fitted to every dataset, combined by the rule of the manifest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veladura.base.settings import to_plain
from veladura.core.rules import AsReleased
from veladura.errors import PlanError
from veladura.inference.cautions import cautions, suppressed_columns
from veladura.inference.combined import Combined
from veladura.inference.design import Design
from veladura.inference.design_remarks import known_design
from veladura.inference.fitting import fitted, streams
from veladura.inference.hypotheses import Test
from veladura.inference.model import LIKELY, Fit
from veladura.inference.pooling import Pooling, analysed
from veladura.inference.survey import Sampling, check_sampling, chosen_sampling
from veladura.inference.term_tests import likelihood_ratio_test, wald_test

if TYPE_CHECKING:
    import pandas as pd

    from veladura.core.release import Release
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Analysis:
    """A model of a release.

    Attributes
    ----------
    formula, family
        What was fitted.
    coefficients
        The combined coefficients, with intervals.
    rule
        The combining rule; "none" for one table analysed as it is.
    rows
        Rows of each dataset that were used.
    cautions
        What the protection did to the columns of the model, and rows that were left out.
    """

    formula: str
    family: str
    coefficients: Combined
    cautions: tuple[str, ...]
    pooling: Pooling = field(repr=False)
    design: Design = field(repr=False)
    fits: tuple[Fit, ...] = field(repr=False)
    sampling: Sampling = field(default_factory=Sampling)
    robust: bool = False
    release: Release | None = field(default=None, repr=False)

    @property
    def weights(self) -> str | None:
        """The column of sampling weights, if it is used."""
        return self.sampling.weights

    @property
    def rule(self) -> str:
        """The name of the combining rule."""
        return self.pooling.rule.name

    @property
    def rows(self) -> tuple[int, ...]:
        """Rows of each dataset that were used."""
        return self.design.rows

    @property
    def has_likelihood(self) -> bool:
        """Whether there is a likelihood: not with a design, robust errors or a free dispersion."""
        return self.family in LIKELY and self.sampling.is_simple and not self.robust

    def table(self, *, exponentiate: bool = False) -> pd.DataFrame:
        """Return one row a coefficient.

        The columns are estimate, standard error, interval, degrees of freedom, p-value and added.

        Parameters
        ----------
        exponentiate
            Give odds ratios (binomial) or rate ratios (log links) with their intervals.

        Notes
        -----
        ``added`` is the share of the variance that is due to the synthesis: 1 - v (k/n) / T. A fit
        to the original does not have it.
        """
        import pandas as pd

        if exponentiate and self.family == "gaussian":
            msg = (
                "the gaussian family has no odds or rate ratios.\n\nHint: ratios are for family"
                " binomial, poisson and gamma."
            )
            raise PlanError(msg)
        combined = self.coefficients
        turn = np.exp if exponentiate else np.asarray
        expected = (
            np.mean([np.diag(fitted.covariance) for fitted in self.fits], axis=0)
            * self.pooling.share
        )
        figures = {
            "estimate": turn(combined.value),
            "error": combined.error,
            "lower": turn(combined.lower),
            "upper": turn(combined.upper),
        }
        if exponentiate:
            figures["error"] = figures["estimate"] * combined.error  # delta method
        added = np.clip(1 - expected / np.asarray(combined.variance), 0.0, 1.0)
        return pd.DataFrame(
            figures | {"df": combined.df, "p": combined.p, "added": added},
            index=pd.Index(combined.names, name="term"),
        )

    def wald(self, terms: str | Sequence[str] | None = None) -> Test:
        """Return the Wald test that all coefficients of some terms are 0.

        By default of all terms except the intercept.
        """
        return wald_test(self, terms)

    def likelihood_ratio(self, smaller: str | Sequence[str] | None = None) -> Test:
        """Return the likelihood-ratio test against a smaller model.

        Parameters
        ----------
        smaller
            A formula with some of the terms, or the terms to leave out; by default all but the
            intercept.
        """
        return likelihood_ratio_test(self, smaller)

    def on_original(self) -> Analysis:
        """Return the same model of the original table. Private: for the custodian only."""
        if self.release is None or self.release.original is None:
            msg = (
                "the original is not available: a loaded release does not contain it.\n\nHint: the"
                " holder links it with vd.with_source(release, table, record)."
            )
            raise PlanError(msg)
        original = self.release.original
        if not set(self.sampling.columns) <= set(original.names):
            original = original.units  # households may be the clusters
        return _analyse(
            [original],
            Pooling(AsReleased(), 1),
            self.formula,
            self.family,
            level=self.coefficients.level,
            sampling=self.sampling,
            robust=self.robust,
        )

    def beside(self, other: Analysis) -> pd.DataFrame:
        """Return the coefficients of two models side by side, with relative errors. Private.

        ``relative_error`` is (estimate - original) / |original|, and ``overlap`` the mean share of
        the two intervals that both cover (Karr et al. 2006), negative where they are apart.

        Parameters
        ----------
        other
            The same model of the original: ``analysis.on_original()``.
        """
        import pandas as pd

        mine, theirs = self.table(), other.table()
        names = [name for name in mine.index if name in theirs.index]
        mine, theirs = mine.loc[names], theirs.loc[names]
        low = np.maximum(mine["lower"], theirs["lower"])
        common = np.minimum(mine["upper"], theirs["upper"]) - low
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = (mine["estimate"] - theirs["estimate"]) / np.abs(theirs["estimate"])
            shares = [common / (table["upper"] - table["lower"]) for table in (mine, theirs)]
        return pd.DataFrame(
            {
                "estimate": mine["estimate"],
                "original": theirs["estimate"],
                "relative_error": relative,
                "overlap": (shares[0] + shares[1]) / 2,
            }
        )

    def plot(
        self, path: str | Path, *, beside: Analysis | None = None, exponentiate: bool = False
    ) -> Path:
        """Write a picture of the coefficients with their intervals.

        ``beside`` is a second model to draw next to them. With ``beside=analysis.on_original()``
        the picture is private, and says so.
        """
        from veladura.inference.picture import draw_coefficients

        return draw_coefficients(self, Path(path), beside=beside, exponentiate=exponentiate)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON can hold it; infinite degrees of freedom are null."""
        rows = self.table().reset_index().to_dict(orient="records")
        plain = [{key: _json(value) for key, value in row.items()} for row in rows]
        return {
            "formula": self.formula,
            "family": self.family,
            "response": self.design.response,
            "rule": self.rule,
            "datasets": self.pooling.m,
            "rows": list(self.rows),
            "level": self.coefficients.level,
            "weights": self.weights,
            "sampling": to_plain(self.sampling),
            "robust": self.robust,
            "coefficients": plain,
            "cautions": list(self.cautions),
        }

    def __str__(self) -> str:
        lines = [self.heading(), "", str(self.table().to_string(float_format="{:.4g}".format))]
        return "\n".join([*lines, *(f"\ncaution: {caution}" for caution in self.cautions)])

    def heading(self) -> str:
        """Return model, data and combining rule in one sentence."""
        low, high = min(self.rows), max(self.rows)
        rows = f"{low:,} rows" if low == high else f"{low:,} to {high:,} rows"
        sets = (
            f"{self.pooling.m} datasets, {rows} each, combined by rule {self.rule!r}"
            if self.pooling.rule.adds_variance
            else f"{rows} of one protected table"
        )
        errors = (
            f", {self.sampling}"
            if not self.sampling.is_simple
            else ", robust standard errors"
            if self.robust
            else ""
        )
        return (
            f"{self.family} model of {self.design.response}: {sets}{errors};"
            f" {100 * self.coefficients.level:.4g} % confidence intervals"
        )


def analyze(
    release: Release,
    formula: str,
    *,
    family: str = "gaussian",
    level: float = 0.95,
    weights: str | None = None,
    robust: bool = False,
    sampling: Sampling | None = None,
) -> Analysis:
    """Return a model of a release: fitted to each dataset, combined by its combining rule.

    Parameters
    ----------
    formula
        Such as ``log(income) ~ age + C(sex)``. Names with spaces go in backticks; ``midpoint(age)``
        reads bands such as "20-29", ``year(born)`` reads dates.
    family
        "gaussian", "binomial" (logit), "poisson" or "gamma" (log), or "quasi-binomial" and
        "quasi-poisson" with free dispersion.
    level
        The confidence level of the intervals.
    weights
        A column of sampling weights, in place of the declared one; standard errors are robust.
        Strata and clusters are those that are declared.
    sampling
        Weights, strata, clusters and replicate weights. By default those that the roles of the
        columns declare; ``vd.Sampling()`` for independent rows of equal weight.
    robust
        Robust (sandwich) standard errors, valid where the variance is not that of the family.
    """
    pooling = Pooling.of(release)
    # households may be the clusters
    tables = [dataset.table.units for dataset in analysed(release).tables]
    design = chosen_sampling(tables[0].schema, weights, sampling)
    check_sampling(design, tables[0].names)
    remarks: tuple[str, ...] = ()
    if not streams(tables, formula, design):
        release.refuse_large()
        design, remarks = known_design(design, tables[0].read(), tables[0].schema)
    return _analyse(
        tables,
        pooling,
        formula,
        family,
        level=level,
        sampling=design,
        robust=robust,
        release=release,
        design_remarks=remarks,
    )


def _analyse(
    tables: Sequence[Table],
    pooling: Pooling,
    formula: str,
    family: str,
    *,
    level: float,
    sampling: Sampling,
    robust: bool,
    release: Release | None = None,
    design_remarks: Sequence[str] = (),
) -> Analysis:
    design, fits = fitted(
        tables,
        formula,
        family,
        sampling=sampling,
        robust=robust,
        suppressed=() if release is None else suppressed_columns(release),
    )
    q, v = (
        np.array([fit.params for fit in fits]),
        np.array([np.diag(fit.covariance) for fit in fits]),
    )
    # of synthetic rows the variance is that of large samples, but clusters may be few
    counted = sampling.is_complex or not pooling.rule.adds_variance
    df = fits[0].residual if counted else np.inf
    coefficients = pooling.combine_model(q, v, level, design.names, df, design.response)
    remarks = (
        *([] if release is None else cautions(release, design.columns, formula, design.response)),
        *design_remarks,
        *_lost_rows(design),
        *(() if release is None or sampling.weights else _unweighted(release)),
    )
    return Analysis(
        formula, family, coefficients, remarks, pooling, design, fits, sampling, robust, release
    )


def _lost_rows(design: Design) -> list[str]:
    total = sum(design.rows) + design.missing + design.undefined + design.starred
    reasons = {
        "a value is missing": design.missing,
        "a function of the formula is not defined (a logarithm of 0 or less?)": design.undefined,
        "a value is suppressed (*)": design.starred,
    }
    return [
        f"{lost:,} of {total:,} rows ({lost / total:.1%}) are left out: {why}."
        for why, lost in reasons.items()
        if lost
    ]


def _unweighted(release: Release) -> list[str]:
    return [
        f"the release has sampling weights in {name!r}, which this model does not use; leave"
        " sampling out to use them."
        for name in release.tables[0].table.schema.of_role("weight")
    ]


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
