"""Distinct tuples with counts: small arrays, counted where the data lives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veladura.errors import PlanError
from veladura.table.codes import Column, encode
from veladura.table.database.connection import (
    fetch,
    fetch_query,
    home_of,
    is_duckdb,
    one_at_a_time,
)
from veladura.table.database_errors import without_values
from veladura.table.order import canonical_order

if TYPE_CHECKING:
    import ibis

    from veladura.table.table import Table

MOST_VALUES = 65_536
_FEW_PER_ROW = 4  # so many cells per row are counted faster than rows are sorted
_LARGEST = 1 << 62
_BATCH = 1 << 17
_MOST_COLUMNS = 60  # of one query with GROUPING SETS: their number has 64 bits


@dataclass(frozen=True, eq=False)
class Counts:
    """The distinct tuples of some columns, each with the number of rows that hold it."""

    columns: tuple[Column, ...] = field(repr=False)
    size: NDArray[np.int64] = field(repr=False)

    @property
    def codes(self) -> NDArray[np.int64]:
        """The tuples as a matrix of codes, -1 where missing; one row per tuple."""
        return np.column_stack([_dense(column) for column in self.columns])


def counts(table: Table, columns: Sequence[str]) -> Counts:
    """Return the distinct tuples of some columns with their counts, in their canonical order."""
    table.schema.check("columns", columns)
    if not columns:
        msg = "counts needs at least one column, got none.\n\nHint: name the columns to count."
        raise PlanError(msg)
    return (_in_memory if table.in_memory else _lazy)(table, columns)


def _in_memory(table: Table, columns: Sequence[str]) -> Counts:
    """Number the tuples of all rows in their canonical order, and count the numbers."""
    coded = {
        name: encode(table.data.column(table.schema.position(name)), table.schema[name])
        for name in dict.fromkeys(columns)
    }
    number, most = _numbered(list(coded.values()))
    if most <= _FEW_PER_ROW * number.size:
        size = np.bincount(number, minlength=most)
        row = np.empty(most, dtype=np.int64)
        row[number] = np.arange(number.size)  # any row that holds the tuple
        size, rows = size[size > 0], row[size > 0]
    else:
        order = np.argsort(number)
        starts = np.flatnonzero(np.diff(number[order], prepend=-1))
        size, rows = np.diff(starts, append=number.size), order[starts]
    return Counts(tuple(coded[name].take(rows) for name in columns), size.astype(np.int64))


def _numbered(columns: Sequence[Column]) -> tuple[NDArray[np.int64], int]:
    """Return a number for the tuple of each row, in the order of tuples, and a bound for it."""
    number, most = np.zeros(columns[0].size, dtype=np.int64), 1
    for column in columns:
        place, levels = _places(column)
        if most * levels >= _LARGEST:  # numbers without gaps leave room for more columns
            distinct, number = np.unique(number, return_inverse=True)
            most = distinct.size
        number, most = number * levels + place, most * levels
    return number, most


def _places(column: Column) -> tuple[NDArray[np.int64], int]:
    """Return the place of each value in the order of values, missing last, and a bound for it."""
    present = column.values[~column.missing]
    if present.size == 0:
        return np.zeros(column.size, dtype=np.int64), 1
    low, high = present.min(), present.max()
    if present.dtype.kind != "f" and int(high) - int(low) <= _FEW_PER_ROW * column.size:
        places, levels = column.values - low, int(high) - int(low) + 1
    else:
        distinct = np.unique(present)
        places, levels = np.searchsorted(distinct, column.values), distinct.size
    return np.where(column.missing, levels, places), levels + 1


def _lazy(table: Table, columns: Sequence[str]) -> Counts:
    """Group rows where they live, and put the distinct tuples in their canonical order."""
    positions = {name: table.schema.position(name) for name in columns}
    expression = table.expression
    with without_values(table.source.name):
        groups = expression.group_by([f"c{position}" for position in positions.values()])
        query = groups.aggregate(size=expression.count())
        grouped = _fetch_coded(query) if is_duckdb(query) else fetch(query)
    columns_of = {name: grouped.column(f"c{place}") for name, place in positions.items()}
    size = grouped.column("size")
    del grouped  # its columns go one by one, as they are coded
    return _counted(table, columns, columns_of, size)


def _fetch_coded(query: ibis.Table) -> pa.Table:
    """Return the rows of a query of DuckDB, texts as codes: many tuples take a third of the room.

    Texts are coded as they arrive, batch by batch.
    """
    backend = home_of(query)
    backend._run_pre_execute_hooks(query)  # noqa: SLF001  # shows it rows in memory
    with one_at_a_time():
        reader = backend.con.sql(backend.compile(query)).to_arrow_reader(_BATCH)
        batches = [_with_codes(batch) for batch in reader]
        empty = pa.RecordBatch.from_pylist([], schema=reader.schema)
    return pa.Table.from_batches(batches or [_with_codes(empty)])


def _with_codes(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose texts are codes with a dictionary.

    The others are copied: DuckDB lets go of a batch when nobody holds any column of it.
    """
    columns = [
        column.dictionary_encode()
        if pa.types.is_string(column.type)
        else pa.concat_arrays([column])
        for column in rows.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=rows.schema.names)


