"""How a series remembers a release: who is in it, and in which class, as keyed hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from decimal import Decimal
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Ints
from veladura.errors import DataError, PlanError
from veladura.release.earlier import promised_of
from veladura.table.codes import label_text

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

KNOWN = ("quasi-identifier", "undecided", "other")


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
    epsilon, delta
        Of a private release.
    exact, drawn
        The columns that were released exactly, and those of people's own rows that were replaced or
        masked.
    shown
        Hashes of the released values of both, one a row of ``person``, in the first dataset: by
        equal values rows of two releases are linked. None where no released row is a person's.
    before
        How many releases of the series it was held against.
    folder, digest
        Where it was written, and the digest of its checksums: what the next one may extend.
    identity
        The columns that tell who is who; empty where entries are of one source.
    outside
        Hashes of what suppressed rows hold that stay as ``*``: they are no class of anybody.
    known
        Columns beside the quasi-identifiers that intruders may know.
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
    delta: float = 0.0
    exact: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    shown: dict[str, Ints] = field(default_factory=dict, repr=False)
    before: int = 0
    folder: str = ""
    digest: str = ""
    identity: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    outside: tuple[int, ...] = ()
    promised: dict[str, Any] = field(default_factory=dict)
    home: Ints | None = field(default=None, repr=False)
    values: dict[str, Ints] = field(default_factory=dict, repr=False)
    source: Table | None = field(default=None, repr=False)
    whose: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    @property
    def known_exact(self) -> tuple[str, ...]:
        """The columns that intruders may know and that are released as they are."""
        return tuple(n for n in self.exact if n in self.columns or n in self.known)


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
        outside=_outside(promises[0].settings, key),
        known=tuple(n for n in source.schema.of_role(*KNOWN) if n not in columns),
        promised=promised,
        exact=release.exact,
        drawn=_drawn(release),
        shown={n: _held(key, data.arrow, [n]) for n in (*release.exact, *_drawn(release))},
        home=None if home is None else _held(key, source.arrow, [home])[rows],
        values=values,
        source=source,
        whose=person,
    )


def _outside(settings: Mapping[str, Any], key: bytes) -> tuple[int, ...]:
    """Return the hash of what a starred row holds, if rows are starred."""
    if not settings.get("starred"):
        return ()
    blank = settings.get("blank", ())
    return (hashed(key, [text_of(None if n in blank else "*") for n in settings["columns"]]),)


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
        epsilon, delta = (
            sum(float(p.settings[which]) for p in release.promises if which in p.settings)
            for which in ("epsilon", "delta")
        )
        none = np.empty(0, dtype=np.int64)
        return Entry(
            name, made, 0, (), {}, none, none, kind="private", epsilon=epsilon, delta=delta
        )
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
    own_rows = release.tables[0].rows is not None
    return Entry(
        name,
        made,
        0,
        columns,
        {},
        person,
        own,
        kind="rows",
        alone=single,
        exact=release.exact if own_rows else (),
        drawn=_drawn(release) if own_rows else (),
        shown=_shown(release, source.rows, key) if own_rows else {},
        identity=identity_of(table),
    )


def _drawn(release: Release) -> tuple[str, ...]:
    """Return the columns that were replaced or masked, other than the quasi-identifiers."""
    names, classed = release.tables[0].table.names, release.quasi_identifiers
    return tuple(n for n in names if n in release.changed and n not in classed)


def _shown(release: Release, size: int, key: bytes) -> dict[str, Ints]:
    """Return hashes of released values, by row of the source."""
    dataset, shown = release.tables[0], {}
    for name in (*release.exact, *_drawn(release)):
        shown[name] = np.zeros(size, dtype=np.int64)
        shown[name][np.asarray(dataset.rows)] = _held(key, dataset.table.arrow, [name])
    return shown


def _held(key: bytes, rows: pa.Table, columns: Sequence[str]) -> Ints:
    texts = [[text_of(value) for value in rows.column(name).to_pylist()] for name in columns]
    return np.array([hashed(key, values) for values in zip(*texts, strict=True)], dtype=np.int64)


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
    """Return a value as text that tells an empty one from none.

    Equal values of different types have one text: a column may be of whole numbers in one year and
    of decimals in the next, or of days and then of times.
    """
    if isinstance(value, float | Decimal) and value == value // 1:
        value = int(value)
    elif isinstance(value, Decimal):
        value = float(value)
    elif isinstance(value, datetime) and value.tzinfo is None and value.time() == time():
        value = value.date()
    return "" if value is None else f"={label_text(value)}"


def hashed(key: bytes, values: Sequence[str]) -> int:
    """Return a keyed hash of some texts, as a signed whole number of 8 bytes."""
    joined = "\x1f".join(values).encode("utf-8")
    return int.from_bytes(blake2b(joined, digest_size=8, key=key).digest(), signed=True)
