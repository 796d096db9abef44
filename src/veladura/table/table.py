"""A table: its rows in memory, or a query that gives them where they live, and its schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veladura.errors import DataError
from veladura.table.cache import Cache
from veladura.table.database.connection import fetch, fetch_one, is_duckdb, is_spark
from veladura.table.database_errors import without_values
from veladura.table.files.dialect import Dialect
from veladura.table.schema import NOT_RELEASED, UNITS, Declared, Schema

if TYPE_CHECKING:
    import ibis

    from veladura.table.codes import Codes, Column
    from veladura.table.counts import Counts
    from veladura.table.inspect import Facts
    from veladura.table.units import PeopleCounts

_MOST_KEPT = 2_000_000  # distinct tuples that a lazy table remembers: counting again is slow
_FEW = 65_536  # and a table in memory, which counts again in no time
_MOST_CELLS = 2_000_000  # of a table whose columns are kept as plain arrays: 18 MB
_LARGEST_PIECE = 1 << 30  # Arrow holds at most 2 GiB of text in one piece


@dataclass(frozen=True)
class Link:
    """A table of a joined one, as manifests describe it.

    Attributes
    ----------
    columns
        Its columns in the joined table, without keys.
    key, parent_key
        The columns of its own key and of that of the table above; None where there is none.
    present
        The column that says whether a row of the table above has rows here; None if all have.
    row_of
        Where several tables belong to the one above: the column that says which of them a row is
        of, by name.
    lookup_of
        Of a table that is looked up: the table whose rows hold its key, and its columns too.
    """

    name: str
    columns: tuple[str, ...]
    key: str | None = None
    parent_key: str | None = None
    present: str | None = None
    row_of: str | None = None
    lookup_of: str | None = None


@dataclass(frozen=True)
class Source:
    """Where a table comes from, as the custodian's record keeps it; a URL has no password."""

    name: str = "table"
    file: Path | None = None
    url: str | None = None
    table: str | None = None
    columns: Mapping[str, Declared] = field(default_factory=dict, repr=False)  # declared or guessed
    dialect: Dialect | None = None
    links: tuple[Link, ...] = ()  # the tables that were joined
    counts: str | None = None  # the column of a table of counts that says how many people a row is
    # scratch files, which must live as long as any table that reads them
    scratch: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, eq=False)
