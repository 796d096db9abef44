"""veladura confirm in the terminal: one decision at a time, with the facts beside it."""

from __future__ import annotations

from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, get_args

import typer

from veladura.cli.show import say
from veladura.plan.accounting import in_words
from veladura.plan.confirm import Answers, ColumnQuestion
from veladura.table.schema import Role

if TYPE_CHECKING:
    from veladura.measures.exact import ExactFacts

DROP = "drop"
_WIDEST = 100


class Asked:
    """The holder at the terminal."""

    def __init__(self) -> None:
        self.rest_accepted = False

    def role(self, question: ColumnQuestion) -> str:
        """Ask for the role of a column; Enter accepts the one in the plan."""
        if self.rest_accepted:
            return question.role
        say(f"\n{question.name}", quiet=False)
        say(f"  role {question.role}, kind {question.kind}", quiet=False)
        for line in question.why.splitlines():
            say(_wrapped(line), quiet=False)
        alone = f"{question.unique:,} of {question.people:,} people are unique by it alone"
        say(_wrapped(alone), quiet=False)
        while True:
            ask = "  role (Enter: as it is; all: this and the rest)"
            answer = typer.prompt(ask, "", show_default=False).strip()
            if answer in ("", "all"):
                self.rest_accepted = answer == "all"
                return question.role
            if answer in get_args(Role):
                return str(answer)
            say(f"  Not a role. The roles are: {', '.join(get_args(Role))}.", quiet=False)

    def reason(self, fact: ExactFacts) -> str:
        """Ask why a column may be released exactly; an empty answer is asked again."""
        say(f"\n{fact.name} is released exactly: {in_words(fact)}.", quiet=False)
        while True:
            answer = typer.prompt(f"  Why may it be? (or: {DROP})", "", show_default=False).strip()
            if answer:
                return "" if answer == DROP else str(answer)
            say("  A reason is needed. It is shown on the certificate.", quiet=False)

    def point(self, point: str) -> bool:
        """Ask about another open point."""
        say(f"\n{point}", quiet=False)
        return bool(typer.confirm("  Is this right?", default=True))


def _wrapped(text: str) -> str:
    """Return a text in lines that fit the terminal, indented."""
    width = min(get_terminal_size().columns, _WIDEST)
    return fill(text, width, initial_indent="  ", subsequent_indent="  ")


def answers() -> Answers:
    """Return the answers that the holder types."""
    asked = Asked()
    return Answers(asked.role, asked.reason, asked.point)
