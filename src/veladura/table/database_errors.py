"""What a database says when it fails quotes lines of the data: say it again without them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from veladura.errors import DataError, VeladuraError

LINE_LIMIT = 16_000_000

_KNOWN = (
    (
        "maximum line size",
        f"has a line of more than {LINE_LIMIT // 1_000_000} MB",
        "look for a quote that is never closed.",
    ),
    (
        "max_line_size",
        f"has a line of more than {LINE_LIMIT // 1_000_000} MB",
        "look for a quote that is never closed.",
    ),
    (
        "does not support a full read",
        f"has a line of more than {LINE_LIMIT // 1_000_000} MB",
        "look for a quote that is never closed.",
    ),
    (
        "unicode",
        "is not valid text of its encoding",
        'name its encoding, as in encoding = "cp1252".',
    ),
    ("utf-8", "is not valid text of its encoding", 'name its encoding, as in encoding = "cp1252".'),
    (
        "codec can't",
        "is not valid text of its encoding",
        'name its encoding, as in encoding = "cp1252".',
    ),
    (
        "expected number of columns",
        "has a line with more or fewer fields than its header",
        "check separator and quotes.",
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
        "could not be worked on: the disk is full",
        "free some space, or point the custodian folder elsewhere.",
    ),
    ("could not set lock", "is in use by another program", "close the program that has it open."),
    (
        "different configuration",
        "is already open in this process in another way",
        "close the other connection, or open both with the same writable.",
    ),
    ("file is encrypted or is not a database", "is not a database", "check the path."),
    ("not a valid duckdb database", "is not a DuckDB database", "check the path."),
    ("read-only mode", "is open for reading only", "open it with writable=True."),
    (
        "already exists",
        "already has a table of that name",
        "choose another name, or overwrite=True.",
    ),
)


@contextmanager
def told_without_values(what: str) -> Iterator[None]:
    """Turn any failure of a reader or database into a DataError that shows no value."""
    try:
        yield
    except (
        VeladuraError,
        MemoryError,
        ModuleNotFoundError,
    ):  # a missing driver is told by those who need it
        raise
    except Exception as error:  # noqa: BLE001  # drivers raise dozens of types, all of which may quote data
        text = re.split(r"possible (fixes|solutions)|\n\s*file\s*=", str(error).lower())[
            0
        ]  # what follows lists every option
        problem, hint = next(
            ((problem, hint) for word, problem, hint in _KNOWN if word in text),
            (
                f"cannot be read ({type(error).__name__})",
                "check that it is there, whole and of the declared form.",
            ),
        )
        line = re.search(r"csv error on line: (\d+)", text)
        where = f" (line {line.group(1)})" if line else ""
    else:
        return
    msg = f"{what} {problem}{where}.\n\nHint: {hint}"
    raise DataError(msg) from None
