"""An earlier release that a new one goes on with: its rows, and how they were drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
