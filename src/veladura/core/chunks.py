"""Methods that treat rows by themselves, given what they have learnt: rows may come in chunks.

A table that is not held stays where it lives. The method is fitted to a random sample of it, with
what must be known of all rows counted there (`veladura.table.whole`); then its rows stream through,
each chunk with a random stream of its own. Nothing depends on threads, workers or parts.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from veladura.base.context import Context
from veladura.base.memory import cells_within
from veladura.base.streams import ChunkStream, Streams
from veladura.core.recipe import Draw, Drawn, Fitted, Recipe, no_codes, no_pictures
from veladura.errors import PlanError
from veladura.table.chunks import (
    ChunkPlan,
    Number,
    Outcome,
    brought_near,
    draw_chunks,
)
from veladura.table.codes import Column, encode, relabelled
from veladura.table.database.connection import is_spark
from veladura.table.held import holds
from veladura.table.recode import assembled
from veladura.table.sample import first_rows, random_rows
from veladura.table.schema import Schema
from veladura.table.table import Source, from_arrow
from veladura.table.whole import Whole

if TYPE_CHECKING:
    from veladura.table.table import Table

R = TypeVar("R", bound=Recipe)
SEVERAL_ROWS = (
    "people or households have several rows here, which are treated together: no chunk of rows can"
    " be drawn.\n\nHint: draw the whole table with sample(), or drop the column of their numbers."
)
_FEW = 50  # rows of the sample that are treated to see what columns come out


def rows_to_fit(recipe: Recipe, table: Table) -> int | None:
    """Return how many rows a method is fitted to; None where the whole table is held.

    That is ``fit_rows``; without it, as many as a quarter of the memory of the run can hold, where
    the whole table would take more than its share. A method that learns nothing from single rows
    sees a few only, and leaves rows of Spark and of large files where they are in any case.
    """
    if not recipe.comes_in_chunks():
        return None
    given: int | None = getattr(recipe, "fit_rows", None)
    within, held = cells_within(), table.in_memory
    beyond = not held and within is not None and table.rows * len(table.names) > within
    if not learns(recipe):
        small = holds(table.rows, len(table.names)) and not beyond
        far = not held and (is_spark(table.expression) or not small)
        return _FEW if far and table.whole is None else None
    most = given
    if most is None and within is not None and beyond:
        most = max(1, within // (2 * len(table.names)))  # of 40 % of the memory: about a quarter
    if most is None or table.rows <= most:
        return None
    if table.whole is not None:
        if given is None:
            return None  # held, or refused in words
        msg = (
            "fit_rows draws a sample of rows, and here people or households have several.\n\nHint:"
            " leave out fit_rows, or drop the column of their numbers."
        )
        raise PlanError(msg)
    return most


def learns(recipe: Recipe) -> bool:
    """Whether a method is fitted to rows; one with declared rules has no ``fit_rows``."""
    return hasattr(recipe, "fit_rows")


def fit_to_sample(
    recipe: R, table: Table, number: int, context: Context, names: Sequence[str]
) -> tuple[Table, Table, Whole]:
    """Return a table near its engine, a random sample of it in memory, and facts of all rows.

    Parameters
    ----------
    names
        The columns whose categories are counted in all rows.
    """
    with context.progress("drawing a sample of rows", 1) as advance:
        near = brought_near(table)
        sample = (
            random_rows(near, number, context.streams(recipe.method, "sample"))
            if learns(recipe)
            else first_rows(near, number)
        )
        advance()
    return near, sample, Whole.of(near, names)


@dataclass(frozen=True, eq=False, repr=False)
class RowWise(Fitted[R]):
    """A fitted method that treats each row given what it has learnt.

    ``codes`` are the rows that it was fitted to: all of them, or a sample.
    """

    @property
    def datasets(self) -> int:
        """How many datasets are drawn."""
        return int(getattr(self.recipe, "m", 1))

    @property
    def reads(self) -> Sequence[str]:
        """The columns of a row that decide what becomes of it."""
        return list(self.codes)

    @property
    def kept_beside(self) -> Sequence[str]:
        """The columns whose original values the proofs need, row for row."""
        return ()

    @property
    def new_rows(self) -> bool:
        """Whether rows are new ones, for which none of the original is read."""
        return False

    @abstractmethod
    def replaced(self, columns: Mapping[str, Column], stream: ChunkStream) -> Mapping[str, Column]:
        """Return the columns that are replaced in some rows.

        Parameters
        ----------
        columns
            What is read of these rows, categories numbered as in ``codes``.
        """

    @abstractmethod
    def described(self, datasets: Sequence[Draw], rows: int) -> Drawn:
        """Return datasets of so many rows with everything that may be said of them."""

    def draw(self, context: Context) -> Drawn:
        """Draw the datasets from the rows that are held."""
        draws = context.map(
            "drawing datasets",
            lambda r: Draw(self.replaced(self.codes, ChunkStream(context.streams, r))),
            range(self.datasets),
        )
        return self.described(draws, self.codes.rows.size)

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return rows as they are released.

        Parameters
        ----------
        rows
            In the types and under the names of the table.
        """
        if self.table.whole is not None:
            raise PlanError(SEVERAL_ROWS)
        return self.by_value()._chunk(rows, stream).data  # noqa: SLF001

    def by_value(self) -> Self:
        """Return the method for rows that it need not have been fitted to; by default as it is.

        What it knows of a row must be found by the row's values, not by its place in the table.
        """
        return self

    def _chunk(self, rows: pa.Table, stream: ChunkStream) -> Table:
        columns = {}
        for name in self.reads:
            model = self.codes[name]
            column = encode(rows.column(name), model.field)
            columns[name] = column if model.labels is None else relabelled(column, model.labels)
        return assembled(self.table.schema, self.replaced(columns, stream), rows)

    def model_pictures(self) -> Mapping[str, bytes | str]:
        """Return pictures of what was learnt, without any row: for the custodian only."""
        return {}

    def released_schema(self) -> Schema:
        """Return the columns that come out, as a few rows show them."""
        few = self.table.arrow.slice(0, _FEW)
        return self._chunk(few, ChunkStream(Streams(0))).schema

    def portable(self) -> RowWise[R]:
        """Return the method without the table that it was fitted to: it travels to workers."""
        schema = self.table.schema
        empty = pa.schema([(field.name, field.type) for field in schema]).empty_table()
        return replace(self, table=from_arrow(empty, schema, Source()))


