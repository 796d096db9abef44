"""Rows put in order with codes instead of texts: a third of the work, and the same rows.

A text column of few values is turned into an ENUM while DuckDB sorts, and is handed over and
written as codes with their labels. Labels that do not occur in a group of rows never get into its
file: they could be values of rows that were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.counts import MOST_VALUES, count_sets
from veladura.table.database.connection import (
    fetch_sql,
    home_of,
    is_duckdb,
    one_at_a_time,
    registered,
    run_sql,
)
from veladura.table.database_errors import without_values
from veladura.table.schema import LABELLED

if TYPE_CHECKING:
    from veladura.table.table import Table

MANY_ROWS = 500_000  # below, two more questions cost more than they save
CODES = pa.dictionary(pa.int32(), pa.string())
_number = count()


@dataclass(frozen=True, eq=False)
class Ordering:
    """How the rows of a table are put in order and written.

    Attributes
    ----------
    sql
        DuckDB's query for the rows in hashed order.
    coded
        Places of the columns that it hands over as codes.
    plain
        Places of numbers and dates of very many values, which no dictionary makes shorter.
    """

    sql: str
    coded: frozenset[int] = frozenset()
    plain: frozenset[int] = frozenset()


def in_hashed_order(rows: str, width: int) -> str:
    """Return DuckDB's SQL for rows ordered by its own hash of each."""
    columns = _listed(range(width))
    return f"SELECT {columns} FROM ({rows}) ORDER BY hash({columns})"  # noqa: S608


@contextmanager
def ordering(table: Table, connection: Any, rows: str) -> Iterator[Ordering]:
    """Give the query that puts rows in order, with codes where that is worth it."""
    width = len(table.names)
    plain = Ordering(in_hashed_order(rows, width))
    if not any(f.kind in LABELLED and f.type == pa.string() for f in table.schema):
        yield plain
        return
    if _asked_rows(table, connection, rows) < MANY_ROWS:
        yield plain
        return
    values = _distinct(table, connection, rows)
    labels = _labels(table, connection, rows)
    long = frozenset(
        i
        for i, name in enumerate(table.names)
        if table.schema[name].kind not in LABELLED and values.get(name, 0) > MOST_VALUES
    )
    with _types(connection, labels) as types:
        columns = ", ".join(
            f"CAST(c{i} AS {types[i]})" if i in types else f"c{i}" for i in range(width)
        )
        hashed = f"SELECT *, hash({_listed(range(width))}) AS h FROM ({rows})"  # noqa: S608
        # texts become codes below the sort, which then moves few bytes a row
        inner = f"SELECT {columns}, h FROM ({hashed})"  # noqa: S608
        names = ", ".join([*(f"c{i}" for i in range(width)), "h"])
        sql = f"SELECT {_listed(range(width))} FROM ({inner}) AS t({names}) ORDER BY h"  # noqa: S608
        yield Ordering(sql, frozenset(types), long)


def count_labels(table: Table) -> None:
    """Count the text columns of few values of a large lazy table ahead, for whoever writes it.

    Its assessment asks for the same counts.
    """
    if table.in_memory or not is_duckdb(table.expression) or table.rows < MANY_ROWS:
        return
    home = home_of(table.expression)
    with table.cache.lock, without_values(table.source.name):
        home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
        values = _distinct(table, home.con, home.compile(table.expression))
        few = [
            (field.name,)
            for field in table.schema
            if field.kind in LABELLED
            and values.get(field.name, 0) <= MOST_VALUES
            and not table.knows_counts([field.name])
        ]
        table.cache.counts.update(count_sets(table, few))


def _asked_rows(table: Table, connection: Any, rows: str) -> int:
    """Return the number of rows; of a table made of another, how many there can be."""
    known = table.rows if table.in_memory else table.cache.rows or table.cache.most_rows
    if known is None:
        known = fetch_sql(connection, f"SELECT count(*) AS n FROM ({rows})").column("n")[0].as_py()  # noqa: S608
    return int(known)


