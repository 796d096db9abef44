"""What a click gives back: new HTML, a sentence, or an error at its field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from veladura.errors import PlanError

Form = Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """The answer to a click.

    Attributes
    ----------
    say
        One sentence for the line of messages.
    html, target
        New content of one part of the page; without them the room is shown again.
    go
        The room to go to.
    """

    say: str = ""
    html: str = ""
    target: str = ""
    go: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it as the page reads it."""
        return {key: value for key, value in vars(self).items() if value}


class FieldError(PlanError):
    """An error that belongs to one field of a form."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def text(form: Form, name: str) -> str:
    """Return one text of a form; empty where it was not given."""
    value = form.get(name, "")
    return value.strip() if isinstance(value, str) else ""


def texts(form: Form, name: str) -> list[str]:
    """Return all values of a field with several, such as ticked boxes."""
    value = form.get(name, [])
    given: Sequence[Any] = [value] if isinstance(value, str) else value
    return [item for item in given if isinstance(item, str)]


def required(form: Form, name: str, what: str) -> str:
    """Return a text that must be given."""
    if not (value := text(form, name)):
        raise FieldError(name, f"{what} is missing.")
    return value
