"""Open a table: a frame, a file, a database or an Ibis expression, with its declared schema."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import DataError, PlanError, VeladuraWarning
from veladura.table.database.connection import is_spark, read_parquet
from veladura.table.database.spark import (
    adopt,
    frame_table,
    is_spark_frame,
    is_spark_url,
    plain_name,
)
from veladura.table.database_errors import without_values
from veladura.table.files.dialect import Dialect
from veladura.table.frames import conversion as frames
from veladura.table.held import holds
from veladura.table.schema import Declared, check_names, describe
from veladura.table.table import Source, Table
from veladura.table.units import check_units

if TYPE_CHECKING:
    import ibis

Columns = Mapping[str, Declared | Mapping[str, object] | str]
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
PARQUET_SUFFIXES = (".parquet", ".pq")
STATISTICS_SUFFIXES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")
DATABASE_SUFFIXES = (".duckdb", ".ddb", ".sqlite", ".sqlite3", ".db")


class IdentifierWarning(VeladuraWarning):
    """An undeclared column looks like an identifier."""


def open(  # noqa: A001  # the word users type: vd.open
    source: Any,
    columns: Columns | None = None,
    *,
    table: str | None = None,
    name: str | None = None,
    dialect: Dialect | None = None,
    custodian: Path | None = None,
    writable: bool = False,
    counts: str | None = None,
) -> Table:
    """Return a table with declared roles and kinds.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow frame, an Ibis table, a PySpark data frame, the path of a file
        (CSV, Parquet or a folder of Parquet files; DuckDB and SQLite; SPSS, Stata, SAS and Excel
        with the extra ``files``), or
        the URL of a database or a Spark session (``spark://host:7077``, ``sc://host``,
        ``spark:local[4]``; its ``table`` may be files, as in ``parquet.`path```).
        A URL without a password takes it from ``VELADURA_PASSWORD`` (or ``PGPASSWORD``).
    columns
        By name: a kind, or a mapping with ``role``, ``kind``, ``order``, ``format``, ``labels``,
        ``missing``.
        Kinds not given come from the types; roles not given are "other".
    table
        The table to read, when the source is a database. A database with one table needs no name.
    name
        What the source is called in records. By default the name of the file or table.
    dialect
        How a CSV file is written. By default it is read off the file.
    custodian
        The custodian folder, for scratch files: they hold original values.
    writable
        Whether a database file may be written to, for a release into the same database. By default
        it is opened for reading only.
    counts
        For a table of counts (a contingency table): the column that says how many people a row
        stands for. The table then has a row for each of them, and no such column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> open(pa.table({"zip": ["02138"], "age": [40]}), {"zip": {"role": "quasi-identifier"}})
    Table('table', columns=['zip', 'age'])
    """
    opened = open_unwarned(
        source,
        columns,
        table=table,
        name=name,
        dialect=dialect,
        custodian=custodian,
        writable=writable,
        counts=counts,
    )
    if not columns and opened is not source:
        _warn_of_identifiers(opened)
    return opened


def open_unwarned(
    source: Any,
    columns: Columns | None = None,
    *,
    table: str | None = None,
    name: str | None = None,
    dialect: Dialect | None = None,
    custodian: Path | None = None,
    writable: bool = False,
    counts: str | None = None,
) -> Table:
    """Return what `open` returns, without looking for identifiers among undeclared columns."""
    if isinstance(source, Table):
        return source
    opened = _open(
        source,
        columns or {},
        table=table,
        name=name,
        dialect=dialect,
        custodian=custodian,
        writable=writable,
    )
    check_units(opened)
    if counts is None:
        return opened
    from veladura.table.expand import expanded

    return expanded(opened, counts)


def open_quietly(source: Any, columns: Columns | None = None) -> Table:
    """Return an opened table without its identifiers, and without a warning about them.

    For looking at a table only: nothing of it is released.
    """
    return open_unwarned(source, columns).without_identifiers()


def _open(
    source: Any,
    columns: Columns,
    *,
    table: str | None,
    name: str | None,
    dialect: Dialect | None,
    custodian: Path | None,
    writable: bool,
) -> Table:
    if frames.library_of(source):
        return _open_frame(source, columns, Source(name or "table"))
    if is_spark_frame(source):
        with without_values("the data frame"):
            source = frame_table(source)
    if _is_expression(source):
        with without_values("the Ibis table"):
            source = adopt(source)
        return _open_expression(source, list(source.columns), columns, Source(name or "table"))
    if isinstance(source, (str, Path)):
        if url := _database_url(source):
            from veladura.table.database.urls import READ_HERE, find_table

            expression, url, table = find_table(url, table, writable=writable, custodian=custodian)
            called = plain_name(table) if is_spark_url(url) else table
            described = Source(name or called, url=url, table=table)
            opened = _open_expression(expression, list(expression.columns), columns, described)
            # rows of some servers are here already: figures that need them can be computed
            return opened.fetched() if url.partition("://")[0] in READ_HERE else opened
        return _open_file(Path(source), columns, name, dialect, custodian)
    hint = "\n\nHint: collect() it first." if type(source).__name__ == "LazyFrame" else ""
    msg = (
        "a table must be a frame, a path, a database URL or an Ibis table, got"
        f" {type(source).__name__}.{hint}"
    )
    raise PlanError(msg)


def _database_url(source: str | Path) -> str | None:
    """Return the URL of a database, which may be given as a file; None for other files."""
    if "://" in str(source) or is_spark_url(str(source)):
        return str(source)
    path = Path(source)
    if path.suffix.lower() not in DATABASE_SUFFIXES:
        return None
    from veladura.table.database.urls import file_url

    _refuse_strange_file(path, path.suffix.lower())
    return file_url(path)


def _is_expression(source: Any) -> bool:
    """Whether a source is an Ibis table, without importing Ibis."""
    return "ibis" in sys.modules and isinstance(source, sys.modules["ibis"].Table)


def _open_frame(
    frame: Any,
    columns: Columns,
    source: Source,
    labels: Mapping[str, Mapping[str, str]] | None = None,
) -> Table:
    from veladura.table.frames.memory import from_frame

    names = frames.names_of(frame)
    check_names(names)
    declared = describe(columns, names)
    for column, words in (labels or {}).items():
        given = declared.get(column, Declared(kind="category"))
        declared[column] = replace(given, labels=given.labels or words)
    return from_frame(frame, declared, replace(source, columns=declared))


def _open_file(
    path: Path, columns: Columns, name: str | None, dialect: Dialect | None, custodian: Path | None
) -> Table:
    suffix = path.suffix.lower()
    if path.is_dir():
        from veladura.table.files.folder import read_folder

        expression, names, rows = read_folder(path, custodian)
        table = _open_expression(expression, names, columns, Source(name or path.stem, file=path))
        return table.fetched() if holds(rows, len(names)) else table
    _refuse_strange_file(path, suffix)
    source = Source(name or path.stem, file=path)
    if suffix in CSV_SUFFIXES:
        from veladura.table.files.csvfile import open_csv

        return open_csv(path, columns, source, dialect, custodian)
    if suffix in PARQUET_SUFFIXES:
        return _open_parquet(path, columns, source, custodian)
    from veladura.table.files.foreign import read_foreign

    frame, labels = read_foreign(path)
    return replace(_open_frame(frame, columns, source, labels), frame=None)


def _refuse_strange_file(path: Path, suffix: str) -> None:
    if path.is_dir():
        msg = f"{path} is a folder, not a table.\n\nHint: name one file in it."
        raise DataError(msg)
    if not path.is_file():
        msg = f"{path} is not a file.\n\nHint: check the path; it starts at the current folder."
        raise DataError(msg)
    supported = (
        *CSV_SUFFIXES,
        *PARQUET_SUFFIXES,
        *STATISTICS_SUFFIXES,
        *EXCEL_SUFFIXES,
        *DATABASE_SUFFIXES,
    )
    if suffix not in supported:
        msg = (
            f"{path.name}: files that end in {suffix!r} are not supported.\n\nHint: supported are"
            f" {', '.join(supported)}."
        )
        raise PlanError(msg)


def _open_parquet(path: Path, columns: Columns, source: Source, custodian: Path | None) -> Table:
    import pyarrow.parquet as pq

    with without_values(path.name):
        about = pq.ParquetFile(path)
        names, rows = about.schema_arrow.names, about.metadata.num_rows
    check_names(names)
    with without_values(path.name):
        expression = read_parquet(path, custodian)
    table = _open_expression(expression, names, columns, source)
    return table.fetched() if holds(rows, len(names)) else table


def _open_expression(
    expression: ibis.Table, names: Sequence[str], columns: Columns, source: Source
) -> Table:
    """Return a typed source as a lazy table: names checked, kinds fixed, emptiness refused."""
    from veladura.table.prepare import prepare

    check_names(names)
    declared = describe(columns, names)
    typed, schema, prepared = prepare(expression, names, declared, what=source.name)
    table = Table(schema, typed, replace(source, columns=declared))
    if source.file is not None or is_spark(expression):  # a database may change: it is asked again
        table.cache.rows = prepared.rows
    table.cache.distinct.update(prepared.distinct)
    return table


def _warn_of_identifiers(table: Table) -> None:
    from veladura.table.roles.identifiers import find_identifiers

    if names := find_identifiers(table):
        warnings.warn(
            f"columns {names} look like identifiers and will be released unchanged.\n\nHint: to"
            " drop them, vd.open(table, columns={name: {'role': 'identifier'}}).",
            IdentifierWarning,
            stacklevel=3,
        )
