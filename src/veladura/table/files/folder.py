"""A folder of Parquet files as one table: parts side by side, or folders named by a value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from veladura.errors import DataError
from veladura.table.database.connection import read_parquet
from veladura.table.database_errors import without_values

if TYPE_CHECKING:
    import ibis


def parquet_files(folder: Path) -> list[Path]:
    """Return the Parquet files of a folder and of those in it, in the order of their names.

    Names that begin with a point or an underscore are notes of the program that wrote it.
    """
    return sorted(
        file
        for file in folder.rglob("*.parquet")
        if file.is_file() and not any(_is_note(part) for part in file.relative_to(folder).parts)
    )


def _is_note(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def read_folder(folder: Path, custodian: Path | None) -> tuple[ibis.Table, list[str], int]:
    """Return the files of a folder as a lazy table, the names of its columns and its rows.

    Columns that folders give (``year=2024``) come last, as in Spark, and hold texts.
    """
    import pyarrow.parquet as pq

    files = parquet_files(folder)
    _refuse_versions(folder)
    if not files:
        msg = (
            f"{folder} is a folder without Parquet files, not a table.\n\nHint: name one file in"
            " it, or a folder whose files end in .parquet."
        )
        raise DataError(msg)
    keys = _keys(folder, files)
    with without_values(folder.name):
        names = list(pq.read_schema(files[0]).names)
        rows = sum(int(pq.read_metadata(file).num_rows) for file in files)
        if twice := [key for key in keys if key in names]:
            msg = (
                f"{folder.name}: columns {twice} are given by the names of folders and by the files"
                " in them.\n\nHint: write the files without them."
            )
            raise DataError(msg)
        expression = read_parquet(files, custodian, hive=bool(keys))
        return expression.select(*names, *keys), [*names, *keys], rows


def _keys(folder: Path, files: list[Path]) -> list[str]:
    """Return the columns that names of folders give; all files must have the same."""
    found = {
        tuple(part.partition("=")[0] for part in file.relative_to(folder).parts[:-1] if "=" in part)
        for file in files
    }
    if len(found) > 1:
        msg = (
            f"{folder.name}: some files are in folders that name a value (as in year=2024), others"
            " are not, or name other columns.\n\nHint: name one folder whose files belong together."
        )
        raise DataError(msg)
    return list(found.pop())


def _refuse_versions(folder: Path) -> None:
    """Refuse the folder of a table with versions: it holds files of rows that were deleted."""
    delta = (folder / "_delta_log").is_dir()
    if delta or any((folder / "metadata").glob("*.metadata.json")):
        kind = "Delta" if delta else "Iceberg"
        example = f"vd.open('spark:local[2]', table='{kind.lower()}.`{folder.name}`')"
        msg = (
            f"{folder.name} is a table of {kind}: its folder also holds rows that were deleted or"
            f" replaced, and only {kind} knows which.\n\nHint: open it through a Spark session that"
            f" has {kind}, as in {example} with its whole path."
        )
        raise DataError(msg)