@dataclass(frozen=True, eq=False)
class Treated:
    """What a worker does to a chunk. Holds original values: its repr shows none."""

    fitted: RowWise[Any]
    streams: Streams
    beside: Sequence[str]

    def __repr__(self) -> str:
        return f"Treated({self.fitted!r})"

    def __call__(self, rows: pa.Table, dataset: int, number: Number) -> pa.Table:
        """Return the rows of one dataset, then the columns of the original beside them."""
        drawn = self.fitted.draw_chunk(rows, ChunkStream(self.streams, dataset, number))
        drawn = drawn.rename_columns([f"c{i}" for i in range(drawn.num_columns)])
        for i, name in enumerate(self.beside):
            drawn = drawn.append_column(f"o{i}", rows.column(name))
        return drawn


@dataclass(frozen=True, eq=False, repr=False)
class FittedChunks(Fitted[R]):
    """A method fitted to a sample, ready to treat all rows of the table, chunk by chunk.

    Attributes
    ----------
    method
        The method fitted to the sample.
    """

    method: RowWise[R]

    @classmethod
    def of(cls, recipe: R, table: Table, method: RowWise[R]) -> FittedChunks[R]:
        """Return a method that was fitted to a sample of a table."""
        return cls(recipe, table, no_codes(), method)

    def draw_chunk(self, rows: pa.Table, stream: ChunkStream) -> pa.Table:
        """Return some rows as they are released; by the method that was fitted to the sample."""
        return self.method.draw_chunk(rows, stream)

    def draw(self, context: Context) -> Drawn:
        """Draw the datasets into private scratch."""
        method, table = self.method, self.table
        outcome = Outcome(
            method.released_schema(), table.schema.select(method.kept_beside), method.datasets
        )
        treat = Treated(method.portable(), context.streams, tuple(method.kept_beside))
        total = (method.new_rows and getattr(self.recipe, "rows", None)) or table.rows
        # without random draws any order of the rows will do
        random = self.recipe.random
        secret = context.streams(self.recipe.method, "chunks").bytes(16).hex() if random else ""
        plan = ChunkPlan.of(table, secret)
        new = total if method.new_rows else None
        written = draw_chunks(table, plan, treat, outcome, context, new)
        draws = [Draw(table=one.table, before=one.before) for one in written]
        drawn = replace(
            method.described(draws, total),
            pictures=lambda _: method.model_pictures(),
            public_pictures=no_pictures,
        )
        if not learns(self.recipe):
            return drawn
        settings = self.recipe.settings() if drawn.settings is None else drawn.settings
        # what the release knows of the population
        return replace(drawn, settings={**settings, "fit_rows": method.codes.rows.size})
