"""Run a plan: open the source, protect, assess, check the gate, write the release."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from veladura.base.context import Charges, Progress, silent
from veladura.core.linking import refuse_linked
from veladura.core.recipe import context_of
from veladura.errors import GateError, PlanError, VeladuraWarning
from veladura.measures.assessment import assess
from veladura.measures.knowledge import (
    ACQUAINTANCE,
    EVERYTHING,
    REGISTER,
    STRONGEST,
    check_intruders,
)
from veladura.plan.accounting import (
    exact_in,
    refuse_dangerous,
    refuse_unnamed,
    standing_of,
    with_broken,
)
from veladura.plan.confirmed import refuse_changed
from veladura.plan.plan import Plan, ledger_of
from veladura.plan.series import (
    SeriesWarning,
    check_series,
    consistent,
    extended_folder,
    extension,
    held_against_past,
    past,
    remember,
    reserved,
)
from veladura.plan.what_if import refuse_hopeless
from veladura.release import custodian as keeper
from veladura.release.folder import check_folder, clear_unfinished
from veladura.release.gate import (
    Verdict,
    check_gate,
    gate,
    not_judged,
    refuse_gate,
    require,
    with_defaults,
)
from veladura.release.package import leave_report, save
from veladura.release.tables import new_tables

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.core.standing import Standing
    from veladura.measures.assessment import Assessment
    from veladura.measures.exact import ExactFacts
    from veladura.release.series import Entry
    from veladura.table.table import Table


__all__ = [
    "NotJudgedWarning",
    "Outcome",
    "SeriesWarning",
    "Trial",
    "account",
    "check",
    "hand_out",
    "judge",
    "past",
    "refuse_requests",
    "refuse_unconfirmed",
    "rehearse",
    "rehearsed",
    "run",
    "tried",
    "write",
]


@dataclass(frozen=True)
class Trial:
    """A release that nobody has written: measured, and judged by the gate."""

    release: Release
    assessment: Assessment
    verdicts: tuple[Verdict, ...]
    standing: Standing
    table: Table
    entry: Entry | None = None  # as the series of the plan will remember it


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    release: Release
    assessment: Assessment
    verdicts: tuple[Verdict, ...]
    folder: Path
    custodian: Path
    standing: Standing


def check(plan: Plan, *, force: bool = False) -> Path:
    """Check folders and gate before anything is drawn; return the custodian folder."""
    refuse_unconfirmed(plan)
    check_folder(plan.folder, force=force)
    custodian = keeper.place(plan.folder, plan.custodian_folder)
    keeper.refuse_existing(custodian, force=force)
    check_series(plan)
    check_gate(plan.gate)
    _check_gate_intruders(plan)
    if plan.gate and any(step.private for step in plan.steps):
        refuse_gate()
    return custodian


def refuse_unconfirmed(plan: Plan) -> None:
    """Refuse a private step while its plan holds guesses from the data.

    Whether a category that one person has is in the domain would be in the manifest.
    """
    if plan.unconfirmed and any(step.private for step in plan.steps):
        points = "".join(f"\n  - {point}" for point in plan.unconfirmed)
        msg = (
            "a differentially private step needs a domain from public knowledge, and its holder"
            f" has not confirmed:{points}\nNothing was drawn, and nothing was charged.\n\nHint:"
            " complete columns, domain and missing in the [[step]] from what everybody may know,"
            " then run veladura confirm."
        )
        raise PlanError(msg)


def _check_gate_intruders(plan: Plan) -> None:
    """Refuse a limit for an intruder that nobody declared."""
    drafted = (REGISTER, ACQUAINTANCE)
    names = [who.name for who in plan.intruders] or list(drafted)
    for figure in plan.gate:
        owner, _, name = figure.rpartition(".")
        if owner == "risk.intruders" and name not in (*names, EVERYTHING, STRONGEST):
            what = "gate figure risk.intruders: intruder"
            raise PlanError.unknown(what, name, (*names, EVERYTHING, STRONGEST))


def _opened(plan: Plan) -> Table:
    """Return the source; refuse linked tables that a step would take apart, before any charge."""
    table = plan.open()
    refuse_linked(plan.recipe, table.without_identifiers())
    return table


def _check_knowledge(plan: Plan, table: Table) -> None:
    """Refuse intruders and models that name columns which the source does not have."""
    check_intruders(plan.intruders, table.schema)
    if plan.utility.models:
        from veladura.inference.design import read_formula  # loads what makes design matrices

        for formula in plan.utility.models:
            read_formula(formula, table.names)


def rehearse(plan: Plan, *, force: bool = False, unsafe_repeatable: bool = False) -> None:
    """Check plan, source, settings, gate names and folders; draw nothing and write nothing."""
    check(plan, force=force)
    table = _opened(plan)
    _check_knowledge(plan, table)
    refuse_hopeless(plan, table)
    account(plan, table)
    if (folder := extended_folder(plan)) is not None:
        from veladura.release.extending import fit_extension

        context = context_of(
            plan.run.seed, plan.run.threads, silent, None, unsafe_repeatable=unsafe_repeatable
        )
        fit_extension(plan.recipe, table, folder, context)
        return
    plan.recipe.fit(
        table, plan.run.seed, threads=plan.run.threads, unsafe_repeatable=unsafe_repeatable
    )


def account(plan: Plan, table: Table) -> dict[str, ExactFacts]:
    """Refuse a source that the plan does not account for; return what its exact columns tell."""
    refuse_unnamed(plan, table)
    refuse_changed(plan, table)
    facts = exact_in(plan, table)
    refuse_dangerous(facts, plan.columns)
    return facts


def run(
    plan: Plan,
    *,
    force: bool = False,
    unsafe_repeatable: bool = False,
    progress: Progress = silent,
    ledger: Charges | None = None,
) -> Outcome:
    """Protect, assess and write a table as its plan says.

    Refuse a release that breaks a promise or fails a limit of the gate. Private draws are charged
    to the ledger of the source, or to the one that is given.
    """
    refuse_requests(plan)
    custodian = check(plan, force=force)
    trial = tried(plan, progress, ledger, unsafe_repeatable=unsafe_repeatable)
    return write(plan, custodian, trial, force=force, progress=progress)


def refuse_requests(plan: Plan) -> None:
    """Refuse a plan of several recipients where one release is made."""
    if plan.requests:
        msg = (
            "this plan has requests, so it makes several releases.\n\nHint: veladura run makes"
            " them all; in Python: veladura.plan.requests.run_requests."
        )
        raise PlanError(msg)


def judge(tried: Trial, custodian: Path) -> None:
    """Refuse a release that fails a limit of the gate; its report stays with the custodian."""
    try:
        require(tried.verdicts)
    except GateError:
        leave_report(tried.release, custodian, tried.assessment, tried.verdicts)
        raise


def write(
    plan: Plan, custodian: Path, tried: Trial, *, force: bool = False, progress: Progress = silent
) -> Outcome:
    """Write a release that was tried, unless it fails a limit of the gate."""
    judge(tried, custodian)
    with reserved([(plan, tried.entry)]):
        return hand_out(plan, custodian, tried, force=force, progress=progress)


def hand_out(
    plan: Plan, custodian: Path, tried: Trial, *, force: bool = False, progress: Progress = silent
) -> Outcome:
    """Write a release that was tried, judged, and reserved in its series."""
    clear_unfinished(plan.folder.parent)
    release, assessment, verdicts = tried.release, tried.assessment, tried.verdicts
    with progress("writing the release", 1) as advance:
        with new_tables(release, tried.table, plan.release.table, force=force):
            save(
                release,
                plan.folder,
                custodian,
                format=plan.release.format,
                force=force,
                rows_per_file=plan.release.rows_per_file,
                assessment=assessment,
                verdicts=verdicts,
                plan=plan.text,
                standing=tried.standing,
            )
        advance()
    if tried.entry is not None:
        remember(plan, release, tried.table, tried.entry)
    return Outcome(release, assessment, verdicts, plan.folder, custodian, tried.standing)


def rehearsed(plan: Plan, *, progress: Progress = silent) -> Trial:
    """Protect and measure a table as its plan says, and write nothing: no release, no record.

    A private step is not drawn: to look at draws and choose among them would disclose something,
    and no budget would say how much. `veladura.plan.what_if` tells what to expect of it.
    """
    if any(step.private for step in plan.steps):
        msg = (
            "a differentially private step is not tried out: whoever looks at draws and chooses"
            " among them learns more than the budget says.\n\nHint: what it can be expected to"
            " give is computed from public numbers: veladura budget --what-if PLAN."
        )
        raise PlanError(msg)
    check_gate(plan.gate)
    _check_gate_intruders(plan)
    refuse_requests(plan)
    return tried(plan, progress)


def tried(
    plan: Plan,
    progress: Progress = silent,
    ledger: Charges | None = None,
    *,
    unsafe_repeatable: bool = False,
) -> Trial:
    """Read, protect, measure and judge."""
    with progress("reading the table", 1) as advance:
        table = _opened(plan)
        advance()
    _check_knowledge(plan, table)
    refuse_hopeless(plan, table)
    facts = account(plan, table)
    release = extension(plan, table, progress)
    if release is None:
        release = plan.recipe.protect(
            table,
            seed=plan.run.seed,
            threads=plan.run.threads,
            progress=progress,
            ledger=ledger or ledger_of(plan, table),
            unsafe_repeatable=unsafe_repeatable,
        )
        release = consistent(plan, release, table)
    standing = standing_of(plan, table, release, facts)
    entry, broken = held_against_past(plan, release, table)
    if broken:
        standing = with_broken(standing, plan.custodian.breaks_earlier)
    assessment = assess(
        table,
        release,
        intruders=plan.intruders,
        models=plan.utility.models,
        threads=plan.run.threads,
        progress=progress,
    )
    limits = with_defaults(plan.gate, plan.default_limits, assessment)
    assessment = replace(assessment, limits=limits)
    _warn_of_defaults(plan, assessment)
    return Trial(release, assessment, tuple(gate(assessment, limits)), standing, table, entry)


class NotJudgedWarning(VeladuraWarning):
    """Limits that hold by default were not judged, because the rows are not in memory."""


def _warn_of_defaults(plan: Plan, assessment: Assessment) -> None:
    """Say which limits that hold by default nobody could judge.

    They are limits on numbers that were drawn: without a draw there is nothing to judge.
    """
    if not any(step.random for step in plan.steps):
        return
    defaults = {name: limit for name, limit in plan.default_limits.items() if name not in plan.gate}
    if names := not_judged(defaults, assessment):
        listed = ", ".join(f"{name} {defaults[name]}" for name in names)
        warnings.warn(
            f"limits that hold by default were not judged, because the released rows are not held"
            f" in memory: {listed}.\n\nHint: to judge them, run veladura assess on a machine that"
            " holds the rows, or the plan on a sample of rows first.",
            NotJudgedWarning,
            stacklevel=3,
        )
