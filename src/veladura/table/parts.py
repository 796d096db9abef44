"""Rows in Parquet files: in one file, or in a folder of parts where they are many."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from veladura.base.memory import cells_within, rows_within
from veladura.errors import PlanError
from veladura.table.coded import compacted
from veladura.table.held import HELD_CELLS

GROUP = 122_880  # rows of a row group, as DuckDB writes them
MOST_PARTS = 100_000


def rows_a_part(columns: int) -> int:
    """Return the rows of a part where no plan says how many: as many as could be held in memory."""
    within = cells_within()
    cells = HELD_CELLS if within is None else min(HELD_CELLS, within)
    group = rows_within(GROUP, columns)
    return max(1, cells // columns // group) * group


def check_rows_per_file(rows: int | None) -> None:
    """Refuse a number of rows that no file can have."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        msg = f"rows_per_file must be a whole number of at least 1, got {rows!r}."
        raise PlanError(msg)


def part_name(number: int, ending: str = "parquet") -> str:
    """Return the name of a part in its folder, so that names sort as numbers do.

    Examples
    --------
    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05}.{ending}"


def files_of(stored: Path) -> list[Path]:
    """Return the files of stored rows, in the order of the rows."""
    return sorted(stored.glob("part-*.parquet")) if stored.is_dir() else [stored]


def rows_of(stored: Path) -> list[int]:
    """Return the rows of each file of stored rows."""
    return [int(pq.read_metadata(file).num_rows) for file in files_of(stored)]


def cuts(rows: int, most: int) -> list[int]:
    """Return the rows of each part; nothing where one file holds them all.

    Examples
    --------
    >>> cuts(10, 4), cuts(4, 4)
    ([4, 4, 2], [])
    """
    return [min(most, rows - start) for start in range(0, rows, most)] if rows > most else []


def write_batches(
    batches: Iterable[pa.RecordBatch | pa.Table],
    schema: pa.Schema,
    path: Path,
    most: int,
    compression: str = "snappy",
    plain: Sequence[str] = (),
) -> Path:
    """Write rows as they come to a Parquet file, or to a folder of parts of so many rows.

    Nothing but one group of rows is held, and the cuts depend on the number of rows only.

    Parameters
    ----------
    plain
        Columns of so many values that a dictionary of them would only be tried in vain.

    Returns
    -------
    The file, or the folder beside it: its path without the ending.
    """
    folder, number, room = path.with_suffix(""), 0, 0
    with ExitStack() as open_file:
        for group in _groups(batches, schema, most):
            if room == 0:
                open_file.close()
                place = _place(path, folder, number)
                writer = open_file.enter_context(
                    pq.ParquetWriter(
                        place,
                        schema,
                        compression=compression,
                        store_schema=False,
                        use_dictionary=[n for n in schema.names if n not in plain] or False,
                    )
                )
                number, room = number + 1, most
            writer.write_table(compacted(group), row_group_size=GROUP)
            room -= group.num_rows
    return folder if number > 1 else path


def _place(path: Path, folder: Path, number: int) -> Path:
    """Return where a part is written; the first one moves into the folder when there is a second.

    A release of one file has no folder.
    """
    if number == 0:
        return path
    if number == 1:
        folder.mkdir()
        path.rename(folder / part_name(0))
    return folder / part_name(number)


def _groups(
    batches: Iterable[pa.RecordBatch | pa.Table], schema: pa.Schema, most: int
) -> Iterator[pa.Table]:
    """Yield rows in groups that no part cuts, however they come; an empty one where there are none.

    Row groups must not tell how many rows a database handed over at a time.
    """
    held: list[pa.Table] = []
    rows, written, group = 0, 0, rows_within(GROUP, max(1, len(schema.names)))
    for batch in batches:
        piece = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        held.append(piece.cast(schema) if piece.schema != schema else piece)
        rows += piece.num_rows
        while rows >= (size := min(group, most - written % most)):
            whole = pa.concat_tables(held)
            yield whole.slice(0, size)
            held, rows, written = [whole.slice(size)], rows - size, written + size
    if rows or not written:
        yield pa.concat_tables(held) if held else schema.empty_table()


def link_stored(stored: Path, path: Path) -> Path:
    """Give stored rows a second name, or copy them where the disk does not allow that."""
    if not stored.is_dir():
        _link(stored, path)
        return path
    folder = path.with_suffix("")
    folder.mkdir()
    for file in files_of(stored):
        _link(file, folder / file.name)
    return folder


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)


def remove_stored(path: Path) -> None:
    """Remove a file of stored rows, or its folder of parts, if it is there."""
    path.unlink(missing_ok=True)
    shutil.rmtree(path.with_suffix(""), ignore_errors=True)


def read_batches(stored: Path) -> Iterator[pa.RecordBatch]:
    """Yield stored rows group by group, in their order."""
    for file in files_of(stored):
        with pq.ParquetFile(file) as content:
            size = rows_within(GROUP, content.metadata.num_columns)
            yield from content.iter_batches(batch_size=size)
