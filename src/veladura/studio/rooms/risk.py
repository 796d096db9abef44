"""Risk: how many people are unique by what an intruder knows, before anything is done."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from veladura.errors import PlanError
from veladura.measures.knowledge import Scenario, check_intruders
from veladura.measures.source.uniques import contribution, knowable, unique_combinations
from veladura.plan.edit import set_intruders
from veladura.studio.answers import Answer, FieldError, Form, required, texts
from veladura.studio.pages import fragment
from veladura.table.schema import NUMERIC
from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.studio.session import Session

MOST_LISTED = 100


def show(session: Session, query: Mapping[str, str]) -> str:
    """Return the ticks, the number of people, and the intruders of the plan."""
    plan, source = session.ready
    names = knowable(source.table)
    keys = [n for n in names if source.table.schema[n].role in ("quasi-identifier", "geographic")]
    asked = query.get("intruder", "")
    who = next((who for who in plan.intruders if who.name == asked), None)
    known = [name for name in (keys if who is None else who.knows) if name in names]
    rough = [n for n in names if source.table.schema[n].kind in (*NUMERIC, "date")]
    return fragment(
        "risk",
        names=[(name, source.table.schema[name].role, name in known) for name in names],
        count=_count(session, known),
        parts=_parts(session, known),
        rough=[(name, "" if who is None else who.within.get(name, "")) for name in rough],
        households=bool(source.table.schema.of_role("household")),
        intruders=plan.intruders,
        shown=asked,
        people=source.telling.people,
        private=any(step.private for step in plan.steps),
        read_only=session.read_only,
    )


def _count(session: Session, known: list[str]) -> str:
    """Return the number of people who are unique by the known columns, and of households."""
    _, source = session.ready
    unique = source.telling.alone(known) if known else 0
    return fragment(
        "risk-count",
        unique=unique,
        people=source.telling.people,
        known=known,
        share=100 * unique / max(source.telling.people, 1),
        households=_households(session, known),
    )


def _households(session: Session, known: list[str]) -> tuple[int, int] | None:
    """Return how many households are unique, of how many; None where there are none."""
    _, source = session.ready
    unit = next(iter(source.table.schema.of_role("household")), None)
    if unit is None or not known:
        return None
    telling = session.once("households", lambda: Telling(source.telling.table, unit))
    return telling.alone(known), telling.people


def _parts(session: Session, known: list[str]) -> str:
    """Return what each column does to the number."""
    _, source = session.ready
    made = [contribution(source.telling, known, name) for name in knowable(source.table)]
    most = max((abs(part.people) for part in made), default=0) or 1
    return fragment(
        "risk-parts",
        known=sorted((p for p in made if p.known), key=lambda p: -p.people),
        others=sorted((p for p in made if not p.known), key=lambda p: -p.people),
        most=most,
    )


def _known(session: Session, form: Form) -> list[str]:
    _, source = session.ready
    ticked = texts(form, "known")
    return [name for name in knowable(source.table) if name in ticked]


def _ticked(session: Session, form: Form) -> Answer:
    """Count again after a tick."""
    return Answer(html=_count(session, _known(session, form)), target="#risk-count")


def _contributions(session: Session, form: Form) -> Answer:
    return Answer(html=_parts(session, _known(session, form)), target="#risk-parts")


def _people(session: Session, form: Form) -> Answer:
    """List people who are unique, with their values: somebody asked for them."""
    _, source = session.ready
    known = _known(session, form)
    if not known:
        raise FieldError("known", "tick at least one column.")
    unit = next(iter(source.table.schema.of_role("household")), None)
    unit = unit if form.get("by") == "household" else None
    listed = unique_combinations(source.telling.table, known, MOST_LISTED, unit)
    html = fragment(
        "risk-people",
        names=known if unit is None else [unit, *known],
        homes=None if unit is None else len({row[0] for row in listed}),
        rows=listed,
        all=source.telling.alone(known),
    )
    return Answer(html=html, target="#risk-people")


def _save(session: Session, form: Form) -> Answer:
    """Keep what is ticked as an intruder of the plan."""
    _, source = session.ready
    name = required(form, "name", "the name of the intruder")
    known = _known(session, form)
    within = {
        column.removeprefix("within:"): str(value).strip()
        for column, value in form.items()
        if column.startswith("within:") and str(value).strip()
    }
    given: dict[str, Any] = {n: _reach(value) for n, value in within.items() if n in known}
    try:
        who = Scenario(name=name, knows=tuple(known), within=given)
        check_intruders([who], source.table.schema)
    except PlanError as error:
        about = next((n for n in given if f"within.{n} " in str(error)), "")
        raise FieldError(f"within:{about}" if about else "name", str(error)) from None
    session.edit(lambda text: _with(text, who), f"intruder {name}")
    said = f"Intruder {name!r} is in the plan: every run counts who is found by it."
    return Answer(said, go=f"risk?intruder={quote(name)}")


def _reach(value: str) -> float | str:
    """Return a distance as a plan writes it: a number, or a share or time as text."""
    try:
        return float(value)
    except ValueError:
        return value


def _with(text: str, who: Scenario) -> str:
    old = [table for table in tomllib.loads(text).get("intruder", []) if table["name"] != who.name]
    return set_intruders(text, [*old, who.to_plain()])


def _remove(session: Session, form: Form) -> Answer:
    """Take an intruder out of the plan."""
    name = required(form, "name", "the name of the intruder")

    def change(text: str) -> str:
        old = tomllib.loads(text).get("intruder", [])
        return set_intruders(text, [table for table in old if table["name"] != name])

    session.edit(change, f"intruder {name} taken out")
    return Answer(f"Intruder {name!r} is no longer in the plan.")


ACTIONS = {
    "count": _ticked,
    "parts": _contributions,
    "people": _people,
    "save": _save,
    "remove": _remove,
}
