"""The data files of a stranger: looked at before they are read, bounded while they are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.errors import DataError, PromiseError
from veladura.release.files import check_types, data_files, read_data, read_pieces
from veladura.release.folder import is_plain
from veladura.release.parquet_pages import CELL, OversizedError, unfolded_size
from veladura.table.codes import label_text
from veladura.table.held import holds
from veladura.table.parts import write_batches
from veladura.table.schema import Field, Schema
from veladura.table.table import Source, Table, from_arrow
from veladura.table.write import Scratch, stored_files

MUCH = 1 << 30  # bytes that any file may unfold to
RATIO = 250  # and times its own size beyond that: real rows do not repeat so much
MOST_LINE = 1 << 26  # bytes of a line of a CSV file: the reader takes no longer one
MEMORY = 0.75  # share of the memory that data may take


def open_datasets(
    folder: Path,
    manifest: Mapping[str, Any],
    fields: Sequence[Field],
    *,
    large: bool,
    lazy: bool | None = None,
) -> list[Table]:
    """Return the datasets of a folder, each as its codebook describes it.

    Parameters
    ----------
    lazy
        Whether rows stay in their files; by default those do that `veladura.open` would leave
        there.
    """
    files = [[folder / name for name in names] for names in data_files(manifest)]
    if not _are_plain(folder, files):
        msg = (
            f"a data file of {folder} is missing or no plain file: this is not a whole release"
            " folder.\n\nHint: name a folder that veladura run wrote."
        )
        raise PromiseError(msg)
    stays = not holds(max(manifest["rows"]), len(fields)) if lazy is None else lazy
    schema, source = Schema(tuple(fields)), Source(manifest["name"])
    try:
        if stays:
            return [_lazy(own, schema, source, large=large) for own in files]
        datasets = _read(files, fields, large=large)
    except OversizedError as error:
        msg = (
            f"the data files unfold to {error.size / 1e9:.1f} GB or more, much more than they take"
            " on disk or than this computer holds: they were not read.\n\nHint: if you expect so"
            " many rows, use --large, or large=True."
        )
        raise PromiseError(msg) from None
    # bytes that are no page header give headers of any shape
    except (
        *(OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError),
        DataError,
    ):
        msg = f"a data file of {folder} cannot be read, or does not fit codebook.json."
        raise PromiseError(msg) from None
    for dataset in datasets:
        _refuse_disorder(dataset, fields)
    return [from_arrow(dataset, schema, source) for dataset in datasets]


def _are_plain(folder: Path, files: Sequence[Sequence[Path]]) -> bool:
    """Whether every data file is there, and nothing on the way to it is a link."""
    every = [file for own in files for file in own]
    homes = {folder / "data", *(file.parent for file in every)}
    return not any(home.is_symlink() for home in homes) and all(map(is_plain, every))


def _lazy(files: Sequence[Path], schema: Schema, source: Source, *, large: bool) -> Table:
    """Return a dataset whose rows stay in its files, after a look at each of them.

    CSV is written to private scratch as Parquet first, piece by piece.
    """
    if not large:
        for file in files:
            most = max(MUCH, RATIO * file.stat().st_size)
            if (size := _look(file, len(schema.names))) > most:
                raise OversizedError(size)
    types = [field.type for field in schema]
    if files[0].suffix == ".parquet":
        for file in files:
            check_types(file, schema.names, types)
        return stored_files(schema, source, files)
    scratch = Scratch()
    pieces = (piece for file in files for piece in read_pieces(file, schema.names, types))
    stored = write_batches(
        pieces, pa.schema(list(zip(schema.names, types, strict=True))), scratch.path, sys.maxsize
    )
    return stored_files(schema, replace(source, scratch=scratch), [stored])


def rows_in(file: Path, table: Table, *, alone: bool) -> Iterable[pa.Table]:
    """Return the rows of a data file piece by piece; where it is the only one, those held."""
    if alone and table.in_memory:
        return [table.data]
    return read_pieces(file, table.names, [field.type for field in table.schema])


def most_bytes(stored: int) -> int:
    """Return the bytes that files of a size may unfold to."""
    most = max(MUCH, RATIO * stored)
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        most = min(most, int(MEMORY * memory))
    return most


def _look(file: Path, columns: int) -> int:
    """Return what a data file unfolds to."""
    return unfolded_size(file) if file.suffix == ".parquet" else unfolded_text(file, columns)


def unfolded_text(file: Path, columns: int) -> int:
    """Return what a CSV file unfolds to: its texts, and a number for every cell, empty or not.

    Rows are ends of lines. A row without a separator for every column but one is no row of the
    release, so that fewer separators are refused before anything is read, and so is a line that no
    reader takes whole.
    """
    ends, separators, length, longest = 1, 0, 0, 0
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            ends += piece.count(b"\n")
            separators += piece.count(b",")
            first = piece.find(b"\n")
            longest = max(longest, length + (first if first >= 0 else len(piece)))
            length = len(piece) - piece.rfind(b"\n") - 1 if first >= 0 else length + len(piece)
    if longest > MOST_LINE:
        msg = "a line is too long"
        raise ValueError(msg)
    rows = min(ends, separators // (columns - 1) if columns > 1 else ends)
    return file.stat().st_size + rows * columns * CELL


def _read(
    files: Sequence[Sequence[Path]], fields: Sequence[Field], *, large: bool
) -> list[pa.Table]:
    """Return the data of some files, unless they unfold to too much."""
    names, types = [field.name for field in fields], [field.type for field in fields]
    every = [file for own in files for file in own]
    most = sys.maxsize if large else most_bytes(sum(file.stat().st_size for file in every))
    if not large and (size := sum(_look(file, len(names)) for file in every)) > most:
        raise OversizedError(size)
    datasets, left = [], most
    for own in files:
        parts = []
        for file in own:
            parts.append(read_data(file, names, types, left))
            left -= parts[-1].nbytes
        datasets.append(pa.concat_tables(parts).combine_chunks() if len(parts) > 1 else parts[0])
    return datasets


def _refuse_disorder(dataset: pa.Table, fields: Sequence[Field]) -> None:
    """Refuse an ordered column with a category that the codebook does not list."""
    for field in fields:
        if field.kind == "ordered" and field.order:
            held = pc.unique(dataset.column(field.name)).drop_null().to_pylist()
            if not set(map(label_text, held)) <= set(field.order):
                msg = f"codebook.json does not list every category of {field.name!r}."
                raise PromiseError(msg)
