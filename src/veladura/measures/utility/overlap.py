"""Confidence interval overlap: regression coefficients from the release and from the original."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.deprecation import renamed
from veladura.base.estimate import Estimate
from veladura.core.release import Release
from veladura.errors import NotApplicable, PlanError
from veladura.inference.combined import combine_by
from veladura.inference.formula import check_formula
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.linear import Fits, fit_all, propose
from veladura.measures.weights import weighted_note
from veladura.numeric.sampling import MANY_ROWS, sample_note

if TYPE_CHECKING:
    from veladura.table.table import Table

Kind = Literal["mean", "geometric"]
NORMAL = 1.959963984540054
MAX_LISTED = 20


@dataclass(frozen=True)
class TermOverlap:
    """One coefficient: its intervals from the original and from the release, and their overlap."""

    original: Estimate
    released: Estimate
    overlap: Estimate


@dataclass(frozen=True)
class Overlap:
    """Overlap of the confidence intervals of a model, original and release.

    Attributes
    ----------
    mean, least
        Overlap of the 95 % intervals of the coefficients without the intercept: 1 when they are
        equal, 0 when disjoint.
    difference
        Mean difference of the estimates, in standard errors of the original.
    formula
        The model.
    terms
        By coefficient.
    """

    mean: Estimate
    least: Estimate
    difference: Estimate
    formula: str
    terms: Mapping[str, TermOverlap] = field(repr=False)
    note: str = field(default="", repr=False)


@renamed(released="release")
def overlap(
    original: Any,
    release: Any,
    formula: str | None = None,
    *,
    family: str = "gaussian",
    kind: Kind = "mean",
) -> Overlap:
    """Return the overlap of confidence intervals of regression coefficients.

    With U the smaller of the upper ends and L the larger of the lower ends, (U - L)/2 (1/length
    original + 1/length released), 0 when they are disjoint (Karr et al. 2006, sec. 3.2). Intervals
    of a release are combined by its own rule. The model that the table suggests is fitted with the
    declared sampling weight, where original and release have it; a formula is fitted as it is.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    formula
        Such as ``"log(income) ~ age + C(sex)"``, fitted by statsmodels. By default a linear model
        that the table suggests: a replaced column on up to six others, numbers in standard
        deviations, rare categories together.
    family
        With a formula: "gaussian" (least squares), "binomial", "poisson" or "gamma".
    kind
        "mean" of the two shares that the intervals cover of each other, or "geometric" mean.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.arange(50.0)
    >>> before = pd.DataFrame({"x": x, "y": x + np.sin(x)})
    >>> float(overlap(before, before).mean), overlap(before, before, "y ~ x").formula
    (1.0, 'y ~ x')

    References
    ----------
    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for
    evaluating the utility of data altered to protect confidentiality. The American Statistician
    60(3), 224-232.
    """
    if kind not in get_args(Kind):
        what = "kind"
        raise PlanError.unknown(what, str(kind), get_args(Kind))
    pairing = pair(original, release)
    if formula is not None:
        fits = _by_formula(pairing, formula, family)
        return compared(fits, formula, "", combiner(release), kind)
    changed = (
        [name for step in release.steps for name in step.changed]
        if isinstance(release, Release)
        else []
    )
    model = propose(pairing, changed)
    note = sample_note(pairing.original, *pairing.released, most=MANY_ROWS)
    note = f"{note} {weighted_note(pairing.weight if pairing.weights() else None)}".strip()
    return compared(fit_all(pairing, model), str(model), note, combiner(release), kind)


Ends = tuple[Floats, Floats, Floats]  # estimate, lower and upper end of each term


def compared(
    fits: Fits,
    formula: str,
    note: str,
    combined: Callable[[Floats, Floats], Ends],
    kind: Kind = "mean",
) -> Overlap:
    """Return the overlap of fits of one model, the original first."""
    q, v = fits.estimates, fits.variances
    error = np.sqrt(v[0])
    before: Ends = (q[0], q[0] - NORMAL * error, q[0] + NORMAL * error)
    after = combined(q[1:], v[1:])
    shared = interval_overlap(before, after, kind)
    unit = np.where(error > 0, error, 1.0)

    def figures(ends: Ends) -> tuple[float, float, float]:
        common = interval_overlap(before, ends, kind)
        return (
            float(common.mean()),
            float(common.min()),
            float((np.abs(ends[0] - q[0]) / unit).mean()),
        )

    m = len(q) - 1
    again = (
        [figures(combined(np.delete(q[1:], i, 0), np.delete(v[1:], i, 0))) for i in range(m)]
        if m > 2  # noqa: PLR2004
        else []
    )
    mean, least, difference = (
        _jackknife(value, [without[j] for without in again])
        for j, value in enumerate(figures(after))
    )
    terms = {
        name: TermOverlap(
            Estimate(*(float(end[j]) for end in before)),
            Estimate(*(float(end[j]) for end in after)),
            Estimate.exact(float(shared[j])),
        )
        for j, name in enumerate(fits.terms)
    }
    return Overlap(
        _cut(mean),
        _cut(least),
        Estimate(difference.value, max(difference.lower, 0.0), difference.upper, difference.level),
        formula,
        terms,
        note,
    )


def interval_overlap(first: Ends, second: Ends, kind: Kind = "mean") -> Floats:
    """Return the overlap of intervals given as (estimate, lower, upper), term by term.

    Intervals of length 0 overlap when they are equal.
    """
    shared = np.maximum(np.minimum(first[2], second[2]) - np.maximum(first[1], second[1]), 0.0)
    lengths = [ends[2] - ends[1] for ends in (first, second)]
    same = (lengths[0] <= 0) & (lengths[1] <= 0) & (first[1] == second[1])
    shares = [
        np.divide(shared, length, out=same.astype(float), where=length > 0) for length in lengths
    ]
    if kind == "mean":
        return np.asarray((shares[0] + shares[1]) / 2)
    return np.asarray(np.sqrt(shares[0] * shares[1]))


def _jackknife(value: float, left_out: list[float]) -> Estimate:
    """Return a figure with an interval from the figures with one dataset left out each."""
    if not left_out:
        return Estimate.exact(value)
    m = len(left_out)
    half = NORMAL * float(
        np.sqrt((m - 1) / m * np.sum((np.array(left_out) - np.mean(left_out)) ** 2))
    )
    return Estimate(value, value - half, value + half)


def _cut(estimate: Estimate) -> Estimate:
    low, high = max(estimate.lower, 0.0), min(estimate.upper, max(1.0, estimate.value))
    return Estimate(estimate.value, min(low, estimate.value), high, estimate.level)


def combiner(release: Any) -> Callable[[Floats, Floats], Ends]:
    """Return the function that combines the intervals of m datasets.

    By the combining rule of a release; of plain tables, the mean interval.
    """

    def combined(q: Floats, v: Floats) -> Ends:
        if not isinstance(release, Release) or not release.rule.combines(len(q)):
            centre, error = q.mean(axis=0), np.sqrt(v.mean(axis=0))
            return centre, centre - NORMAL * error, centre + NORMAL * error
        pooled = combine_by(release.rule, q, v)
        return (
            np.atleast_1d(pooled.value),
            np.atleast_1d(pooled.lower),
            np.atleast_1d(pooled.upper),
        )

    return combined


def _by_formula(pairing: Pairing, formula: str, family: str) -> Fits:
    """Return fits of a formula in all tables, of the coefficients that all of them have."""
    from statsmodels import api
    from statsmodels.formula import api as formulas

    families = {
        "gaussian": None,
        "binomial": api.families.Binomial,
        "poisson": api.families.Poisson,
        "gamma": api.families.Gamma,
    }
    if family not in families:
        what = "family"
        raise PlanError.unknown(what, family, families)
    check_formula(formula)
    chosen = families[family]
    fitted = []
    for table in (pairing.original, *pairing.released):
        frame = _frame(table, pairing.original)
        model = (
            formulas.ols(formula, frame)
            if chosen is None
            else formulas.glm(formula, frame, family=chosen())
        )
        fitted.append(model.fit())
    terms = [
        term
        for term in fitted[0].params.index
        if term != "Intercept" and all(term in fit.params.index for fit in fitted)
    ]
    if not terms:
        msg = "the formula has no coefficient that both the original and the release have."
        raise NotApplicable(msg)
    return Fits(
        tuple(map(str, terms)),
        np.array([fit.params[terms].to_numpy(float) for fit in fitted]),
        np.array([fit.bse[terms].to_numpy(float) ** 2 for fit in fitted]),
    )


def _frame(table: Table, original: Table) -> Any:
    """Return a table for statsmodels, with the categories of the original in every table.

    The same category is then the reference everywhere.
    """
    import pandas as pd

    frame = table.arrow.to_pandas()
    for field_ in table.schema:
        if field_.kind in ("category", "ordered") and field_.name in original.names:
            labels = [
                label
                for label in original.arrow.column(field_.name).unique().to_pylist()
                if label is not None
            ]
            frame[field_.name] = pd.Categorical(
                frame[field_.name], categories=sorted(labels, key=str)
            )
    return frame


def measure(subject: Subject) -> Measured:
    """Measure the model that the table suggests."""
    result = overlap(subject.original, subject.release)
    rows = [
        (name, str(term.original), str(term.released), f"{float(term.overlap):.3f}")
        for name, term in result.terms.items()
    ]
    rows.sort(key=lambda row: row[3])
    detail = Detail(
        f"Coefficients of {result.formula}",
        ("Term", "Original", "Release", "Overlap"),
        tuple(rows[:MAX_LISTED]),
    )
    notes = {"mean": f"Model: {result.formula}. {result.note}".strip()}
    return Measured(
        {"mean": result.mean, "least": result.least, "difference": result.difference}, notes, detail
    )


MEASURE = Measure(
    "utility.overlap",
    figures={
        "mean": Meaning(
            "Confidence interval overlap of a regression, original against release, mean over"
            " coefficients.",
            "high",
            "share",
            headline=True,
        ),
        "least": Meaning(
            "Confidence interval overlap of the coefficient where it is smallest.",
            "high",
            "share",
        ),
        "difference": Meaning(
            "Difference of the coefficients from those of the original, in standard errors, mean."
        ),
    },
    function=measure,
)
