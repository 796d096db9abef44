"""The datasets of a release as tables of the source's database, once its folder is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from veladura.errors import FolderError
from veladura.release.package import file_order
from veladura.table.write import (
    check_database,
    drop_table,
    has_table,
    rename_table,
    write_arrow,
    write_beside,
)

if TYPE_CHECKING:
    from veladura.core.release import Release
    from veladura.table.table import Table

PART = "_veladura_part"  # after the name of a table that is not released yet


@contextmanager
def new_tables(release: Release, source: Table, name: str | None, *, force: bool) -> Iterator[None]:
    """Write the datasets under other names; they get theirs when the block ends well.

    So a run that is killed leaves no table under a released name without its release folder. What
    it leaves under the other names is replaced by the next run.
    """
    if name is None:
        yield
        return
    check_database(source)
    names = _names(release, name)
    if not force and (held := [target for target in names if has_table(source, target)]):
        msg = (
            f"tables exist already: {held}.\n\nHint: name another table in [release], or replace"
            " them with --force."
        )
        raise FolderError(msg)
    try:
        for number, target in enumerate(names):
            _write(release, number, source, f"{target}{PART}")
        yield
        for target in names:
            rename_table(source, f"{target}{PART}", target)
    finally:
        for target in names:
            drop_table(source, f"{target}{PART}")


def _names(release: Release, name: str) -> list[str]:
    count = len(release.tables)
    return [name] if count == 1 else [f"{name}_{i}" for i in range(1, count + 1)]


def _write(release: Release, number: int, source: Table, target: str) -> None:
    """Write one dataset, in the order of its file."""
    dataset, order = release.tables[number], file_order(release, number)
    if order is None:
        write_beside(source, dataset.table, target)
    else:
        arrow = dataset.table.units.arrow.take(pa.array(order))
        write_arrow(source, arrow, target, overwrite=True)
