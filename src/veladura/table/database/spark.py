"""Apache Spark: sessions by URL, tables by name or path, and rows that cross by Arrow.

Ibis writes the SQL. Values cross between Spark and this process as Arrow and never through pandas,
which turns whole numbers beside missing ones into floats and missing text into words.
"""

from __future__ import annotations

import os
import re
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from veladura.errors import DataError, PlanError
from veladura.table.database.scratch import scratch_folder
from veladura.table.database.spark_paths import (
    local_folder,
    path_to_read,
    path_to_write,
    refuse_unreachable,
)

if TYPE_CHECKING:
    import ibis

_number = count()
_ANY_JAVA = "-XX:+IgnoreUnrecognizedVMOptions"
_COMPILED_LATE = (
    f"{_ANY_JAVA} -XX:Tier4InvocationThreshold=50000"
    " -XX:Tier4MinInvocationThreshold=6000 -XX:Tier4CompileThreshold=150000"
    " -XX:Tier4BackEdgeThreshold=400000"
)
_MOST_SENT = 64 << 20  # bytes of a view that every worker is sent
_LOCAL = re.compile(r"spark:(local(?:\[(?:\d+|\*)\])?)\Z")
# a file format, a dot and a path: Spark's own way to name files as a table
_FILES = re.compile(r"(parquet|orc|delta|iceberg)\.`([^`]+)`\Z")


def is_spark_url(text: str) -> bool:
    """Whether a source is a Spark session: a cluster, a Connect server or this machine.

    Examples
    --------
    >>> [is_spark_url(url) for url in ("spark://host:7077", "sc://host", "spark:local[4]", "a.csv")]
    [True, True, True, False]
    """
    return text.startswith(("spark://", "sc://", "spark-connect://", "spark:"))


def plain_name(table: str) -> str:
    """Return what a table is called in records: files by their own name, not by where they are.

    Examples
    --------
    >>> plain_name("parquet.`/data/register/people.parquet`"), plain_name("health.people")
    ('people', 'health.people')
    """
    files = _FILES.match(table)
    return table if files is None else Path(files.group(2)).stem or files.group(1)


def is_spark_frame(source: Any) -> bool:
    """Whether a source is a PySpark data frame, without importing PySpark."""
    if "pyspark" not in sys.modules:
        return False
    names = {f"{kind.__module__}.{kind.__name__}" for kind in type(source).__mro__}
    return "pyspark.sql.dataframe.DataFrame" in names


