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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.base.private_files import private_file, private_folder, write_private
from veladura.errors import DataError, GateError, PlanError
from veladura.release.earlier import promised_of
from veladura.release.intersected import Added, added, added_to_all
from veladura.table.codes import label_text
from veladura.table.database.scratch import custodian_home

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

KEY_FILE = "key"
KNOWN = ("quasi-identifier", "undecided", "other")
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
        Hashes of the people of the release and of their classes, one a row. Of a release without
        classes, of the people of its source and of what they hold in the columns.
    kind
        "classes", "rows" for synthetic or masked rows, or "private".
    alone
        Of released rows: hashes of what a single row of a dataset holds in the columns.
    epsilon
        Of a private release.
    folder, digest
        Where it was written, and the digest of its checksums: what the next one may extend.
    identity
        The columns that tell who is who; empty where entries are of one source.
    promised
        What it promises besides k of people: "counted", "diverse" and "models", as
        `veladura.release.earlier` reads them.
    home, values
        Hashes of the household and of sensitive values of each row, of the source of a new release:
        for a judgement of older promises, never written.
    source, whose
        The source of a new release and the person of each of its rows; never written.
    """

    name: str
    made: str
    k: int
    columns: tuple[str, ...]
    levels: dict[str, int]
    person: Ints = field(repr=False)
    group: Ints = field(repr=False)
    kind: str = "classes"
    alone: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)
    epsilon: float = 0.0
    folder: str = ""
    digest: str = ""
    identity: tuple[str, ...] = ()
    promised: dict[str, Any] = field(default_factory=dict)
    home: Ints | None = field(default=None, repr=False)
    values: dict[str, Ints] = field(default_factory=dict, repr=False)
    source: Table | None = field(default=None, repr=False)
    whose: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)


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


def has_classes(release: Release) -> bool:
    """Whether a release promises classes of people, and its rows are those of the source."""
    named = any(promise.name.startswith("group-size") for promise in release.promises)
    return named and release.rows is not None


def entry_of(
    release: Release, table: Table, name: str, key: bytes, *, same_source: bool = False
) -> Entry:
    """Return who is in a k-anonymous release, and in which class, as hashes with a key.

    Parameters
    ----------
    table
        The source as it was opened, with its person or identifier columns.
    """
    promises = [p for p in release.promises if p.name.startswith("group-size")]
    columns = tuple(promises[0].settings["columns"])
    data, rows = release.tables[0].table, np.asarray(release.tables[0].rows)
    texts = [[text_of(v) for v in data.arrow.column(c).to_pylist()] for c in columns]
    group = [hashed(key, values) for values in zip(*texts, strict=True)]
    person = _person_hashes(release, table, key, same_source=same_source)
    levels: dict[str, int] = {}
    for step in release.steps:
        levels |= dict(step.settings.get("levels") or {})
    made = datetime.now(UTC).isoformat(timespec="microseconds")
    k = min(int(p.settings["k"]) for p in promises)
    promised, source = promised_of(release), table.fetched()
    told = [*source.schema.of_role("sensitive"), *promised.get("diverse", {})]
    values = {n: _held(key, source.arrow, [n])[rows] for n in told if n in source.names}
    home = source.schema.household
    return Entry(
        name,
        made,
        k,
        columns,
        levels,
        person[rows],
        np.array(group),
        identity=identity_of(table),
        promised=promised,
        home=None if home is None else _held(key, source.arrow, [home])[rows],
        values=values,
        source=source,
        whose=person,
    )


def any_entry(
    release: Release, table: Table, name: str, key: bytes, *, same_source: bool = False
) -> Entry:
    """Return how a release is remembered: by its classes, by its rows, or by its epsilon.

    Parameters
    ----------
    same_source
        Whether entries are of one source, so that its rows tell who is who.
    """
    if has_classes(release):
        return entry_of(release, table, name, key, same_source=same_source)
    made = datetime.now(UTC).isoformat(timespec="microseconds")
    if release.rule.private:
        spent = [float(p.settings["epsilon"]) for p in release.promises if "epsilon" in p.settings]
        none = np.empty(0, dtype=np.int64)
        return Entry(name, made, 0, (), {}, none, none, kind="private", epsilon=sum(spent))
    return _entry_of_rows(release, table, name, made, key, same_source=same_source)


def _entry_of_rows(
    release: Release, table: Table, name: str, made: str, key: bytes, *, same_source: bool
) -> Entry:
    """Return who is in the source of synthetic or masked rows, and what single rows hold."""
    source = table.fetched()
    released = release.tables[0].table.names
    columns = tuple(n for n in source.schema.of_role(*KNOWN) if n in released)
    person = _person_hashes(release, table, key, same_source=same_source)
    alone: set[int] = set()
    for dataset in release.tables if columns else ():
        held = _held(key, dataset.table.arrow, columns)
        values, rows = np.unique(held, return_counts=True)
        alone |= set(values[rows == 1].tolist())
    own = _held(key, source.arrow, columns) if columns else np.zeros_like(person)
    single = np.array(sorted(alone), dtype=np.int64)
    identity = identity_of(table)
    return Entry(
        name, made, 0, columns, {}, person, own, kind="rows", alone=single, identity=identity
    )


def _held(key: bytes, rows: pa.Table, columns: Sequence[str]) -> Ints:
    texts = [[text_of(value) for value in rows.column(name).to_pylist()] for name in columns]
    return np.array([hashed(key, values) for values in zip(*texts, strict=True)], dtype=np.int64)


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


def _person_hashes(release: Release, table: Table, key: bytes, *, same_source: bool) -> Ints:
    """Return a hash of the person of each row of the source."""
    if same_source and not identity_of(table):
        return np.arange(table.rows, dtype=np.int64)
    return np.array([hashed(key, values) for values in people_of(release, table)], dtype=np.int64)


def identity_of(table: Table) -> tuple[str, ...]:
    """Return the columns that say who a row is about: the person's number, or identifiers."""
    return tuple(table.schema.of_role("person") or table.schema.of_role("identifier"))


def people_of(release: Release, table: Table) -> list[tuple[str, ...]]:
    """Return what identifies the person of each row of the source, as text."""
    source, original = table.fetched(), release.original
    names = identity_of(source)
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
    columns = [[text_of(v) for v in source.arrow.column(name).to_pylist()] for name in names]
    return list(zip(*columns, strict=True))


def text_of(value: Any) -> str:
    """Return a value as text that tells an empty one from none."""
    return "" if value is None else f"={label_text(value)}"


def hashed(key: bytes, values: Sequence[str]) -> int:
    """Return a keyed hash of some texts, as a signed whole number of 8 bytes."""
    joined = "\x1f".join(values).encode("utf-8")
    return int.from_bytes(blake2b(joined, digest_size=8, key=key).digest(), signed=True)
