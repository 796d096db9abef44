"""Tests of several coefficients of a model together: Wald and likelihood ratio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from veladura.errors import PlanError
from veladura.inference import hypotheses
from veladura.inference.design import read_formula
from veladura.inference.hypotheses import Test
from veladura.inference.model import Fit, fit, log_likelihood
from veladura.inference.streamed_design import StreamedDesign

if TYPE_CHECKING:
    from veladura.inference.analysis import Analysis


def wald_test(analysis: Analysis, terms: str | Sequence[str] | None) -> Test:
    """Return the Wald test that all coefficients of some terms are 0."""
    chosen, tested = _places(analysis, terms)
    q = np.array([fitted.params[chosen] for fitted in analysis.fits])
    covariances = np.array([fitted.covariance[np.ix_(chosen, chosen)] for fitted in analysis.fits])
    return hypotheses.wald(
        q, covariances, analysis.pooling, residual=analysis.fits[0].residual, what=tested
    )


def likelihood_ratio_test(analysis: Analysis, smaller: str | Sequence[str] | None) -> Test:
    """Return the likelihood-ratio test against a smaller model."""
    if not analysis.has_likelihood:
        msg = (
            "the likelihood-ratio test is not available with weights, robust errors or family"
            f" {analysis.family}.\n\nHint: use wald(...) for the same hypothesis."
        )
        raise PlanError(msg)
    if isinstance(analysis.design, StreamedDesign):
        msg = (
            "the likelihood-ratio test needs the rows in memory, and those of this release stay in"
            " their files.\n\nHint: use wald(...) for the same hypothesis, or"
            " vd.load(folder, lazy=False)."
        )
        raise PlanError(msg)
    chosen, tested = _places(
        analysis,
        _left_out(analysis, smaller) if isinstance(smaller, str) and "~" in smaller else smaller,
    )
    kept = np.setdiff1d(np.arange(len(analysis.design.names)), chosen)
    if not kept.size:
        msg = "the smaller model has no terms.\n\nHint: keep at least the intercept."
        raise PlanError(msg)
    nulls = [
        fit(analysis.family, full.y, full.x[:, kept], number=i)
        for i, full in enumerate(analysis.fits, start=1)
    ]
    pairs = list(zip(analysis.fits, nulls, strict=True))
    own = [
        2 * (_likelihood(analysis, full, full) - _likelihood(analysis, null, null))
        for full, null in pairs
    ]
    mean, mean_null = _averaged(analysis.fits), _averaged(nulls)
    pooled = [
        2 * (_likelihood(analysis, mean, full) - _likelihood(analysis, mean_null, null))
        for full, null in pairs
    ]
    return hypotheses.likelihood_ratio(own, pooled, len(chosen), analysis.pooling, what=tested)


def _likelihood(analysis: Analysis, at: Fit, data: Fit) -> float:
    return log_likelihood(analysis.family, at.params, at.dispersion, data.y, data.x)


def _places(analysis: Analysis, terms: str | Sequence[str] | None) -> tuple[list[int], str]:
    """Return the columns of some terms, and the terms as a text."""
    own_terms = analysis.design.terms
    asked = (
        [name for name in own_terms if name != "Intercept"]
        if terms is None
        else [terms]
        if isinstance(terms, str)
        else list(terms)
    )
    places: list[int] = []
    for name in asked:
        if name not in own_terms and name not in analysis.design.names:
            what = "term"
            raise PlanError.unknown(what, name, (*own_terms, *analysis.design.names))
        places += own_terms.get(name) or (analysis.design.names.index(name),)
    if not places:
        msg = "the model has no terms to test besides the intercept."
        raise PlanError(msg)
    return sorted(set(places)), " + ".join(asked)


def _left_out(analysis: Analysis, smaller: str) -> list[str]:
    """Return the terms that a smaller formula does not have."""
    parsed, _ = read_formula(smaller, analysis.design.columns)
    kept = {"Intercept" if str(term) == "1" else str(term) for term in parsed.rhs}
    own_terms = analysis.design.terms
    response = {str(term) for term in parsed.lhs}
    own = {str(term) for term in read_formula(analysis.formula, analysis.design.columns)[0].lhs}
    if response != own or not kept <= set(own_terms) or len(kept) == len(own_terms):
        msg = (
            f"{smaller!r} is not a smaller model of the same response.\n\nHint: keep the"
            f" response, and only some of the terms {list(own_terms)}."
        )
        raise PlanError(msg)
    return [name for name in own_terms if name not in kept]


def _averaged(fits: Sequence[Fit]) -> Fit:
    """Return the mean of the estimates, including the variance of the errors."""
    params = np.mean([fitted.params for fitted in fits], axis=0)
    return Fit(
        params,
        fits[0].covariance,
        float(np.mean([fitted.dispersion for fitted in fits])),
        np.inf,
        fits[0].y,
        fits[0].x,
    )