def _distinct(table: Table, connection: Any, rows: str) -> dict[str, int]:
    """Return about how many values columns have, by one query for those of which nobody knows."""
    known, labels = table.cache.distinct, table.cache.labels
    asked = [
        i
        for i, name in enumerate(table.names)
        if name not in known and name not in labels and not table.knows_counts([name])
    ]
    if asked:
        figures = ", ".join(f"approx_count_distinct(c{i}) AS c{i}" for i in asked)
        row = fetch_sql(connection, f"SELECT {figures} FROM ({rows})").to_pylist()[0]  # noqa: S608
        known.update({table.names[i]: int(row[f"c{i}"]) for i in asked})
    return known


def _labels(table: Table, connection: Any, rows: str) -> dict[int, pa.Array]:
    """Return the values of text columns that have few: those known, else by one query for all."""
    texts = [i for i, field in enumerate(table.schema) if field.type == pa.string()]
    labels = {
        i: table.cache.labels[n] for i in texts if (n := table.names[i]) in table.cache.labels
    }
    few = table.cache.distinct
    asked = [i for i in texts if i not in labels and few.get(table.names[i], 0) <= MOST_VALUES]
    if asked:
        sets = ", ".join(f"(c{i})" for i in asked)
        sql = f"SELECT {_listed(asked)} FROM ({rows}) GROUP BY GROUPING SETS ({sets})"  # noqa: S608
        found = fetch_sql(connection, sql)
        labels |= {i: found.column(f"c{i}").drop_null().unique() for i in asked}
    # in their order, whoever told them: it is that of the dictionaries in the file
    return {
        i: known.take(pc.sort_indices(known))
        for i, known in labels.items()
        if 0 < len(known) <= MOST_VALUES
    }


@contextmanager
def _types(connection: Any, labels: Mapping[int, pa.Array]) -> Iterator[dict[int, str]]:
    """Give a DuckDB types of these labels, by the name of each, as long as the block runs."""
    types: dict[int, str] = {}
    try:
        for i, values in labels.items():
            name = f"veladura_labels{next(_number)}"
            with registered(connection, pa.table({"x": values.cast(pa.string())})) as view:
                run_sql(connection, f"CREATE TEMP TYPE {name} AS ENUM (SELECT x FROM {view})")  # noqa: S608
            types[i] = name
        yield types
    finally:
        with one_at_a_time():
            for name in types.values():
                connection.execute(f"DROP TYPE IF EXISTS {name}")


def _listed(places: Iterable[int]) -> str:
    return ", ".join(f"c{i}" for i in places)


def code_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of an ENUM as DuckDB hands it over in the one type of codes."""
    chunks = [
        pa.DictionaryArray.from_arrays(
            chunk.indices.cast(pa.int32()), chunk.dictionary.cast(pa.string())
        )
        for chunk in column.chunks
    ]
    return pa.chunked_array(chunks, type=CODES)


def compacted(rows: pa.Table) -> pa.Table:
    """Return rows whose coded columns have no label that does not occur in them, in their order."""
    columns = [
        _compact(column) if pa.types.is_dictionary(column.type) else column
        for column in rows.columns
    ]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _compact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    whole = column.unify_dictionaries().combine_chunks()
    codes, labels = whole.indices, whole.dictionary
    used = np.zeros(len(labels), dtype=bool)
    used[(codes.drop_null() if codes.null_count else codes).to_numpy()] = True
    if used.all():  # as nearly always: nothing to renumber
        return pa.chunked_array([whole], type=CODES)
    place = (np.cumsum(used) - 1).astype(np.int32)
    filled = codes.fill_null(0) if codes.null_count else codes
    mask = codes.is_null().to_numpy(zero_copy_only=False) if codes.null_count else None
    moved = pa.array(place[filled.to_numpy()], pa.int32(), mask=mask)
    kept = labels.filter(pa.array(used))
    return pa.chunked_array([pa.DictionaryArray.from_arrays(moved, kept)], type=CODES)


def coded_schema(schema: pa.Schema, coded: Sequence[int] | frozenset[int]) -> pa.Schema:
    """Return the types in which rows are written."""
    return pa.schema(
        [(part.name, CODES if i in coded else part.type) for i, part in enumerate(schema)]
    )