class Table:
    """A table and what its columns mean. Holds original values: its repr shows none.

    Attributes
    ----------
    data
        The rows in memory (Arrow, columns under their own names), or a lazy Ibis expression. In
        an expression columns are named by position (``c0``, ``c1``, ...), so that quotes, SQL words
        and names that differ only in case do no harm.
    frame
        The caller's own frame, if the table was made of one.
    guessed
        Facts that were counted while kinds were guessed.
    stored
        A Parquet file of exactly these rows, in random order.
    whole
        The same rows with the columns of units (person, household), which methods do not see.
    cache
        Answers given before.
    """

    schema: Schema
    data: pa.Table | ibis.Table = field(repr=False)
    source: Source = field(default_factory=Source)
    frame: Any = field(default=None, repr=False)
    guessed: Mapping[str, Facts] = field(default_factory=dict, repr=False)
    stored: Path | None = field(default=None, repr=False)
    whole: Table | None = field(default=None, repr=False)
    cache: Cache = field(init=False, default_factory=Cache, repr=False)

    def __repr__(self) -> str:
        return f"Table({self.source.name!r}, columns={self.names})"

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return self.schema.names

    @property
    def in_memory(self) -> bool:
        """Whether the table holds its rows; a lazy table stays lazy whatever is asked of it."""
        return isinstance(self.data, pa.Table)

    @property
    def arrow(self) -> pa.Table:
        """The rows. A lazy table fetches them once: `fetched` has them."""
        return self.fetched().data

    @property
    def expression(self) -> ibis.Table:
        """The table as a database sees it; rows in memory become a table of our DuckDB."""
        if not self.in_memory:
            return self.data
        with self.cache.lock:
            if self.cache.expression is None:
                import ibis

                inner = self.data.rename_columns([f"c{i}" for i in range(len(self.names))])
                self.cache.expression = ibis.memtable(inner)
            return self.cache.expression

    def fetched(self) -> Table:
        """Return the table with its rows in memory, in the order that defines row numbers."""
        if self.in_memory:
            return self
        with self.cache.lock:
            if self.cache.fetched is None and self.whole is not None:
                self.cache.fetched = self._fetched_view(self.whole.fetched())
            if self.cache.fetched is None:
                table = replace(self, data=self.read())
                table.cache.share_counts(self.cache)
                self.cache.fetched = table
            return self.cache.fetched

    def _fetched_view(self, whole: Table) -> Table:
        return whole.select(self.names).beside(whole)

    def read(self) -> pa.Table:
        """Return the rows; those of a lazy table are read now and kept by nobody."""
        if self.in_memory:
            return self.data
        with without_values(self.source.name):
            return arranged(fetch(self.data), self.schema)

    @property
    def rows(self) -> int:
        """Number of rows, counted where they live."""
        if self.in_memory:
            return int(self.data.num_rows)
        if self.cache.rows is None:
            with without_values(self.source.name):
                row = fetch_one(self.data, {"rows": self.data.count()})
            self.cache.rows = int(row["rows"])
        return self.cache.rows

    @property
    def units(self) -> Table:
        """The table with its columns of units, where it has any."""
        return self if self.whole is None else self.whole

    @property
    def person(self) -> str | None:
        """The column that says which person a row is about; None where every row is a person."""
        return self.units.schema.person

    @property
    def people(self) -> int:
        """Number of people: rows, where no person column is declared."""
        return self.rows if self.person is None else int(self.units.counts([self.person]).size.size)

    def people_counts(self, columns: Sequence[str]) -> PeopleCounts:
        """Return the distinct tuples of some columns with the number of people who hold each."""
        from veladura.table.units import count_people

        return count_people(self, columns)

    def column(self, name: str) -> Column:
        """Return a column as plain arrays, in the order of the rows; nobody may change them."""
        from veladura.table.codes import encode

        if (kept := self.cache.columns.get(name)) is not None:
            return kept
        column = encode(self._cells(name), self.schema[name])
        if self.rows * len(self.names) <= _MOST_CELLS:
            column.values.flags.writeable = column.missing.flags.writeable = False
            self.cache.columns[name] = column
        return column

    def _cells(self, name: str) -> pa.ChunkedArray:
        """Return a column; of a large file without the others, which its rows are not read for."""
        large = self.rows * len(self.names) > _MOST_CELLS
        alone = not self.in_memory and self.cache.fetched is None and self.whole is None
        # DuckDB keeps the order of a file: columns stay aligned. Spark has none: who asks it for a
        # column looks at that column alone
        if alone and ((large and is_duckdb(self.data)) or is_spark(self.data)):
            return self.select([name]).read().column(name)
        return self.arrow.column(name)

    def present(self, name: str) -> int:
        """Return how many rows have a value in a column, counted where they live."""
        if self.in_memory:
            return int(self.data.num_rows - self.data.column(name).null_count)
        column = self.data[f"c{self.schema.position(name)}"]
        with without_values(self.source.name):
            return int(fetch_one(self.data, {"present": column.count()})["present"])

    def codes(self, columns: Sequence[str]) -> Codes:
        """Return columns as plain arrays in the canonical order of rows."""
        from veladura.table.codes import codes

        return codes(self, columns)

    def counts(self, columns: Sequence[str]) -> Counts:
        """Return the distinct tuples of some columns with their counts, taken where rows live."""
        from veladura.table.counts import counts

        key = tuple(columns)
        if (kept := self.cache.counts.get(key)) is not None:
            return kept
        if not self.in_memory:
            return self._lazy_counts(key)
        counted = counts(self, columns)
        if counted.size.size <= _FEW:
            self.cache.counts[key] = counted
        return counted

    def _lazy_counts(self, key: tuple[str, ...]) -> Counts:
        """Return counts of a lazy table: from wider ones that are known, else by one query."""
        from veladura.table.counts import count_sets, rolled_up

        with self.cache.lock:  # measures that run in threads ask the same
            if (kept := self.cache.counts.get(key)) is not None:
                return kept
            self.schema.check("columns", key)
            if (wider := self._wider(key)) is not None:
                counted = rolled_up(wider, key)
            else:
                beside = [] if is_duckdb(self.expression) else self._few_valued(key)
                several = count_sets(self, [key, *beside])
                counted = several.pop(key)
                self.cache.counts.update(several)
            if counted.size.size <= _MOST_KEPT:
                self.cache.counts[key] = counted
            return counted

    def _wider(self, key: tuple[str, ...]) -> Counts | None:
        """Return the fewest known tuples that hold some columns among others."""
        wider = [held for names, held in self.cache.counts.items() if {*key} < {*names}]
        return min(wider, key=lambda held: held.size.size, default=None) if key else None

    def _few_valued(self, key: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Return what is counted with the first question: on Spark a pass costs more than a count.

        Everybody who counts tuples asks for the columns by themselves later.
        """
        from veladura.table.counts import MOST_VALUES
        from veladura.table.profiles import many_valued

        if not is_spark(self.expression):
            return []
        known = {name for names in (key, *self.cache.counts) for name in names}
        left = [name for name in self.names if name not in known]
        many = many_valued(self, left)
        distinct = self.cache.distinct  # texts that nearly everybody has alone stay where they are
        return [
            (name,) for name in left if name not in many and distinct.get(name, 0) <= MOST_VALUES
        ]

    def count_few_valued(self) -> None:
        """Count all columns of few values by one query, where a query is costly: on Spark."""
        from veladura.table.counts import count_sets

        if self.in_memory or not is_spark(self.expression):
            return
        with self.cache.lock:
            self.cache.counts.update(count_sets(self, self._few_valued(())))

    def knows_counts(self, columns: Sequence[str]) -> bool:
        """Whether the tuples of some columns can be told without a query."""
        return tuple(columns) in self.cache.counts or self._wider(tuple(columns)) is not None

    def knows_profile(self, name: str) -> bool:
        """Whether the distribution of a column can be told without a query."""
        return self.knows_counts([name]) or name in self.cache.profiles

    def profile(self, name: str) -> Counts:
        """Return the distribution of one column: distinct values with their counts.

        Each column of a lazy table is counted once, whoever asks. Numbers and dates of a lazy table
        give at most 65,536 values: neighbours are merged at equal numbers of rows, so that
        cumulative shares are exact at the values that stay.
        """
        from veladura.table.counts import thinned
        from veladura.table.profiles import many_valued, sorted_profile

        if self.in_memory:
            return self.counts([name])
        with self.cache.lock:
            if name not in self.cache.profiles:
                known = self.knows_profile(name) or not is_duckdb(self.expression)
                if not known and many_valued(self, [name]):
                    self.cache.profiles[name] = sorted_profile(self, name)
                else:
                    self.cache.profiles[name] = thinned(self.counts([name]))
            return self.cache.profiles[name]

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with some of its columns only, in the given order."""
        if list(names) == self.names:
            return self
        places = [self.schema.position(name) for name in names]
        data = (
            self.data.select(places)
            if self.in_memory
            else self.data.select(**{f"c{i}": self.data[place] for i, place in enumerate(places)})
        )
        selected = replace(self, schema=self.schema.select(names), data=data, stored=None)
        selected.cache.share_counts(self.cache)
        return selected

    def without_identifiers(self) -> Table:
        """Return the table without identifiers and without the numbers of units.

        Identifiers are in no release. Numbers of units are kept aside, in ``whole``: people are
        counted by them, and a release has new ones.
        """
        if not self.schema.of_role(*NOT_RELEASED, *UNITS):
            return self
        units = self.schema.of_role(*UNITS)
        identifiers = self.schema.of_role(*NOT_RELEASED)
        kept = [name for name in self.names if name not in identifiers]
        seen = [name for name in kept if name not in units]
        if not seen:
            msg = (
                "no column is left to release: each is an identifier or is left out, as a column"
                " without values is.\n\nHint: give at least one column another role."
            )
            raise DataError(msg)
        return self.select(seen).beside(self.select(kept)) if units else self.select(seen)

    def beside(self, whole: Table) -> Table:
        """Return the table as a view of another, which has the same rows and the units too."""
        view = replace(self, whole=whole)
        view.cache.share_counts(self.cache)
        return view


def arranged(rows: pa.Table, schema: Schema) -> pa.Table:
    """Return rows that a database hands over in the types and under the names of a schema."""
    columns = [_in_one_piece(cast(rows.column(i), column.type)) for i, column in enumerate(schema)]
    return pa.Table.from_arrays(
        columns, schema=pa.schema([(column.name, column.type) for column in schema])
    )


def cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Return a column in another type."""
    return column if column.type == type_ else column.cast(type_)


def _in_one_piece(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in one piece: the pieces a database hands over need half as much again."""
    if column.num_chunks < 2 or column.nbytes > _LARGEST_PIECE:  # noqa: PLR2004
        return column
    return pa.chunked_array([column.combine_chunks()])


def from_arrow(
    arrow: pa.Table, schema: Schema, source: Source | None = None, frame: Any = None
) -> Table:
    """Return a table whose rows are in memory."""
    return Table(schema, arrow, source or Source(), frame)
