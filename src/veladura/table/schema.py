"""Roles and kinds: what the data holder declares about each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import pyarrow as pa

from veladura.base.shapes import LONGEST_NAME
from veladura.errors import ColumnError, DataError, PlanError
from veladura.table.replication import Made

Role = Literal[
    "identifier",
    "dropped",
    "person",
    "household",
    "episode",
    "lookup",
    "quasi-identifier",
    "undecided",
    "other",
    "sensitive",
    "geographic",
    "weight",
    "replicate weight",
    "strata",
    "cluster",
    "harmless",
]
# What each role means, for those who decide on it.
ROLE_WORDS: Mapping[Role, str] = {
    "identifier": "tells who a row is: not released",
    "dropped": "not released for another reason, such as free text",
    "person": "number of a person with several rows: never released as it is",
    "household": "number of a household: never released as it is",
    "episode": "number of a visit or job of a person, with several rows: never released as it is",
    "lookup": "number of what several rows look up, as a hospital: never released as it is",
    "quasi-identifier": "an intruder may know it",
    "undecided": "nobody has said: counts as known to an intruder",
    "other": "nobody has said: counts as known to an intruder",
    "sensitive": "must not be learnt of a person",
    "geographic": "one of two coordinates of a place",
    "weight": "sampling weight; of several the first is used",
    "replicate weight": "weight of a replicate of the survey, for variances",
    "strata": "stratum of the survey design",
    "cluster": "cluster of the survey design",
    "harmless": "no intruder knows it, the holder says",
}
NOT_RELEASED = ("identifier", "dropped")
UNITS = ("person", "household", "episode", "lookup")
WEIGHTS = ("weight", "replicate weight")
Kind = Literal["category", "ordered", "integer", "number", "date", "text"]
LABELLED = ("category", "ordered", "text")
NUMERIC = ("integer", "number")


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the data holder declares about one column; every part is optional.

    Parameters
    ----------
    role
        What the column is for. An identifier is dropped from every release.
    kind
        How values are compared. By default it comes from the type of the column.
    order
        The categories of an ordered column, lowest first.
    format
        How a date is written in text, as in ``%d.%m.%Y``.
    labels
        The meaning of each value, for the codebook.
    missing
        Words that mean missing in this column, in addition to those of the whole source. A number
        such as "-9" means missing however the source stores it.
    exact
        The holder's reason why the column may be released as it is.
    replication
        How a replicate weight was made: "brr", "fay" (or "fay 0.3"), "jackknife" (JK1), "jkn",
        "jk2" or "bootstrap". By default it is recognised from the weights, where that is possible.
    """

    role: Role = "other"
    kind: Kind | None = None
    order: tuple[str, ...] = ()
    format: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    exact: str = ""
    replication: str = ""

    def __post_init__(self) -> None:
        for setting, value, possible in (
            ("role", self.role, get_args(Role)),
            ("kind", self.kind, get_args(Kind)),
        ):
            if value is not None and value not in possible:
                raise PlanError.unknown(setting, str(value), possible)
        if self.order and self.kind not in (None, "ordered"):
            msg = (
                f"order is for kind 'ordered', got kind {self.kind!r}.\n\nHint: declare kind"
                " 'ordered', or leave order out."
            )
            raise PlanError(msg)
        if self.format and self.kind not in (None, "date"):
            msg = (
                f"format is for kind 'date', got kind {self.kind!r}.\n\nHint: declare kind 'date',"
                " or leave format out."
            )
            raise PlanError(msg)
        if self.replication and self.role != "replicate weight":
            msg = (
                f"replication is for role 'replicate weight', got role {self.role!r}.\n\nHint:"
                " declare the role, or leave replication out."
            )
            raise PlanError(msg)
        if self.replication:
            Made.read(self.replication)
        if self.exact and not self.exact.strip():
            msg = (
                "exact is the reason why a column may be released as it is; it is blank.\n\nHint:"
                " say why, or leave exact out."
            )
            raise PlanError(msg)
        if len(set(self.order)) < len(self.order):
            msg = "order has a category more than once.\n\nHint: name each category once."
            raise PlanError(msg)


@dataclass(frozen=True)
class Field:
    """One column of an opened table: its name, declared meaning and storage type."""

    name: str
    kind: Kind
    type: pa.DataType
    role: Role = "other"
    order: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    replication: str = ""  # how a replicate weight was made


