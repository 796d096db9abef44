"""Recipe, fitted, sample: the one shape of every method, and the release it gives."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from veladura.base.context import Charges, Context, Progress, silent, thread_count
from veladura.base.streams import Streams
from veladura.core.promise import Evidence, Promise, Proof, prove
from veladura.errors import PromiseError

if TYPE_CHECKING:
    from veladura.inference.analysis import Analysis
    from veladura.inference.combined import Combined
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

R = TypeVar("R", bound="Recipe")
Rule = Literal["none", "partial", "full", "single", "posterior", "private"]
PRIVATE = (
    "posterior",
    "private",
)  # differentially private: figures of the data are the custodian's, gates are refused


@dataclass(frozen=True, eq=False)
class Draw:
    """One dataset as a method draws it, rows in the canonical order of the codes it was given.

    Attributes
    ----------
    columns
        The columns that were replaced; of the kept rows only.
    kept
        Which rows of the codes are released, in order; None for all of them.
    linked
        False when the rows are new ones: then every column must be given.
    rows
        Where each of the codes stands in the table, from a fitted object that keeps no codes
        itself.
    table
        The dataset as a lazy table, recoded where the data lives; nothing else is given then.
    """

    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    kept: NDArray[np.int64] | None = field(default=None, repr=False)
    linked: bool = True
    rows: NDArray[np.int64] | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """What to do to a table: settings only, checked when they are given.

    A method is a frozen keyword-only dataclass with a ``method`` name, an ``apply`` that returns
    a `Fitted`, and a ``suggest`` that fills in its settings for a table nobody has seen.
    """

    method: ClassVar[str]
    synthesizes: ClassVar[bool] = False  # whether it sets the combining rule of a chain
    random: ClassVar[bool] = True  # whether the seed moves anything
    private: ClassVar[bool] = (
        False  # differentially private: takes the system's entropy and charges a ledger
    )
    inside: ClassVar[bool] = (
        False  # whether it works where the data lives: rows of a file or database are never fetched
    )
    seedable: ClassVar[bool] = True  # False where the noise comes from a library that takes no seed
    needs: ClassVar[tuple[str, ...]] = ()  # modules of an extra, without which it cannot run
    declared_by_holder: ClassVar[tuple[str, ...]] = ()  # settings no one but the holder can know
    proposed: ClassVar[
        tuple[str, ...]
    ] = ()  # settings that `veladura init` reads off the table, for the holder to confirm

    def __post_init__(self) -> None:
        for f in fields(
            self
        ):  # lists are what people type, tuples are what stays as it was checked
            if isinstance(value := getattr(self, f.name), list):
                object.__setattr__(self, f.name, tuple(value))

    def protect(
        self,
        table: Any,
        seed: int | Streams | None = None,
        *,
        threads: int | None = None,
        progress: Progress = silent,
        ledger: Charges | None = None,
        unsafe_repeatable: bool = False,
    ) -> Release:
        """Return a release of the table: fit, then sample, from one seed.

        A differentially private draw is charged to the ledger first. It takes no seed, unless
        ``unsafe_repeatable`` says that the run is a test and no release.
        """
        context = _context(seed, threads, progress, ledger, unsafe_repeatable)
        return self._fit(table, context).draw(context)

    def fit(
        self,
        table: Any,
        seed: int | Streams | None = None,
        *,
        threads: int | None = None,
        progress: Progress = silent,
        unsafe_repeatable: bool = False,
    ) -> Fitted[Any]:
        """Return what the method has learnt from the table. It holds original values."""
        return self._fit(table, _context(seed, threads, progress, None, unsafe_repeatable))

    def _fit(self, table: Any, context: Context) -> Fitted[Any]:
        from veladura.table.source import open as open_table

        opened = open_table(table).without_identifiers()
        return self.apply(opened.fetched() if self.reads_rows() else opened, context)

    def reads_rows(self) -> bool:
        """Whether the method looks at single rows; if not, a file or database is only counted."""
        return not (self.inside or self.private)

    @abstractmethod
    def apply(self, table: Table, context: Context) -> Fitted[Any]:
        """Return the fitted method for a prepared table."""

    @classmethod
    @abstractmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:
        """Return settings that run on a table, from its declared schema and counts about its columns."""

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Return settings that run on an opened table; for methods whose plan must propose values to be confirmed."""
        return cls.suggest(table.schema, facts)

    def treats_rows_alone(self) -> bool:
        """Whether each row is treated by itself with declared settings: only that may come before a private step."""
        return False

    def settings(self) -> dict[str, Any]:
        """Return the settings that may be told to the recipient: those not marked private."""
        return {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)
            if not f.metadata.get("private")
        }


