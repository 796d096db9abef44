"""Open a table: a frame, a file, a database or an Ibis expression, with its declared schema."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from veladura.errors import DataError, PlanError
from veladura.table import dialect as csv
from veladura.table import frames
from veladura.table.dialect import Dialect
from veladura.table.faults import LINE_LIMIT, told_without_values
from veladura.table.prepare import check_declared, prepare, refuse_empty
from veladura.table.schema import Declared, check_names, describe
from veladura.table.scratch import scratch_folder
from veladura.table.table import Source, Table, connect

Columns = Mapping[str, Declared | Mapping[str, object] | str]
CSV_SUFFIXES = (".csv", ".tsv", ".txt")
STATISTICS_SUFFIXES = (".sav", ".zsav", ".por", ".dta", ".sas7bdat", ".xpt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm")


class IdentifierWarning(UserWarning):
    """A column that no one declared looks like an identifier."""


def open(  # noqa: A001  # the word users type: vd.open
    source: Any,
    columns: Columns | None = None,
    *,
    table: str | None = None,
    name: str | None = None,
    dialect: Dialect | None = None,
    custodian: Path | None = None,
    writable: bool = False,
) -> Table:
    """Return a table with declared roles and kinds.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow frame, an Ibis table, the path of a file (CSV, Parquet; SPSS,
        Stata, SAS and Excel with the extra ``files``), or the URL of a database.
    columns
        By name: a kind, or a mapping with ``role``, ``kind``, ``order``, ``format``, ``labels``, ``missing``.
        Kinds not given come from the types; roles not given are "other".
    table
        The table to read, when the source is a database.
    name
        What the source is called in records. By default the name of the file or table.
    dialect
        How a CSV file is written. By default it is found by looking.
    custodian
        Where scratch files go; they hold original values.
    writable
        Whether a DuckDB file may be written to, for a release into the same database.

    Examples
    --------
    >>> import pyarrow as pa
    >>> open(pa.table({"zip": ["02138"], "age": [40]}), {"zip": {"role": "quasi-identifier"}})
    Table('table', columns=['zip', 'age'])
    """
    if isinstance(source, Table):
        return source
    given: Columns = columns or {}
    if frames.library_of(source):
        return _open_frame(source, given, name or "table", custodian)
    if isinstance(source, ibis.Table):
        return _open_expression(source, given, Source(name or "table"))
    if isinstance(source, (str, Path)) and "://" in str(source):
        return _open_database(str(source), table, given, name, writable=writable)
    if isinstance(source, (str, Path)):
        return _open_file(Path(source), given, name, dialect, custodian)
    msg = f"a table must be a frame, a path, a database URL or an Ibis table, got {type(source).__name__}."
    raise PlanError(msg)


def _open_frame(frame: Any, columns: Columns, name: str, custodian: Path | None, declared: Mapping[str, Declared] | None = None) -> Table:
    names = [str(c) for c in (frame.column_names if frames.library_of(frame) == "pyarrow" else frame.columns)]
    check_names(names)
    arrow, names, orders = frames.to_arrow(frame)
    refuse_empty(arrow.num_rows, "the frame")
    full = {**orders, **describe(columns, names), **(declared or {})}
    check_declared(full, name)
    connection = connect(custodian)
    expression = connection.create_table("t", ibis.memtable(arrow), temp=True) if arrow.num_columns == 0 else _register(connection, arrow)
    prepared, schema = prepare(expression, names, full, keep_types=True)
    opened = Table(schema, prepared, Source(name), frame)
    if not columns and declared is None:
        _warn_of_identifiers(opened)
    return opened


def _register(connection: Any, arrow: pa.Table) -> ibis.Table:
    """Return an Arrow table as a table of this connection, without a copy."""
    return connection.read_in_memory(arrow, table_name="t") if hasattr(connection, "read_in_memory") else ibis.memtable(arrow)


def _open_file(path: Path, columns: Columns, name: str | None, dialect: Dialect | None, custodian: Path | None) -> Table:
    if not path.is_file():
        msg = f"{path} is not a file.\n\nHint: check the path; it is taken from the current folder."
        raise DataError(msg)
    source = Source(name or path.stem, file=path)
    suffix = path.suffix.lower()
    if suffix in CSV_SUFFIXES:
        return _open_csv(path, columns, source, dialect or csv.sniff(path), custodian)
    if suffix in (".parquet", ".pq"):
        with told_without_values(path.name):
            names = pq.read_schema(path).names
            expression = connect(custodian).read_parquet(path)
        return _finish(expression, names, columns, source)
    if suffix in STATISTICS_SUFFIXES or suffix in EXCEL_SUFFIXES:
        from veladura.table.foreign import read_foreign

        frame, labels = read_foreign(path)
        opened = _open_frame(frame, columns, source.name, custodian, _labelled(columns, labels))
        return replace(opened, source=source, frame=None)
    known = (*CSV_SUFFIXES, ".parquet", *STATISTICS_SUFFIXES, *EXCEL_SUFFIXES)
    msg = f"files that end in {suffix!r} are not known.\n\nHint: possible are {', '.join(known)}."
    raise PlanError(msg)


def _labelled(columns: Columns, labels: Mapping[str, Mapping[str, str]]) -> dict[str, Declared]:
    """Return declarations with the value labels of the file added."""
    full = describe({name: given for name, given in columns.items()}, list(columns))
    return {name: replace(full.get(name, Declared(kind="category")), labels=text) for name, text in labels.items()} | {
        name: given for name, given in full.items() if name not in labels
    }


def _open_csv(path: Path, columns: Columns, source: Source, dialect: Dialect, custodian: Path | None) -> Table:
    from veladura.table.inspect import guess_kinds

    with told_without_values(path.name):
        names = csv.header(path, dialect)
    check_names(names)
    expression = _read_csv(_as_utf8(path, dialect, custodian), names, dialect, custodian)
    with told_without_values(path.name):
        refuse_empty(int(expression.count().execute()), path.name)
    declared = describe(columns, names)
    with told_without_values(path.name):
        full = guess_kinds(expression, names, declared, dialect)
    check_declared(full, path.name)
    prepared, schema = prepare(expression, names, full, dialect=dialect, what=path.name)
    opened = Table(schema, prepared, source)
    if not columns:
        _warn_of_identifiers(opened)
    return opened


def _read_csv(path: Path, names: Sequence[str], dialect: Dialect, custodian: Path | None) -> ibis.Table:
    """Return a CSV file with every column as text: its kinds are ours to give, not the reader's."""
    with told_without_values(path.name):
        return connect(custodian).read_csv(
            path,
            auto_detect=False,
            columns={f"c{i}": "VARCHAR" for i in range(len(names))},
            header=True,
            delim=dialect.separator,
            quote=dialect.quote,
            escape=dialect.quote,
            max_line_size=LINE_LIMIT,
            buffer_size=LINE_LIMIT * 2,
        )


