"""Databases by path or URL: DuckDB and SQLite files, PostgreSQL and other servers.

Tables of MariaDB, MySQL, SQL Server and Oracle are read into our own DuckDB when they are opened:
their usual collations take texts for equal that differ in case, accents or blanks at the end, so
that a count made there would not be that of the values.
"""

from __future__ import annotations

import sqlite3
import sys
import warnings
import weakref
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import DataError, PlanError
from veladura.table.database.connection import fetch, find, private_settings, run_sql
from veladura.table.database.passwords import with_password, without_password
from veladura.table.database.scratch import scratch_folder
from veladura.table.database.spark import connect_spark, find_spark_table, is_spark_url
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    import ibis

READ_HERE = {"mysql": "mysql", "mariadb": "mysql", "mssql": "mssql", "oracle": "oracle"}
SCHEMES = ("duckdb", "sqlite", "postgresql", "postgres", *READ_HERE)
_MOST_NAMES = 20
_EMPTY = "the database has no tables."
_HEADER = 16  # bytes that tell the two kinds of files apart


def file_url(path: Path) -> str:
    """Return the URL of a database file; its first bytes say which database wrote it."""
    with without_values(path.name), path.open("rb") as stream:
        header = stream.read(_HEADER)
    if header.startswith(b"SQLite format 3"):
        return f"sqlite:///{path}"
    if header[8:12] == b"DUCK":
        return f"duckdb:///{path}"
    msg = (
        f"{path.name} is not a DuckDB or SQLite database.\n\nHint: check the path; other databases"
        " are opened by their URL, as in postgresql://user@server/database."
    )
    raise DataError(msg)


def find_table(
    url: str, table: str | None, *, writable: bool = False, custodian: Path | None = None
) -> tuple[ibis.Table, str, str]:
    """Return a table of a database, the URL without its password, and the name of the table.

    Without a name it is the only table of the database.
    """
    if is_spark_url(url):
        return _in_spark(url, table)
    scheme = url.partition("://")[0]
    if scheme not in SCHEMES:
        what = "database"
        raise PlanError.unknown(what, scheme, (*SCHEMES, "spark", "sc"))
    try:
        with without_values(f"the {scheme} database"):
            backend = _connect(scheme, url, writable=writable, custodian=custodian)
    except ModuleNotFoundError as error:
        extra = READ_HERE.get(scheme, "postgres" if scheme.startswith("postgres") else scheme)
        msg = (
            f"reading {scheme} needs the package {error.name}, which is not installed.\n\nHint: pip"
            f" install 'veladura[{extra}]'."
        )
        raise PlanError(msg) from None
    weakref.finalize(backend, _close, backend.con)  # when the last expression on it is gone
    name = table or _only_table(backend)
    found = _table(backend, name)
    return (_here(found, name) if scheme in READ_HERE else found), without_password(url), name


def _in_spark(url: str, table: str | None) -> tuple[ibis.Table, str, str]:
    """Return a table of a Spark session; the session lives as long as the process."""
    if not table:
        msg = (
            "a Spark session needs the name of a table.\n\nHint: set table (in a plan or vd.open)"
            " or --table, to a table of the catalogue or to files: table = 'parquet.`/path`'."
        )
        raise PlanError(msg)
    try:
        with without_values("the Spark session"):
            backend = connect_spark(url)
    except ModuleNotFoundError as error:
        msg = (
            f"reading Spark needs the package {error.name}, which is not installed.\n\nHint: pip"
            " install 'veladura[spark]'."
        )
        raise PlanError(msg) from None
    with without_values(f"table {table!r}"):
        return find_spark_table(backend, table), url, table


def _here(table: ibis.Table, name: str) -> ibis.Table:
    """Return the rows of a table of a server as a table of our own DuckDB."""
    import ibis

    with without_values(f"table {name!r}"):
        return ibis.memtable(fetch(table))


def _close(connection: Any) -> None:
    """Close a connection; SQLite allows it in its own thread only, and closes it itself else."""
    with suppress(sqlite3.ProgrammingError):
        connection.close()


def _connect(scheme: str, url: str, *, writable: bool, custodian: Path | None) -> Any:
    import ibis

    if scheme == "duckdb":
        return ibis.duckdb.connect(
            _file(scheme, url),
            read_only=not writable,
            **private_settings(scratch_folder(custodian)),
        )
    if scheme == "sqlite":
        backend = _connect_sqlite(_file(scheme, url), writable=writable)
        backend.list_tables()  # connecting alone does not open the file
        return backend
    if READ_HERE.get(scheme) == "mysql":
        return _connect_mysql(with_password(f"mysql://{url.partition('://')[2]}"))
    return ibis.connect(with_password(url))


def _connect_mysql(url: str) -> Any:
    """Return a connection whose times are in UTC; a server may not know the zone by its name."""
    import ibis

    _use_pymysql()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unable to set session timezone")
        backend = ibis.connect(url)
    with backend.con.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
    return backend


def _use_pymysql() -> None:
    """Let Ibis use PyMySQL, which needs no compiler, where mysqlclient is not installed."""
    from importlib.util import find_spec

    if "MySQLdb" not in sys.modules and find_spec("MySQLdb") is None:
        import pymysql  # type: ignore[import-untyped]

        pymysql.install_as_MySQLdb()


def _connect_sqlite(path: Path, *, writable: bool) -> Any:
    """Return a connection that cannot change the file, unless it may be written to."""
    import ibis

    ibis.sqlite.connect().disconnect()  # Ibis tells sqlite3 its types when it first connects
    mode = "rw" if writable else "ro"
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True)
    connection.execute("PRAGMA temp_store = MEMORY")  # what it sorts goes to no temporary folder
    return ibis.sqlite.from_connection(connection)


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
    msg = f"table {name!r} is not in the database.\n\nHint: {_choice(_tables(backend))}"
    raise DataError(msg)


def _only_table(backend: Any) -> str:
    """Return the name of the one table of a database; refuse to choose among several."""
    tables = _tables(backend)
    if len(tables) == 1:
        return tables[0]
    msg = (
        f"the database has {len(tables)} tables, and no table was named.\n\nHint: set"
        f' table = "..." (in a plan or vd.open) or --table; {_choice(tables)}'
    )
    raise PlanError(msg) if tables else DataError(_EMPTY)


def _choice(tables: list[str]) -> str:
    more = len(tables) - _MOST_NAMES
    beyond = f" and {more} more" if more > 0 else ""
    return f"the database has {tables[:_MOST_NAMES]}{beyond}." if tables else _EMPTY


def _tables(backend: Any) -> list[str]:
    """Return the names of tables and views, with their schema where it is not the usual one."""
    with without_values("the database"):
        if backend.name == "duckdb":  # Ibis 12 cannot list the tables of DuckDB 2
            rows = run_sql(
                backend,
                "SELECT table_schema, table_name FROM information_schema.tables"
                " WHERE table_catalog = current_database()",
            )
            return sorted(name if home == "main" else f"{home}.{name}" for home, name in rows)
        return sorted(name for name in backend.list_tables() if not name.startswith("sqlite_"))
