"""veladura ways: the generalisations that a plan can choose from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.base.context import Progress, silent
from veladura.core.steps import Steps
from veladura.errors import PlanError
from veladura.methods.kanonymity.fitted import FittedKAnonymity
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.methods.kanonymity.settings import given_vector

if TYPE_CHECKING:
    from veladura.methods.kanonymity.ways import Ways
    from veladura.plan.plan import Plan


def ways_of(plan: Plan, progress: Progress = silent) -> Ways:
    """Return the k-minimal generalisations of the k-anonymity step of a plan.

    Steps before it are applied. ``levels`` in the plan does not keep the others from being found.
    """
    places = [i for i, step in enumerate(plan.steps) if isinstance(step, KAnonymity)]
    if not places:
        msg = (
            "the plan has no step with method k-anonymity, so there are no generalisations to"
            " choose from."
        )
        raise PlanError(msg)
    before, step = plan.steps[: places[0]], plan.steps[places[0]]
    table = plan.open()
    if before:
        first = before[0] if len(before) == 1 else Steps(before)
        release = first.protect(table, seed=plan.run.seed, progress=progress)
        table = release.tables[0].table
    assert isinstance(step, KAnonymity)  # noqa: S101  # by its place
    fitted = replace(step, levels={}).fit(table, progress=progress)
    assert isinstance(fitted, FittedKAnonymity)  # noqa: S101  # of that step
    if step.levels:
        given_vector(step, fitted.lattice)
        fitted = replace(fitted, recipe=step)
    return fitted.minimal
