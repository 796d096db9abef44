"""The rooms of the studio: what each shows, and what its buttons do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from veladura.errors import PlanError
from veladura.studio.answers import Answer, Form
from veladura.studio.pages import fragment

if TYPE_CHECKING:
    from veladura.studio.session import Session

ROOMS = ("columns", "risk", "protect", "hierarchy", "run", "release", "analyst")
Action = Callable[["Session", Form], Answer]


def show(session: Session, name: str, query: Mapping[str, str]) -> str:
    """Return a room as a part of the page."""
    if name not in ROOMS:
        raise PlanError.unknown("room", name, ROOMS)
    if session.state == "opening":
        return fragment("opening", source=session.given or str(session.path))
    if name != "analyst" and (session.problem or session.release is not None):
        return fragment("failed", problem=session.problem, release=session.release is not None)
    room = _room(name).show(session, query)
    if session.release is not None:
        return str(room)
    return fragment("status", session=session, changed=_changed(session)) + str(room)


def do(session: Session, name: str, form: Form) -> Answer:
    """Do what a button asks for."""
    room, _, action = name.partition("/")
    if room == "plan":
        return _plan(session, action)
    actions: Mapping[str, Action] = _room(room).ACTIONS if room in ROOMS else {}
    if action not in actions:
        msg = f"there is no action {name!r}."
        raise PlanError(msg)
    return actions[action](session, form)


def _plan(session: Session, action: str) -> Answer:
    """Undo, redo, read again, or stop the work."""
    if action in ("undo", "redo"):
        return Answer(session.step(-1 if action == "undo" else 1))
    if action == "reload":
        session.reload()
        return Answer("Plan and source were read again.")
    if action == "cancel" and session.job is not None:
        session.job.stop()
        return Answer("Cancelled. Nothing was written.")
    msg = "there is nothing to stop."
    raise PlanError(msg)


def _changed(session: Session) -> str:
    """Return that the source changed under the page, in words; empty where it did not."""
    try:
        session.refuse_changed()
    except PlanError as error:
        return str(error).partition("\n")[0]
    return ""


def _room(name: str) -> ModuleType:
    return import_module(f"veladura.studio.rooms.{name}")
