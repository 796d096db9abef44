"""How a CSV file is written: encoding, separator, quotes, decimal sign, words for missing."""

from __future__ import annotations

import codecs
import csv
import re
from dataclasses import dataclass
from pathlib import Path

from veladura.errors import DataError, PlanError
from veladura.table.database_errors import LINE_LIMIT

SEPARATORS = (",", ";", "\t", "|")
_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """How a CSV file is written.

    Parameters
    ----------
    separator, quote, decimal
        One character each.
    encoding
        As Python knows it: "utf-8", "cp1252", "latin-1".
    missing
        Words that mean missing in every column.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    quote: str = '"'
    missing: tuple[str, ...] = ("", "NA")

    def __post_init__(self) -> None:
        for name in ("separator", "quote", "decimal"):
            if len(getattr(self, name)) != 1:
                msg = f"{name} must be one character, got {getattr(self, name)!r}."
                raise PlanError(msg)
        try:
            codecs.lookup(self.encoding)
        except LookupError:
            msg = (
                f"encoding {self.encoding!r} is not known.\n\nHint: try 'utf-8', 'cp1252' or"
                " 'latin-1'."
            )
            raise PlanError(msg) from None
        if self.decimal == self.separator:
            msg = (
                f"decimal and separator are both {self.decimal!r}.\n\nHint: choose different"
                " characters."
            )
            raise PlanError(msg)


def sniff(path: Path) -> Dialect:
    """Return the dialect that a file seems to be written in."""
    encoding = sniff_encoding(path)
    sample = _sample(path, encoding)
    separator = _sniff_separator(sample)
    return Dialect(
        separator=separator, encoding=encoding, decimal=_sniff_decimal(sample, separator)
    )


def sniff_encoding(path: Path) -> str:
    """Return the encoding: by its byte order mark, else UTF-8 if valid, else a one-byte guess."""
    with path.open("rb") as file:
        head = file.read(4096)
    for mark, name in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if head.startswith(mark):
            return name
    if b"\x00" in head:
        msg = (
            f"{path.name} contains zero bytes: it is not a CSV file, or it is UTF-16 without a byte"
            " order mark.\n\nHint: name its encoding."
        )
        raise DataError(msg)
    if _decodes(path, "utf-8"):
        return "utf-8"
    if _has_valid_multibyte(path):
        # A stray byte in UTF-8 text: reading it as a one-byte encoding would garble every accent.
        msg = (
            f"{path.name} is mostly UTF-8 but some bytes are not valid.\n\nHint: repair the file,"
            " or name its encoding."
        )
        raise DataError(msg)
    return "cp1252" if _decodes(path, "cp1252") else "latin-1"


def _decodes(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        try:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def _has_valid_multibyte(path: Path) -> bool:
    with path.open("rb") as file:
        text = file.read(32 * _CHUNK)
    return re.search(rb"[\xc3-\xf4][\x80-\xbf]+", text) is not None


def _sample(path: Path, encoding: str) -> str:
    """Return the first whole lines of a file."""
    with path.open(encoding=encoding, newline="") as file:
        text = file.read(_CHUNK)
        more = file.read(1)
    return text[: text.rfind("\n") + 1] or text if more else text


def _sniff_separator(sample: str) -> str:
    """Return the separator that splits the header, and the most lines like the header.

    A line with too many fields must not hide the separator: it is an error to report, not a file
    of one column.
    """

    def score(separator: str) -> tuple[float, int]:
        try:
            widths = [
                len(row)
                for row in csv.reader(sample.splitlines(keepends=True)[:200], delimiter=separator)
                if row
            ]
        except csv.Error:  # a huge field: not read with this separator
            return 0.0, 0
        if not widths or widths[0] == 1:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(SEPARATORS, key=score)


def _sniff_decimal(sample: str, separator: str) -> str:
    """Return a comma when fields hold numbers with a comma and none with a point."""
    if separator == ",":
        return "."
    fields = [
        cell.strip('"') for line in sample.splitlines()[1:2000] for cell in line.split(separator)
    ]
    commas = sum(bool(re.fullmatch(r"[+-]?\d+,\d+", cell)) for cell in fields)
    points = sum(bool(re.fullmatch(r"[+-]?\d+\.\d+", cell)) for cell in fields)
    return "," if commas > points else "."


def header(path: Path, dialect: Dialect) -> list[str]:
    """Return the names in the first line, which may hold line breaks inside quotes."""
    encoding = "utf-8-sig" if is_utf8(dialect.encoding) else dialect.encoding
    with path.open(encoding=encoding, newline="") as file:
        first = file.readline(LINE_LIMIT)
        if len(first) >= LINE_LIMIT:
            msg = (
                f"{path.name} has a first line of more than {LINE_LIMIT // 1_000_000} MB.\n\nHint:"
                " check that it is a CSV file."
            )
            raise DataError(msg)
        text = first + (file.read(_CHUNK) if first.count(dialect.quote) % 2 else "")
    limit = csv.field_size_limit(LINE_LIMIT)
    try:
        return next(
            csv.reader(
                text.splitlines(keepends=True), delimiter=dialect.separator, quotechar=dialect.quote
            ),
            [],
        )
    finally:
        csv.field_size_limit(limit)


def is_utf8(encoding: str) -> bool:
    """Whether an encoding is UTF-8 or ASCII, under any of its names."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig", "ascii")


def has_mixed_line_ends(path: Path) -> bool:
    """Whether some lines end in a carriage return and a newline, and some in a newline alone."""
    both = alone = 0
    last = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            pairs = chunk.count(b"\r\n") + (last == b"\r" and chunk[:1] == b"\n")
            both += pairs
            alone += chunk.count(b"\n") - pairs
            last = chunk[-1:]
    return both > 0 and alone > 0
