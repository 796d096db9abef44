"""Write a lazy table in an order that says nothing: by a hash of the released row."""

from __future__ import annotations

import os
import secrets
import shutil
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.errors import DataError
from veladura.table.database.connection import (
    connect,
    fetch,
    home_of,
    one_at_a_time,
    read_parquet,
    run_sql,
    sql_name,
    sql_text,
)
from veladura.table.database.scratch import scratch_folder
from veladura.table.database_errors import told_without_values
from veladura.table.table import Table


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def md5(text: str) -> str:  # type: ignore[empty-body]
    """Hash a text, as DuckDB and PostgreSQL both do."""


def write_parquet(table: Table, path: Path) -> None:
    """Write a table to one Parquet file, in an order that says nothing.

    Rows are ordered by a hash of the released row: the order of the source would tell which
    row is whose. DuckDB writes the file, whatever the source, so the same rows give the same order.
    """
    if table.stored is not None:
        link(table.stored, path)
        return
    with told_without_values(table.source.name):
        backend = home_of(table.expression)
        ours = backend if backend.name == "duckdb" else connect()
        expression = (
            table.expression if backend.name == "duckdb" else ibis.memtable(fetch(table.expression))
        )
        sql = _in_hashed_order(ours, expression)
        if _are_plain(table.names):
            named = ", ".join(f"c{i} AS {sql_name(name)}" for i, name in enumerate(table.names))
            run_sql(
                ours,
                f"COPY (SELECT {named} FROM ({sql})) TO {sql_text(str(path))} (FORMAT parquet)",  # noqa: S608
            )
        else:
            fetched: pa.Table = ours.con.sql(sql).to_arrow_table()
            pq.write_table(fetched.rename_columns(table.names), path)


def _in_hashed_order(backend: Any, expression: ibis.Table) -> str:
    """Return DuckDB's SQL for the rows ordered by its own hash of each.

    Whether DuckDB knows that nothing is missing depends on the source, and would be written into a
    file; behind a condition it does not know.
    """
    backend._run_pre_execute_hooks(expression)  # noqa: SLF001  # makes tables in memory known to it
    names = [f"c{i}" for i in range(len(expression.columns))]
    columns = ", ".join(names)
    hashed = f"SELECT {columns}, hash({columns}) AS h FROM ({backend.compile(expression)})"  # noqa: S608
    return f"SELECT {', '.join(f'CASE WHEN h >= 0 THEN {name} END AS {name}' for name in names)} FROM ({hashed}) ORDER BY h"  # noqa: S608


def _are_plain(names: Sequence[str]) -> bool:
    """Whether DuckDB can tell the names apart: it has no empty ones, and takes `i` and `I` for the same."""
    return all(names) and len({name.casefold() for name in names}) == len(names)


def write_table(table: Table, name: str, *, overwrite: bool = False) -> None:
    """Write a table as a new table of the database it lives in, in an order that says nothing."""
    backend = home_of(table.expression)
    _check_names(backend, table.names)
    named = {field.name: ibis._[f"c{i}"] for i, field in enumerate(table.schema)}
    with told_without_values(table.source.name):
        if backend.name == "sqlite":  # it has no hash of text: our DuckDB puts the rows in order
            ours = connect()
            rows = ours.con.sql(
                _in_hashed_order(ours, ibis.memtable(fetch(table.expression)))
            ).to_arrow_table()
            _create(backend, name, rows.rename_columns(table.names), overwrite=overwrite)
        else:
            expression = table.expression
            ordered = expression.order_by(
                md5(row_text([expression[place] for place in expression.columns]))
            )
            _create(backend, name, ordered.select(**named), overwrite=overwrite)


def write_arrow(source: Table, arrow: pa.Table, name: str, *, overwrite: bool = False) -> None:
    """Write rows in memory, in the order they have, as a new table of the database a source lives in."""
    backend = home_of(source.expression)
    check_database(source)
    _check_names(backend, arrow.column_names)
    with told_without_values(f"table {name!r}"):
        _create(backend, name, arrow, overwrite=overwrite)


def check_database(source: Table) -> None:
    """Refuse to write a table beside a file or a frame."""
    if source.source.url is None and (
        source.source.file is not None or home_of(source.expression) is connect()
    ):
        msg = (
            f"{source.source.name} is not in a database: a table cannot be written beside"
            " it.\n\nHint: write files instead."
        )
        raise DataError(msg)


def link(old: Path, new: Path) -> None:
    """Give a file a second name, or copy it where that cannot be."""
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
    """Return a lazy table worked out once: every count then reads a file instead of recoding all rows again.

    DuckDB writes the file into private scratch, as a package holds it. A table on a server stays an
    expression, as its rows do not come here before they are asked for.
    """
    if home_of(table.expression).name != "duckdb" or table.in_memory:
        return table
    scratch = Scratch()
    write_parquet(table, scratch.path)
    return stored_table(
        replace(table, source=replace(table.source, scratch=(table.source.scratch, scratch))),
        scratch.path,
    )


def stored_table(table: Table, path: Path) -> Table:
    """Return a table that was written to a Parquet file as a lazy table over that file."""
    with told_without_values(table.source.name):
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
            "DuckDB cannot hold columns without a name, or whose names differ only in"
            " case.\n\nHint: write a Parquet file instead."
        )
        raise DataError(msg)


def row_text(columns: Sequence[Any]) -> Any:
    """Return the values of a row as one text, in which missing and empty, and any two rows, differ."""
    pieces = [
        column.isnull().ifelse(
            "-", ibis.literal("+") + column.cast("string").replace("\\", "\\\\").replace("|", "\\|")
        )
        for column in columns
    ]
    return ibis.literal("|").join(pieces)