def _as_utf8(path: Path, dialect: Dialect, custodian: Path | None) -> Path:
    """Return the file itself if it is UTF-8, else a copy of it in private scratch that is."""
    if dialect.encoding.replace("-", "").replace("_", "").lower() in ("utf8", "utf8sig", "ascii"):
        return path
    copy = scratch_folder(custodian) / f"{path.stem}.utf8.csv"
    with told_without_values(path.name), path.open(encoding=dialect.encoding, newline="") as text, copy.open("w", encoding="utf-8", newline="") as out:
        shutil.copyfileobj(text, out, 1 << 20)
    return copy


def _open_database(url: str, table: str | None, columns: Columns, name: str | None, *, writable: bool) -> Table:
    if table is None:
        msg = "a database source needs the name of a table.\n\nHint: table = \"people\", or schema.people."
        raise PlanError(msg)
    scheme, _, rest = url.partition("://")
    if scheme in ("duckdb", "sqlite") and not Path(rest.lstrip("/") if rest.startswith("//") is False and not rest.startswith("/") else rest[1:]).is_file():
        msg = f"{scheme} file not found.\n\nHint: {scheme}:///relative/file.db or {scheme}:////absolute/file.db."
        raise DataError(msg)
    with told_without_values(f"the {scheme} database"):
        connection = ibis.duckdb.connect(rest[1:], read_only=not writable) if scheme == "duckdb" else ibis.connect(url)
        known = connection.list_tables()
    schema, _, short = table.rpartition(".") if table not in known else ("", "", table)
    with told_without_values(f"table {table!r}"):
        expression = connection.table(short, database=schema or None)
    return _finish(expression, list(expression.columns), columns, Source(name or table, url=url))


def _open_expression(expression: ibis.Table, columns: Columns, source: Source) -> Table:
    return _finish(expression, list(expression.columns), columns, source)


def _finish(expression: ibis.Table, names: Sequence[str], columns: Columns, source: Source) -> Table:
    """Return a typed source as a table: names checked, kinds fixed, emptiness refused."""
    check_names(list(names))
    declared = describe(columns, names)
    check_declared(declared, source.name)
    with told_without_values(source.name):
        refuse_empty(int(expression.count().execute()), source.name)
    prepared, schema = prepare(expression, names, declared, what=source.name)
    opened = Table(schema, prepared, source)
    if not columns:
        _warn_of_identifiers(opened)
    return opened


def _warn_of_identifiers(table: Table) -> None:
    from veladura.table.inspect import inspect_table, looks_like_identifier

    facts = inspect_table(table)
    if names := [name for name in table.names if looks_like_identifier(facts[name])]:
        warnings.warn(
            f"columns {names} look like identifiers and will be released as they are. "
            "Declare them: vd.open(table, columns={name: {'role': 'identifier'}}).",
            IdentifierWarning,
            stacklevel=4,
        )
