"""Databases by URL: DuckDB and SQLite files, PostgreSQL servers."""

from __future__ import annotations

import re
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import DataError, PlanError
from veladura.table.database.connection import find, private_settings, run_sql
from veladura.table.database.scratch import scratch_folder
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    import ibis

SCHEMES = ("duckdb", "sqlite", "postgresql", "postgres")
_MOST_NAMES = 20


def find_table(
    url: str, table: str | None, *, writable: bool = False, custodian: Path | None = None
) -> tuple[ibis.Table, str]:
    """Return a table of a database, and the URL without its password."""
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        what = "database"
        raise PlanError.unknown(what, scheme, SCHEMES)
    if not table:
        msg = (
            'a database source needs the name of a table.\n\nHint: set table = "people", or'
            ' table = "schema.people".'
        )
        raise PlanError(msg)
    try:
        with without_values(f"the {scheme} database"):
            backend = _connect(scheme, url, writable=writable, custodian=custodian)
    except ModuleNotFoundError as error:
        extra = "postgres" if scheme.startswith("postgres") else scheme
        msg = (
            f"reading {scheme} needs the package {error.name}, which is not installed.\n\nHint: pip"
            f" install 'veladura[{extra}]'."
        )
        raise PlanError(msg) from None
    weakref.finalize(backend, backend.con.close)  # when the last expression on it is gone
    return _table(backend, table), re.sub(r"(://[^:/@]*):[^@]*@", r"\1@", url)


def _connect(scheme: str, url: str, *, writable: bool, custodian: Path | None) -> Any:
    import ibis

    if scheme == "duckdb":
        return ibis.duckdb.connect(
            _file(scheme, url),
            read_only=not writable,
            **private_settings(scratch_folder(custodian)),
        )
    if scheme == "sqlite":
        backend = ibis.sqlite.connect(_file(scheme, url))
        backend.list_tables()  # connecting alone does not open the file
        return backend
    return ibis.connect(url)


def _file(scheme: str, url: str) -> Path:
    """Return the path in a URL: after ``:///`` it is relative, after ``:////`` absolute."""
    path = Path(url.partition("://")[2].removeprefix("/"))
    if not path.is_file():
        msg = (
            f"{path} is not a file.\n\nHint: write {scheme}:///relative/file.db or"
            f" {scheme}:////absolute/file.db."
        )
        raise DataError(msg)
    return path


def _table(backend: Any, name: str) -> ibis.Table:
    """Return a table by its name, else by schema and name."""
    from ibis.common.exceptions import TableNotFound

    schema, _, short = name.rpartition(".")
    places = [(name, None), (short, (schema,))] if schema else [(name, None)]
    for table, database in places:
        with without_values(f"table {name!r}"):
            try:
                return find(backend, table, database)
            except TableNotFound:
                continue
    tables = _tables(backend)
    hint = f"the database has {tables[:_MOST_NAMES]}." if tables else "the database has no tables."
    msg = f"table {name!r} is not in the database.\n\nHint: {hint}"
    raise DataError(msg)


def _tables(backend: Any) -> list[str]:
    with without_values("the database"):
        if backend.name == "duckdb":  # Ibis 12 cannot list the tables of DuckDB 2
            return sorted(
                str(row[0])
                for row in run_sql(backend, "SELECT table_name FROM information_schema.tables")
            )
        return sorted(backend.list_tables())
