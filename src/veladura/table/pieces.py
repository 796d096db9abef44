"""The rows of a table piece by piece, so that nobody holds them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from veladura.base.memory import rows_within
from veladura.table.database.connection import home_of, is_duckdb, one_at_a_time
from veladura.table.database_errors import without_values
from veladura.table.table import Table, arranged, from_arrow

if TYPE_CHECKING:
    from veladura.table.schema import Schema

PIECE = 1 << 17  # rows of a piece; of a wide table fewer, by the memory of the run


def pieces(table: Table, names: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the rows of a table, those of a file as they are read; of some columns only, if named.

    The order is that of the file. Its DuckDB answers nobody else until the last piece was taken.
    """
    chosen = table if names is None else table.select(list(names))
    size = rows_within(PIECE, len(chosen.names))
    if chosen.in_memory or not is_duckdb(chosen.expression):
        rows = chosen.read()
        for start in range(0, rows.num_rows, size):
            yield rows.slice(start, size)
        return
    backend = home_of(chosen.expression)
    with without_values(table.source.name), one_at_a_time():
        backend._run_pre_execute_hooks(chosen.expression)  # noqa: SLF001  # shows it rows in memory
        reader = backend.con.sql(backend.compile(chosen.expression)).to_arrow_reader(size)
        for batch in reader:
            yield arranged(pa.Table.from_batches([batch]), chosen.schema)


def held_pieces(table: Table, names: Sequence[str] | None = None) -> Iterator[Table]:
    """Yield the pieces as tables in memory."""
    schema: Schema = table.schema if names is None else table.schema.select(list(names))
    for rows in pieces(table, names):
        yield from_arrow(rows, schema, table.source)