@dataclass(frozen=True, eq=False, repr=False)
class Fitted(ABC, Generic[R]):
    """A method fitted to a table, ready to draw. Holds original values: its repr shows none."""

    recipe: R
    table: Table
    codes: Codes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.recipe!r})"

    def sample(
        self,
        seed: int | Streams | None = None,
        *,
        threads: int | None = None,
        progress: Progress = silent,
        ledger: Charges | None = None,
        unsafe_repeatable: bool = False,
    ) -> Release:
        """Return a release drawn from the fitted method; a private one is charged again at every call."""
        return self.draw(_context(seed, threads, progress, ledger, unsafe_repeatable))

    def draw(self, context: Context) -> Release:
        """Return a release drawn from the streams of a context, its promises proved."""
        draws = self.draws(context)
        datasets = tuple(_dataset(self.table, self.codes, draw) for draw in draws)
        step = Step(self.recipe.method, self.told(), self.changed())
        release = Release(
            datasets,
            self.table,
            (step,),
            self.promises(),
            self.rule(),
            self.recipe,
            context.streams,
            pictures=(self.pictures,),
            public_pictures=(self.public_pictures,),
        )
        release.prove()
        return release

    @abstractmethod
    def draws(self, context: Context) -> Sequence[Draw]:
        """Return the datasets, as arrays."""

    @abstractmethod
    def changed(self) -> tuple[str, ...]:
        """Return the columns whose values the method replaces."""

    def promises(self) -> tuple[Promise, ...]:
        """Return what the release may claim."""
        return ()

    def told(self) -> dict[str, Any]:
        """Return what the manifest tells of the method: its public settings by default."""
        return self.recipe.settings()

    def pictures(self) -> Mapping[str, bytes | str]:
        """Return pictures for the custodian's page by title: SVG, or text that is shown as it is."""
        return {}

    def public_pictures(self) -> Mapping[str, bytes]:
        """Return pictures for the recipient's page, as SVG by title: of released values, and nothing else of the original."""
        return {}

    def rule(self) -> Rule:
        """Return the combining rule an analyst must use."""
        return "none"


