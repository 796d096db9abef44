"""Write a table in random order: by a hash of the released row, which hides the source's order."""

from __future__ import annotations

import secrets
import shutil
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from veladura.base.memory import rows_within
from veladura.errors import DataError
from veladura.table.coded import Ordering, code_column, coded_schema, in_hashed_order, ordering
from veladura.table.database.connection import (
    connect,
    fetch,
    fetch_sql,
    home_of,
    is_spark,
    one_at_a_time,
    own_connection,
    read_parquet,
    registered,
    run_sql,
    sql_name,
)
from veladura.table.database.scratch import scratch_folder
from veladura.table.database.spark import (
    has_spark_table,
    rename_spark_table,
    save_spark_table,
    write_parts,
)
from veladura.table.database_errors import without_values
from veladura.table.parts import (
    GROUP,
    link_stored,
    read_batches,
    remove_stored,
    rows_a_part,
    write_batches,
)
from veladura.table.schema import Field, Schema
from veladura.table.table import Source, Table, arranged, cast


@cache
def _md5() -> Any:
    """Return the hash of a text that DuckDB and PostgreSQL both have, as an Ibis function."""
    import ibis

    def md5(text: str) -> str:  # type: ignore[empty-body]
        """Hash a text."""

    return ibis.udf.scalar.builtin(md5)


def md5_of(text: Any) -> Any:
    """Return the hash of a text expression, the same on every engine."""
    return _md5()(text)


def write_parquet(table: Table, path: Path, most: int | None = None) -> Path:
    """Write a table to a Parquet file, or to a folder of parts, in random order.

    Rows are ordered by a hash of the released row: the order of the source could show whose row
    it is. DuckDB puts them in order, on disk where need be, whatever the source, so the same rows
    give the same order.

    Parameters
    ----------
    most
        Rows of a file; by default as many as could be held in memory.

    Returns
    -------
    The file, or the folder beside it.
    """
    if table.stored is not None and most is None:
        return link_stored(table.stored, path)
    schema = pa.schema([(field.name, field.type) for field in table.schema])
    most = rows_a_part(len(table.names)) if most is None else most
    if table.stored is not None:
        pieces = (pa.Table.from_batches([piece]) for piece in read_batches(table.stored))
        return write_batches(
            (arranged(piece, table.schema) for piece in pieces), schema, path, most
        )
    with without_values(table.source.name), _in_duckdb(table) as (connection, sql):
        try:
            with ordering(table, connection, sql) as order:
                return _write_ordered(table, connection, order, path, most)
        except _not_among_labels():  # somebody writes to the table meanwhile: texts as they come
            remove_stored(path)
            plain = Ordering(in_hashed_order(sql, len(table.names)))
            return _write_ordered(table, connection, plain, path, most)


