"""The holder's own formulas: the coefficients of each, release beside original."""

from __future__ import annotations

from typing import TYPE_CHECKING

from veladura.report.intervals import IntervalGroup, interval_group
from veladura.report.marks import Term

if TYPE_CHECKING:
    from veladura.measures.assessment import Assessment
    from veladura.measures.utility.slopes import SlopeModel


def own_models(assessment: Assessment | None) -> tuple[SlopeModel, ...]:
    """Return the models of the plan, ``[utility] models``, as they were measured."""
    detail = None if assessment is None else assessment.details.get("utility.slopes")
    if detail is None:
        return ()
    from veladura.measures.utility.slopes import SlopeTable  # loads what makes design matrices

    return detail.own if isinstance(detail, SlopeTable) else ()


def own_groups(assessment: Assessment | None) -> tuple[IntervalGroup, ...]:
    """Return the intervals of the coefficients of every formula of the plan that can be fitted."""
    groups = (
        interval_group(f"Your formula {model.formula}", terms_of(model), "number")
        for model in own_models(assessment)
    )
    return tuple(group for group in groups if group is not None)


def terms_of(model: SlopeModel) -> list[Term]:
    """Return the coefficients of a model."""
    return [Term(name, term.released, term.original) for name, term in model.terms.items()]
