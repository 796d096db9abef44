"""Look at a Parquet file before it is read: how large it is when unfolded.

The footer of a file can say anything. The header of every page is what a reader goes by, so the
pages are walked: https://parquet.apache.org/docs/file-format/data-pages (thrift, compact protocol).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

# PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY,
# RLE_DICTIONARY, BYTE_STREAM_SPLIT. Left out: DELTA_BYTE_ARRAY, where a text can repeat the text
# before it and one byte unfold to a million.
ENCODINGS = frozenset({0, 2, 3, 4, 5, 6, 8, 9})
CELL = 8  # bytes of a cell that is not text
ROWS = 1 << 16  # rows of a piece
_SIZE, _STORED, _DATA, _DICTIONARY, _DATA_2 = 2, 3, 5, 7, 8  # fields of a page header


class OversizedError(ValueError):
    """A file is larger than it may be when it is unfolded."""

    def __init__(self, size: int) -> None:
        super().__init__(f"{size} bytes")
        self.size = size


def unfolded_size(path: Path) -> int:
    """Return the bytes of a file when unfolded, before texts that occur often are repeated."""
    with pq.ParquetFile(path) as file:
        about = file.metadata
        _refuse_nested(about)
        pages = 0
        if about.num_row_groups:
            with (
                path.open("rb") as stream,
                mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
            ):
                pages = sum(_pages_of(content, chunk) for chunk in _chunks(about))
        return max(pages, int(about.num_rows) * int(about.num_columns) * CELL)


def read_all_pieces(path: Path, most: int) -> pa.Table:
    """Return a Parquet file, read piece by piece, with at most so many bytes when unfolded."""
    with pq.ParquetFile(path) as file:
        plain = file.schema_arrow
    return pa.Table.from_batches(pieces_of(path, most), schema=plain)


def pieces_of(path: Path, most: int) -> Iterator[pa.RecordBatch]:
    """Yield a Parquet file piece by piece, until so many bytes are unfolded."""
    with pq.ParquetFile(path) as file:
        plain = file.schema_arrow
    texts = [field.name for field in plain if pa.types.is_string(field.type)]
    size = 0
    with pq.ParquetFile(path, read_dictionary=texts) as file:
        for piece in file.iter_batches(batch_size=ROWS):
            size += _bytes_of(piece)
            if size > most:
                raise OversizedError(size)
            yield piece.cast(plain)


def _bytes_of(piece: pa.RecordBatch) -> int:
    """Return the bytes of a piece with every text written out."""
    import pyarrow.compute as pc

    size = 0
    for column in piece.columns:
        size += CELL * len(column)
        if pa.types.is_dictionary(column.type) and len(column.dictionary):
            lengths = pc.binary_length(column.dictionary).cast(pa.int64())
            size += pc.sum(lengths.take(column.indices)).as_py() or 0
    return size


def _refuse_nested(about: pq.FileMetaData) -> None:
    """Refuse lists and structures: a release has plain columns."""
    for number in range(about.num_columns):
        column = about.schema.column(number)
        if column.max_repetition_level or column.max_definition_level > 1:
            msg = "a column is nested"
            raise ValueError(msg)


def _chunks(about: pq.FileMetaData) -> Iterator[pq.ColumnChunkMetaData]:
    for group in range(about.num_row_groups):
        for column in range(about.num_columns):
            yield about.row_group(group).column(column)


def chunk_span(chunk: pq.ColumnChunkMetaData) -> tuple[int, int]:
    """Return where the pages of a column chunk start and end in their file."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size


def _pages_of(content: mmap.mmap, chunk: pq.ColumnChunkMetaData) -> int:
    """Return the bytes of all pages of a column chunk when unfolded, by their own headers."""
    (start, end), size = chunk_span(chunk), 0
    if not 0 <= start <= end <= len(content):
        msg = "a column lies outside its file"
        raise ValueError(msg)
    while start < end:
        header, start = _structure(content, start)
        for kind, place in ((_DATA, 2), (_DICTIONARY, 2), (_DATA_2, 4)):
            if kind in header and header[kind].get(place, 0) not in ENCODINGS:
                msg = "a page is encoded in a way that releases do not use"
                raise ValueError(msg)
        if min(header[_SIZE], header[_STORED]) < 0:
            msg = "a page is smaller than nothing"
            raise ValueError(msg)
        size += header[_SIZE]
        start += header[_STORED]
    return size


def _structure(content: mmap.mmap, at: int, depth: int = 0) -> tuple[Mapping[int, Any], int]:
    """Return the fields of a thrift structure by number, and where it ends."""
    if depth > 8:  # noqa: PLR2004
        msg = "nested too deeply"
        raise ValueError(msg)
    fields: dict[int, Any] = {}
    number = 0
    while head := content[at]:
        at += 1
        step, kind = head >> 4, head & 15
        if step:
            number += step
        else:
            number, at = _zigzag(content, at)
        fields[number], at = _value(content, at, kind, depth)
    return fields, at + 1


def _value(content: mmap.mmap, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return a value of a thrift type, and where it ends; lists and maps do not occur here."""
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:  # noqa: PLR2004  # a byte
        return content[at], at + 1
    if kind in (4, 5, 6):
        return _zigzag(content, at)
    if kind == 7:  # noqa: PLR2004  # a double
        return None, at + 8
    if kind == 8:  # noqa: PLR2004  # bytes, such as a statistic
        length, at = _varint(content, at)
        return None, at + length
    if kind == 12:  # noqa: PLR2004
        return _structure(content, at, depth + 1)
    msg = "a page header cannot be read"
    raise ValueError(msg)


def _zigzag(content: mmap.mmap, at: int) -> tuple[int, int]:
    value, at = _varint(content, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(content: mmap.mmap, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = content[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:  # noqa: PLR2004
            return value, at
        if shift > 63:  # noqa: PLR2004
            msg = "a number is too long"
            raise ValueError(msg)
