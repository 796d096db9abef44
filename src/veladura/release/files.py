"""Data files of a package: Parquet, or CSV in which no spreadsheet finds a formula."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from veladura.errors import PlanError
from veladura.release.parquet_pages import pieces_of, read_all_pieces
from veladura.table.parts import cuts, files_of, part_name

Format = Literal["parquet", "csv"]
BLOCK = 1 << 26  # bytes of a CSV file that are read at a time: no line is longer
MOST_HEADER = 1 << 24  # letters of the names of all columns
# A spreadsheet runs a cell that starts like this; a plain number such as "-8" is harmless.
_LIVE = r"^(?:[=@\t\r']|[+-])"
_NUMBER = r"^[+-]?[0-9]+(?:[.,][0-9]+)?$"


def check_format(format_: str) -> None:
    """Refuse an unknown format."""
    if format_ not in get_args(Format):
        raise PlanError.unknown("format", format_, get_args(Format))


def write_data(table: pa.Table, path: Path | BinaryIO, format_: str) -> None:
    """Write one dataset: columns and values, without metadata."""
    bare = table.replace_schema_metadata(None)
    if format_ == "parquet":
        pq.write_table(bare, path, compression="zstd", store_schema=False)
        return
    write_csv([bare], path)


def write_csv(pieces: Iterable[pa.Table], path: Path | BinaryIO) -> None:
    """Write rows as CSV as they come; there is at least one piece."""
    writer = None
    try:
        for piece in pieces:
            safe = [disarm(column) if _is_text(column.type) else column for column in piece.columns]
            rows = pa.table(safe, names=[disarm_text(name) for name in piece.column_names])
            writer = writer or pacsv.CSVWriter(path, rows.schema)
            writer.write_table(rows)
    finally:
        if writer is not None:
            writer.close()


def write_rows(table: pa.Table, path: Path, format_: str, most: int) -> list[int]:
    """Write one dataset to a file, or to a folder of parts of so many rows.

    Returns
    -------
    The rows of each part; nothing for one file.
    """
    parts = cuts(table.num_rows, most)
    if not parts:
        write_data(table, path, format_)
    folder, start = path.with_suffix(""), 0
    for number, rows in enumerate(parts):
        folder.mkdir(exist_ok=True)
        write_data(table.slice(start, rows), folder / part_name(number, format_), format_)
        start += rows
    return parts


def data_files(manifest: Mapping[str, Any]) -> list[list[str]]:
    """Return the names of the files of each dataset: one file, or its parts.

    Examples
    --------
    >>> data_files({"datasets": 1, "files": {"format": "csv", "parts": [[9, 3]]}})
    [['data/dataset-1/part-00000.csv', 'data/dataset-1/part-00001.csv']]
    """
    ending = manifest["files"]["format"]
    parts = manifest["files"].get("parts") or [[]] * manifest["datasets"]
    return [
        [f"data/dataset-{i}/{part_name(number, ending)}" for number in range(len(rows))]
        or [f"data/dataset-{i}.{ending}"]
        for i, rows in enumerate(parts, start=1)
    ]


def write_stream(stored: Path, path: Path) -> None:
    """Write stored rows as CSV, each file as one, piece by piece: they may exceed the memory."""
    if stored.is_dir():
        folder = path.with_suffix("")
        folder.mkdir()
        for number, file in enumerate(files_of(stored)):
            _write_stream(file, folder / part_name(number, "csv"))
    else:
        _write_stream(stored, path)


def _write_stream(parquet: Path, path: Path) -> None:
    with pq.ParquetFile(parquet) as file:
        first = file.schema_arrow.empty_table()  # the names, where there are no rows
        write_csv(chain([first], map(_as_table, file.iter_batches())), path)


def _as_table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


def read_data(
    path: Path, names: list[str], types: list[pa.DataType], most: int = sys.maxsize
) -> pa.Table:
    """Return a data file, exactly as it was before it was written.

    Parameters
    ----------
    most
        Bytes that a Parquet file may have when unfolded.
    """
    if path.suffix == ".parquet":
        return _typed(read_all_pieces(path, most), names, types)
    _check_names(header(path), [disarm_text(name) for name in names])
    table = _rearmed(pacsv.read_csv(path, **_reading(types)), names, types)
    return table.combine_chunks()


def read_pieces(path: Path, names: list[str], types: list[pa.DataType]) -> Iterator[pa.Table]:
    """Yield a data file piece by piece, exactly as it was before it was written."""
    if path.suffix == ".parquet":
        for piece in pieces_of(path, sys.maxsize):
            yield _typed(pa.Table.from_batches([piece]), names, types)
        return
    _check_names(header(path), [disarm_text(name) for name in names])
    with pacsv.open_csv(path, **_reading(types)) as reader:
        for piece in reader:
            yield _rearmed(pa.Table.from_batches([piece]), names, types)


def _typed(table: pa.Table, names: list[str], types: list[pa.DataType]) -> pa.Table:
    _check_names(table.column_names, names)
    columns = [column.cast(type_) for column, type_ in zip(table.columns, types, strict=True)]
    return pa.table(columns, schema=pa.schema(list(zip(names, types, strict=True))))


def check_types(path: Path, names: list[str], types: list[pa.DataType]) -> None:
    """Refuse a Parquet file whose columns are not those of the codebook, without reading rows."""
    with pq.ParquetFile(path) as file:
        _typed(file.schema_arrow.empty_table(), names, types)


def _rearmed(table: pa.Table, names: list[str], types: list[pa.DataType]) -> pa.Table:
    columns = [rearm(column) if _is_text(column.type) else column for column in table.columns]
    return pa.table(columns, schema=pa.schema(list(zip(names, types, strict=True))))


def _reading(types: list[pa.DataType]) -> dict[str, Any]:
    """Return how our CSV files are read."""
    inner = [f"c{i}" for i in range(len(types))]
    return {
        "read_options": pacsv.ReadOptions(
            column_names=inner, skip_rows_after_names=1, block_size=BLOCK
        ),
        "parse_options": pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        "convert_options": pacsv.ConvertOptions(
            column_types=dict(zip(inner, types, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    }


def _check_names(held: list[str], described: list[str]) -> None:
    """Refuse a file whose columns are not those that the codebook describes, in its order."""
    if held != described:
        msg = "other names of columns"
        raise ValueError(msg)


def header(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file; a line without an end is refused."""
    with path.open(encoding="utf-8", newline="") as stream:
        text = stream.read(MOST_HEADER)
        rows = csv.reader(io.StringIO(text, newline=""), strict=True)
        try:
            return next(rows)
        except (csv.Error, StopIteration):
            msg = "no names of columns"
            raise ValueError(msg) from None


def disarm(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put an apostrophe before text that a spreadsheet would run or that starts with one."""
    live = pc.and_not(
        pc.match_substring_regex(column, _LIVE), pc.match_substring_regex(column, _NUMBER)
    )
    return pc.if_else(live, pc.binary_join_element_wise("'", column, ""), column)


def rearm(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Undo `disarm`: every text that starts with an apostrophe has one too many."""
    return pc.if_else(pc.starts_with(column, "'"), pc.utf8_slice_codeunits(column, 1), column)


def disarm_text(text: str) -> str:
    """Disarm one text, such as a column's name."""
    return f"'{text}" if re.match(_LIVE, text) and not re.match(_NUMBER, text) else text


def type_from_text(text: str) -> pa.DataType:
    """Return the Arrow type that a codebook names."""
    if match := re.fullmatch(r"timestamp\[(\w+)(?:, tz=(.+))?\]", text):
        return pa.timestamp(match[1], tz=match[2])
    return pa.type_for_alias({"date32[day]": "date32"}.get(text, text))


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_))
