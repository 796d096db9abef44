"""The data files of a stranger: looked at before they are read, bounded while they are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.errors import PromiseError
from veladura.release.files import read_data
from veladura.release.folder import is_plain
from veladura.release.parquet_pages import CELL, OversizedError, unfolded_size
from veladura.table.codes import label_text
from veladura.table.schema import Field

MUCH = 1 << 30  # bytes that any file may unfold to
RATIO = 250  # and times its own size beyond that: real rows do not repeat so much
MOST_LINE = 1 << 26  # bytes of a line of a CSV file: the reader takes no longer one
MEMORY = 0.75  # share of the memory that data may take


def read_datasets(
    folder: Path, manifest: Mapping[str, Any], fields: Sequence[Field], *, large: bool
) -> list[pa.Table]:
    """Return the datasets of a folder, each as its codebook describes it."""
    ending, number = manifest["files"]["format"], manifest["datasets"]
    files = [folder / "data" / f"dataset-{i}.{ending}" for i in range(1, number + 1)]
    if (folder / "data").is_symlink() or not all(map(is_plain, files)):
        msg = (
            f"a data file of {folder} is missing or no plain file: this is not a whole release"
            " folder.\n\nHint: name a folder that veladura run wrote."
        )
        raise PromiseError(msg)
    try:
        datasets = _read(files, fields, large=large)
    except OversizedError as error:
        msg = (
            f"the data files unfold to {error.size / 1e9:.1f} GB or more, much more than they take"
            " on disk or than this computer holds: they were not read.\n\nHint: if you expect so"
            " many rows, use --large, or large=True."
        )
        raise PromiseError(msg) from None
    # bytes that are no page header give headers of any shape
    except (OSError, pa.ArrowException, ValueError, LookupError, TypeError, AttributeError):
        msg = f"a data file of {folder} cannot be read, or does not fit codebook.json."
        raise PromiseError(msg) from None
    for dataset in datasets:
        _refuse_disorder(dataset, fields)
    return datasets


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


def _read(files: Sequence[Path], fields: Sequence[Field], *, large: bool) -> list[pa.Table]:
    """Return the data of some files, unless they unfold to too much."""
    names, types = [field.name for field in fields], [field.type for field in fields]
    most = sys.maxsize if large else most_bytes(sum(file.stat().st_size for file in files))
    if not large and (size := sum(_look(file, len(names)) for file in files)) > most:
        raise OversizedError(size)
    datasets, left = [], most
    for file in files:
        datasets.append(read_data(file, names, types, left))
        left -= datasets[-1].nbytes
    return datasets


def _refuse_disorder(dataset: pa.Table, fields: Sequence[Field]) -> None:
    """Refuse an ordered column with a category that the codebook does not list."""
    for field in fields:
        if field.kind == "ordered" and field.order:
            held = pc.unique(dataset.column(field.name)).drop_null().to_pylist()
            if not set(map(label_text, held)) <= set(field.order):
                msg = f"codebook.json does not list every category of {field.name!r}."
                raise PromiseError(msg)
