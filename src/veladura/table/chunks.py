"""Rows of a table that is not held, in chunks that depend on the rows and on a secret only.

Every row has a key: the hash of a secret and of what the row holds. Rows come in the order of their
keys, and those whose keys fall into the same of some equal ranges are a chunk. Rows that hold the
same have one key, and which of them comes first changes nothing: neither the order of the source
nor its parts, batches or workers move a row into another chunk.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.arrays import Ints
from veladura.base.context import Context, silent
from veladura.base.memory import cells_within, rows_within
from veladura.errors import DataError
from veladura.table.database.connection import (
    connect,
    home_of,
    one_at_a_time,
    read_parquet,
    run_sql,
    sql_text,
)
from veladura.table.database.spark_chunks import (
    CONTENT,
    DATASET,
    add_content,
    draw_on_spark,
    make_on_spark,
)
from veladura.table.database_errors import without_values
from veladura.table.schema import Schema
from veladura.table.table import Table, arranged
from veladura.table.write import Scratch, as_declared, md5_of, row_text, stored_rows

if TYPE_CHECKING:
    import ibis

CHUNK = 1 << 17  # rows of a chunk, on average; none has more than twice as many, a wide one fewer
KEY = "veladura_key"
_BATCH = 1 << 16
_DIGITS = 8  # of the key, that say which chunk a row is in

T = TypeVar("T")
Number = tuple[int, ...]
Chunks = Iterator[tuple[Number, pa.Table]]


class Treatment(Protocol):
    """What becomes of a chunk: new rows of one dataset, with columns of the original beside them.

    It travels to the workers of a cluster, so it must be possible to pickle it.
    """

    def __call__(self, rows: pa.Table, dataset: int, number: Number) -> pa.Table:
        """Return the rows of one dataset, columns named by position."""


@dataclass(frozen=True, eq=False)
class ChunkPlan:
    """How the rows of a table are cut into chunks.

    Attributes
    ----------
    secret
        What the keys depend on besides the rows; empty where rows may come in any order.
    ranges
        Number of equal ranges of keys.
    size
        Rows of a chunk, on average.
    """

    secret: str
    ranges: int
    size: int

    @classmethod
    def of(cls, table: Table, secret: str) -> ChunkPlan:
        """Return the plan of a table."""
        size = rows_within(CHUNK, len(table.names))
        return cls(secret, max(1, -(-table.rows // size)), size)

    def cut(self, batches: Iterable[pa.RecordBatch]) -> Chunks:
        """Yield the chunks of rows that come in their order; in any order, the batches."""
        if self.secret:
            return self._cut_by_keys(batches)
        return (((i,), pa.Table.from_batches([batch])) for i, batch in enumerate(batches))

    def _cut_by_keys(self, batches: Iterable[pa.RecordBatch]) -> Chunks:
        """Yield the chunks of rows that come in the order of their keys, without the keys.

        Many rows that hold the same are in one range: it is then cut into several chunks.
        """
        held: list[pa.RecordBatch] = []
        here, piece, rows = -1, 0, 0
        for batch in batches:
            place = batch.schema.get_field_index(KEY)
            ranges = range_of(batch.column(place), self.ranges)
            rest = batch.drop_columns([KEY])
            ends = [0, *(np.flatnonzero(np.diff(ranges)) + 1).tolist(), batch.num_rows]
            for start, end in pairwise(ends):
                if start == end:
                    continue
                if ranges[start] != here:
                    if rows:
                        yield (here, piece), pa.Table.from_batches(held)
                    held, here, piece, rows = [], int(ranges[start]), 0, 0
                first = start
                while first < end:
                    part = rest.slice(first, min(end - first, 2 * self.size - rows))
                    held.append(part)
                    first, rows = first + part.num_rows, rows + part.num_rows
                    if rows == 2 * self.size:
                        yield (here, piece), pa.Table.from_batches(held)
                        held, piece, rows = [], piece + 1, 0
        if rows:
            yield (here, piece), pa.Table.from_batches(held)


def chunks_at_once(plan: ChunkPlan, columns: int, threads: int) -> int:
    """Return how many chunks may be in memory at a time, as many as threads or fewer."""
    within = cells_within()
    return threads if within is None else max(1, min(threads, within // (2 * plan.size * columns)))


def range_of(keys: pa.Array, ranges: int) -> Ints:
    """Return which of some equal ranges each key is in, by its first hexadecimal digits.

    Examples
    --------
    >>> range_of(pa.array(["00000000f", "7fffffff0", "80000000a", "ffffffff1"]), 2).tolist()
    [0, 0, 1, 1]
    """
    texts = keys.to_numpy(zero_copy_only=False).astype("S32")
    digits = texts.view(np.uint8).reshape(texts.size, 32)[:, :_DIGITS].astype(np.int64)
    values = np.where(digits >= ord("a"), digits - ord("a") + 10, digits - ord("0"))
    weight = 16 ** np.arange(_DIGITS - 1, -1, -1, dtype=np.int64)
    which: Ints = (values @ weight) * ranges >> (4 * _DIGITS)
    return which


def brought_near(table: Table) -> Table:
    """Return a table that DuckDB or Spark can cut into chunks.

    Rows of another server are copied into private scratch, batch by batch: the texts of its numbers
    are not those of DuckDB, and keys would differ.
    """
    if table.in_memory or (home := home_of(table.expression)).name in ("duckdb", "pyspark"):
        return table
    scratch = Scratch()
    with without_values(table.source.name), one_at_a_time():
        size = rows_within(_BATCH, len(table.names))
        batches = home.to_pyarrow_batches(table.expression, chunk_size=size)
        return _written(
            (arranged(pa.Table.from_batches([batch]), table.schema) for batch in batches),
            table,
            scratch,
        )


def _written(parts: Iterable[pa.Table], table: Table, scratch: Scratch) -> Table:
    types = _types(table.schema)
    with pq.ParquetWriter(scratch.path, types) as writer:
        for part in parts:
            writer.write_table(part.rename_columns(types.names))
    return stored_rows(table.schema, table.source, scratch)


def with_content(table: Table) -> ibis.Table:
    """Return the rows with a hash of what each holds beside them, the same on every engine."""
    rows = table.expression
    if (home := home_of(rows)).name != "pyspark":
        return rows.mutate(**{CONTENT: _content(rows)})
    import ibis

    types = _types(table.schema)
    columns = {column.name: str(ibis.dtype(column.type)) for column in types}
    same = ibis.table(columns, name="rows")
    sql = connect().compile(same.select(content=_content(same)))
    return add_content(home, rows, types, sql)


def _content(rows: ibis.Table) -> Any:
    return md5_of(row_text([rows[name] for name in rows.columns]))


def _types(schema: Schema) -> pa.Schema:
    return pa.schema([(f"c{i}", field.type) for i, field in enumerate(schema)])


def keyed(table: Table, secret: str) -> ibis.Table:
    """Return the rows with their keys beside them."""
    import ibis

    rows = with_content(table)
    key = md5_of(ibis.literal(secret) + rows[CONTENT])
    return rows.mutate(**{KEY: key}).drop(CONTENT)


def in_chunks(table: Table, plan: ChunkPlan) -> Chunks:
    """Yield the chunks of a table in memory or of DuckDB, columns under their own names.

    DuckDB sorts the rows by their keys, on disk where need be. Its connection is held meanwhile.
    """
    backend = home_of(table.expression)
    with without_values(table.source.name), one_at_a_time():
        ordered = keyed(table, plan.secret).order_by(KEY) if plan.secret else table.expression
        backend._run_pre_execute_hooks(ordered)  # noqa: SLF001  # shows it rows in memory
        reader = backend.con.sql(backend.compile(ordered)).to_arrow_reader(min(_BATCH, plan.size))
        for number, rows in plan.cut(reader):
            yield number, arranged(rows, table.schema)


@dataclass(frozen=True, eq=False)
class Written:
    """A dataset that was drawn in chunks: its rows, and columns of the original beside them."""

    table: Table
    before: Table | None = None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the rows of a treatment look like.

    Attributes
    ----------
    released
        The columns of the released rows.
    beside
        The columns of the original that are kept beside them, for proofs.
    datasets
        How many datasets are drawn.
    """

    released: Schema
    beside: Schema
    datasets: int

    @property
    def types(self) -> pa.Schema:
        """The columns of a scratch file: released ones by position, then those beside them."""
        released = [(f"c{i}", field.type) for i, field in enumerate(self.released)]
        original = [(f"o{i}", field.type) for i, field in enumerate(self.beside)]
        return pa.schema([*released, *original])

    def stored(self, table: Table, scratch: Scratch) -> Written:
        """Return a scratch file as a dataset, and the columns beside it as another table."""
        rows = stored_rows(self.released, table.source, scratch)
        if not self.beside.names:
            return Written(rows)
        return Written(rows, stored_rows(self.beside, table.source, scratch, letter="o"))


