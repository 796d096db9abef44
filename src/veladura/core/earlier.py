"""An earlier release that a new one goes on with: its rows, and how they were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from veladura.errors import PlanError

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class Earlier:
    """A release that was handed out, as a method needs it to draw the rows that come next.

    Attributes
    ----------
    digest
        What it is known by: that of its checksums.
    tables
        Its datasets, with their released numbers of people and households.
    settings
        Those of its step, as its manifest has them.
    """

    digest: str
    tables: tuple[Table, ...] = field(repr=False)
    settings: Mapping[str, Any] = field(repr=False)


def refuse_extension(method: str) -> NoReturn:
    """Say that a method cannot extend an earlier release, and which one can."""
    msg = (
        f"the method {method!r} cannot extend an earlier release: only artificial people have rows"
        " of a new wave to add.\n\nHint: a panel of people or households is extended by the method"
        " 'households', alone in its plan."
    )
    raise PlanError(msg)
