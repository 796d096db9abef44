"""CSV files: read as text by DuckDB, kinds given by what the whole column holds."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veladura.errors import DataError
from veladura.table.database.connection import (
    connect,
    find,
    literal_path,
    run_sql,
    sql_name,
    sql_text,
)
from veladura.table.database.scratch import scratch_folder
from veladura.table.database_errors import LINE_LIMIT, without_values
from veladura.table.fields import check_declared
from veladura.table.files import dialect as dialects
from veladura.table.files.dialect import Dialect
from veladura.table.guess import guess_kinds
from veladura.table.prepare import prepare
from veladura.table.schema import Declared, check_names, describe
from veladura.table.table import Source, Table

if TYPE_CHECKING:
    import ibis

_NEVER = "\x01\x02veladura"  # DuckDB must have a word for missing; no file holds this one
_number = count()


def open_csv(
    path: Path,
    columns: Mapping[str, Declared | Mapping[str, object] | str],
    source: Source,
    dialect: Dialect | None,
    custodian: Path | None,
) -> Table:
    """Return a CSV file as a lazy table."""
    with without_values(path.name):
        dialect = dialect or dialects.sniff(path)
        names = dialects.header(path, dialect)
    if not names:
        msg = f"{path.name} is empty.\n\nHint: a CSV file needs a header line with column names."
        raise DataError(msg)
    check_names(names)
    declared = describe(columns, names)
    check_declared(declared, path.name)
    readable = _as_utf8(path, dialect, custodian)
    try:
        return _typed(readable, names, declared, source, dialect, custodian)
    except DataError:
        if not dialects.has_mixed_line_ends(readable):
            raise
    return _typed(
        _copy(path, dialect, custodian, newline=None), names, declared, source, dialect, custodian
    )


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
    expression = _read(path, len(names), dialect, what, custodian)
    with without_values(what):
        full, facts = guess_kinds(expression, names, declared, dialect)
    verified = {name for name in facts if declared.get(name, Declared()).kind is None}
    prepared, schema = prepare(
        expression, names, full, dialect=dialect, verified=verified, what=what
    )
    return Table(schema, prepared, replace(source, columns=full, dialect=dialect), guessed=facts)


def _read(
    path: Path, width: int, dialect: Dialect, what: str, custodian: Path | None
) -> ibis.Table:
    """Return a CSV file with every column as text; kinds are guessed later, over all rows."""
    backend = connect(custodian)
    view = f"csv{next(_number)}"
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
    with without_values(what):
        run_sql(
            backend,
            f"CREATE TEMP VIEW {sql_name(view)} AS SELECT * FROM"  # noqa: S608
            f" read_csv({sql_text(literal_path(path))}, {options})",
        )
        return find(backend, view)


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
        copy.open("w", encoding="utf-8", newline="") as out,
    ):
        shutil.copyfileobj(text, out, 1 << 20)
    return copy
