"""Slopes kept: a dozen regressions of the original and of the release, coefficient by coefficient.

The table suggests the regressions: replaced columns on those that they are most associated with.
The holder's own formulas, ``[utility] models`` in a plan, are fitted besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from veladura.base.arrays import Floats
from veladura.base.estimate import Estimate
from veladura.core.release import Release
from veladura.errors import DataError, NotApplicable, PlanError
from veladura.inference.design import build_design, read_formula
from veladura.inference.model import fit
from veladura.measures.measure import Detail, Meaning, Measure, Measured, Subject
from veladura.measures.pairing import Pairing, pair
from veladura.measures.utility.linear import Fits, Proposal, fit_all, suitable
from veladura.measures.utility.overlap import Ends, TermOverlap, combiner, compared
from veladura.measures.weights import weighted_note
from veladura.numeric.association import associations
from veladura.numeric.sampling import MANY_ROWS, sample_note
from veladura.table.schema import LABELLED

MOST_MODELS, MOST_COLUMNS, PREDICTORS = 12, 60, 5
SAME = 0.9  # association of columns that say the same in other words
MOST_NAMED = 5


@dataclass(frozen=True)
class SlopeModel:
    """One regression: its coefficients in original and release, or the reason why it has none."""

    formula: str
    terms: Mapping[str, TermOverlap] = field(default_factory=dict, repr=False)
    why: str = ""

    @property
    def overlap(self) -> float:
        """Mean overlap of the intervals of the coefficients; not a number without any."""
        every = [float(term.overlap) for term in self.terms.values()]
        return float(np.mean(every)) if every else float("nan")

    @property
    def kept(self) -> list[str]:
        """The coefficients whose sign and significance are those of the original."""
        return [name for name, term in self.terms.items() if _verdict(term) == "kept"]

    @property
    def reversed(self) -> list[str]:
        """The coefficients with the other sign that are significant in one table or in both."""
        return [name for name, term in self.terms.items() if _verdict(term) == "reversed"]


@dataclass(frozen=True)
class Slopes:
    """Coefficients of several regressions, original against release.

    Attributes
    ----------
    overlap
        Mean overlap of the 95 % intervals over all coefficients.
    kept
        Share of coefficients with the same sign and significance; where neither is significant the
        sign does not count.
    reversed
        Coefficients whose sign changes although it is significant in the original, in the release,
        or in both.
    models
        The regressions.
    """

    overlap: Estimate
    kept: Estimate
    reversed: Estimate
    models: tuple[SlopeModel, ...] = field(repr=False)
    note: str = field(default="", repr=False)


@dataclass(frozen=True)
class SlopeTable(Detail):
    """The table behind `utility.slopes`, with the coefficients of the holder's own formulas."""

    own: tuple[SlopeModel, ...] = field(default=(), repr=False)


def slopes(original: Any, release: Any, models: Iterable[str] = ()) -> Slopes:
    """Return how the slopes of several regressions are kept.

    Up to twelve columns, replaced ones and numbers first, are regressed on the five columns that
    each is most associated with (Cramer's V below 0.9: others say the same in other words). Numbers
    are in standard deviations; a response of categories is whether it is the most frequent one.
    Intervals of a release are combined by its own rule; overlap as in Karr et al. (2006). Fits are
    weighted where original and release declare a sampling weight.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    models
        Formulas of your own, such as ``"log(income) ~ age + C(sex)"``: least squares, or a logistic
        model where the response is a column of two categories.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> x = np.arange(60.0)
    >>> before = pd.DataFrame({"x": x, "y": x % 7 + x / 10, "z": x % 5})
    >>> found = slopes(before, before, ["y ~ x + z"])
    >>> float(found.overlap), float(found.kept), int(found.reversed)
    (1.0, 1.0, 0)

    References
    ----------
    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for
    evaluating the utility of data altered to protect confidentiality. The American Statistician
    60(3), 224-232.
    """
    pairing = pair(original, release)
    combined = combiner(release)
    changed = list(release.changed) if isinstance(release, Release) else []
    own = [_own(pairing, formula, combined) for formula in models]
    listed = [*own, *_suggested(pairing, changed, combined)]
    terms = [term for model in listed for term in model.terms.values()]
    if not terms:
        msg = "columns vary too little, or rows are too few, for a regression."
        raise NotApplicable(msg)
    note = sample_note(pairing.original, *pairing.released, most=MANY_ROWS)
    note = f"{note} {weighted_note(pairing.weight if pairing.weights() else None)}".strip()
    verdicts = [_verdict(term) for term in terms]
    return Slopes(
        Estimate.exact(float(np.mean([float(term.overlap) for term in terms]))),
        Estimate.exact(verdicts.count("kept") / len(terms)),
        Estimate.exact(verdicts.count("reversed")),
        tuple(listed),
        note,
    )


def _verdict(term: TermOverlap) -> str:
    """Return "kept", "reversed" or "changed": the significance is another, the sign is the same."""
    first, second = (ends.lower > 0 or ends.upper < 0 for ends in (term.original, term.released))
    if (term.original.value < 0) != (term.released.value < 0) and (first or second):
        return "reversed"
    return "kept" if first == second else "changed"


