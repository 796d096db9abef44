"""Where a release stands: what its holder has confirmed, and which columns are exact and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Status = Literal["draft", "confirmed"]


@dataclass(frozen=True)
class ExactColumn:
    """A column, or a pair of coordinates, that is released exactly.

    Attributes
    ----------
    reason
        The holder's reason; empty while there is none.
    unique
        People in the release who are unique by it alone; None where nobody counted.
    gives_back
        The protected columns whose original values follow from it.
    """

    name: str
    reason: str = ""
    unique: int | None = None
    gives_back: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the manifest holds it."""
        return {**asdict(self), "gives_back": list(self.gives_back)}


@dataclass(frozen=True)
class LoosenedLimit:
    """A limit that holds by default, which the holder loosened, and why.

    Attributes
    ----------
    limit, default
        What the plan allows, and what holds by default, in words.
    """

    figure: str
    limit: str
    default: str
    reason: str


@dataclass(frozen=True)
class Standing:
    """What the plan of a release says of it as a whole.

    Attributes
    ----------
    unconfirmed
        The points that its holder has not confirmed, in words. While there is one, the release is
        a draft.
    exact
        The columns that are released exactly.
    purpose, recipient
        What the release is for, and who gets it.
    prepared_by, approved_by
        The people who answer for it.
    made
        The day it was made, as in 2026-11-16.
    loosened
        The limits that the holder loosened.
    """

    unconfirmed: tuple[str, ...] = ()
    exact: tuple[ExactColumn, ...] = ()
    purpose: str = ""
    recipient: str = ""
    made: str = ""
    loosened: tuple[LoosenedLimit, ...] = ()
    prepared_by: str = ""
    approved_by: str = ""

    @property
    def status(self) -> Status:
        """Whether everything is confirmed."""
        return "draft" if self.unconfirmed else "confirmed"

    def to_json(self) -> dict[str, Any]:
        """Return it as the manifest holds it."""
        names = ("purpose", "recipient", "prepared_by", "approved_by", "made")
        texts = {name: getattr(self, name) for name in names}
        return {
            "status": self.status,
            "unconfirmed": list(self.unconfirmed),
            "exact": [column.to_json() for column in self.exact],
            **({"loosened": [asdict(limit) for limit in self.loosened]} if self.loosened else {}),
            **{key: text for key, text in texts.items() if text},
        }
