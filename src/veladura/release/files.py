"""Data files of a package: Parquet, or CSV in which no spreadsheet finds a formula."""

from __future__ import annotations

import csv
import io
import re
import sys
from pathlib import Path
from typing import BinaryIO, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from veladura.errors import PlanError
from veladura.release.parquet_pages import read_pieces

Format = Literal["parquet", "csv"]
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
    safe = [disarm(column) if _is_text(column.type) else column for column in bare.columns]
    names = [disarm_text(name) for name in bare.column_names]
    pacsv.write_csv(pa.table(safe, names=names), path)


def write_stream(parquet: Path, path: Path) -> None:
    """Write a Parquet file as CSV, piece by piece: it may be larger than memory."""
    with pq.ParquetFile(parquet) as file:
        pieces = file.iter_batches()
        names = [disarm_text(name) for name in file.schema_arrow.names]
        schema = pa.schema(
            [(name, type_) for name, type_ in zip(names, file.schema_arrow.types, strict=True)]
        )
        with pacsv.CSVWriter(path, schema) as out:
            for piece in pieces:
                columns = [
                    disarm(column) if _is_text(column.type) else column
                    for column in pa.Table.from_batches([piece]).columns
                ]
                out.write_table(pa.table(columns, schema=schema))


def read_data(
    path: Path, names: list[str], types: list[pa.DataType], most: int = sys.maxsize
) -> pa.Table:
    """Return one dataset, exactly as it was before it was written.

    Parameters
    ----------
    most
        Bytes that a Parquet file may have when unfolded.
    """
    if path.suffix == ".parquet":
        table = read_pieces(path, most)
        _check_names(table.column_names, names)
        columns = [column.cast(type_) for column, type_ in zip(table.columns, types, strict=True)]
        return pa.table(columns, schema=pa.schema(list(zip(names, types, strict=True))))
    _check_names(header(path), [disarm_text(name) for name in names])
    inner = [f"c{i}" for i in range(len(names))]
    table = pacsv.read_csv(
        path,
        read_options=pacsv.ReadOptions(
            column_names=inner, skip_rows_after_names=1, block_size=1 << 26
        ),
        parse_options=pacsv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pacsv.ConvertOptions(
            column_types=dict(zip(inner, types, strict=True)),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    columns = [rearm(column) if _is_text(column.type) else column for column in table.columns]
    return pa.table(
        [column.combine_chunks() for column in columns],
        schema=pa.schema(list(zip(names, types, strict=True))),
    )


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
