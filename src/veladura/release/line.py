"""One claim of a release folder, with the result of its check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["holds", "broken", "attested", "draft"]


@dataclass(frozen=True)
class Line:
    """One claim, whether it holds, and a detail."""

    claim: str
    status: Status
    detail: str = ""


def few(texts: Sequence[str], most: int = 5) -> str:
    """Return some texts as one, the number of the others where there are many.

    Examples
    --------
    >>> few(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more