@dataclass(frozen=True)
class Step:
    """One method as the manifest tells it."""

    method: str
    settings: Mapping[str, Any]
    changed: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Dataset:
    """One released table, in the order of the input, and its link to the original rows.

    A table that was recoded where the data lives is lazy: it has neither link nor order.
    """

    table: Table
    rows: NDArray[np.int64] | None = field(
        default=None, repr=False
    )  # original row of each released row
    order: NDArray[np.int64] | None = field(
        default=None, repr=False
    )  # released rows in the canonical order

    def fetched(self) -> Any:
        """Return the rows; those of a lazy table are read and not kept."""
        return self.table.read()


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """m released datasets with what may be told of them.

    Attributes
    ----------
    datasets
        The released frames, of the type that came in.
    rows
        Which input row each released row is; None without such a link. Never saved in a package.
    manifest
        What an analyst needs to know, as it is written to ``manifest.json``.
    """

    tables: tuple[Dataset, ...] = field(repr=False)
    original: Table | None = field(repr=False)
    steps: tuple[Step, ...]
    promises: tuple[Promise, ...]
    rule: Rule
    recipe: Recipe | None = None
    streams: Streams | None = field(default=None, repr=False)
    told: Mapping[str, Any] = field(
        default_factory=dict, repr=False
    )  # the manifest of a loaded package
    pictures: tuple[Callable[[], Mapping[str, bytes | str]], ...] = field(
        default=(), repr=False
    )  # drawn when the custodian's page is made
    public_pictures: tuple[Callable[[], Mapping[str, bytes]], ...] = field(
        default=(), repr=False
    )  # for both pages

    def __repr__(self) -> str:
        steps = " then ".join(step.method for step in self.steps)
        return (
            f"Release({steps}, datasets={len(self.tables)}, rule={self.rule!r},"
            f" promises={len(self.promises)})"
        )

    @cached_property
    def datasets(self) -> list[Any]:
        """The released frames, of the type that came in (pandas for files and databases)."""
        from veladura.table.frames.conversion import restore

        changed = {name for step in self.steps for name in step.changed}
        frame = None if self.original is None else self.original.frame
        return [
            restore(frame, d.fetched(), {name: name in changed for name in d.table.names}, d.rows)
            for d in self.tables
        ]

    @property
    def rows(self) -> NDArray[np.int64] | list[NDArray[np.int64]] | None:
        """Which input row each released row is: one array, or one per dataset where they differ."""
        links = [dataset.rows for dataset in self.tables if dataset.rows is not None]
        if len(links) < len(self.tables):
            return None
        same = all(np.array_equal(link, links[0]) for link in links)
        return links[0] if same else links

    @property
    def manifest(self) -> dict[str, Any]:
        """What the recipient is told."""
        from veladura.release.manifest import build_manifest

        return dict(self.told) or build_manifest(self)

    def estimate(self, function: Callable[[Any], Any], *, level: float = 0.95) -> Combined:
        """Return an analysis of every dataset (estimate and variance, or a fitted model), combined by the release's own rule."""
        from veladura.inference.pooling import estimate

        return estimate(self, function, level=level)

    def analyze(
        self,
        formula: str,
        *,
        family: str = "gaussian",
        level: float = 0.95,
        weights: str | None = None,
        robust: bool = False,
    ) -> Analysis:
        """Return a model by a formula such as ``log(income) ~ age + C(sex)``, combined by the release's own rule.

        What the protection did to the columns of the model is told in warnings, and kept in
        ``cautions``.
        """
        from veladura.inference.analysis import analyze

        found = analyze(self, formula, family=family, level=level, weights=weights, robust=robust)
        for caution in found.cautions:
            warnings.warn(caution, stacklevel=2)
        return found

    def evidence(self) -> list[Evidence]:
        """Return each dataset beside the original, for proofs and measures."""
        return [Evidence(dataset.table, self.original, dataset.rows) for dataset in self.tables]

    def prove(self) -> list[Proof]:
        """Recompute every promise on every dataset; refuse a release that breaks one."""
        if self.told:  # a package: loading its methods registers the checks of their promises
            from veladura.core.registry import METHODS, find

            for step in self.steps:
                if step.method in METHODS:
                    find(step.method)
        proofs = [
            prove(promise, one)
            for i, one in enumerate(self.evidence())
            for promise in self.promises
            if promise.concerns(i)
        ]
        if broken := [proof for proof in proofs if proof.status == "broken"]:
            told = "; ".join(
                f"{proof.promise.claim} ({proof.violations} violations)" for proof in broken
            )
            msg = (
                f"the release does not keep its promise: {told}\n\nHint: a later step may undo an"
                " earlier one; change their order."
            )
            raise PromiseError(msg)
        return proofs

    def save(
        self,
        folder: str | Path,
        custodian: str | Path | None = None,
        *,
        format: str = "parquet",  # noqa: A002
        force: bool = False,
    ) -> Path:
        """Write the package for the recipient and the record for the custodian; return the package's folder."""
        from veladura.release.package import save

        return save(
            self,
            Path(folder),
            None if custodian is None else Path(custodian),
            format=format,
            force=force,
        )


def _context(
    seed: int | Streams | None,
    threads: int | None,
    progress: Progress,
    ledger: Charges | None,
    unsafe_repeatable: bool,  # noqa: FBT001
) -> Context:
    return Context(
        Streams.of(seed),
        thread_count(threads),
        progress,
        ledger,
        seed is not None,
        unsafe_repeatable,
    )


def _dataset(table: Table, codes: Codes, draw: Draw) -> Dataset:
    """Return a draw as a table in the order of the input."""
    from veladura.table.recode import fresh, replace
    from veladura.table.write import settle

    if draw.table is not None:
        return Dataset(settle(draw.table))
    if not draw.linked:
        return Dataset(fresh(table, draw.columns))
    rows = codes.rows if draw.rows is None else draw.rows
    rows = rows if draw.kept is None else rows[draw.kept]
    order = np.argsort(rows, kind="stable")
    columns = {name: column.take(order) for name, column in draw.columns.items()}
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return Dataset(replace(table, columns, rows[order]), rows[order], place)


def no_codes() -> Codes:
    """Return the empty codes of a method that needs counts only."""
    from veladura.table.codes import Codes

    return Codes({}, np.empty(0, dtype=np.int64))


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
