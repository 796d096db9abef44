"""Recipe, fitted, drawn: the one shape of every method."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from veladura.base.context import Charges, Context, Progress, silent, thread_count
from veladura.base.limits import Limit
from veladura.base.memory import refuse_beyond
from veladura.base.streams import Streams
from veladura.core.earlier import Earlier, refuse_extension
from veladura.core.gates import HOLES
from veladura.core.making import released
from veladura.core.promise import Check, Promise
from veladura.core.release import Dataset, Release, Step
from veladura.core.rules import AsReleased, Rule
from veladura.errors import PlanError

if TYPE_CHECKING:
    import pyarrow as pa

    from veladura.base.arrays import Ints
    from veladura.base.expression import Expression
    from veladura.base.streams import ChunkStream
    from veladura.table.codes import Codes, Column
    from veladura.table.inspect import Facts
    from veladura.table.schema import Schema
    from veladura.table.table import Table

R = TypeVar("R", bound="Recipe")
Pictures = Callable[[Release], Mapping[str, bytes | str]]


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
    before
        Columns of the original beside those of ``table``, row for row.
    units
        Of new rows, which person and household each belongs to, by the column's name; they get new
        numbers, drawn at random.
    known
        By such a column, the largest number that an earlier release gave out: numbers up to it
        stay, larger ones are drawn.
    """

    columns: Mapping[str, Column] = field(default_factory=dict, repr=False)
    kept: Ints | None = field(default=None, repr=False)
    linked: bool = True
    rows: Ints | None = field(default=None, repr=False)
    table: Table | None = field(default=None, repr=False)
    before: Table | None = field(default=None, repr=False)
    units: Mapping[str, Ints] = field(default_factory=dict, repr=False)
    known: Mapping[str, int] = field(default_factory=dict, repr=False)


