"""Where expressions run: one private DuckDB per process, or the database a table lives in."""

from __future__ import annotations

import atexit
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, ref

import pyarrow as pa

from veladura.base.memory import database_memory, database_threads
from veladura.table.database.scratch import scratch_folder

if TYPE_CHECKING:  # Ibis takes a third of a second to load, and a frame never needs it
    import ibis

_number = count()
_ONE_AT_A_TIME = RLock()  # a DuckDB connection serves one query at a time, with all cores


class _Duck:
    """A DuckDB of this process, for Arrow and (once asked for) for Ibis."""

    def __init__(self, scratch: Path) -> None:
        import duckdb

        self.connection = duckdb.connect(config=private_settings(scratch))
        # as Ibis sets its own: no variable of ours is taken for a table
        self.connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false")
        atexit.register(_close, ref(self))  # before scratch is cleared, which was made first

    @cached_property
    def backend(self) -> Any:
        import ibis

        backend = ibis.duckdb.from_connection(self.connection)
        backend.veladura_duck = self  # lives as long as a lazy table of it
        return backend


def _close(duck: ref[_Duck]) -> None:
    """Close a DuckDB if it is still there."""
    if (living := duck()) is not None:
        living.connection.close()


# One for each scratch folder and limit of memory, as long as a lazy table needs it: a process that
# runs plan after plan, each with a folder of its own, would else keep the threads of them all.
_ducks: WeakValueDictionary[tuple[Path, int, int | None], _Duck] = WeakValueDictionary()
_newest: list[_Duck] = []


def own_connection(custodian: Path | None = None) -> Any:
    """Return this process's in-memory DuckDB, which spills into private scratch.

    It never downloads extensions.
    """
    with _ONE_AT_A_TIME:
        return _duck(scratch_folder(custodian)).connection


def connect(custodian: Path | None = None) -> Any:
    """Return the same DuckDB as Ibis knows it, for lazy tables."""
    with _ONE_AT_A_TIME:
        return _duck(scratch_folder(custodian)).backend


def _duck(scratch: Path) -> _Duck:
    """Return the DuckDB of a scratch folder; the newest stays until there is a newer one."""
    key = (scratch, os.getpid(), database_memory())
    duck = _ducks.get(key)
    if duck is None:
        duck = _ducks[key] = _Duck(scratch)
    _newest[:] = [duck]
    return duck


def private_settings(scratch: Path) -> dict[str, Any]:
    """Return the settings every DuckDB of ours is opened with."""
    given = os.environ.get("VELADURA_THREADS", "")
    threads = int(given) if given.isdigit() and int(given) else None
    return {
        **({} if threads is None else {"threads": threads}),
        **_within_memory(threads),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "temp_directory": str(scratch),
        # memory goes back when a query ends: by then the rows are in Arrow's
        "allocator_flush_threshold": "1MB",
        "allocator_bulk_deallocation_flush_threshold": "1MB",
        "allocator_background_threads": True,  # also of threads that have nothing to do next
    }


def _within_memory(threads: int | None) -> dict[str, Any]:
    """Return DuckDB's share of the memory of a run, and the threads that it allows."""
    share = database_memory()
    if share is None:
        return {}
    return {
        "memory_limit": f"{share // 2**20}MiB",
        "threads": database_threads(threads or os.cpu_count() or 1),
    }


def home_of(expression: ibis.Table) -> Any:
    """Return the backend of an expression: that of its tables, or ours for rows in memory."""
    # get_backend would fall back on Ibis's own DuckDB
    backends, _ = expression._find_backends()  # noqa: SLF001
    return backends[0] if backends else connect()


def compares_missing(expression: ibis.Table) -> bool:
    """Whether the database of an expression hashes comparisons in which missing equals missing."""
    return home_of(expression).name in ("duckdb", "pyspark")


def is_duckdb(expression: ibis.Table) -> bool:
    """Whether an expression runs on DuckDB."""
    return bool(home_of(expression).name == "duckdb")