def connect_spark(url: str) -> Any:
    """Return Ibis's backend on the Spark session of a URL; a session that runs is used again."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("veladura")
    if url.startswith(("sc://", "spark-connect://")):
        remote = "sc://" + url.partition("://")[2]
        return _backend(_with_plain_partitions(builder.remote(remote).getOrCreate()))
    if not url.startswith("spark://") and not _LOCAL.match(url):
        msg = (
            f"{url!r} is not the URL of a Spark session.\n\nHint: write spark://host:7077 for a"
            " cluster, sc://host for a Connect server, or spark:local[4] for this machine with"
            " four threads."
        )
        raise PlanError(msg)
    master = url if url.startswith("spark://") else url.removeprefix("spark:")
    _refuse_other_master(master)
    # workers run the Python of the driver, where this is set before the session starts
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in quick_start().items():
        builder = builder.config(name, value)
    if not url.startswith("spark://"):
        # all of it stays on this machine, and what is sorted, in a private folder
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
        builder = builder.config("spark.local.dir", local_folder(scratch_folder()))
    session = (
        builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")  # warnings of Spark may quote values
    return _backend(_with_plain_partitions(session))


def quick_start() -> dict[str, str]:
    """Return options of Java for a session that nobody else has configured.

    Half of the processor time of a run of a million rows went into Java's second compiler. The
    driver, and with it a session on this machine, does without; executors use it for what runs ten
    times as often as by default. Who has a spark-defaults.conf is left alone.
    """
    places = (os.environ.get("SPARK_CONF_DIR"), f"{os.environ.get('SPARK_HOME', '')}/conf")
    if any(place and (Path(place) / "spark-defaults.conf").is_file() for place in places):
        return {}
    return {
        "spark.driver.defaultJavaOptions": f"{_ANY_JAVA} -XX:TieredStopAtLevel=1",
        "spark.executor.defaultJavaOptions": _COMPILED_LATE,
    }


def _with_plain_partitions(session: Any) -> Any:
    """Let folders such as zip=02138 give texts, as they do in DuckDB: numbers would lose zeros."""
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    return session


def running_session() -> Any | None:
    """Return the Spark session that this process has, None if it has none.

    A session is *active* in one thread of Java only, and Python may be served by another one later;
    so the default session of the process is asked for as well.
    """
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    try:
        return SparkSession.active()
    except PySparkRuntimeError:
        return None


def _refuse_other_master(master: str) -> None:
    """Refuse a second cluster: a process has one Spark session, and would silently get the first.

    The same holds for a session that the caller started.
    """
    session = running_session()
    if session is not None and (running := session.sparkContext.master) != master:
        msg = (
            f"this process already has a Spark session on {running}, and {master} was asked"
            " for.\n\nHint: stop that session first, or give its table: vd.open(session.table(...))"
        )
        raise PlanError(msg)


def _backend(session: Any) -> Any:
    import ibis

    backend = ibis.pyspark.connect(session)
    # Ibis fixes the zone of the session to UTC; its reader of rows in memory is replaced, see above
    backend._register_in_memory_table = lambda op: _show_rows(session, op)  # noqa: SLF001
    return backend


def _show_rows(session: Any, op: Any) -> None:
    """Show rows in memory to Spark as a view."""
    show(session, op.data.to_pyarrow(op.schema), op.name)


def show(session: Any, rows: pa.Table, name: str) -> None:
    """Show Arrow rows to Spark as a view of a name.

    Who joins with a view of moderate size sends it to every worker: else Spark sorts all rows of
    the table by the columns of the join, on both sides, from 10 MB on.
    """
    frame = session.createDataFrame(rows)
    if rows.nbytes <= _MOST_SENT:
        frame = frame.hint("broadcast")
    frame.createOrReplaceTempView(name)


def find_spark_table(backend: Any, name: str) -> ibis.Table:
    """Return a table of the catalogue by its name, or files by format and path."""
    session = backend._session  # noqa: SLF001
    frame = session.sql(f"SELECT * FROM {_quoted(name)}")  # noqa: S608
    return view_of(backend, frame)


def view_of(backend: Any, frame: Any) -> ibis.Table:
    """Return a PySpark frame as an Ibis table.

    As a view its plan is made once: files named in a query would be listed by a job each time.
    """
    _refuse_types(frame.schema)
    view = f"veladura{next(_number)}"
    frame.createOrReplaceTempView(view)
    return _with_zones(backend.table(view), frame.schema)


def _with_zones(table: ibis.Table, schema: Any) -> ibis.Table:
    """Return a table whose times with a zone say so: Ibis takes both of Spark's types for one."""
    zoned = [column.name for column in schema if column.dataType.simpleString() == "timestamp"]
    return table.cast(dict.fromkeys(zoned, "timestamp('UTC')")) if zoned else table


def frame_table(frame: Any) -> ibis.Table:
    """Return a PySpark data frame of the caller as an Ibis table."""
    return view_of(_backend(frame.sparkSession), frame)


def adopt(expression: ibis.Table) -> ibis.Table:
    """Let an Ibis table of the caller's own Spark connection cross by Arrow as ours do."""
    backends, _ = expression._find_backends()  # noqa: SLF001
    for backend in backends:
        if backend.name == "pyspark":
            session = backend._session  # noqa: SLF001
            backend._register_in_memory_table = lambda op, s=session: _show_rows(s, op)  # noqa: SLF001
            session.conf.set("spark.sql.session.timeZone", "UTC")
            schema = session.sql(backend.compile(expression)).schema
            _refuse_types(schema)
            return _with_zones(expression, schema)
    return expression


def _quoted(name: str) -> str:
    """Return a name as Spark reads it; each part of a plain one in quotes."""
    if _FILES.match(name):
        return name
    if "`" in name:
        msg = (
            f"{name!r} is not the name of a Spark table.\n\nHint: name a table of the catalogue"
            " (schema.table), or files as in parquet.`/data/people`."
        )
        raise PlanError(msg)
    return ".".join(f"`{part}`" for part in name.split("."))