def draw_chunks(
    table: Table,
    plan: ChunkPlan,
    treat: Treatment,
    outcome: Outcome,
    context: Context,
    new: int | None = None,
) -> list[Written]:
    """Draw datasets chunk by chunk: on the workers of Spark, or in threads of this process.

    Parameters
    ----------
    new
        How many new rows are made; None where those of the table are treated.
    """
    if table.in_memory or home_of(table.expression).name != "pyspark":
        chunks = in_chunks(table, plan) if new is None else new_rows(plan, new)
        total = table.rows if new is None else new
        return write_chunks(table, plan, chunks, treat, outcome, context, total)
    with context.progress("drawing rows in Spark", 1) as advance:
        written = draw_in_spark(table, plan, treat, outcome, new=new)
        advance()
    return written


def write_chunks(
    table: Table,
    plan: ChunkPlan,
    chunks: Chunks,
    treat: Treatment,
    outcome: Outcome,
    context: Context,
    total: int,
) -> list[Written]:
    """Draw datasets chunk by chunk into private scratch.

    As many chunks at a time as there are threads, where the memory of the run allows them.

    Parameters
    ----------
    total
        Rows that are to come.
    """
    files = [Scratch() for _ in range(outcome.datasets)]
    quiet, drawn = replace(context, progress=silent), 0
    label = "drawing rows in chunks"
    width = chunks_at_once(plan, len(table.names), context.threads)
    with ExitStack() as stack:
        advance = stack.enter_context(context.progress(label, max(1, -(-total // plan.size))))
        writers = [
            stack.enter_context(pq.ParquetWriter(file.path, outcome.types)) for file in files
        ]
        for group in _grouped(chunks, width):
            items = [(number, rows, r) for number, rows in group for r in range(outcome.datasets)]
            for some in _grouped(items, width):  # of many datasets not all at once
                parts = quiet.map("", lambda item: treat(item[1], item[2], item[0]), some)
                for (_, _, r), part in zip(some, parts, strict=True):
                    writers[r].write_table(part.cast(outcome.types))
            for _, rows in group:
                drawn += rows.num_rows
                advance()
    refuse_changed(table.source.name, total, drawn)
    return [outcome.stored(table, file) for file in files]


def new_rows(plan: ChunkPlan, total: int) -> Chunks:
    """Yield the numbers of chunks of new rows, each with as many empty rows as it has."""
    for number, size in enumerate(_sizes(plan, total)):
        yield (number,), pa.table({"row": pa.nulls(size)})


def _sizes(plan: ChunkPlan, total: int) -> list[int]:
    return [min(plan.size, total - start) for start in range(0, total, plan.size)]


def draw_in_spark(
    table: Table, plan: ChunkPlan, treat: Treatment, outcome: Outcome, *, new: int | None
) -> list[Written]:
    """Draw datasets on the workers of Spark; their files are put together in private scratch.

    Parameters
    ----------
    new
        How many new rows are made; None where those of the table are treated.
    """
    home = home_of(table.expression)
    with without_values(table.source.name):
        if new is None:
            rows = keyed(table, plan.secret) if plan.secret else table.expression
            types = pa.schema([(field.name, field.type) for field in table.schema])
            folder = draw_on_spark(home, rows, KEY, types, (treat, plan, outcome))
        else:
            folder = make_on_spark(home, _sizes(plan, new), (treat, plan, outcome))
        try:
            return [_gathered(table, folder, outcome, r) for r in range(outcome.datasets)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _gathered(table: Table, folder: Path, outcome: Outcome, dataset: int) -> Written:
    """Return the parts of one dataset as one file in private scratch."""
    scratch = Scratch()
    parts = folder / f"{DATASET}={dataset}"
    if not parts.is_dir():  # no row of it came
        pq.write_table(outcome.types.empty_table(), scratch.path)
        return outcome.stored(table, scratch)
    stored = read_parquet(parts)
    fields = zip(outcome.types.names, [*outcome.released, *outcome.beside], strict=True)
    columns = {name: as_declared(stored[name], field) for name, field in fields}
    home = connect()
    sql = home.compile(stored.select(**columns))
    run_sql(home, f"COPY ({sql}) TO {sql_text(str(scratch.path))} (FORMAT parquet)")
    return outcome.stored(table, scratch)


def _grouped(items: Iterable[T], width: int) -> Iterator[list[T]]:
    group: list[T] = []
    for item in items:
        group.append(item)
        if len(group) == width:
            yield group
            group = []
    if group:
        yield group


def refuse_changed(name: str, counted: int, drawn: int) -> None:
    """Refuse rows that are not those that were counted before: the source has changed since."""
    if drawn != counted:
        msg = (
            f"{name} changed while it was read: {counted:,} rows were counted, and {drawn:,}"
            " came.\n\nHint: give a table that nobody writes to meanwhile."
        )
        raise DataError(msg)
