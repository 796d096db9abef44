"""A series of releases: what was released before of the same people, and what a new one adds.

The custodian's home keeps, for every release of a series, a keyed hash of each person and of the
person's equivalence class, with k, the columns and the levels; no value. Each release may keep its
promise, and two together break it: people who share a class in one and another class in the other
are fewer than in either (intersection attack).

A release without classes promises nothing of groups; what two of them tell together is counted
(`veladura.release.repeated`), and refused where it breaks the k of an older one. Private releases
add up their epsilon.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from veladura.errors import GateError, PlanError
from veladura.release.entry import Entry, any_entry
from veladura.release.intersected import added, added_to_all
from veladura.release.register import Register
from veladura.table.database.scratch import custodian_home

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

__all__ = ["Entry", "Series", "Together", "refuse_broken", "together"]

_NAME = re.compile(r"[\w][\w .-]{0,80}")


class Together(Protocol):
    """What two releases tell together; its text says it in numbers of people."""

    @property
    def broken(self) -> int:
        """People for whom a promise is broken; none where nothing of groups was promised."""

    @property
    def worth_saying(self) -> bool:
        """Whether the holder should hear of it though nothing is broken."""

    @property
    def hint(self) -> str:
        """What the holder can do beforehand where nothing is broken, for the end of a warning."""

    @property
    def remedy(self) -> str:
        """What the holder can do where a promise is broken."""


@dataclass(frozen=True)
class Series:
    """The releases of one register or survey, by the name that plans give it."""

    name: str
    home: Path | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            msg = (
                f"series ({self.name!r}) must be a short name of letters, figures, spaces and"
                " hyphens, such as 'labour survey'."
            )
            raise PlanError(msg)

    @property
    def folder(self) -> Path:
        """Where its entries are kept."""
        return (self.home or custodian_home()) / "series" / self.name

    @property
    def register(self) -> Register:
        """The files of its entries."""
        return Register(self.folder)

    def key(self) -> bytes:
        """Return the key of its hashes, made with the first release."""
        return self.register.key()

    def entries(self) -> list[Entry]:
        """Return the releases so far, oldest first."""
        return self.register.read()

    def others(self) -> list[str]:
        """Return the names of other series that have releases."""
        home = self.folder.parent
        folders = sorted(home.iterdir()) if home.exists() else []
        return [f.name for f in folders if f.name != self.name and any(f.glob("*.json"))]

    def entry(self, release: Release, table: Table, name: str) -> Entry:
        """Return the entry of a new release.

        Parameters
        ----------
        table
            The source as it was opened, with its person or identifier columns.
        """
        entry = any_entry(release, table, name, self.key())
        if entry.kind == "rows" and not entry.columns:
            msg = (
                "a series needs to know what an intruder knows of people.\n\nHint: declare it:"
                ' role = "quasi-identifier".'
            )
            raise PlanError(msg)
        return entry

    def against(self, new: Entry, beside: Sequence[Entry] = ()) -> list[Together]:
        """Return what a new release adds to each of those before, and to all of them.

        Parameters
        ----------
        beside
            Others of the same day, which are not written yet.
        """
        before = [*self.entries(), *beside]
        if new.kind != "private":
            from veladura.release.repeated import joined, joined_through

            _refuse_others(self, before, new)
            joint = added_to_all([old for old in before if old.kind == "classes"], new)
            by_rows = [joined(old, new) for old in before]
            found = [*by_rows, *joined_through(before, new)]
            told = [together(old, new) for old in before]
            return [*told, *(one for one in (joint, *found) if one is not None)]
        private = [old for old in before if old.kind == "private"]
        if not private:
            return []
        from veladura.release.repeated import Repeated

        epsilon = sum(old.epsilon for old in (*private, new))
        delta = sum(old.delta for old in (*private, new))
        if len(private) == 1:
            return [Repeated(private[0].name, private[0].made, epsilon=epsilon, delta=delta)]
        name = f"{private[-1].name} and {len(private) - 1:,} more"
        return [Repeated(name, private[-1].made, epsilon=epsilon, delta=delta)]

    def write(self, entry: Entry) -> None:
        """Remember a release: hashes and settings, no values."""
        self.register.write(entry)


def together(old: Entry, new: Entry) -> Together:
    """Return what two releases tell together, as far as it can be counted."""
    from veladura.release.repeated import repeated

    if old.kind == new.kind == "classes":
        return added(old, new)
    return repeated(old, new)


def _refuse_others(series: Series, before: Sequence[Entry], new: Entry) -> None:
    """Refuse a release whose people are told by other columns: nobody would be in two releases."""
    other = [old for old in before if old.identity and set(old.identity) != set(new.identity)]
    if other:
        then, here = sorted(other[-1].identity), sorted(new.identity)
        msg = (
            f"people are told by {here} here, and by {then} in {other[-1].name!r} of the series"
            f" {series.name!r}: nobody can say who is in both.\n\nHint: give the columns that"
            ' identified people then the role "person" or "identifier", and no other; what is not'
            ' to be released can have the role "dropped". If a column has another name now, give'
            " it the name of then in the source."
        )
        raise PlanError(msg)


def refuse_broken(series: Series, results: Sequence[Together], accepted: str = "") -> list[str]:
    """Refuse a release that breaks, together with an older one, what that one promised.

    Parameters
    ----------
    accepted
        The holder's reason why it is released all the same.

    Returns
    -------
    What is broken and accepted, in numbers of people.
    """
    broken = [result for result in results if result.broken]
    if accepted or not broken:
        return [str(result) for result in broken]
    worst = max(broken, key=lambda result: result.broken)
    lines = "".join(f"\n  - {result}" for result in broken)
    msg = (
        f"together with earlier releases of the series {series.name!r} this one breaks a promise:"
        f"{lines}\nNothing was released.\n\nHint: {worst.remedy}; or accept it with a reason:"
        ' [custodian] breaks_earlier = "..."'
    )
    raise GateError(msg)
