"""veladura confirm: what is open in a plan, and the plan with the holder's answers."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.base.settings import to_plain
from veladura.measures.knowledge import ACQUAINTANCE, REGISTER
from veladura.plan.accounting import exact_in, reason_of, refuse_unnamed
from veladura.plan.confirmed import confirmation_of
from veladura.plan.edit import (
    check_edit,
    comment_above,
    set_column,
    set_confirmed,
    set_intruders,
    set_unconfirmed,
    write_private,
)
from veladura.plan.plan import Plan
from veladura.plan.reading import plan_in, read_plan
from veladura.table.schema import NOT_RELEASED, UNITS
from veladura.table.telling import Telling

if TYPE_CHECKING:
    from veladura.measures.exact import ExactFacts

ROLES_GUESSED = "roles and kinds of the columns were guessed"
ACCEPTED = "accepted with --accept-all; the holder gave no reason of their own"


@dataclass(frozen=True)
class ColumnQuestion:
    """One column to be confirmed, with the facts beside it.

    Attributes
    ----------
    why
        What the plan notes about it: the comment above its table.
    unique
        People who are unique by it alone.
    """

    name: str
    role: str
    kind: str
    why: str
    unique: int
    people: int


@dataclass(frozen=True)
class Answers:
    """How the holder answers; each function is asked one question at a time.

    Attributes
    ----------
    role
        Returns the role of a column.
    reason
        Returns why a column may be released exactly; "" to drop it instead.
    point
        Returns whether another open point is confirmed.
    """

    role: Callable[[ColumnQuestion], str]
    reason: Callable[[ExactFacts], str]
    point: Callable[[str], bool]


def accept_all(reason: str = ACCEPTED) -> Answers:
    """Return the answers of a script: every guess is right, every exact column may go."""
    return Answers(lambda question: question.role, lambda _: reason, lambda _: True)


def confirm(path: Path, answers: Answers) -> Plan:
    """Ask what is open in a plan, write the answers into it, and return it.

    Nothing is written until every question is answered. A plan with points that were not confirmed
    stays a draft.
    """
    draft = _Draft(path)
    draft.ask_roles(answers)
    draft.ask_reasons(answers)
    draft.ask_points(answers)
    draft.write()
    return read_plan(path)


class _Draft:
    """A plan while it is being confirmed: its text, and what the text should say."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.plan = read_plan(path)
        self.table = self.plan.open()
        refuse_unnamed(self.plan, self.table)
        self.text = self.plan.text if self.plan.text.endswith("\n") else f"{self.plan.text}\n"
        self.content: dict[str, Any] = tomllib.loads(self.text)
        self.answered: dict[str, str] = {}  # other roles than the plan had

    def ask_roles(self, answers: Answers) -> None:
        """Ask for the role of every column."""
        telling = Telling(self.table, next(iter(self.table.schema.of_role("person")), None))
        telling.count_ahead(self.table.names)
        for field in self.table.schema:
            question = ColumnQuestion(
                field.name,
                field.role,
                field.kind,
                comment_above(self.text, field.name),
                telling.alone([field.name]),
                telling.people,
            )
            if (role := answers.role(question)) != field.role:
                self._set(field.name, {"role": role})
        self._read_again()

    def ask_reasons(self, answers: Answers) -> None:
        """Ask about each exact column without a reason; a pair has the reasons of its columns."""
        facts = exact_in(self.plan, self.table)
        for fact in [fact for fact in facts.values() if len(fact.columns) == 1]:
            if reason_of(fact.columns, self.plan.columns):
                continue
            reason = answers.reason(fact).strip()
            self._set(fact.name, {"exact": reason} if reason else {"role": "dropped"})
        self._read_again()

    def ask_points(self, answers: Answers) -> None:
        """Ask about everything else that is open."""
        left = [
            point
            for point in self.plan.unconfirmed
            if point != ROLES_GUESSED and not answers.point(point)
        ]
        self.text = set_unconfirmed(self.text, left)
        if "unconfirmed" in self.content or left:
            self.content["unconfirmed"] = left

    def write(self) -> None:
        """Write the plan; with points left open its source counts as not confirmed."""
        confirmed = None
        if not self.content.get("unconfirmed"):
            confirmed = to_plain(confirmation_of(self.plan, self.table))
        self.text = set_confirmed(self.text, confirmed)
        self.content.pop("confirmed", None)
        self.content |= {} if confirmed is None else {"confirmed": confirmed}
        check_edit(self.text, self.content)
        write_private(self.path, self.text)

    def _set(self, name: str, settings: Mapping[str, str]) -> None:
        self.answered |= {name: settings["role"]} if "role" in settings else {}
        self.text = set_column(self.text, name, settings)
        self.content.setdefault("columns", {}).setdefault(name, {}).update(settings)

    def _tell_intruders(self) -> None:
        """Let intruders know what the answers say: nothing that is left out, every key."""
        if not self.answered or "intruder" not in self.content:
            return
        told = [_told(intruder, self.answered) for intruder in self.content["intruder"]]
        self.content["intruder"] = [intruder for intruder in told if intruder["knows"]]
        if not self.content["intruder"]:
            del self.content["intruder"]
        self.text = set_intruders(self.text, self.content.get("intruder", []))

    def _read_again(self) -> None:
        """Read the plan with the answers so far: another role may contradict a step."""
        self._tell_intruders()
        check_edit(self.text, self.content)
        self.plan = plan_in(self.text, self.path.parent)
        self.table = self.plan.open()
        refuse_unnamed(self.plan, self.table)


def _told(intruder: Mapping[str, Any], roles: Mapping[str, str]) -> dict[str, Any]:
    """Return an intruder who knows no column that is not released; a register knows new keys."""
    hidden = [name for name, role in roles.items() if role in (*NOT_RELEASED, *UNITS)]
    keys = [name for name, role in roles.items() if role in ("quasi-identifier", "geographic")]
    more = keys if intruder["name"] in (REGISTER, ACQUAINTANCE) else []
    knows = [name for name in dict.fromkeys([*intruder["knows"], *more]) if name not in hidden]
    within = {name: reach for name, reach in intruder.get("within", {}).items() if name in knows}
    plain = {key: value for key, value in intruder.items() if key != "within"}
    return {**plain, "knows": knows, **({"within": within} if within else {})}