@dataclass(frozen=True)
class Schema:
    """The columns of a table, in order."""

    fields: tuple[Field, ...]

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __getitem__(self, name: str) -> Field:
        return self.fields[self.position(name)]

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return [field.name for field in self.fields]

    def position(self, name: str) -> int:
        """Return the position of a column, zero-based."""
        try:
            return self.names.index(name)
        except ValueError:
            setting = "the call"
            raise ColumnError.missing(setting, [name], self.names) from None

    def check(self, setting: str, names: Iterable[str]) -> None:
        """Refuse names that the table does not have; the message names the setting."""
        if absent := [name for name in names if name not in self.names]:
            raise ColumnError.missing(setting, absent, self.names)

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the columns of some kinds."""
        return [field.name for field in self.fields if field.kind in kinds]

    def of_role(self, *roles: str) -> list[str]:
        """Return the columns of some roles."""
        return [field.name for field in self.fields if field.role in roles]

    @property
    def person(self) -> str | None:
        """The column that says which person a row is about; None where every row is a person."""
        return next(iter(self.of_role("person")), None)

    @property
    def household(self) -> str | None:
        """The column that says which household a row is about, if there is one."""
        return next(iter(self.of_role("household")), None)

    @property
    def episode(self) -> str | None:
        """The column that says which visit or job of a person a row is about, if there is one."""
        return next(iter(self.of_role("episode")), None)

    def select(self, names: Sequence[str]) -> Schema:
        """Return the schema of some columns, in the given order."""
        return Schema(tuple(self[name] for name in names))


def check_kinds(schema: Schema, columns: Sequence[str], kinds: Sequence[str], hint: str) -> None:
    """Refuse names that the table does not have, and columns whose kinds a method cannot treat."""
    schema.check("columns", columns)
    if wrong := {name: schema[name].kind for name in columns if schema[name].kind not in kinds}:
        msg = (
            f"columns {list(wrong)} have kinds that this method does not support"
            f" ({', '.join(dict.fromkeys(wrong.values()))}); supported:"
            f" {', '.join(kinds)}.\n\nHint: {hint}"
        )
        raise PlanError(msg)


def check_names(names: Sequence[str]) -> None:
    """Refuse a table without columns, with a column without a name, or a name more than once."""
    if not names:
        msg = "the table has no columns.\n\nHint: check that the source is the one you meant."
        raise DataError(msg)
    if blank := [place for place, name in enumerate(names, start=1) if not name.strip()]:
        msg = (
            f"columns without a name, counted from the left: {blank}.\n\nHint: name them in the"
            " source; a release needs a name for every column."
        )
        raise DataError(msg)
    if any(len(name) > LONGEST_NAME for name in names):
        msg = (
            f"a column has a name of more than {LONGEST_NAME:,} characters.\n\nHint: shorten it in"
            " the source, and check that the first row holds the names."
        )
        raise DataError(msg)
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = (
            f"column names that occur more than once: {twice}.\n\nHint: rename them in the source."
        )
        raise DataError(msg)


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Kind], ...] = (
    (pa.types.is_string, "category"),
    (pa.types.is_large_string, "category"),
    (pa.types.is_string_view, "category"),
    (pa.types.is_boolean, "category"),
    (pa.types.is_null, "category"),
    (pa.types.is_integer, "integer"),
    (pa.types.is_floating, "number"),
    (pa.types.is_decimal, "number"),
    (pa.types.is_date, "date"),
    (pa.types.is_timestamp, "date"),
)


def kind_of(type_: pa.DataType) -> Kind | None:
    """Return the kind that a storage type suggests, or None for types that are not supported."""
    return next((kind for fits, kind in _KINDS if fits(type_)), None)


def storage_of(kind: Kind, type_: pa.DataType) -> pa.DataType:
    """Return the type in which files and databases hold a kind: every source gives the same."""
    if kind in LABELLED:
        return pa.string()
    if kind == "integer":
        return pa.int64()
    if kind == "number":
        return pa.float64()
    if pa.types.is_timestamp(type_):
        return pa.timestamp("us", tz="UTC" if type_.tz else None)
    return pa.date32()


def describe(
    declared: Mapping[str, Declared | Mapping[str, object] | str], names: Sequence[str]
) -> dict[str, Declared]:
    """Return declarations by column; a text is a kind, a mapping has settings of `Declared`."""
    if absent := [name for name in declared if name not in names]:
        setting = "columns"
        raise ColumnError.missing(setting, absent, names)
    full: dict[str, Declared] = {}
    for name, given in declared.items():
        if isinstance(given, Declared):
            full[name] = given
        elif isinstance(given, str):
            full[name] = Declared(kind=given)  # type: ignore[arg-type]  # checked in __post_init__
        else:
            settings = dict(given)
            if unknown := [key for key in settings if key not in Declared.__dataclass_fields__]:
                what = f"columns.{name}: setting"
                raise PlanError.unknown(what, unknown[0], Declared.__dataclass_fields__)
            settings["order"] = tuple(settings.get("order", ()))  # type: ignore[arg-type]
            settings["missing"] = tuple(map(str, settings.get("missing", ())))  # type: ignore[call-overload]
            full[name] = Declared(**settings)  # type: ignore[arg-type]
    return full