def _write_ordered(table: Table, connection: Any, order: Ordering, path: Path, most: int) -> Path:
    """Write the rows of a query in their order."""
    types = pa.schema([(field.name, field.type) for field in table.schema])
    schema = coded_schema(types, order.coded)

    def arrange(piece: pa.Table) -> pa.Table:
        columns = [
            code_column(column) if i in order.coded else cast(column, types.field(i).type)
            for i, column in enumerate(piece.columns)
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    plain = [table.names[i] for i in order.plain]
    with one_at_a_time():
        reader = connection.sql(order.sql).to_arrow_reader(rows_within(GROUP, len(types)))
        pieces = (arrange(pa.Table.from_batches([piece])) for piece in reader)
        return write_batches(pieces, schema, path, most, plain=plain)


def _not_among_labels() -> type[Exception]:
    """Return DuckDB's error for a text that is none of the labels of a type."""
    import duckdb

    error: type[Exception] = duckdb.ConversionException
    return error


@contextmanager
def _in_duckdb(table: Table) -> Iterator[tuple[Any, str]]:
    """Give a DuckDB and its SQL for the rows, as long as the block runs."""
    if not table.in_memory and (backend := home_of(table.expression)).name == "duckdb":
        backend._run_pre_execute_hooks(table.expression)  # noqa: SLF001  # shows it rows in memory
        yield backend.con, backend.compile(table.expression)
        return
    rows = table.data if table.in_memory else fetch(table.expression)
    places = [f"c{i}" for i in range(len(table.names))]
    with registered(connection := own_connection(), rows.rename_columns(places)) as view:
        yield connection, f"SELECT * FROM {view}"  # noqa: S608


def _are_plain(names: Sequence[str]) -> bool:
    """Whether DuckDB can hold the names: none is empty, and they differ in more than case."""
    return all(names) and len({name.casefold() for name in names}) == len(names)


def write_table(table: Table, name: str, *, overwrite: bool = False) -> None:
    """Write a table as a new table of the database it lives in, in random order."""
    import ibis

    backend = home_of(table.expression)
    _check_names(backend, table.names)
    named = {field.name: ibis._[f"c{i}"] for i, field in enumerate(table.schema)}
    with without_values(table.source.name):
        if backend.name == "sqlite":  # it has no hash of text: our DuckDB puts the rows in order
            with _in_duckdb(table) as (connection, sql):
                rows = fetch_sql(connection, in_hashed_order(sql, len(table.names)))
            _create(backend, name, rows.rename_columns(table.names), overwrite=overwrite)
        else:
            expression = table.expression
            text = row_text([expression[place] for place in expression.columns])
            ordered = expression.order_by(_md5()(text))
            _create(backend, name, ordered.select(**named), overwrite=overwrite)


def write_beside(source: Table, table: Table, name: str) -> None:
    """Write a lazy table into the database of its source, which may be Spark; replace one there."""
    if not is_spark(source.expression):
        write_table(table, name, overwrite=True)
        return
    settled = settle(table)
    with without_values(f"table {name!r}"):
        save_spark_table(home_of(source.expression), settled.stored, name)


def write_arrow(source: Table, arrow: pa.Table, name: str, *, overwrite: bool = False) -> None:
    """Write rows in memory, in their order, as a new table of the database of a source."""
    backend = home_of(source.expression)
    check_database(source)
    _check_names(backend, arrow.column_names)
    with without_values(f"table {name!r}"):
        if backend.name == "pyspark":
            save_spark_table(backend, arrow, name)
            return
        _create(backend, name, arrow, overwrite=overwrite)


def has_table(source: Table, name: str) -> bool:
    """Whether the database of a source has a table of this name."""
    backend = home_of(source.expression)
    with without_values(f"table {name!r}"):
        if backend.name == "pyspark":
            return has_spark_table(backend, name)
        if backend.name == "duckdb":  # Ibis asks version 2 in a way that it does not have
            return (name,) in run_sql(backend, "SHOW TABLES")
        with one_at_a_time():
            return name in backend.list_tables()


def rename_table(source: Table, old: str, new: str) -> None:
    """Give a table of the database of a source another name; one that has the name is dropped."""
    backend = home_of(source.expression)
    sql = f"ALTER TABLE {sql_name(old)} RENAME TO {sql_name(new)}"
    with without_values(f"table {new!r}"), one_at_a_time():
        if backend.name == "pyspark":
            rename_spark_table(backend, old, new)
            return
        backend.drop_table(new, force=True)
        cursor = backend.con.cursor()  # Ibis itself renames in some databases only
        cursor.execute(sql)
        cursor.close()
        if backend.name != "duckdb":
            backend.con.commit()


def drop_table(source: Table, name: str) -> None:
    """Drop a table of the database of a source, if it is there."""
    with without_values(f"table {name!r}"), one_at_a_time():
        home_of(source.expression).drop_table(name, force=True)


def check_database(source: Table) -> None:
    """Refuse to write a table next to a file or a frame."""
    here = source.in_memory or source.source.file is not None
    if here or home_of(source.expression) is connect():
        msg = (
            f"{source.source.name} is not in a database, so no table can be written next to"
            " it.\n\nHint: write files instead."
        )
        raise DataError(msg)


class Scratch:
    """Rows in scratch, in a file or a folder of parts, which go when no table needs them."""

    def __init__(self) -> None:
        self.path = scratch_folder() / f"{secrets.token_hex(8)}.parquet"
        weakref.finalize(self, remove_stored, self.path)


def settle(table: Table) -> Table:
    """Return a lazy table computed once: later counts read a file instead of recoding again.

    DuckDB writes the file into private scratch, as a package holds it. Spark's executors write
    their parts there first, and DuckDB puts them in order: the same rows give the same file. A
    table on another server stays a query on that server.
    """
    if table.in_memory:
        return table
    if (home := home_of(table.expression)).name == "pyspark":
        return _settled_spark(table, home)
    if home.name != "duckdb":
        return table
    scratch = Scratch()
    settled = stored_table(
        replace(table, source=replace(table.source, scratch=(table.source.scratch, scratch))),
        write_parquet(table, scratch.path),
    )
    settled.cache.distinct.update(table.cache.distinct)
    return settled


def _settled_spark(table: Table, home: Any) -> Table:
    """Return a table of Spark as one file of our DuckDB, made of parts that the executors wrote."""
    parts = scratch_folder() / f"{secrets.token_hex(8)}.parts"
    try:
        with without_values(table.source.name):
            write_parts(home, table.expression, parts)
            stored = read_parquet(parts)
            columns = {
                f"c{i}": as_declared(stored[i], field) for i, field in enumerate(table.schema)
            }
        return settle(Table(table.schema, stored.select(**columns), table.source))
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def as_declared(column: Any, field: Field) -> Any:
    """Return a time without its zone, which Spark gives to times that were parsed or cast."""
    type_ = column.type()
    zoned = type_.is_timestamp() and type_.timezone is not None
    return column.cast("timestamp(6)") if zoned and field.type.tz is None else column


def stored_table(table: Table, path: Path) -> Table:
    """Return a table that was written to Parquet as a lazy table over the file or its parts."""
    with without_values(table.source.name):
        home = home_of(table.expression)
        stored = read_parquet(path, backend=home if home.name == "duckdb" else None)
        columns = {f"c{i}": stored[i] for i in range(len(table.names))}
        return Table(table.schema, stored.select(**columns), table.source, stored=path)


def stored_files(schema: Schema, source: Source, files: Sequence[Path]) -> Table:
    """Return Parquet files of one table, in the order of its columns, as a lazy table."""
    with without_values(source.name):
        stored = read_parquet(files)
        columns = {f"c{i}": stored[i] for i in range(len(schema.names))}
        return Table(schema, stored.select(**columns), source)


def stored_rows(schema: Schema, source: Source, scratch: Scratch, letter: str = "c") -> Table:
    """Return a scratch file of rows, columns named by a letter and position, as a lazy table."""
    with without_values(source.name):
        stored = read_parquet(scratch.path)
        kept = replace(source, file=None, scratch=(source.scratch, scratch))
        columns = {f"c{i}": stored[f"{letter}{i}"] for i in range(len(schema.names))}
        return Table(schema, stored.select(**columns), kept)


def _create(backend: Any, name: str, rows: Any, *, overwrite: bool) -> None:
    with one_at_a_time():
        backend.create_table(name, obj=rows, overwrite=overwrite)


def _check_names(backend: Any, names: Sequence[str]) -> None:
    if backend.name == "duckdb" and not _are_plain(names):
        msg = (
            "DuckDB cannot hold columns whose names are empty or differ only in case.\n\nHint:"
            " write a Parquet file instead."
        )
        raise DataError(msg)


def row_text(columns: Sequence[Any]) -> Any:
    """Return a row as one text: different rows differ, and so do missing and empty values."""
    import ibis

    pieces = [
        column.isnull().ifelse(
            "-", ibis.literal("+") + column.cast("string").replace("\\", "\\\\").replace("|", "\\|")
        )
        for column in columns
    ]
    return ibis.literal("|").join(pieces)
