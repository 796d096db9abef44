"""An original and its release: which columns can be compared, and which rows belong together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from veladura.base.arrays import Floats, Ints
from veladura.core.release import Release
from veladura.core.units import with_people
from veladura.errors import NotApplicable, PlanError
from veladura.measures.domain import generalise
from veladura.measures.weights import weight_name, weights_of
from veladura.table.schema import LABELLED, Field
from veladura.table.source import open_quietly
from veladura.table.table import Table

Form = Literal["labels", "numbers", "dates"]


@dataclass(frozen=True, eq=False)
class Pairing:
    """An original, its released tables, and the columns both have.

    Attributes
    ----------
    forms
        How each comparable column is compared.
    left_out
        The other released columns, with the reason.
    coarser
        Columns of the original that were generalised to the released level first.
    """

    original: Table
    released: tuple[Table, ...]
    forms: Mapping[str, Form]
    left_out: Mapping[str, str] = field(default_factory=dict)
    coarser: tuple[str, ...] = ()

    @property
    def weight(self) -> str | None:
        """The sampling weight, where the original and every released table have it."""
        name = weight_name(self.original)
        return name if all(weight_name(table) == name for table in self.released) else None

    def weights(self) -> list[Floats] | None:
        """Return the weight of each row, the original first; None where a table has none.

        A recipient without the weight cannot use it: both sides are then compared unweighted.
        """
        if self.weight is None:
            return None
        every = [weights_of(table) for table in (self.original, *self.released)]
        return None if any(part is None for part in every) else every  # type: ignore[return-value]

    def tabulated(self) -> list[str]:
        """Return the columns that can be counted in tables: no free text, not the weight used."""
        weight = None if self.weights() is None else self.weight
        names = [
            name
            for name in self.forms
            if name != weight
            and "text" not in (self.original.schema[name].kind, self.released[0].schema[name].kind)
        ]
        if not names:
            msg = "no released column can be compared with the original one."
            raise NotApplicable(msg)
        return names


def pair(original: Any, release: Any) -> Pairing:
    """Return a table and its released versions, opened, with the columns that can be compared.

    Where a release generalised a column, the original is generalised to the same level.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    release
        A release, one released table, or a list of them.
    """
    before, after = open_quietly(original), _tables(release)
    before, coarser = generalise(before, release) if isinstance(release, Release) else (before, ())
    if not after:
        msg = "the list of released tables is empty."
        raise PlanError(msg)
    forms: dict[str, Form] = {}
    left_out: dict[str, str] = {}
    for column in after[0].schema:
        if column.name not in before.names:
            left_out[column.name] = "the original has no such column"
        elif (form := _form(before.schema[column.name])) == _form(column):
            forms[column.name] = form
        else:
            left_out[column.name] = f"its {form} were recoded to {_form(column)}"
    return Pairing(before, after, forms, left_out, coarser)


def _tables(release: Any) -> tuple[Table, ...]:
    if isinstance(release, Release):
        return tuple(with_people(release))
    listed = release if isinstance(release, (list, tuple)) else [release]
    return tuple(open_quietly(table) for table in listed)


def _form(column: Field) -> Form:
    if column.kind in LABELLED:
        return "labels"
    return "dates" if column.kind == "date" else "numbers"


def linked_tables(original: Table, release: Any) -> list[tuple[Table, Ints]]:
    """Return each released table with the original row of each of its rows.

    Parameters
    ----------
    release
        A release linked to its rows, one table, or a list of tables with the rows of the original
        in its order.
    """
    if isinstance(release, Release):
        if release.rows is None:
            msg = "the released rows are not linked to rows of the original."
            raise NotApplicable(msg)
        links = [np.asarray(dataset.rows) for dataset in release.tables]
        if max(int(link.max(initial=-1)) for link in links) >= original.rows:
            msg = (
                f"the table has {original.rows} rows, fewer than the release was made from."
                "\n\nHint: give the table that was protected."
            )
            raise PlanError(msg)
        return [(dataset.table, link) for dataset, link in zip(release.tables, links, strict=True)]
    tables, rows = _tables(release), original.rows
    if not tables:
        msg = "the list of released tables is empty."
        raise PlanError(msg)
    if wrong := [table.rows for table in tables if table.rows != rows]:
        msg = (
            f"the original has {rows} rows, a released table {wrong[0]}: rows must be"
            " aligned.\n\nHint: give the release itself, which knows its rows."
        )
        raise PlanError(msg)
    return [(table, np.arange(rows)) for table in tables]