def _counted(
    table: Table, columns: Sequence[str], grouped: dict[str, pa.ChunkedArray], sizes: Any
) -> Counts:
    """Return grouped rows of a database as counts, in their canonical order.

    Of many tuples every array counts: a column is let go when it is coded, and when it is sorted.
    """
    coded = {}
    for name in dict.fromkeys(columns):
        field_ = table.schema[name]
        coded[name] = encode(_cast(grouped.pop(name), field_.type), field_)
        pa.default_memory_pool().release_unused()
    size = sizes.cast(pa.int64()).to_numpy()
    del sizes
    order = _order([coded[name] for name in columns], size.size)
    for name, column in coded.items():
        coded[name] = column.take(order)
    size = size[order]
    pa.default_memory_pool().release_unused()
    return Counts(tuple(coded[name] for name in columns), size)


def count_sets(table: Table, sets: Sequence[tuple[str, ...]]) -> dict[tuple[str, ...], Counts]:
    """Return the counts of several sets of columns, where one query can, in one pass over the rows.

    DuckDB and Spark have GROUPING SETS; elsewhere there is a query for each.
    """
    home = home_of(table.expression)
    if home.name not in ("duckdb", "pyspark") or len(sets) < 2:  # noqa: PLR2004
        return {names: counts(table, names) for names in sets}
    counted: dict[tuple[str, ...], Counts] = {}
    for group in _groups(sets):
        # as they first appear: Spark numbers the sets in no other order
        places = list(dict.fromkeys(table.schema.position(n) for names in group for n in names))
        listed = ", ".join(f"c{place}" for place in places)
        listed_sets = ", ".join(
            "(" + ", ".join(f"c{table.schema.position(name)}" for name in names) + ")"
            for names in group
        )
        with without_values(table.source.name):
            home._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
            inner = home.compile(table.expression)
            rows = fetch_query(
                home,
                f"SELECT {listed}, grouping_id({listed}) AS g, count(*) AS size"  # noqa: S608
                f" FROM ({inner}) AS t GROUP BY GROUPING SETS ({listed_sets})",
            )
        which = rows.column("g").to_numpy()
        for names in group:
            used = {table.schema.position(name) for name in names}
            # bit by bit from the left: 1 where a column is not in the set
            number = sum(
                1 << (len(places) - 1 - i) for i, place in enumerate(places) if place not in used
            )
            mine = rows.filter(pa.array(which == number))
            held = {name: mine.column(f"c{table.schema.position(name)}") for name in names}
            counted[names] = _counted(table, names, held, mine.column("size"))
    return counted


def _groups(sets: Sequence[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """Yield sets that one query can count: of at most so many different columns."""
    group: list[tuple[str, ...]] = []
    for names in dict.fromkeys(sets):
        if group and len({name for held in (*group, names) for name in held}) > _MOST_COLUMNS:
            yield group
            group = []
        group.append(names)
    if group:
        yield group


def rolled_up(wider: Counts, columns: Sequence[str]) -> Counts:
    """Return the counts of some of the columns of a count."""
    picked = [next(c for c in wider.columns if c.name == name) for name in columns]
    number, most = _numbered(picked)
    if most > _FEW_PER_ROW * number.size:
        distinct, number = np.unique(number, return_inverse=True)
        most = distinct.size
    size = np.bincount(number, weights=wider.size, minlength=most).astype(np.int64)
    row = np.empty(most, dtype=np.int64)
    row[number] = np.arange(number.size)  # any that holds the tuple
    rows, size = row[size > 0], size[size > 0]
    return Counts(tuple(column.take(rows) for column in picked), size)


def _order(columns: Sequence[Column], size: int) -> NDArray[np.int64]:
    """Return distinct tuples in their canonical order: by one number a tuple, sorted once."""
    if any(len(list(column.keys())) > 1 for column in columns):  # a largest value beside missing
        return canonical_order((key for column in columns for key in column.keys()), size)  # noqa: SIM118
    return np.argsort(_numbered(columns)[0])


def thinned(counts: Counts, most: int = MOST_VALUES) -> Counts:
    """Return the counts of one column of numbers or dates, neighbours merged until few are left.

    The lowest value stays by itself. Every other value stands for those between it and the value
    before it, so that quantiles and cumulative shares are off by at most one part in ``most``.
    """
    column, size = counts.columns[0], counts.size
    if column.labels is not None or size.size <= most:
        return counts
    present, missing = np.flatnonzero(~column.missing), np.flatnonzero(column.missing)
    reached = np.cumsum(size[present])
    marks = np.linspace(reached[0], reached[-1], most - 1 - missing.size)
    ends = np.unique(np.searchsorted(reached, marks))
    merged = np.diff(reached[ends], prepend=0)
    places = np.concatenate([present[ends], missing])
    return Counts((column.take(places),), np.concatenate([merged, size[missing]]))


def _cast(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    coded = pa.types.is_dictionary(column.type) and column.type.value_type == type_
    return column if coded or column.type == type_ else column.cast(type_)


def _dense(column: Column) -> NDArray[np.int64]:
    """Return the rank of each value among those that occur, -1 where missing."""
    ranks = np.full(column.size, -1, dtype=np.int64)
    present = ~column.missing
    ranks[present] = np.unique(column.values[present], return_inverse=True)[1]
    return ranks
