"""Columns: what each is, who is unique by it, and one click to confirm it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from veladura.errors import PlanError
from veladura.plan.accounting import exact_in, in_words, reason_of
from veladura.plan.edit import comment_above, set_column
from veladura.studio.answers import Answer, FieldError, Form, required, text
from veladura.studio.drafting import edit_or_redraft, unknown
from veladura.studio.limits import keep_limits, limits_of
from veladura.studio.pages import fragment
from veladura.table.schema import (
    NOT_RELEASED,
    NUMERIC,
    ROLE_WORDS,
    UNITS,
    Declared,
    Kind,
    Role,
)

if TYPE_CHECKING:
    from veladura.measures.exact import ExactFacts
    from veladura.studio.session import Session


@dataclass(frozen=True)
class Row:
    """One column of the grid: facts, never values."""

    name: str
    role: str
    kind: str
    why: str
    treatment: str
    distinct: int
    missing: int
    unique: int
    tells: str
    reason: str
    labels: str
    labelled: int
    order: str
    format: str
    codes: str
    limits: tuple[str, str] | None
    confirmed: bool
    needs: str

    @property
    def released(self) -> bool:
        """Whether the column is in the release."""
        return self.role not in NOT_RELEASED


def show(session: Session, _query: Mapping[str, str]) -> str:
    """Return the grid of columns."""
    rows = rows_of(session)
    plan, source = session.ready
    return fragment(
        "columns",
        rows=rows,
        left=[row.name for row in rows if not row.confirmed],
        roles=ROLE_WORDS,
        possible=get_args(Role),
        kinds=get_args(Kind),
        people=source.telling.people,
        count=source.table.rows,
        confirmed=plan.confirmed is not None and not plan.unconfirmed,
        read_only=session.read_only,
    )


def rows_of(session: Session) -> list[Row]:
    """Return the grid: one row a column."""
    plan, source = session.ready
    exact = exact_facts(session)
    agreed = session.notes().get("confirmed", {})
    return [
        _row(session, field.name, exact.get(field.name), agreed.get(field.name))
        for field in source.table.schema
        if field.name in plan.columns or field.name in source.facts
    ]


def exact_facts(session: Session) -> dict[str, ExactFacts]:
    """Return what the columns tell that the plan releases exactly; counted once."""
    plan, source = session.ready
    facts: dict[str, ExactFacts] = session.once("exact", lambda: exact_in(plan, source.table))
    return facts


def exposed(session: Session) -> list[str]:
    """Return the columns that would be released exactly although they identify people."""
    plan, _ = session.ready
    return [
        fact.name
        for fact in exact_facts(session).values()
        if fact.dangerous and not reason_of(fact.columns, plan.columns)
    ]


def _row(session: Session, name: str, exact: ExactFacts | None, agreed: Any) -> Row:
    plan, source = session.ready
    field, facts = source.table.schema[name], source.facts[name]
    declared = plan.columns.get(name, Declared())
    notes = comment_above(plan.text, name).split("\n")
    treatment = next((line for line in notes if line.startswith("In this plan: ")), "")
    done = agreed == [field.role, field.kind] or plan.confirmed is not None
    reason = reason_of((name,), plan.columns)
    return Row(
        name,
        field.role,
        field.kind,
        notes[0],
        treatment.removeprefix("In this plan: "),
        facts.distinct,
        facts.rows - facts.present,
        source.telling.alone([name]),
        "" if exact is None else in_words(exact),
        reason,
        "\n".join(f"{code} = {label}" for code, label in declared.labels.items()),
        len(declared.labels),
        "\n".join(declared.order),
        declared.format or "",
        ", ".join(declared.missing),
        limits_of(session, name) if field.kind in NUMERIC else None,
        done,
        _needs(field.role, exact, reason, done=done),
    )


def _needs(role: str, exact: ExactFacts | None, reason: str, *, done: bool) -> str:
    """Return the decision that a column needs, in words; empty for none."""
    if exact is not None and exact.dangerous and not reason:
        return "protect it, drop it, or say why it may be released exactly"
    if role in ("undecided", "other"):
        return "decide what it is"
    return "" if done else "confirm it"


def _set(session: Session, form: Form) -> Answer:
    """Change role or kind."""
    plan, source = session.ready
    name = _column(session, form)
    old = plan.columns.get(name, Declared(kind=source.table.schema[name].kind))
    new: dict[str, Any] = {key: text(form, key) for key in ("role", "kind") if text(form, key)}
    order = [line.strip() for line in text(form, "order").splitlines() if line.strip()]
    settings: dict[str, Any] = {**new}
    kind = new.get("kind", old.kind)
    settings["order"] = (order or list(old.order) or None) if kind == "ordered" else None
    settings["format"] = (text(form, "format") or old.format) if kind == "date" else None
    try:
        declared = replace(
            old,
            **new,
            order=tuple(settings["order"] or ()),
            format=settings["format"],
        )
    except PlanError as error:
        raise FieldError(name, str(error)) from None
    what = f"{name}: {' and '.join(f'{key} {value}' for key, value in new.items())}"

    def change(plan: str) -> str:
        plan = set_column(plan, name, settings)
        return unknown(plan, name) if declared.role in (*NOT_RELEASED, *UNITS) else plan

    said = edit_or_redraft(session, change, {name: declared}, what)
    _agree(session, name)
    return Answer(f"{what}. {said}")


def _confirm(session: Session, form: Form) -> Answer:
    """Confirm role and kind of a column as they are."""
    name = _column(session, form)
    _agree(session, name)
    left = len([row for row in rows_of(session) if not row.confirmed])
    more = f"{left} more to look at" if left else "every column is confirmed"
    return Answer(f"{name} is confirmed; {more}.")


def _agree(session: Session, name: str) -> None:
    field = session.ready[1].table.schema[name]
    agreed = session.notes().get("confirmed", {})
    session.note(confirmed={**agreed, name: [field.role, field.kind]})


def _reason(session: Session, form: Form) -> Answer:
    """Say why a column may be released exactly."""
    name = _column(session, form)
    reason = required(form, "reason", "the reason")
    session.edit(
        lambda plan: set_column(plan, name, {"exact": reason}), f"{name}: a reason to be exact"
    )
    return Answer(f"The reason for {name} is in the plan.")


def _labels(session: Session, form: Form) -> Answer:
    """Give the values of a column their meaning, for the codebook."""
    name = _column(session, form)
    labels: dict[str, str] = {}
    for line in text(form, "labels").splitlines():
        code, equals, label = line.partition("=")
        if line.strip() and not (equals and code.strip() and label.strip()):
            raise FieldError(
                "labels", "write one label a line: the code, an equals sign, the label."
            )
        if line.strip():
            labels[code.strip()] = label.strip()
    session.edit(lambda plan: set_column(plan, name, {"labels": labels or None}), f"{name}: labels")
    return Answer(f"{name} has {len(labels)} labels.")


def _missing(session: Session, form: Form) -> Answer:
    """Say which codes of a column stand for a missing value."""
    name = _column(session, form)
    codes = [code.strip() for code in text(form, "missing").split(",") if code.strip()]
    try:
        session.edit(
            lambda plan: set_column(plan, name, {"missing": codes or None}),
            f"{name}: missing codes",
        )
    except PlanError as error:
        raise FieldError("missing", str(error)) from None
    return Answer(f"{name}: {len(codes)} codes are read as missing.")


def _limits(session: Session, form: Form) -> Answer:
    """Say which values a column can have at all."""
    return keep_limits(session, _column(session, form), form)


def _import(session: Session, form: Form) -> Answer:
    """Take the labels of an SPSS, Stata or SAS file for columns of the same name."""
    from pathlib import Path

    from veladura.table.source import open_unwarned

    plan, source = session.ready
    file = Path(required(form, "file", "the path of the file")).expanduser()
    if not file.is_file():
        raise FieldError("file", "there is no such file on this machine.")
    found = {f.name: dict(f.labels) for f in open_unwarned(str(file)).schema if f.labels}
    labels = {name: found[name] for name in source.table.names if name in found}
    if not labels:
        raise FieldError("file", "the file has no value labels for columns of these names.")

    def change(text: str) -> str:
        for name, given in labels.items():
            text = set_column(text, name, {"labels": given})
        return text

    session.edit(change, f"labels from {file.name}")
    return Answer(f"{len(labels)} of {len(plan.columns)} columns have labels from {file.name}.")


def _column(session: Session, form: Form) -> str:
    session.refuse_read_only()
    name = required(form, "column", "the column")
    session.ready[1].table.schema.check("column", [name])
    return name


ACTIONS = {
    "set": _set,
    "confirm": _confirm,
    "reason": _reason,
    "labels": _labels,
    "missing": _missing,
    "limits": _limits,
    "import": _import,
}
