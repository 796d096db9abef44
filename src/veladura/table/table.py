"""A table wherever it lives: an Ibis expression with a declared schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa

from veladura.errors import DataError
from veladura.table.database.connection import fetch, fetch_one
from veladura.table.database_errors import told_without_values
from veladura.table.files.dialect import Dialect
from veladura.table.schema import Declared, Schema

_MOST_KEPT, _FEW = (
    2_000_000,
    65_536,
)  # distinct tuples that a lazy table remembers, and one in memory
_LARGEST_PIECE = 1 << 30  # text in one piece may be 2 GiB at most

if TYPE_CHECKING:
    from veladura.table.codes import Codes
    from veladura.table.counts import Counts
    from veladura.table.inspect import Facts


@dataclass(frozen=True)
class Source:
    """Where a table came from, as far as a record needs to know it. A URL is kept without its password."""

    name: str = "table"
    file: Path | None = None
    url: str | None = None
    table: str | None = None
    columns: Mapping[str, Declared] = field(
        default_factory=dict, repr=False
    )  # as declared or guessed
    dialect: Dialect | None = None
    scratch: Any = field(
        default=None, repr=False, compare=False
    )  # what must live as long as any table made of it


@dataclass(frozen=True, eq=False)
class Table:
    """A lazy table and what its columns mean. Holds original values: its repr shows none.

    Inside, columns are named by position (``c0``, ``c1``, ...), so that quotes, SQL words and
    names that differ only in case cannot hurt; the schema has the names people know.
    """

    schema: Schema
    expression: ibis.Table = field(repr=False)
    source: Source = field(default_factory=Source)
    frame: Any = field(default=None, repr=False)  # the caller's own frame, if the table was one
    guessed: Mapping[str, Facts] = field(
        default_factory=dict, repr=False
    )  # what was seen while kinds were guessed
    stored: Path | None = field(
        default=None, repr=False
    )  # a Parquet file of exactly these rows, in an order that says nothing

    def __repr__(self) -> str:
        return f"Table({self.source.name!r}, columns={self.names})"

    @property
    def names(self) -> list[str]:
        """Names of the columns, in order."""
        return self.schema.names

    @cached_property
    def arrow(self) -> pa.Table:
        """The whole table in memory: fetched once, in the order that defines its row numbers."""
        with told_without_values(self.source.name):
            fetched = fetch(self.expression)
            columns = [
                _compact(_stored(fetched.column(i), column.type))
                for i, column in enumerate(self.schema)
            ]
        return pa.Table.from_arrays(
            columns, schema=pa.schema([(column.name, column.type) for column in self.schema])
        )

    @property
    def in_memory(self) -> bool:
        """Whether the rows are here already."""
        return "arrow" in self.__dict__

    @cached_property
    def rows(self) -> int:
        """Number of rows, counted where the data lives."""
        if self.in_memory:
            return int(self.arrow.num_rows)
        with told_without_values(self.source.name):
            return int(fetch_one(self.expression, {"rows": self.expression.count()})["rows"])

    def codes(self, columns: Sequence[str]) -> Codes:
        """Return columns as plain arrays in the canonical order of rows."""
        from veladura.table.codes import codes

        return codes(self, columns)

    def counts(self, columns: Sequence[str]) -> Counts:
        """Return the distinct tuples of some columns with their counts, taken where the data lives."""
        from veladura.table.counts import counts

        known: dict[tuple[str, ...], Counts] = self.__dict__.setdefault("counted", {})
        if (kept := known.get(tuple(columns))) is not None:
            return kept
        found = counts(self, columns)
        if found.size.size <= (
            _FEW if self.in_memory else _MOST_KEPT
        ):  # asking again costs more than keeping what is small
            known[tuple(columns)] = found
        return found

    def profile(self, name: str) -> Counts:
        """Return the distribution of one column: its distinct values with their counts, of lazy numbers at most 65,536 of them.

        Each column of a lazy table is counted once, whoever asks. Neighbours of a long list are put
        together at equal numbers of rows, so that cumulative shares are exact at the values that
        stay.
        """
        from veladura.table.counts import thinned

        if self.in_memory:
            return self.counts([name])
        known: dict[str, Counts] = self.__dict__.setdefault("profiled", {})
        if name not in known:
            known[name] = thinned(self.counts([name]))
        return known[name]

    def select(self, names: Sequence[str]) -> Table:
        """Return the table with some of its columns only, in the given order."""
        if list(names) == self.names:
            return self
        places = [self.schema.position(name) for name in names]
        expression = self.expression.select(
            **{f"c{i}": self.expression[place] for i, place in enumerate(places)}
        )
        selected = replace(
            self, schema=self.schema.select(names), expression=expression, stored=None
        )
        if self.in_memory:  # keep the row numbers that were handed out already
            selected.__dict__["arrow"] = self.arrow.select(places)
        for kept in (
            "counted",
            "profiled",
        ):  # the same rows: what was counted of a column holds here too
            selected.__dict__[kept] = self.__dict__.setdefault(kept, {})
        if "rows" in self.__dict__:
            selected.__dict__["rows"] = self.rows
        return selected

    def without_identifiers(self) -> Table:
        """Return the table without the columns declared as identifiers; they are in no release."""
        if not (identifiers := self.schema.of_role("identifier")):
            return self
        kept = [name for name in self.names if name not in identifiers]
        if not kept:
            msg = "every column is declared as an identifier: nothing is left to release."
            raise DataError(msg)
        return self.select(kept)


def _stored(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == type_ else column.cast(type_)


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column in one piece: what a database hands over takes half as much again in memory."""
    if column.num_chunks < 2 or column.nbytes > _LARGEST_PIECE:  # noqa: PLR2004
        return column
    return pa.chunked_array([column.combine_chunks()])


def from_arrow(
    arrow: pa.Table,
    schema: Schema,
    source: Source | None = None,
    frame: Any = None,
) -> Table:
    """Return an in-memory table, ready to be counted by DuckDB like any other."""
    inner = arrow.rename_columns([f"c{i}" for i in range(arrow.num_columns)])
    table = Table(schema, ibis.memtable(inner), source or Source(), frame)
    table.__dict__["arrow"] = arrow
    return table
