"""Errors a user can act on.

VeladuraError            exit code 1
  InternalError          1   a mistake of veladura itself: neither plan nor table is at fault
  PlanError              2   a plan, a setting or a call is not valid
    ColumnError          2   a setting names columns the table does not have
    FolderError          2   a folder cannot be written, or is in the wrong place
    NotApplicable        2   a measure has no meaning for this release
  DataError              3   the table does not fit its schema, or cannot be read
  PromiseError           4   a released table breaks a promise of its manifest
  GateError              4   a release is outside a limit of its plan's gate
  BudgetError            5   a private draw costs more than is left of its privacy budget

A message says what is wrong, what was given and what to do. It names columns and counts, never
a value of the data: messages are outputs too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import ClassVar, Self

# What moves the cursor, hides or turns around text on a terminal; an end of line does not.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return a text with control characters written out: names may come from strangers.

    Examples
    --------
    >>> print(visible("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


class VeladuraError(Exception):
    """Base of every error this library raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        return visible(super().__str__())


class InternalError(VeladuraError):
    """A mistake of veladura itself: neither the plan nor the table is at fault."""


class VeladuraWarning(UserWarning):
    """Base of every warning this library gives: a text, and after an empty line what to do."""


class PlanError(VeladuraError):
    """A plan, a setting or a call is not valid."""

    exit_code = 2
    unknown_name = False  # whether it is about a name that this version does not have

    @classmethod
    def unknown(cls, what: str, got: str, possible: Iterable[str]) -> Self:
        """Return the error for a name that is not in a list, with the nearest one that is."""
        names = list(possible)
        near = get_close_matches(got, names, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"possible: {', '.join(map(repr, names))}."
        error = cls(f"{what} {got!r} is not known.\n\nHint: {hint}")
        error.unknown_name = True
        return error


class ColumnError(PlanError):
    """A setting names columns that the table does not have."""

    @classmethod
    def missing(cls, setting: str, names: Iterable[str], available: Sequence[str]) -> Self:
        """Return the error for column names that are not in the table."""
        absent = list(names)
        near = [m for name in absent for m in get_close_matches(name, available, n=1)]
        hint = f"did you mean {near}? " if near else ""
        return cls(
            f"{setting} names columns that are not in the table: {absent}.\n\nHint: {hint}the table"
            f" has {list(available)}."
        )


class FolderError(PlanError):
    """A folder cannot be written, or is in the wrong place."""


class NotApplicable(PlanError):  # noqa: N818  # nobody's fault: the figure does not exist here
    """A measure has no meaning for this release; the message gives the reason."""


class DataError(VeladuraError):
    """The table does not fit its schema, or cannot be read."""

    exit_code = 3


class PromiseError(VeladuraError):
    """A released table breaks a promise of its manifest."""

    exit_code = 4


class GateError(VeladuraError):
    """A release is outside a limit of its plan's gate."""

    exit_code = 4


class BudgetError(VeladuraError):
    """A private draw costs more than is left of its privacy budget; nothing was drawn."""

    exit_code = 5
