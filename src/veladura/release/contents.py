"""Whether the files of a release hold its rows and nothing else.

Whoever reads only the values misses what lies beside them: rows that are written differently though
they are equal, names in a file that are not those of the codebook, bytes that no reader looks at.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veladura.release.files import write_csv
from veladura.release.folder import file_hash
from veladura.release.parquet_pages import chunk_span
from veladura.table.equal_values import Twins

MOST_MAKER = 100  # letters of the name of the program that wrote a file
MAGIC = 4  # bytes at both ends of a Parquet file
COMPARED = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_string)
RUNS = {"script", "iframe", "frame", "object", "embed", "applet", "link", "form", "base", "portal"}
LEADS = {"href", "src", "srcset", "action", "formaction", "data", "poster", "background", "ping"}


def beside_rows(path: Path, pieces: Iterable[pa.Table], twins: Twins) -> str:
    """Return what a data file holds beside its rows; an empty text where it is nothing.

    Parameters
    ----------
    pieces
        The rows as they are read from the file.
    twins
        What was seen in other files of the same dataset.
    """
    if path.suffix == ".csv":
        return "" if _written_hash(pieces) == file_hash(path) else "equal values look different"
    for piece in pieces:
        twins.look(piece)
    return "equal values look different" if twins.found else next(_beside_pages(path), "")


def _written_hash(pieces: Iterable[pa.Table]) -> str:
    """Return the SHA-256 of the CSV file that rows are written to."""
    sink = _Hashed()
    write_csv(pieces, cast("BinaryIO", sink))
    return sink.digest.hexdigest()


class _Hashed(io.RawIOBase):
    """A file that keeps the hash of what is written into it."""

    def __init__(self) -> None:
        super().__init__()
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def write(self, content: Any) -> int:
        """Take some bytes in."""
        self.digest.update(content)
        return len(content)


def _beside_pages(path: Path) -> Iterator[str]:
    """Yield what a Parquet file holds beside the pages of its columns."""
    with pq.ParquetFile(path) as file:
        about = file.metadata
        if about.metadata or len(about.created_by or "") > MOST_MAKER:
            yield "metadata of its own"
        if _loose_bytes(about, path.stat().st_size):
            yield "bytes that belong to no column"
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        names = file.schema_arrow.names
        for group in range(about.num_row_groups):
            for number, name in enumerate(names):  # one by one: a group may have any size
                column = file.read_row_group(group, columns=[name]).column(name)
                if _unused(column):
                    yield "values that no row has"
                if _untrue(about.row_group(group).column(number).statistics, column):
                    yield "statistics that are not those of its rows"


def _loose_bytes(about: pq.FileMetaData, size: int) -> bool:
    """Whether a file has bytes outside its pages and its footer, or pages that overlap."""
    spans = sorted(
        chunk_span(about.row_group(group).column(column))
        for group in range(about.num_row_groups)
        for column in range(about.num_columns)
    )
    at = MAGIC
    for start, end in spans:
        if start != at:
            return True
        at = end
    return bool(
        at != size - 2 * MAGIC - about.serialized_size
    )  # its length and the magic word end it


def _unused(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary has a text that no row uses."""
    if not pa.types.is_dictionary(column.type):
        return False
    held = pc.unique(pa.chunked_array([part.dictionary for part in column.chunks]))
    used = pc.unique(column.cast(column.type.value_type)).drop_null()
    return bool(len(held) != len(used))


def _untrue(statistics: Any, column: pa.ChunkedArray) -> bool:
    """Whether the smallest or largest value of a footer is not that of the rows."""
    type_ = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if statistics is None or not any(is_type(type_) for is_type in COMPARED):
        return False
    counted = statistics.has_null_count and statistics.null_count != column.null_count
    ends = pc.min_max(column.cast(type_)).as_py()
    told = statistics.has_min_max and (statistics.min, statistics.max) != (ends["min"], ends["max"])
    return bool(counted or told)


class _Page(HTMLParser):
    """Looks for what a page would run, load from elsewhere, or not show."""

    found = ""
    ended = False

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Look at one element."""
        if self.ended:
            self.found = self.found or "an element after its end"
        if tag in RUNS or (tag == "meta" and "http-equiv" in dict(attrs)):
            self.found = self.found or f"an element {tag!r}"
        for name, value in attrs:
            place = name.rsplit(":", 1)[-1]
            target = "".join((value or "").split()).lower()
            leads = place in LEADS and not target.startswith(("#", "data:image/"))
            if name.startswith("on") or leads or (place == "style" and "url(" in target):
                self.found = self.found or f"an attribute {name!r}"

    def handle_endtag(self, tag: str) -> None:
        """Notice the end of the page: nothing may follow."""
        self.ended = self.ended or tag == "html"

    def handle_comment(self, data: str) -> None:  # noqa: ARG002
        """Notice a comment, which no reader sees."""
        self.found = self.found or "a comment"

    def handle_pi(self, data: str) -> None:
        """Notice an instruction for programs, as good as a comment."""
        self.handle_comment(data)

    def unknown_decl(self, data: str) -> None:
        """Notice a marked section, as good as a comment."""
        self.handle_comment(data)

    def handle_data(self, data: str) -> None:
        """Look at a text, which in a style may name a file."""
        if self.ended and data.strip():
            self.found = self.found or "text after its end"
        if self.cdata_elem == "style" and ("@import" in data.lower() or "url(" in data.lower()):
            self.found = self.found or "a style that loads something"


def active_content(html: str) -> str:
    """Return what a page would run, load or not show; an empty text where it is nothing.

    Examples
    --------
    >>> active_content('<p>7 rows</p><img src="data:image/svg+xml;base64,AA" alt="">')
    ''
    >>> active_content('<p onclick="x()">7 rows</p>')
    "an attribute 'onclick'"
    >>> active_content("<p>7 rows</p></html>the eighth")
    'text after its end'
    """
    page = _Page()
    page.feed(html)
    page.close()
    return page.found
