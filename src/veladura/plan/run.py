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
from veladura.plan.what_if import refuse_hopeless
from veladura.release import custodian as keeper
from veladura.release.folder import SUMS, check_folder, clear_unfinished, file_hash
from veladura.release.gate import (
    Verdict,
    check_gate,
    gate,
    not_judged,
    refuse_gate,
    require,
    with_defaults,
)
from veladura.release.intersected import Added
from veladura.release.package import leave_report, save
from veladura.release.series import Entry, Series, Together, refuse_broken
from veladura.release.tables import new_tables

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.core.standing import Standing
    from veladura.measures.assessment import Assessment
    from veladura.measures.exact import ExactFacts
    from veladura.table.table import Table


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
    if (folder := _extended_folder(plan)) is not None:
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
    clear_unfinished(plan.folder.parent)
    judge(tried, custodian)
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
    if tried.entry is not None and plan.custodian.series:
        series = Series(plan.custodian.series)
        where = str(plan.folder.resolve())
        series.write(replace(tried.entry, folder=where, digest=file_hash(plan.folder / SUMS)))
        if plan.custodian.consistent and not plan.recipe.extends:
            from veladura.release.consistent import remember

            remember(release, tried.table, series, tried.entry)
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
    release = _extension(plan, table, progress)
    if release is None:
        release = plan.recipe.protect(
            table,
            seed=plan.run.seed,
            threads=plan.run.threads,
            progress=progress,
            ledger=ledger or ledger_of(plan, table),
            unsafe_repeatable=unsafe_repeatable,
        )
        release = _consistent(plan, release, table)
    standing = standing_of(plan, table, release, facts)
    entry, broken = _held_against_past(plan, release, table)
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


def _extension(plan: Plan, table: Table, progress: Progress = silent) -> Release | None:
    """Return a release that extends the last one of the series, where a plan asks for it."""
    folder = _extended_folder(plan)
    if folder is None:
        return None
    from veladura.release.extending import extend

    release = extend(
        plan.recipe,
        table,
        folder,
        plan.run.seed,
        threads=plan.run.threads,
        progress=progress,
    )
    warnings.warn(
        f"series {plan.custodian.series!r}: this release extends the one in {folder}: its people"
        " keep their numbers and their rows, and rows of new waves are added.",
        SeriesWarning,
        stacklevel=2,
    )
    return release


def _extended_folder(plan: Plan) -> Path | None:
    """Return the folder of the release that this one extends, if it is to extend any."""
    if not (plan.custodian.consistent and plan.recipe.extends):
        return None
    from veladura.release.extending import last_release

    return last_release(Series(str(plan.custodian.series)), plan.folder)


def _consistent(plan: Plan, release: Release, table: Table) -> Release:
    """Return the release with the values of the last one where a plan asks for it."""
    if not plan.custodian.consistent or plan.recipe.extends:
        return release
    from veladura.release.consistent import consistent, not_kept

    series = Series(str(plan.custodian.series))
    if words := not_kept(series):
        warnings.warn(f"series {series.name!r}: {words}", SeriesWarning, stacklevel=2)
    made, number = consistent(release, table, series)
    if number:
        warnings.warn(
            f"series {plan.custodian.series!r}: {number:,} of {made.tables[0].table.rows:,} rows"
            " have not changed since the last release and keep the values released then.",
            SeriesWarning,
            stacklevel=2,
        )
    return made


def _held_against_past(
    plan: Plan, release: Release, table: Table
) -> tuple[Entry | None, list[str]]:
    """Return the release as its series remembers it, and what it breaks with the holder's word.

    One that breaks an older promise without it is refused.
    """
    if not plan.custodian.series:
        return None, []
    series = Series(plan.custodian.series)
    entry = series.entry(release, table, plan.folder.name)
    results = series.against(entry)
    broken = refuse_broken(series, results, plan.custodian.breaks_earlier)
    for line in broken:
        msg = f"series {series.name!r}: a promise is broken, and accepted by the holder: {line}."
        warnings.warn(msg, SeriesWarning, stacklevel=2)
    for result in results:
        unjudged = isinstance(result, Added) and result.unjudged and not result.broken
        if entry.kind != "classes" or unjudged:
            warnings.warn(f"series {series.name!r}: {result}.", SeriesWarning, stacklevel=2)
    return entry, broken


class SeriesWarning(VeladuraWarning):
    """What a release tells together with an earlier one of its series, where nothing forbids it."""


def past(plan: Plan, series: str | None = None) -> list[Together]:
    """Return what the release of a plan would add to those of a series; nothing is written."""
    name = series or plan.custodian.series
    if not name:
        msg = (
            'no series is named.\n\nHint: --against NAME, or series = "NAME" in [custodian] of the'
            " plan."
        )
        raise PlanError(msg)
    table = plan.open()
    release = _extension(plan, table)
    if release is None:
        release = plan.recipe.protect(table, seed=plan.run.seed, threads=plan.run.threads)
        release = _consistent(plan, release, table)
    held = Series(name)
    return held.against(held.entry(release, table, plan.folder.name))