def is_spark(expression: ibis.Table) -> bool:
    """Whether an expression runs on Spark."""
    return bool(home_of(expression).name == "pyspark")


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Hold the connection alone, and hide Ibis 12's warnings about DuckDB 2 and pandas 3."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def find(backend: Any, name: str, database: tuple[str, ...] | None = None) -> ibis.Table:
    """Return a table or view of a backend by its name."""
    with one_at_a_time():
        return backend.table(name, database=database)


def read_parquet(
    path: Path | Sequence[Path],
    custodian: Path | None = None,
    backend: Any = None,
    *,
    hive: bool = False,
) -> ibis.Table:
    """Return a Parquet file, a folder of them or some files as a lazy table of a DuckDB.

    By default of ours.

    Parameters
    ----------
    hive
        Whether the names of folders give columns (``year=2024``), which are texts: a number would
        lose the zeros that a code begins with.
    """
    backend, view = backend or connect(custodian), f"parquet{next(_number)}"
    run_sql(
        backend,
        f"CREATE TEMP VIEW {view} AS SELECT * FROM read_parquet({_listed(path, hive=hive)})",  # noqa: S608
    )
    return find(backend, view)


def _listed(path: Path | Sequence[Path], *, hive: bool) -> str:
    """Return files as DuckDB names them; of listed ones folders give columns only if asked for."""
    if not isinstance(path, Path):
        files = ", ".join(sql_text(literal_path(file)) for file in path)
        return f"[{files}], hive_partitioning = {hive}, hive_types_autocast = false"
    return sql_text(literal_path(path) + ("/**/*.parquet" if path.is_dir() else ""))


def literal_path(path: Path) -> str:
    """Return a path in which no character is a wildcard.

    Examples
    --------
    >>> literal_path(Path("a[1].csv"))
    'a[[]1].csv'
    """
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def fetch(expression: ibis.Table) -> pa.Table:
    """Return the rows of an expression in memory."""
    home = home_of(expression)
    if home.name == "pyspark":
        from veladura.table.database.spark import fetch_spark

        return fetch_spark(home, expression)
    with one_at_a_time():
        fetched: pa.Table = home.to_pyarrow(expression)
    return fetched


def fetch_one(expression: ibis.Table, figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return one row of figures about an expression."""
    row: dict[str, Any] = fetch(expression.aggregate(**figures)).to_pylist()[0]
    return row


def run_sql(home: Any, sql: str) -> list[tuple[Any, ...]]:
    """Run a statement on a DuckDB, bare or as Ibis knows it, and return its rows."""
    with one_at_a_time():
        rows: list[tuple[Any, ...]] = getattr(home, "con", home).execute(sql).fetchall()
    return rows


def fetch_sql(connection: Any, sql: str) -> pa.Table:
    """Return the rows of a query of DuckDB in memory."""
    with one_at_a_time():
        rows: pa.Table = connection.sql(sql).to_arrow_table()
    return rows


def fetch_query(home: Any, sql: str) -> pa.Table:
    """Return the rows of a query of DuckDB or Spark, as Ibis knows it, in memory."""
    if home.name == "pyspark":
        from veladura.table.database.spark import fetch_spark_sql

        return fetch_spark_sql(home, sql)
    return fetch_sql(home.con, sql)


@contextmanager
def registered(connection: Any, rows: pa.Table) -> Iterator[str]:
    """Show rows in memory to a DuckDB as a view, by its name, as long as the block runs."""
    view = f"rows{next(_number)}"
    with one_at_a_time():
        connection.register(view, rows)
    try:
        yield view
    finally:
        with one_at_a_time():
            connection.unregister(view)


def sql_text(text: str) -> str:
    """Return a text as an SQL literal.

    Examples
    --------
    >>> print(sql_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    """Return a name as a quoted SQL identifier.

    Examples
    --------
    >>> print(sql_name('a"b'))
    "a""b"
    """
    return '"' + name.replace('"', '""') + '"'