def _refuse_types(schema: Any) -> None:
    """Refuse columns that Spark would count otherwise than other databases, or cannot hand over."""
    for column in schema:
        kind = column.dataType.simpleString()
        if kind.startswith("string collate"):
            msg = (
                f"column {column.name!r} has the collation {kind.removeprefix('string collate ')}:"
                " texts that differ would be counted as one.\n\nHint: cast it to plain text first:"
                f" CAST({column.name} AS STRING COLLATE UTF8_BINARY)."
            )
            raise DataError(msg)
        if not re.match(_TYPES, kind):
            msg = (
                f"column {column.name!r} has type {kind}, which is not supported.\n\nHint: leave"
                " the column out, or convert it to text, numbers or dates."
            )
            raise DataError(msg)


_TYPES = (
    r"(string|boolean|tinyint|smallint|int|bigint|float|double|decimal\(.*\)|date|timestamp"
    r"|timestamp_ntz|void|char\(.*\)|varchar\(.*\))\Z"
)


def fetch_spark(backend: Any, expression: ibis.Table) -> pa.Table:
    """Return the rows of an expression in memory, by Arrow."""
    backend._run_pre_execute_hooks(expression)  # noqa: SLF001
    return fetch_spark_sql(backend, backend.compile(expression))


def fetch_spark_sql(backend: Any, sql: str) -> pa.Table:
    """Return the rows of a query in memory, by Arrow."""
    rows: pa.Table = backend._session.sql(sql).toArrow()  # noqa: SLF001
    return rows


def write_parts(backend: Any, expression: ibis.Table, folder: Path) -> list[Path]:
    """Let the executors write an expression as Parquet files into a new folder."""
    backend._run_pre_execute_hooks(expression)  # noqa: SLF001
    session = backend._session  # noqa: SLF001
    return counted_parts(session.sql(backend.compile(expression)), folder)


def counted_parts(frame: Any, folder: Path, by: str | None = None) -> list[Path]:
    """Let the executors write a PySpark frame as Parquet files into a new folder.

    The folder must be one that the driver and all workers see, as on one machine or on shared
    storage. Where a worker wrote into a folder of its own, rows would be missing: this is refused.

    Parameters
    ----------
    by
        A column that has a folder of its own for each of its values.
    """
    from pyspark.sql import Observation
    from pyspark.sql.functions import count as count_rows

    refuse_unreachable(frame.sparkSession, folder.parent)
    # Spark's own default (INT96) counts nanoseconds, which other readers do not have for far years
    frame.sparkSession.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    written = Observation()
    writer = frame.observe(written, count_rows("*").alias("rows")).write
    (writer if by is None else writer.partitionBy(by)).parquet(path_to_write(folder))
    files = sorted(folder.glob("**/part-*.parquet"))
    if sum(pq.read_metadata(file).num_rows for file in files) != written.get["rows"]:
        msg = (
            f"the workers of Spark did not write into {folder}: not all rows are"
            " there.\n\nHint: name a custodian folder on storage that the driver and all workers"
            " share, with [custodian] folder or VELADURA_CUSTODIAN."
        )
        raise DataError(msg)
    return files


def has_spark_table(backend: Any, name: str) -> bool:
    """Whether the catalogue of a session has a table of this name."""
    return bool(backend._session.catalog.tableExists(_quoted(name)))  # noqa: SLF001


def save_spark_table(backend: Any, rows: pa.Table | Path, name: str) -> None:
    """Write rows in memory, or those of a Parquet file, as a table of the catalogue.

    A table that has the name is replaced.
    """
    session = backend._session  # noqa: SLF001
    frame = (
        session.read.parquet(path_to_read(rows))
        if isinstance(rows, Path)
        else session.createDataFrame(rows)
    )
    # one task, so that the rows stay in their order
    frame.coalesce(1).write.mode("overwrite").saveAsTable(_quoted(name))


def rename_spark_table(backend: Any, old: str, new: str) -> None:
    """Give a table another name; one that has the name is dropped."""
    session = backend._session  # noqa: SLF001
    session.sql(f"DROP TABLE IF EXISTS {_quoted(new)}")
    session.sql(f"ALTER TABLE {_quoted(old)} RENAME TO {_quoted(new)}")
