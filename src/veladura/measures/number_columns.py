"""The number columns of a release that attacks on numbers are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from veladura.core.release import Release
from veladura.measures.pairing import pair
from veladura.methods.critical.promises import critical_rows
from veladura.methods.geography.placed import changed_columns, step_of_places

if TYPE_CHECKING:
    from veladura.table.codes import Column


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of numbers in the original and in every released table."""

    name: str
    before: Column
    after: list[Column]


def number_columns(
    original: Any, release: Any, columns: Sequence[str] | None = None
) -> list[NumberColumn]:
    """Return the number columns that were replaced, or all of a table; coordinates are left out.

    Where a release replaced critical cells only, its columns are those cells: all others are the
    original ones, by the holder's own choice.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    columns
        Only these.
    """
    both = pair(original, release)
    places: set[str] = set()
    if isinstance(release, Release):
        step = step_of_places(release)
        places = set() if step is None else {step.settings["x"], step.settings["y"]}
        columns = changed_columns(release) if columns is None else columns
    names = list(both.forms) if columns is None else list(columns)
    both.original.schema.check("columns", names)
    found = [
        NumberColumn(
            name,
            both.original.column(name),
            [table.column(name) for table in both.released],
        )
        for name in names
        if both.forms.get(name, "labels") != "labels" and name not in places
    ]
    return _only_critical(found, release) if isinstance(release, Release) else found


def _only_critical(columns: list[NumberColumn], release: Release) -> list[NumberColumn]:
    """Return the columns with their critical cells only, where only those were replaced."""
    promise = next((one for one in release.promises if one.name == "critical-cells"), None)
    if promise is None or not promise.private:
        return columns
    cells = [critical_rows(promise, evidence) for evidence in release.evidence()]
    return [
        column
        if column.name not in cells[0]
        else replace(
            column,
            before=column.before.take(cells[0][column.name][0]),
            after=[
                after.take(rows[column.name][1])
                for after, rows in zip(column.after, cells, strict=True)
            ],
        )
        for column in columns
    ]