def no_pictures(release: Release) -> Mapping[str, bytes | str]:  # noqa: ARG001
    """Draw nothing."""
    return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """Everything that a method hands back.

    Attributes
    ----------
    datasets
        The m datasets: draws, or datasets that are whole already.
    changed
        The columns whose values the method replaced.
    rule
        How an analyst combines the datasets.
    settings
        What the manifest says of the method; its public settings by default.
    promises
        What the release claims. Each is proved before the release exists, by the ``checks`` of the
        recipe's class.
    pictures
        For the custodian's page: SVG, or text, by title. They may show original values.
    public_pictures
        For both pages: of released values, and nothing else of the original.
    records
        Files for the custodian's folder: what they hold, by name. They may hold original values.
    steps
        For a method that is made of others: their steps, instead of one of its own.
    """

    datasets: Sequence[Draw | Dataset]
    changed: Sequence[str]
    rule: Rule = field(default_factory=AsReleased)
    settings: Mapping[str, Any] | None = None
    promises: tuple[Promise, ...] = ()
    pictures: Pictures = no_pictures
    public_pictures: Pictures = no_pictures
    records: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Recipe(ABC):
    """What to do to a table: settings only, checked when they are given.

    A method is a frozen keyword-only dataclass with a ``method`` name, an ``apply`` that returns
    a `Fitted`, and a ``suggest`` that fills in its settings for a table nobody has seen. What the
    library says of a method is in the class attributes below.
    """

    method: ClassVar[str]
    linked_tables: ClassVar[str] = "keeps the rows of linked tables, under new keys"
    by_row: ClassVar[bool] = False  # equal values may become different ones: a draw for each row
    sentence: ClassVar[str]  # what the method did to the data, for a reader of the report
    caution: ClassVar[str] = ""  # what it does to a model of its columns, for an analyst
    checks: ClassVar[Mapping[str, Check]] = {}  # how each of its promises is proved
    gate: ClassVar[Mapping[str, Limit]] = {}  # limits on figures that a drafted plan proposes
    firm_gate: ClassVar[Mapping[str, Limit]] = HOLES  # limits that hold though no plan names them
    own_rules: ClassVar[tuple[type[Rule], ...]] = ()  # combining rules of its own
    synthesizes: ClassVar[bool] = False  # whether it sets the combining rule of a chain
    coarsens: ClassVar[bool] = False  # a released value covers the true one: it can be looked up
    suppresses: ClassVar[bool] = False  # ``*`` in a changed column is a suppressed value
    drops_rows: ClassVar[bool] = False  # rows are left out by what they hold
    keeps_most: ClassVar[bool] = False  # most values of a changed column stay as they are
    random: ClassVar[bool] = True  # whether the seed moves anything
    private: ClassVar[bool] = False  # differentially private: system entropy, charged to a ledger
    extends: ClassVar[bool] = False  # a new release may go on with the rows of an earlier one
    inside: ClassVar[bool] = False  # works where the data lives: rows are never fetched
    chunked: ClassVar[bool] = False  # rows of a table that is not held may come in chunks
    seedable: ClassVar[bool] = True  # False where the noise comes from a library without seeds
    needs: ClassVar[tuple[str, ...]] = ()  # modules of an extra, without which it cannot run
    declared_by_holder: ClassVar[tuple[str, ...]] = ()  # settings only the holder can know
    proposed: ClassVar[tuple[str, ...]] = ()  # settings `init` reads off the table, to confirm
    decisive: ClassVar[tuple[str, ...]] = ()  # settings that a drafted plan states in any case

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

        Parameters
        ----------
        table
            A frame, a path, an Ibis table, or what `veladura.open` returns.
        seed
            The same seed gives the same bytes. Keep it secret: with the model it would undo the
            protection. A differentially private recipe takes none.
        threads
            Number of threads; results never depend on it.
        ledger
            What a differentially private draw is charged to, before it is made.
        unsafe_repeatable
            Let a seed move private draws: for tests only, such a release is not private.
        """
        context = context_of(seed, threads, progress, ledger, unsafe_repeatable=unsafe_repeatable)
        prepared = self.prepared(table)
        return released(self.fitted(prepared, context), context, prepared.units.schema)

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
        context = context_of(seed, threads, progress, None, unsafe_repeatable=unsafe_repeatable)
        return self._fit(table, context)

    def _fit(self, table: Any, context: Context) -> Fitted[Any]:
        return self.fitted(self.prepared(table), context)

    def fitted(self, table: Table, context: Context) -> Fitted[Any]:
        """Return the fitted method for a prepared table: to all rows, or to a sample of them."""
        from veladura.core.chunks import rows_to_fit

        number = rows_to_fit(self, table)
        if number is None:
            return self.apply(table, context)
        return self.apply_to_sample(table, number, context)

    def apply_to_sample(self, table: Table, number: int, context: Context) -> Fitted[Any]:
        """Return the method fitted to a random sample of so many rows; for ``chunked`` ones."""
        raise NotImplementedError

    def prepared(self, table: Any) -> Table:
        """Return a table as `apply` wants it: without identifiers, and in memory if need be."""
        from veladura.core.linking import refuse_linked
        from veladura.core.replicates import with_replication
        from veladura.table.source import open as open_table

        opened = open_table(table).without_identifiers()
        refuse_linked(self, opened)
        if self.leaves_rows(opened):
            return opened
        near = self.reads_rows() or (opened.whole is not None and not self.private)
        if near:
            cells = opened.rows * len(opened.units.names)
            refuse_beyond(cells, opened.source.name, self.who_holds(opened))
        return with_replication(opened.fetched()) if near else opened

    def who_holds(self, table: Table) -> str:  # noqa: ARG002
        """Return who needs all rows of a table in memory, for a message."""
        return f"the method {self.method!r}"

    def comes_in_chunks(self) -> bool:
        """Whether rows of a table that is not held may come in chunks, with these settings."""
        return self.chunked

    def leaves_rows(self, table: Table) -> bool:
        """Whether the rows of a table stay where they live, and come in chunks."""
        from veladura.core.chunks import rows_to_fit

        return rows_to_fit(self, table) is not None

    def changes(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns that the method replaces or answers for, of a table's columns.

        Every other column that it releases is released exactly.
        """
        columns = getattr(self, "columns", ())
        return tuple(names if columns is None else columns)

    def leaves_out(self) -> tuple[str, ...]:
        """Return the columns that the method does not release; by default none."""
        return ()

    def parts(self) -> tuple[Recipe, ...]:
        """Return the recipes that it is made of, in order; by default itself."""
        return (self,)

    def leaves_out_units(self, table: Table) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns of people and households whose numbers it does not release."""
        return ()

    def counts_households(self) -> bool:
        """Whether a promise counts households, so that their numbers are released."""
        return False

    def reads_as_given(self) -> tuple[str, ...]:
        """Return the columns that no earlier step may have changed; by default none matter."""
        return ()

    @classmethod
    def population(cls, settings: Mapping[str, Any]) -> Expression | None:  # noqa: ARG003
        """Return who the release is about, where a step with these settings says so.

        Measures compare a release with those people of the original only.
        """
        return None

    @classmethod
    def sampled(cls, settings: Mapping[str, Any]) -> float:  # noqa: ARG003
        """Return the share of its input that a step with these settings drew at random."""
        return 1.0

    def shown(self, column: Column) -> Column:
        """Return a column that the method mostly keeps as an intruder meets it.

        By default as it is: what a method replaces by chance is not counted on.
        """
        return column

    def reads_rows(self) -> bool:
        """Whether the method looks at single rows; if not, a file or database is only counted."""
        return not (self.inside or self.private)

    @abstractmethod
    def apply(self, table: Table, context: Context) -> Fitted[Any]:
        """Return the fitted method for a prepared table."""

    def extended(self, table: Table, earlier: Earlier, context: Context) -> Fitted[Any]:  # noqa: ARG002
        """Return the method fitted to go on with an earlier release; for those that ``extends``."""
        refuse_extension(self.method)

    @classmethod
    @abstractmethod
    def suggest(cls, schema: Schema, facts: Mapping[str, Facts]) -> Recipe:
        """Return settings that run on a table, from its schema and facts about its columns."""

    @classmethod
    def suggest_for(cls, table: Table, facts: Mapping[str, Facts]) -> Recipe:
        """Return settings that run on an opened table, for plans that must propose its values."""
        return cls.suggest(table.schema, facts)

    def proposed_gate(self) -> Mapping[str, Limit]:
        """Return the limits on figures that a drafted plan proposes."""
        return self.gate

    @classmethod
    def cautions(
        cls,
        release: Release,  # noqa: ARG003
        step: Step,  # noqa: ARG003
        columns: Sequence[str],
        formula: str,  # noqa: ARG003
    ) -> list[str]:
        """Return what an analyst must know of a step before using its columns in a model.

        Parameters
        ----------
        columns
            The changed columns that the analysis uses.
        formula
            The model, where there is one.
        """
        if cls.synthesizes or not columns:  # the combining rule covers the synthesis
            return []
        named = ", ".join(map(repr, columns))
        effect = cls.caution or "values were changed"
        return [f"{named}: {effect}. The standard errors do not cover this."]

    @classmethod
    def implied(
        cls,
        settings: Mapping[str, Any],  # noqa: ARG003
        person: str | None,  # noqa: ARG003
    ) -> tuple[Promise, ...]:
        """Return the promises that the settings of a step in a manifest imply.

        A release must make them: `verify` calls it broken where one is missing or weaker.

        Parameters
        ----------
        person
            The released column of numbers of people, where rows are not people.
        """
        return ()

    def treats_rows_alone(self) -> bool:
        """Whether each row is treated by itself, with declared settings.

        Only such a step may come before a differentially private one.
        """
        return False

    def counts_rows_openly(self) -> bool:
        """Whether a private method takes the number of rows as public: one person is replaced.

        Then no step before it may leave rows out by a condition on the data.
        """
        return False

    def settings(self) -> dict[str, Any]:
        """Return the settings that the recipient may see: those not marked private."""
        return {
            f.name: _plain(getattr(self, f.name))
            for f in fields(self)
            if not f.metadata.get("private")
            and not (f.name == "fit_rows" and getattr(self, f.name) is None)
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
        """Return a release; a differentially private one is charged again at every call."""
        context = context_of(seed, threads, progress, ledger, unsafe_repeatable=unsafe_repeatable)
        return released(self, context)

    @abstractmethod
    def draw(self, context: Context) -> Drawn:
        """Return the datasets and everything that may be said of them."""

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return some rows as they are released; only methods that treat rows by themselves can.

        Parameters
        ----------
        rows
            In the types and under the names of the table.
        stream
            The random streams of this chunk.
        """
        del rows, stream
        msg = (
            f"the method {self.recipe.method!r} treats all rows of a table together, so that no"
            " chunk of them can be drawn.\n\nHint: draw the whole table with sample()."
        )
        raise PlanError(msg)


def context_of(
    seed: int | Streams | None,
    threads: int | None,
    progress: Progress,
    ledger: Charges | None,
    *,
    unsafe_repeatable: bool,  # noqa: FBT001, RUF100
) -> Context:
    """Return the context of one run."""
    return Context(
        Streams.of(seed),
        thread_count(threads),
        progress,
        ledger,
        seed is not None,
        unsafe_repeatable,
    )


def no_codes() -> Codes:
    """Return the empty codes of a method that needs counts only."""
    import numpy as np

    from veladura.table.codes import Codes

    return Codes({}, np.empty(0, dtype=np.int64))


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()  # a number of NumPy compares as an array does
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return str(value)
