"""A series of releases: what was released before of the same people, and what a new one adds.

The custodian's home keeps, for every release of a series, a keyed hash of each person and of the
person's equivalence class, with k, the columns and the levels; no value. Each release may keep its
promise, and two together break it: people who share a class in one and another class in the other
are fewer than in either (intersection attack).
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.base.private_files import private_file, private_folder, write_private
from veladura.errors import DataError, GateError, PlanError
from veladura.table.codes import label_text
from veladura.table.database.scratch import custodian_home

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

KEY_FILE = "key"
_NAME = re.compile(r"[\w][\w .-]{0,80}")


@dataclass(frozen=True, eq=False)
class Entry:
    """A release of a series: who is in it, and in which class, as keyed hashes.

    Attributes
    ----------
    name, made
        The release and when it was made.
    k
        The promised size of classes.
    columns, levels
        The quasi-identifiers, and the level of each where one generalisation holds for all rows.
    person, group
        Hashes of the people of the release and of their classes, one a row.
    """

    name: str
    made: str
    k: int
    columns: tuple[str, ...]
    levels: dict[str, int]
    person: Ints = field(repr=False)
    group: Ints = field(repr=False)


@dataclass(frozen=True)
class Added:
    """What a new release adds to an older one of its series.

    Attributes
    ----------
    name, made, k
        The older release, and the smaller k of both.
    shared
        People who are in both.
    below, alone
        Of them those whose two classes together are shared by fewer than k people of both
        releases, and by nobody else.
    newcomers
        People of the new release only, fewer than k of whom joined a class that the older release
        has too: who subtracts the older counts finds them.
    levels
        The levels of the older release, for a new one that is consistent with it.
    """

    name: str
    made: str
    k: int
    shared: int
    below: int
    alone: int
    newcomers: int
    levels: dict[str, int]

    def __str__(self) -> str:
        told = (
            f"with {self.name!r} of {self.made[:10]}: {self.below:,} of {self.shared:,} people in"
            f" both are in groups of fewer than k = {self.k}, {self.alone:,} of them alone"
        )
        return told + (
            f"; {self.newcomers:,} newcomers stand out when counts are subtracted"
            if self.newcomers
            else ""
        )


def added(old: Entry, new: Entry) -> Added:
    """Return what a release adds to an older one: classes intersected, and people who joined."""
    k = min(old.k, new.k)
    classes = dict(zip(old.person.tolist(), old.group.tolist(), strict=True))
    before = [classes.get(person) for person in new.person.tolist()]
    both: dict[tuple[int, int], set[int]] = {}
    joined: dict[int, set[int]] = {}
    there = set(old.group.tolist())
    for person, was, group in zip(new.person.tolist(), before, new.group.tolist(), strict=True):
        if was is not None:
            both.setdefault((was, group), set()).add(person)
        elif group in there:
            joined.setdefault(group, set()).add(person)
    small: set[int] = set().union(*(people for people in both.values() if len(people) < k))
    alone: set[int] = set().union(*(people for people in both.values() if len(people) == 1))
    late: set[int] = set().union(*(people for people in joined.values() if len(people) < k))
    shared = len(set().union(*both.values())) if both else 0
    return Added(old.name, old.made, k, shared, len(small), len(alone), len(late), old.levels)


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
            person, group = (rows[name].to_numpy() for name in ("person", "group"))
            columns = tuple(about.pop("columns"))
            found.append(Entry(**about, columns=columns, person=person, group=group))
        return sorted(found, key=lambda entry: entry.made)

    def entry(self, release: Release, table: Table, name: str) -> Entry:
        """Return the entry of a new release.

        Parameters
        ----------
        table
            The source as it was opened, with its person or identifier columns.
        """
        promises = [p for p in release.promises if p.name.startswith("group-size")]
        if not promises or release.rows is None:
            msg = (
                "a series holds k-anonymous releases against each other, and this one promises no"
                " classes, or its rows are nobody's.\n\nHint: leave series out of [custodian]."
            )
            raise PlanError(msg)
        columns = tuple(promises[0].settings["columns"])
        data, rows = release.tables[0].table, np.asarray(release.tables[0].rows)
        key = self.key()
        texts = [[_text(v) for v in data.arrow.column(c).to_pylist()] for c in columns]
        group = [_hashed(key, values) for values in zip(*texts, strict=True)]
        person = np.array([_hashed(key, values) for values in _people(release, table)])
        levels: dict[str, int] = {}
        for step in release.steps:
            levels |= dict(step.settings.get("levels") or {})
        made = datetime.now(UTC).isoformat(timespec="microseconds")
        k = min(int(p.settings["k"]) for p in promises)
        return Entry(name, made, k, columns, levels, person[rows], np.array(group))

    def against(self, new: Entry) -> list[Added]:
        """Return what a new release adds to each of those before."""
        return [added(old, new) for old in self.entries()]

    def write(self, entry: Entry) -> Path:
        """Remember a release: hashes and settings, no values."""
        path = private_folder(self.folder) / f"{entry.made.replace(':', '')}.json"
        with private_file(path.with_suffix(".parquet")) as stream:
            pq.write_table(pa.table({"person": entry.person, "group": entry.group}), stream)
        about = {
            "name": entry.name,
            "made": entry.made,
            "k": entry.k,
            "columns": list(entry.columns),
            "levels": entry.levels,
        }
        write_private(path, json.dumps(about, indent=2) + "\n")
        return path


def refuse_broken(series: Series, results: Sequence[Added]) -> None:
    """Refuse a release that breaks, together with an older one, the promise of either."""
    broken = [result for result in results if result.below]
    if not broken:
        return
    worst = max(broken, key=lambda result: result.below)
    levels = ", ".join(f"{name} = {level}" for name, level in worst.levels.items())
    same = f"levels = {{{levels}}} in the k-anonymity step" if levels else "the same generalisation"
    lines = "".join(f"\n  - {result}" for result in broken)
    msg = (
        f"together with earlier releases of the series {series.name!r} this one breaks a promise:"
        f"{lines}\nNothing was released.\n\nHint: release the same generalisation as before"
        f" ({same}), a larger k, or columns that were released before only."
    )
    raise GateError(msg)


def _people(release: Release, table: Table) -> list[tuple[str, ...]]:
    """Return what identifies the person of each row of the source, as text."""
    source, original = table.fetched(), release.original
    names = source.schema.of_role("person") or source.schema.of_role("identifier")
    if not names:
        msg = (
            "a series needs to know who is in two releases.\n\nHint: declare the column that"
            ' identifies people: role = "person" or role = "identifier".'
        )
        raise PlanError(msg)
    shared = [] if original is None else [n for n in original.names if n in source.names]
    if original is None or not original.arrow.select(shared).equals(source.arrow.select(shared)):
        msg = "the rows of the release cannot be matched with those of its source."
        raise DataError(msg)
    columns = [[_text(v) for v in source.arrow.column(name).to_pylist()] for name in names]
    return list(zip(*columns, strict=True))


def _text(value: Any) -> str:
    return "" if value is None else f"={label_text(value)}"


def _hashed(key: bytes, values: Sequence[str]) -> int:
    """Return a keyed hash of some texts, as a signed whole number of 8 bytes."""
    joined = "\x1f".join(values).encode("utf-8")
    return int.from_bytes(blake2b(joined, digest_size=8, key=key).digest(), signed=True)
