"""One answer about one column."""

from __future__ import annotations

from dataclasses import dataclass

from veladura.table.schema import Kind, Role


@dataclass(frozen=True)
class Answer:
    """The role and kind of a column and the reason; no kind keeps that of the source."""

    role: Role
    why: str
    kind: Kind | None = None
    order: tuple[str, ...] = ()