def proposals(pairing: Pairing, changed: Sequence[str] = ()) -> list[Proposal]:
    """Return the regressions that a table suggests."""
    names = suitable(pairing, changed)[:MOST_COLUMNS]
    if len(names) < 2 or pairing.original.rows == 0:  # noqa: PLR2004
        return []
    strength = associations(pairing.original.codes(names), names)
    chosen = []
    for i, name in enumerate(names):
        near = [j for j in np.argsort(-strength[i], kind="stable") if j != i]
        useful = [names[j] for j in near if strength[i, j] < SAME][:PREDICTORS]
        if useful:
            chosen.append(Proposal(name, tuple(useful)))
    return chosen[:MOST_MODELS]


def _suggested(
    pairing: Pairing, changed: Sequence[str], combined: Callable[[Floats, Floats], Ends]
) -> Iterator[SlopeModel]:
    for model in proposals(pairing, changed):
        try:
            fits = fit_all(pairing, model)
        except NotApplicable:
            continue
        yield SlopeModel(str(model), compared(fits, str(model), "", combined).terms)


def _own(pairing: Pairing, formula: str, combined: Callable[[Floats, Floats], Ends]) -> SlopeModel:
    """Return a model of the holder; one that cannot be fitted has the reason instead."""
    try:
        fits = _fits(pairing, formula)
    except (DataError, PlanError, NotApplicable) as error:
        return SlopeModel(formula, why=str(error).partition("\n")[0])
    return SlopeModel(formula, compared(fits, formula, "", combined).terms)


def _fits(pairing: Pairing, formula: str) -> Fits:
    tables = [pairing.original, *pairing.released]
    names = [name for name in pairing.forms if name in pairing.original.names]
    _, needed = read_formula(formula, names)
    response = formula.partition("~")[0].strip().strip("`")
    binary = response in needed and pairing.original.schema[response].kind in LABELLED
    weight = pairing.weight if pairing.weights() is not None else None
    rows = [
        (table, table.arrow.cast(tables[0].arrow.select(table.arrow.column_names).schema))
        for table in tables
    ]
    design = build_design(formula, rows, binary=binary, weights=weight)
    usable = [
        j
        for j, name in enumerate(design.names)
        if name == "Intercept" or all(np.ptp(x[:, j]) > 0 for x in design.x)
    ]
    family = "binomial" if binary else "gaussian"
    fitted = [
        fit(
            family,
            y,
            x[:, usable],
            None if design.weights is None else design.weights[i],
            number=i + 1,
        )
        for i, (y, x) in enumerate(zip(design.y, design.x, strict=True))
    ]
    terms = [k for k, j in enumerate(usable) if design.names[j] != "Intercept"]
    if not terms:
        msg = "the formula has no coefficient that both the original and the release have."
        raise NotApplicable(msg)
    return Fits(
        tuple(design.names[usable[k]] for k in terms),
        np.array([one.params[terms] for one in fitted]),
        np.array([np.diag(one.covariance)[terms] for one in fitted]),
    )


def measure(subject: Subject) -> Measured:
    """Measure the regressions that the table suggests, and those of the plan."""
    if not subject.changed:
        msg = "no column was replaced."
        raise NotApplicable(msg)
    result = slopes(subject.original, subject.release, subject.models)
    rows = tuple(
        (model.formula, model.why, "", "", "")
        if model.why
        else (
            model.formula,
            f"{model.overlap:.3f}",
            f"{len(model.kept)} of {len(model.terms)}",
            ", ".join(model.reversed[:MOST_NAMED]),
            "; ".join(_moved(model)),
        )
        for model in result.models
    )
    detail = SlopeTable(
        "Regressions of the original and of the release",
        (
            "Model",
            "Overlap",
            "Sign and significance kept",
            "Reversed",
            "Coefficients that moved most: original, release",
        ),
        rows,
        result.models[: len(subject.models)],
    )
    fitted = [model for model in result.models if model.terms]
    coefficients = sum(len(model.terms) for model in fitted)
    worst = min(fitted, key=lambda model: model.overlap)
    notes = {
        "overlap": f"{coefficients} coefficients of {len(fitted)} regressions. Lowest:"
        f" {worst.formula}. {result.note}".strip()
    }
    figures = {"overlap": result.overlap, "kept": result.kept, "reversed": result.reversed}
    return Measured(figures, notes, detail)


def _moved(model: SlopeModel) -> list[str]:
    """Return the coefficients with the lowest overlap, with their values."""
    ranked = sorted(model.terms.items(), key=lambda item: float(item[1].overlap))
    return [
        f"{name}: {term.original.value:.3g}, {term.released.value:.3g}" for name, term in ranked[:3]
    ]


MEASURE = Measure(
    "utility.slopes",
    figures={
        "overlap": Meaning(
            "Confidence interval overlap of a dozen regressions, original against release, mean"
            " over coefficients.",
            "high",
            "share",
        ),
        "kept": Meaning(
            "Slopes kept: coefficients of these regressions with the sign and the significance of"
            " the original.",
            "high",
            "share",
        ),
        "reversed": Meaning(
            "Slopes reversed: coefficients of these regressions whose sign changes although it is"
            " significant.",
            unit="count",
        ),
    },
    function=measure,
)
