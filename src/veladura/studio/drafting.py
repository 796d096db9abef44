"""Draft the steps of a plan again: for other needs, or after the holder said what a column is."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from veladura.errors import PlanError
from veladura.plan.draft import drafted
from veladura.plan.edit import set_column, set_intruders, set_table
from veladura.plan.reading import plan_in
from veladura.table.schema import NOT_RELEASED, UNITS, Declared

if TYPE_CHECKING:
    from veladura.plan.plan import Plan
    from veladura.studio.session import Session

USUAL = ("register", "acquaintance")  # intruders that every draft has


def redraft(
    session: Session,
    words: str,
    *,
    declared: Mapping[str, Declared] | None = None,
    method: str | None = None,
    audience: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write a new draft that keeps what the holder has said.

    That is roles, kinds, labels and reasons, folders, purpose, names, seed, budget, own intruders
    and formulas. What is not given is as in the last draft.

    Parameters
    ----------
    method
        One method instead of the protection of the whole table ("").
    """
    plan, _ = session.ready
    last = session.notes().get("draft", {})
    method = last.get("method", "") if method is None else method
    audience = last.get("audience", "open-data") if audience is None else audience
    settings = last.get("settings", {}) if settings is None else settings
    columns = {**plan.columns, **(declared or {})}
    made = drafted(
        _source(plan),
        table=plan.source.table,
        method=method or None,
        audience=audience,
        home=plan.home,
        release=plan.release.folder,
        custodian=plan.custodian.folder,
        settings=settings,
        declared=columns,
    )
    text = _carried(made.text, plan, columns)
    session.edit(lambda _: text, words)
    session.note(draft={"method": method, "audience": audience, "settings": dict(settings)})


def edit_or_redraft(
    session: Session,
    change: Callable[[str], str],
    declared: Mapping[str, Declared],
    words: str,
) -> str:
    """Change what is declared of columns; draft the steps again where they contradict it.

    Returns a sentence on what was done.
    """
    try:
        session.edit(change, words)
    except PlanError:
        redraft(session, words, declared=declared)
        return (
            "The steps treated the column otherwise, so they were drafted again. Undo brings the"
            " old ones back."
        )
    return ""


def unknown(text: str, name: str) -> str:
    """Return a plan whose intruders do not know a column: it is in no release any more."""
    old = tomllib.loads(text).get("intruder", [])
    if not any(name in who["knows"] for who in old):
        return text
    new = [_without(who, name) for who in old]
    return set_intruders(text, [who for who in new if who["knows"]])


def _without(who: Mapping[str, Any], name: str) -> dict[str, Any]:
    within = {column: reach for column, reach in who.get("within", {}).items() if column != name}
    knows = [column for column in who["knows"] if column != name]
    return {**who, "knows": knows} | ({"within": within} if "within" in who else {})


def _source(plan: Plan) -> str:
    if plan.source.url is not None:
        return plan.source.url
    return str(plan.home / str(plan.source.path))


def _carried(text: str, plan: Plan, columns: Mapping[str, Declared]) -> str:
    """Return a draft with what the holder said in the plan before."""
    old = tomllib.loads(plan.text)
    private = any(step.private for step in plan_in(text, plan.home).steps)
    for name, column in columns.items():
        said = {"labels": dict(column.labels) or None, "exact": column.exact or None}
        given = {key: value for key, value in said.items() if value is not None}
        text = set_column(text, name, given) if given else text
    kept = {key: old.get(key, {}) for key in ("source", "release", "run", "budget", "utility")}
    kept["run"] = {k: v for k, v in kept["run"].items() if k != "seed" or not private}
    for key, settings in kept.items():
        text = set_table(text, [key], settings) if settings else text
    if private:
        return text
    own = [who for who in old.get("intruder", []) if who["name"] not in USUAL]
    new = tomllib.loads(text).get("intruder", [])
    text = set_intruders(text, [*new, *own]) if own else text
    for name, column in columns.items():
        text = unknown(text, name) if column.role in (*NOT_RELEASED, *UNITS) else text
    return text
