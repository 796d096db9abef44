"""Chunks of rows on the workers of Spark, by ``mapInArrow``: the same rows as on one machine.

Keys are computed by DuckDB inside the Python workers, because Spark writes numbers as other texts.
What a worker needs lies in the custodian's private scratch, which the driver and all workers see:
it holds original values and is not broadcast. Workers need this package installed.
"""

from __future__ import annotations

import pickle
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veladura.table.database.scratch import scratch_folder
from veladura.table.database.spark import counted_parts, view_of

if TYPE_CHECKING:
    import ibis

    from veladura.table.chunks import ChunkPlan, Outcome, Treatment

Batches = Iterator[pa.RecordBatch]
CONTENT = "veladura_content"
DATASET = "veladura_dataset"
_MOST_PARTS = 200  # tasks of a job


@dataclass(frozen=True)
class AddContent:
    """Puts the hash of what a row holds beside it.

    Attributes
    ----------
    types
        The columns as tables of every source have them.
    sql
        DuckDB's query for the hashes of the rows of a view ``rows``.
    """

    types: pa.Schema
    sql: str

    def __call__(self, batches: Batches) -> Batches:
        """Return batches with one column more."""
        import duckdb

        connection = duckdb.connect(config={"threads": 1})
        connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false")
        for batch in batches:
            rows = pa.Table.from_batches([batch]).cast(self.types)
            connection.register("rows", rows)
            content = connection.sql(self.sql).to_arrow_table().column(0).combine_chunks()
            yield batch.append_column(CONTENT, content.cast(pa.string()))
            connection.unregister("rows")


@dataclass(frozen=True)
class DrawChunks:
    """Treats the chunks of a part of the rows, or makes new ones.

    Attributes
    ----------
    path
        A file with the treatment, the plan of the chunks and what comes out.
    """

    path: Path
    types: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """Return the rows of all datasets, with the number of the dataset in the last column."""
        treat, plan, outcome = _loaded(self.path)
        for number, rows in plan.cut(batches):
            named = rows.rename_columns(self.types.names).cast(self.types)
            yield from _drawn(treat, outcome, named, number)


@dataclass(frozen=True)
class MakeRows:
    """Makes chunks of new rows, given their numbers and sizes."""

    path: Path

    def __call__(self, batches: Batches) -> Batches:
        """Return the rows of all datasets, with the number of the dataset in the last column."""
        treat, _, outcome = _loaded(self.path)
        for batch in batches:
            for number, size in zip(*(batch.column(i).to_pylist() for i in (0, 1)), strict=True):
                yield from _drawn(treat, outcome, pa.table({"row": pa.nulls(size)}), (number,))


@lru_cache(maxsize=1)
def _loaded(path: Path) -> tuple[Treatment, ChunkPlan, Outcome]:
    """Return what a worker needs; it is read once a process."""
    with path.open("rb") as file:
        treat, plan, outcome = pickle.load(file)  # noqa: S301  # written by the driver, mode 0700
    return treat, plan, outcome


def _drawn(treat: Treatment, outcome: Outcome, rows: pa.Table, number: tuple[int, ...]) -> Batches:
    for dataset in range(outcome.datasets):
        part = treat(rows, dataset, number).cast(outcome.types)
        which = pa.array([dataset] * part.num_rows, pa.int32())
        yield from part.append_column(DATASET, which).combine_chunks().to_batches()


def add_content(backend: Any, expression: ibis.Table, types: pa.Schema, sql: str) -> ibis.Table:
    """Return the rows of Spark with a hash of what each holds beside them."""
    from pyspark.sql.types import StringType, StructType

    frame = _frame(backend, expression)
    with_content = StructType([*frame.schema.fields]).add(CONTENT, StringType())
    return view_of(backend, frame.mapInArrow(AddContent(types, sql), with_content))


def draw_on_spark(
    backend: Any, keyed: ibis.Table, key: str, types: pa.Schema, work: tuple[Any, Any, Any]
) -> Path:
    """Let the workers draw the datasets of all chunks; return the folder of their files.

    Parameters
    ----------
    keyed
        The rows, with their keys where their order matters.
    types
        The columns of the rows as the treatment wants them.
    work
        The treatment, the plan of the chunks and what comes out.
    """
    from pyspark.sql import functions as f

    _, plan, outcome = work
    frame = _frame(backend, keyed)
    if plan.secret:
        digits = f.conv(f.substring(key, 1, 8), 16, 10).cast("long")
        which = f.shiftright(digits * plan.ranges, 32)
        parts = min(plan.ranges, _MOST_PARTS)
        frame = frame.repartition(parts, which).sortWithinPartitions(key)
    with _Shared(work) as path:
        return _written(frame, DrawChunks(path, types), outcome)


def make_on_spark(backend: Any, sizes: list[int], work: tuple[Any, Any, Any]) -> Path:
    """Let the workers make chunks of new rows; return the folder of their files."""
    session = backend._session  # noqa: SLF001
    numbers = pa.table({"number": range(len(sizes)), "size": sizes})
    frame = session.createDataFrame(numbers).repartition(min(len(sizes), _MOST_PARTS), "number")
    with _Shared(work) as path:
        return _written(frame, MakeRows(path), work[2])


class _Shared:
    """A file in private scratch that workers read, as long as the block runs."""

    def __init__(self, work: tuple[Any, Any, Any]) -> None:
        self.path = (scratch_folder() / f"{secrets.token_hex(8)}.work").absolute()
        self.work = work

    def __enter__(self) -> Path:
        with self.path.open("wb") as file:
            pickle.dump(self.work, file, protocol=5)
        self.path.chmod(0o600)
        return self.path

    def __exit__(self, *_: object) -> None:
        self.path.unlink(missing_ok=True)


def _frame(backend: Any, expression: ibis.Table) -> Any:
    backend._run_pre_execute_hooks(expression)  # noqa: SLF001
    return backend._session.sql(backend.compile(expression))  # noqa: SLF001


def _written(frame: Any, function: Any, outcome: Outcome) -> Path:
    from pyspark.sql.pandas.types import from_arrow_schema

    folder = scratch_folder() / f"{secrets.token_hex(8)}.parts"
    types = outcome.types.append(pa.field(DATASET, pa.int32()))
    drawn = frame.mapInArrow(function, from_arrow_schema(types, prefer_timestamp_ntz=True))
    try:
        counted_parts(drawn, folder, by=DATASET)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
