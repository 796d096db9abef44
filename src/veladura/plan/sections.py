"""The sections of a plan: source, release, custodian, utility, budget, run and confirmation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from veladura.base.memory import size_of
from veladura.errors import PlanError
from veladura.inference.formula import check_models
from veladura.release.files import Format
from veladura.table.files.dialect import Dialect
from veladura.table.parts import check_rows_per_file


@dataclass(frozen=True, kw_only=True)
class SourcePlan:
    """Where the table is, and how a CSV file is written.

    ``data_id`` is the holder's own number of the data: sources with the same one share a privacy
    budget, whatever their files are called. ``counts`` names the column of a table of counts that
    says how many people a row stands for.
    """

    path: str | None = None
    url: str | None = None
    table: str | None = None
    name: str | None = None
    data_id: str | None = None
    separator: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    quote: str | None = None
    missing: tuple[str, ...] | None = None
    counts: str | None = None

    def __post_init__(self) -> None:
        if (self.path is None) == (self.url is None):
            msg = "give either path (a file) or url (a database on a server)."
            raise PlanError(msg)

    def dialect(self) -> Dialect | None:
        """Return how the file is written, where the plan says so."""
        names = ("separator", "encoding", "decimal", "quote", "missing")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return Dialect(**given) if given else None


@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """Where the release goes, and in which format.

    ``table`` writes it into the database of the source as well. A dataset of more than
    ``rows_per_file`` rows is written in parts. Purpose, recipient and the two
    people who prepared and approved the release are for the manifest and the certificate.
    """

    folder: str = "release"
    format: Format = "parquet"
    table: str | None = None
    rows_per_file: int | None = None
    purpose: str = ""
    recipient: str = ""
    prepared_by: str = ""
    approved_by: str = ""

    def __post_init__(self) -> None:
        _check_path(self.folder)
        check_rows_per_file(self.rows_per_file)
        names = [" ".join(name.split()).casefold() for name in (self.prepared_by, self.approved_by)]
        if names[0] and names[0] == names[1]:
            msg = (
                "prepared_by and approved_by name the same person.\n\nHint: a second person"
                " approves the release, or approved_by stays empty."
            )
            raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class CustodianPlan:
    """Where the private record is kept, and the series of releases that this one continues.

    ``consistent``: whoever has not changed since the last release keeps the released values; a
    synthetic panel keeps the rows released then, and adds those of new waves. ``breaks_earlier``:
    the holder's reason to release what breaks, together with an earlier release or one for another
    recipient, what that one promised; the manifest has it.
    """

    folder: str | None = None
    series: str | None = None
    consistent: bool = False
    breaks_earlier: str = ""

    def __post_init__(self) -> None:
        _check_path(self.folder or "custodian")
        if self.breaks_earlier and not self.breaks_earlier.strip():
            msg = (
                "breaks_earlier is the reason why a promise may be broken; it is blank.\n\nHint:"
                " say why, or leave it out."
            )
            raise PlanError(msg)
        if self.consistent and not self.series:
            msg = (
                "consistent is about a series of releases, and none is named.\n\nHint: add series ="
                ' "NAME" to [custodian].'
            )
            raise PlanError(msg)


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """Seed, number of threads, and memory, as in ``"4 GiB"``. Results never depend on threads."""

    seed: int | None = None
    threads: int | None = None
    memory: str | None = None

    def __post_init__(self) -> None:
        if self.memory is not None:
            size_of(self.memory)


@dataclass(frozen=True, kw_only=True)
class UtilityPlan:
    """What the holder's analysts do: formulas whose slopes are compared, original and release."""

    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_models(self.models)


@dataclass(frozen=True, kw_only=True)
class BudgetPlan:
    """The privacy budget of this source over all runs; by default what this plan costs once.

    ``accept_noise`` lets a private step run that is expected to tell nothing about the data.
    """

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    accept_noise: bool = False


@dataclass(frozen=True, kw_only=True)
class ConfirmedPlan:
    """What the holder confirmed: when, and the shape that the source had then.

    ``columns`` holds the kind of each column, ``shape`` the hash of names, kinds and levels,
    ``levels`` a hash of each category of the columns that are released exactly.
    """

    date: str
    shape: str
    columns: Mapping[str, str]
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def _check_path(path: str) -> None:
    if not path.strip() or "\0" in path:
        msg = "the path of a folder is empty, or has a character that no path can have."
        raise PlanError(msg)
