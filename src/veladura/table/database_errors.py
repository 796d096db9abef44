"""Errors of readers and databases, without the lines of data that they quote."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veladura.errors import DataError, InternalError, VeladuraError

LINE_LIMIT = 16_000_000
DEBUG = "VELADURA_DEBUG"

_PACKAGE = Path(__file__).parents[1]
_OWN_SQL = ("ParserException", "BinderException", "SyntaxException", "SyntaxError", "ParseError")
_SURROUNDINGS = (OSError, UnicodeError, EOFError)  # built-in errors that a source can cause
_LONG_LINE = (
    f"has a line of more than {LINE_LIMIT // 1_000_000} MB",
    "look for a quote that is never closed.",
)
_BAD_TEXT = (
    "is not valid text in its encoding",
    'name its encoding, as in encoding = "cp1252".',
)
# a word of the original message, what is wrong, what to do; the first match counts
_MESSAGES = (
    ("maximum line size", *_LONG_LINE),
    ("max_line_size", *_LONG_LINE),
    ("does not support a full read", *_LONG_LINE),
    ("unicode", *_BAD_TEXT),
    ("utf-8", *_BAD_TEXT),
    ("codec can't", *_BAD_TEXT),
    (
        "expected number of columns",
        "has a line with more or fewer fields than its header",
        "check the separator and the quotes.",
    ),
    ("unterminated quote", "has a quote that is never closed", "check the quotes near that line."),
    ("quote", "has a quote that cannot be read", "check the quotes near that line."),
    (
        "invalid state",
        "has a line that cannot be read",
        "close every quote, and end every line in one way.",
    ),
    (
        "no space left",
        "cannot be processed: the disk is full",
        "free some space, or choose a custodian folder on another disk.",
    ),
    ("could not set lock", "is in use by another program", "close the program that has it open."),
    (
        "different configuration",
        "is already open in this process with other settings",
        "close the other connection, or open both with the same value of writable.",
    ),
    ("file is encrypted or is not a database", "is not a database", "check the path."),
    ("not a valid duckdb database", "is not a DuckDB database", "check the path."),
    ("read-only mode", "is open for reading only", "open it with writable=True."),
    ("readonly database", "is open for reading only", "open it with writable=True."),
    (
        "parquet type",
        "has a column of a type that Spark does not read from Parquet",
        "write times in microseconds, not nanoseconds, and times of day and long decimals as text.",
    ),
    (
        "column_already_exists",
        "has columns whose names differ only in case, which Spark takes for one",
        "rename one of them where the table is made.",
    ),
    (
        "already exists",
        "already has a table of that name",
        "choose another name, or overwrite=True.",
    ),
)


@contextmanager
def without_values(what: str) -> Iterator[None]:
    """Turn any failure of a reader or database into a DataError that shows no value.

    A mistake in this package or in the SQL that it writes becomes an InternalError.
    """
    try:
        yield
    except (VeladuraError, MemoryError, ModuleNotFoundError):  # callers name a missing driver
        raise
    except Exception as error:  # drivers raise many types; all may quote data
        if (place := _own_mistake(error)) is not None:
            if os.environ.get(DEBUG):
                raise
            msg = (
                f"veladura failed at {what} ({type(error).__name__} at {place}). This is a mistake"
                " of the program, not of your table or plan; nothing was released.\n\nHint: report"
                f" this line. {DEBUG}=1 shows the traceback, which may contain values of the data."
            )
            raise InternalError(msg) from None
        # what follows "possible fixes" lists every option
        text = re.split(r"possible (fixes|solutions)|\n\s*file\s*=", str(error).lower())[0]
        problem, hint = next(
            ((problem, hint) for word, problem, hint in _MESSAGES if word in text),
            (
                f"cannot be read ({type(error).__name__})",
                "check that it exists, is complete and has the declared format.",
            ),
        )
        line = re.search(r"csv error on line: (\d+)", text)
        where = f" (line {line.group(1)})" if line else ""
    else:
        return
    msg = f"{what} {problem}{where}.\n\nHint: {hint}"
    raise DataError(msg) from None


def _own_mistake(error: Exception) -> str | None:
    """Return the line of this package that is at fault; None where the source may be."""
    last, own, trace = "", "", error.__traceback__
    while trace is not None:
        last = trace.tb_frame.f_code.co_filename
        if Path(last).is_relative_to(_PACKAGE):
            own = f"{Path(last).relative_to(_PACKAGE).as_posix()}:{trace.tb_lineno}"
        trace = trace.tb_next
    kind = type(error)
    here = Path(last).is_relative_to(_PACKAGE)
    ours = (
        (kind.__module__ == "builtins" and here and not isinstance(error, _SURROUNDINGS))
        or kind.__name__ in _OWN_SQL
        or kind.__module__.partition(".")[0] in ("ibis", "sqlglot")
    )
    return own if ours else None
