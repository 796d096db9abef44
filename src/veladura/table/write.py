"""Write a table in random order: by a hash of the released row, which hides the source's order."""

from __future__ import annotations

import os
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
import pyarrow.parquet as pq

from veladura.errors import DataError
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
    sql_text,
)
from veladura.table.database.scratch import scratch_folder
from veladura.table.database.spark import (
    has_spark_table,
    rename_spark_table,
    save_spark_table,
    write_parts,
)
from veladura.table.database_errors import without_values
from veladura.table.schema import Field
from veladura.table.table import Table


@cache
def _md5() -> Any:
    """Return the hash of a text that DuckDB and PostgreSQL both have, as an Ibis function."""
    import ibis

    def md5(text: str) -> str:  # type: ignore[empty-body]
        """Hash a text."""

    return ibis.udf.scalar.builtin(md5)


def write_parquet(table: Table, path: Path) -> None:
    """Write a table to one Parquet file, in random order.

    Rows are ordered by a hash of the released row: the order of the source could show whose row
    it is. DuckDB writes the file, whatever the source, so the same rows give the same order.
    """
    if table.stored is not None:
        link(table.stored, path)
        return
    with without_values(table.source.name), _in_duckdb(table) as (connection, rows):
        sql = _in_hashed_order(rows, len(table.names))
        if _are_plain(table.names):
            named = ", ".join(f"c{i} AS {sql_name(name)}" for i, name in enumerate(table.names))
            run_sql(
                connection,
                f"COPY (SELECT {named} FROM ({sql})) TO {sql_text(str(path))}"  # noqa: S608
                " (FORMAT parquet, WRITE_BLOOM_FILTER false)",
            )
        else:
            rows_in_order = fetch_sql(connection, sql).rename_columns(table.names)
            pq.write_table(rows_in_order.replace_schema_metadata(None), path, store_schema=False)


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


def _in_hashed_order(rows: str, width: int) -> str:
    """Return DuckDB's SQL for rows ordered by its own hash of each.

    Some sources declare columns as never missing, and a Parquet file would show it. Behind the
    condition ``h >= 0``, which always holds, DuckDB cannot infer that.
    """
    names = [f"c{i}" for i in range(width)]
    columns = ", ".join(names)
    hashed = f"SELECT {columns}, hash({columns}) AS h FROM ({rows})"  # noqa: S608
    released = ", ".join(f"CASE WHEN h >= 0 THEN {name} END AS {name}" for name in names)
    return f"SELECT {released} FROM ({hashed}) ORDER BY h"  # noqa: S608


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
                rows = fetch_sql(connection, _in_hashed_order(sql, len(table.names)))
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


def link(old: Path, new: Path) -> None:
    """Give a file a second name, or copy it where the disk does not allow that."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


class Scratch:
    """A file in scratch that is removed when no table needs it any more."""

    def __init__(self) -> None:
        self.path = scratch_folder() / f"{secrets.token_hex(8)}.parquet"
        weakref.finalize(self, self.path.unlink, missing_ok=True)


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
    write_parquet(table, scratch.path)
    return stored_table(
        replace(table, source=replace(table.source, scratch=(table.source.scratch, scratch))),
        scratch.path,
    )


def _settled_spark(table: Table, home: Any) -> Table:
    """Return a table of Spark as one file of our DuckDB, made of parts that the executors wrote."""
    parts = scratch_folder() / f"{secrets.token_hex(8)}.parts"
    try:
        with without_values(table.source.name):
            write_parts(home, table.expression, parts)
            stored = read_parquet(parts)
            columns = {
                f"c{i}": _as_declared(stored[i], field) for i, field in enumerate(table.schema)
            }
        return settle(Table(table.schema, stored.select(**columns), table.source))
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _as_declared(column: Any, field: Field) -> Any:
    """Return a time without its zone, which Spark gives to times that were parsed or cast."""
    type_ = column.type()
    zoned = type_.is_timestamp() and type_.timezone is not None
    return column.cast("timestamp(6)") if zoned and field.type.tz is None else column


def stored_table(table: Table, path: Path) -> Table:
    """Return a table that was written to a Parquet file as a lazy table over that file."""
    with without_values(table.source.name):
        home = home_of(table.expression)
        stored = read_parquet(path, backend=home if home.name == "duckdb" else None)
        columns = {f"c{i}": stored[i] for i in range(len(table.names))}
        return Table(table.schema, stored.select(**columns), table.source, stored=path)


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
