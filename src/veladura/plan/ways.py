"""veladura ways: the generalisations that a plan can choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from veladura.base.context import Progress, silent
from veladura.core.recipe import context_of
from veladura.core.steps import Steps
from veladura.errors import PlanError
from veladura.methods.kanonymity.kanonymity import KAnonymity
from veladura.methods.kanonymity.kept import KEPT_FILE
from veladura.methods.kanonymity.settings import given_vector
from veladura.release import custodian as keeper

if TYPE_CHECKING:
    from veladura.methods.kanonymity.ways import Ways
    from veladura.plan.plan import Plan


def ways_of(plan: Plan, progress: Progress = silent, prefer: Sequence[str] = ()) -> Ways:
    """Return the k-minimal generalisations of the k-anonymity step of a plan.

    Steps before it are applied. ``levels`` in the plan does not keep the others from being found.
    Nothing is searched where the custodian's folder holds the result of an earlier run of the same.

    Parameters
    ----------
    prefer
        Policies to choose by, instead of those of the plan.
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
    kept = keeper.place(plan.folder, plan.custodian_folder) / KEPT_FILE
    context = context_of(None, plan.run.threads, progress, None, unsafe_repeatable=False)
    searched = replace(step, levels={}, prefer=tuple(prefer) or step.prefer)
    fitted = searched.fitted_to(searched.prepared(table), context, kept)
    if step.levels and not prefer:
        given_vector(step, fitted.lattice)
        fitted = replace(fitted, recipe=step)
    return fitted.minimal


def drawn_hierarchy(plan: Plan, column: str | None) -> str:
    """Return the picture of a column's hierarchy in a plan, drawn for the values of its source."""
    from veladura.numeric.hierarchies.suggest import suggest_from

    step = next((s for s in plan.steps if isinstance(s, KAnonymity)), None)
    possible = [] if step is None else list(step.names)
    if step is None or column is None or column not in possible:
        msg = (
            f"the plan has no hierarchy for column {column!r}; it has those of"
            f" {possible}.\n\nHint: name one with --column."
        )
        raise PlanError(msg)
    table = plan.open()
    hierarchy = step.hierarchies.get(column) or suggest_from(table.people_counts([column]), step.k)
    values = table.column(column).to_arrow().unique().drop_null().to_pylist()
    return hierarchy.to_svg(values, column)
