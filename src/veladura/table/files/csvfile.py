"""CSV files: read as text by DuckDB, kinds given by what the whole column holds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from veladura.base.private_files import private_file
from veladura.errors import DataError
from veladura.table.database.connection import (
    connect,
    fetch_sql,
    find,
    literal_path,
    own_connection,
    run_sql,
    sql_text,
)
from veladura.table.database.scratch import scratch_folder
from veladura.table.database_errors import LINE_LIMIT, without_values
from veladura.table.fields import refuse_empty, refuse_misfits
from veladura.table.files import dialect as dialects
from veladura.table.files.dialect import Dialect
from veladura.table.guess import guess_kinds
from veladura.table.held import holds_text
from veladura.table.schema import Declared, Schema, check_names, describe
from veladura.table.table import Source, Table, arranged
from veladura.table.text import Parsed, parsed_columns

_NEVER = "\x01\x02veladura"  # DuckDB must have a word for missing; no file holds this one
_number = count()


def open_csv(
    path: Path,
    columns: Mapping[str, Declared | Mapping[str, object] | str],
    source: Source,
    dialect: Dialect | None,
    custodian: Path | None,
) -> Table:
    """Return a CSV file as a table, in memory or lazy."""
    with without_values(path.name):
        dialect = dialect or dialects.sniff(path)
        names = _all_named(dialects.header(path, dialect))
    if not names:
        msg = f"{path.name} is empty.\n\nHint: a CSV file needs a header line with column names."
        raise DataError(msg)
    check_names(names)
    declared = describe(columns, names)
    readable = _as_utf8(path, dialect, custodian)
    try:
        return _typed(readable, names, declared, source, dialect, custodian)
    except DataError:
        if not dialects.has_mixed_line_ends(readable):
            raise
    return _typed(
        _copy(path, dialect, custodian, newline=None), names, declared, source, dialect, custodian
    )


def _all_named(names: Sequence[str]) -> list[str]:
    """Return the names of a header; a blank one, as of an index, is called by its place.

    Examples
    --------
    >>> _all_named(["", "age", " "])
    ['column 1', 'age', 'column 3']
    """
    return [name if name.strip() else f"column {i}" for i, name in enumerate(names, start=1)]


def _typed(
    path: Path,
    names: Sequence[str],
    declared: Mapping[str, Declared],
    source: Source,
    dialect: Dialect,
    custodian: Path | None,
) -> Table:
    """Return a UTF-8 file as a table, with a kind for every column."""
    what = source.file.name if source.file else source.name
    connection, held = own_connection(custodian), holds_text(path, len(names))
    with without_values(what):
        text = _read(connection, path, len(names), dialect, held=held)
        full, facts = guess_kinds(connection, text, names, declared, dialect)
    columns = parsed_columns(names, full, dialect.decimal)
    verified = {name for name in facts if declared.get(name, Declared()).kind is None}
    with without_values(what):
        rows, misfits = _counted(connection, text, columns, verified)
    schema = Schema(tuple(column.field for column in columns))
    refuse_empty(rows, what)
    refuse_misfits(misfits, list(schema), full)
    with without_values(what):
        sql = f"SELECT {', '.join(f'{c.value} AS c{i}' for i, c in enumerate(columns))} FROM {text}"  # noqa: S608
        data = _held(connection, text, sql, schema) if held else _lazy(text, sql, custodian)
    return Table(schema, data, replace(source, columns=full, dialect=dialect), guessed=facts)


def _held(connection: Any, text: str, sql: str, schema: Schema) -> pa.Table:
    """Return the rows; the table of text that they were parsed from is gone then."""
    data = arranged(fetch_sql(connection, sql), schema)
    run_sql(connection, f"DROP TABLE {text}")
    return data


def _lazy(text: str, sql: str, custodian: Path | None) -> Any:
    """Return a view that parses the file whenever it is asked."""
    backend = connect(custodian)
    run_sql(backend, f"CREATE TEMP VIEW {text}_typed AS {sql}")
    return find(backend, f"{text}_typed")


def _counted(
    connection: Any, source: str, columns: Sequence[Parsed], verified: Collection[str]
) -> tuple[int, dict[str, int]]:
    """Return the number of rows, and by column how many values do not fit its kind."""
    figures = {
        column.field.name: figure
        for column in columns
        if (column.field.order or column.field.name not in verified)
        and (figure := column.misfits()) is not None
    }
    sql = f"SELECT {', '.join(['count(*)', *figures.values()])} FROM {source}"  # noqa: S608
    rows, *counts = run_sql(connection, sql)[0]
    return int(rows), dict(zip(figures, map(int, counts), strict=True))


def _read(connection: Any, path: Path, width: int, dialect: Dialect, *, held: bool) -> str:
    """Read a CSV file with every column as text; kinds are guessed later, over all rows.

    Returns the name of a table, for a file that is held in memory, or of a view.
    """
    name = f"csv{next(_number)}"
    settings: dict[str, Any] = {
        "auto_detect": "false",
        "columns": "{" + ", ".join(f"c{i}: 'VARCHAR'" for i in range(width)) + "}",
        "header": "true",
        "delim": sql_text(dialect.separator),
        "quote": sql_text(dialect.quote),
        "escape": sql_text(dialect.quote),
        "nullstr": "[" + ", ".join(sql_text(word) for word in dialect.missing or (_NEVER,)) + "]",
        "max_line_size": LINE_LIMIT,
        "buffer_size": LINE_LIMIT * 2,
    }
    options = ", ".join(f"{key} = {value}" for key, value in settings.items())
    run_sql(
        connection,
        f"CREATE TEMP {'TABLE' if held else 'VIEW'} {name} AS SELECT * FROM"  # noqa: S608
        f" read_csv({sql_text(literal_path(path))}, {options})",
    )
    return name


def _as_utf8(path: Path, dialect: Dialect, custodian: Path | None) -> Path:
    """Return the file itself if it is UTF-8, else a copy of it in private scratch that is."""
    return (
        path if dialects.is_utf8(dialect.encoding) else _copy(path, dialect, custodian, newline="")
    )


def _copy(path: Path, dialect: Dialect, custodian: Path | None, *, newline: str | None) -> Path:
    """Return a copy in UTF-8; with ``newline=None`` every line ends in the same way."""
    copy = scratch_folder(custodian) / f"{next(_number)}.utf8.csv"
    with (
        without_values(path.name),
        path.open(encoding=dialect.encoding, newline=newline) as text,
        private_file(copy) as out,
    ):
        while piece := text.read(1 << 20):
            out.write(piece.encode("utf-8"))
    return copy
