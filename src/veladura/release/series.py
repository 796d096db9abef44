"""A series of releases: what was released before of the same people, and what a new one adds.

The custodian's home keeps, for every release of a series, a keyed hash of each person and of the
person's equivalence class, with k, the columns and the levels; no value. Each release may keep its
promise, and two together break it: people who share a class in one and another class in the other
are fewer than in either (intersection attack).

A release without classes promises nothing of groups, so nothing is refused; what two of them tell
together is counted (`veladura.release.repeated`). Private releases add up their epsilon.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.private_files import private_file, private_folder, write_private
from veladura.errors import GateError, PlanError
from veladura.release.entry import Entry, any_entry
from veladura.release.intersected import Added, added, added_to_all
from veladura.table.database.scratch import custodian_home

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

__all__ = ["Entry", "Series", "Together", "refuse_broken", "together"]

KEY_FILE = "key"
_NAME = re.compile(r"[\w][\w .-]{0,80}")


class Together(Protocol):
    """What two releases tell together; its text says it in numbers of people."""

    @property
    def broken(self) -> int:
        """People for whom a promise is broken; none where nothing of groups was promised."""


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

    def key(self) -> bytes:
        """Return the key of its hashes, made with the first release."""
        path = private_folder(self.folder) / KEY_FILE
        if not path.exists():
            write_private(path, secrets.token_hex(32))
        return bytes.fromhex(path.read_text(encoding="utf-8"))

    def entries(self) -> list[Entry]:
        """Return the releases so far, oldest first."""
        found = []
        for path in sorted(self.folder.glob("*.json")) if self.folder.exists() else []:
            about = json.loads(path.read_text(encoding="utf-8"))
            rows = pq.read_table(path.with_suffix(".parquet"))
            arrays = {name: rows[name].drop_null().to_numpy() for name in rows.column_names}
            columns, identity = tuple(about.pop("columns")), tuple(about.pop("identity", ()))
            found.append(Entry(**about, columns=columns, identity=identity, **arrays))
        return sorted(found, key=lambda entry: entry.made)

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

    def against(self, new: Entry) -> list[Together]:
        """Return what a new release adds to each of those before, and to all of them."""
        before = self.entries()
        if new.kind != "private":
            _refuse_others(self, before, new)
            joint = added_to_all([old for old in before if old.kind == "classes"], new)
            return [*(together(old, new) for old in before), *([joint] if joint else [])]
        private = [old for old in before if old.kind == "private"]
        if not private:
            return []
        from veladura.release.repeated import Repeated

        spent = sum(old.epsilon for old in private) + new.epsilon
        last = private[-1]
        return [Repeated(f"{len(private)} private releases", last.made, epsilon=spent)]

    def write(self, entry: Entry) -> Path:
        """Remember a release: hashes and settings, no values."""
        path = private_folder(self.folder) / f"{entry.made.replace(':', '')}.json"
        arrays = {"person": entry.person, "group": entry.group}
        if entry.kind == "rows":
            arrays["alone"] = entry.alone
        longest = max(array.size for array in arrays.values())
        padded = {
            name: pa.concat_arrays(
                [pa.array(array, pa.int64()), pa.nulls(longest - array.size, pa.int64())]
            )
            for name, array in arrays.items()
        }
        with private_file(path.with_suffix(".parquet")) as stream:
            pq.write_table(pa.table(padded), stream)
        about = {
            "name": entry.name,
            "made": entry.made,
            "k": entry.k,
            "columns": list(entry.columns),
            "levels": entry.levels,
            "kind": entry.kind,
            "epsilon": entry.epsilon,
            "folder": entry.folder,
            "digest": entry.digest,
            "identity": list(entry.identity),
            "promised": entry.promised,
        }
        write_private(path, json.dumps(about, indent=2) + "\n")
        return path


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
            ' to be released can have the role "dropped".'
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
    broken = [result for result in results if isinstance(result, Added) and result.broken]
    if accepted or not broken:
        return [str(result) for result in broken]
    worst = max(broken, key=lambda result: result.broken)
    levels = ", ".join(f"{name} = {level}" for name, level in worst.levels.items())
    same = f"levels = {{{levels}}} in the k-anonymity step" if levels else "the same generalisation"
    lines = "".join(f"\n  - {result}" for result in broken)
    msg = (
        f"together with earlier releases of the series {series.name!r} this one breaks a promise:"
        f"{lines}\nNothing was released.\n\nHint: release the same generalisation as before"
        f" ({same}), the k that was promised then (k = {worst.k}) or a larger one, or columns that"
        ' were released before only; or accept it with a reason: [custodian] breaks_earlier = "..."'
    )
    raise GateError(msg)
