"""Release: what is open, the gate, purpose and names; then the package, verified on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import VeladuraError
from veladura.measures.registry import figure_names, is_figure, meaning_of
from veladura.plan.accounting import in_words, reason_of
from veladura.plan.confirm import ROLES_GUESSED, Answers, confirm
from veladura.plan.edit import set_column, set_table
from veladura.plan.plan import ledger_of
from veladura.release.gate import check_gate
from veladura.studio.answers import Answer, FieldError, Form, required, text, texts
from veladura.studio.pages import fragment
from veladura.studio.rooms.columns import exact_facts, rows_of
from veladura.studio.work import begin

if TYPE_CHECKING:
    from veladura.studio.session import Session

SAID = ("purpose", "recipient", "prepared_by", "approved_by")


def show(session: Session, _query: Mapping[str, str]) -> str:
    """Return everything that stands between a plan and a release."""
    plan, _ = session.ready
    private = any(step.private for step in plan.steps)
    job = session.job
    failed = job is not None and job.kind == "release" and job.state == "failed"
    return fragment(
        "release",
        plan=plan,
        left=[row.name for row in rows_of(session) if not row.confirmed],
        exact=_exact(session),
        points=[point for point in plan.unconfirmed if point != ROLES_GUESSED],
        confirmed=plan.confirmed is not None and not plan.unconfirmed,
        gate=_gate(session),
        figures=[] if private else figure_names(),
        private=private,
        budget=_budget(session) if private else None,
        exists=(plan.folder / "manifest.json").exists(),
        released=_released(session),
        problem=job.problem if failed and job is not None else "",
        running=job is not None and job.state == "running",
        read_only=session.read_only,
    )


def _exact(session: Session) -> list[tuple[str, str, str, bool]]:
    """Return the exact columns: name, what it tells, the reason, whether it needs one."""
    plan, _ = session.ready
    return [
        (fact.name, in_words(fact), reason_of(fact.columns, plan.columns), fact.dangerous)
        for fact in exact_facts(session).values()
        if len(fact.columns) == 1
    ]


def _gate(session: Session) -> list[tuple[str, str, str, str]]:
    """Return the limits, with those that hold by default: figure, meaning, limit, reason."""
    plan, _ = session.ready
    if any(step.private for step in plan.steps):
        return []
    limits = {**plan.default_limits, **plan.gate}
    return [
        (name, meaning_of(name) if is_figure(name) else "", str(limit), limit.reason)
        for name, limit in limits.items()
    ]


def _budget(session: Session) -> dict[str, Any]:
    """Return the privacy budget: what is spent and left, and what this draw would cost."""
    from veladura.methods.private.events import rest, short
    from veladura.methods.private.ledger import allowance

    plan, source = session.ready
    ledger = ledger_of(plan, source.table)
    if ledger is None:
        return {}
    budget, events = ledger.read()
    private: list[Any] = [step for step in plan.steps if step.private]
    cost = allowance(private)
    spent = budget.spent(events) or Fraction(0)
    # draws about unlike neighbouring tables do not just add up
    after = budget.spent((*events, *(step.event() for step in private)))
    epsilon = cost.epsilon or Fraction(0)
    price = f"epsilon = {short(epsilon)}"
    price += f", delta = {short(cost.delta)}" if cost.delta else ""
    limit = budget.limit
    left = None if limit is None else rest(limit, spent)
    return {
        "unit": budget.unit,
        "limit": "none" if limit is None else short(limit),
        "spent": short(spent),
        "left": "-" if left is None else short(left),
        "draws": [str(event) for event in events],
        "price": price,
        "given": "" if plan.budget.epsilon is None else f"{plan.budget.epsilon:g}",
        "fits": limit is None or (after is not None and not rest(after, limit)),
        "share": 0.0 if not limit else min(float(spent / limit), 1.0),
        "after": 0.0 if not limit else min(float((after or spent) / limit), 1.0),
    }


def _near(session: Session, folder: str) -> str:
    """Return a folder as the plan names it, where it lies below that of the plan."""
    home = session.ready[0].home.resolve()
    place = Path(folder).resolve()
    return str(place.relative_to(home)) if place.is_relative_to(home) else folder


def _released(session: Session) -> dict[str, Any] | None:
    """Return the release that was last written, verified now from its folder alone."""
    facts = session.notes().get("released")
    if not facts or not (Path(facts["folder"]) / "manifest.json").exists():
        return None
    lines, problem = session.once(("verified", facts["digest"]), lambda: _verified(facts))
    folder = Path(facts["folder"])
    draft = any(line.status == "draft" for line in lines)
    return {
        **facts,
        "folder": _near(session, facts["folder"]),
        "custodian": _near(session, facts["custodian"]),
        "lines": lines,
        "problem": problem,
        "holds": not problem and not any(line.status == "broken" for line in lines),
        "draft": draft,
        "certificate": session.views.address(lambda: _certificate(folder)),
        "report": session.views.address((folder / "report.html").read_bytes),
    }


def _verified(facts: Mapping[str, Any]) -> tuple[list[Any], str]:
    from veladura.release.verify import verify

    try:
        return verify(facts["folder"]), ""
    except VeladuraError as error:
        return [], str(error)


def _certificate(folder: Path) -> bytes:
    from veladura.release.certificate import certificate

    return certificate(folder).encode()


def _reasons(session: Session, form: Form) -> Answer:
    """Keep the reasons of exact columns; one for all that are empty, where it is given."""
    given = {name: text(form, f"reason:{name}") for name in exact_facts(session)}
    every = text(form, "every")
    columns = {
        name: why or every
        for name, why in given.items()
        if f"reason:{name}" in form and (why or every)
    }

    def change(old: str) -> str:
        for name, why in columns.items():
            old = set_column(old, name, {"exact": why})
        return old

    session.edit(change, "reasons of exact columns")
    return Answer(f"{len(columns)} reasons are in the plan.")


def _confirm(session: Session, form: Form) -> Answer:
    """Confirm the plan: every column was confirmed, every exact one has a reason."""
    session.refuse_read_only()
    if left := [row.name for row in rows_of(session) if not row.confirmed]:
        raise FieldError("points", f"not confirmed in the columns room yet: {', '.join(left)}.")
    lacking = [name for name, _, reason, _ in _exact(session) if not reason]
    if lacking:
        raise FieldError("points", f"say why these stay exact: {', '.join(lacking)}.")
    ticked = texts(form, "points")
    path = session.path
    assert path is not None  # noqa: S101  # a plan is open
    plan = confirm(
        path,
        Answers(
            lambda question: question.role,
            lambda fact: reason_of(fact.columns, session.ready[0].columns),
            lambda point: point in ticked,
        ),
    )
    session.rewritten("the plan was confirmed")
    open_points = len(plan.unconfirmed)
    return Answer(f"{open_points} points are still open." if open_points else "Confirmed.")


def _about(session: Session, form: Form) -> Answer:
    """Say what the release is for, who gets it, and who answers for it."""
    said = {name: text(form, name) or None for name in SAID}
    seed = text(form, "seed")
    if seed and not seed.isdigit():
        raise FieldError("seed", "a seed is a whole number, or nothing.")

    def change(old: str) -> str:
        old = set_table(old, ["release"], {**said, "format": text(form, "format") or None})
        return set_table(old, ["run"], {"seed": int(seed) if seed else None})

    try:
        session.edit(change, "purpose, recipient and names")
    except VeladuraError as error:
        raise FieldError("approved_by", str(error)) from None
    return Answer("It is in the plan: manifest and certificate will say it.")


def _limit(session: Session, form: Form) -> Answer:
    """Set a limit of the gate, or take it out."""
    figure = required(form, "figure", "the figure")
    try:
        check_gate([figure])
    except VeladuraError as error:
        raise FieldError("figure", str(error)) from None
    limit: dict[str, Any] = {}
    for end in ("min", "max"):
        if given := text(form, end):
            try:
                limit[end] = float(given)
            except ValueError:
                raise FieldError(end, "a limit is a number.") from None
    if reason := text(form, "reason"):
        limit["reason"] = reason
    taken = not {"min", "max"} & set(limit)
    try:
        session.edit(
            lambda old: set_table(old, ["gate"], {figure: None if taken else limit}),
            f"limit on {figure}",
        )
    except VeladuraError as error:
        raise FieldError("reason", str(error)) from None
    return Answer(f"{figure} has {'no limit' if taken else 'a limit'} in the plan now.")


def _allow(session: Session, form: Form) -> Answer:
    """Set the privacy budget of this source."""
    try:
        epsilon = float(required(form, "epsilon", "epsilon"))
    except ValueError:
        raise FieldError("epsilon", "epsilon is a number above 0.") from None
    try:
        session.edit(
            lambda old: set_table(old, ["budget"], {"epsilon": epsilon}), "the privacy budget"
        )
        session.once("budget", lambda: _budget(session))
    except VeladuraError as error:
        raise FieldError("epsilon", str(error)) from None
    return Answer(f"The budget of this source is epsilon = {epsilon:g}.")


def _release(session: Session, form: Form) -> Answer:
    """Write the release."""
    begin(session, "release", {"force": bool(form.get("force"))})
    return Answer("Writing the release. It appears whole or not at all.")


ACTIONS = {
    "reasons": _reasons,
    "confirm": _confirm,
    "about": _about,
    "limit": _limit,
    "allow": _allow,
    "write": _release,
}
