"""Two tables side by side: which columns can be compared, and why the others cannot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from veladura.core.recipe import Release
from veladura.errors import PlanError
from veladura.measures.domain import generalise
from veladura.measures.measure import open_quietly
from veladura.table.schema import LABELLED, Field
from veladura.table.table import Table

Form = Literal["labels", "numbers", "dates"]


@dataclass(frozen=True, eq=False)
class Pairing:
    """An original, what was released of it, and the columns both have.

    Attributes
    ----------
    forms
        How each comparable column is compared.
    left_out
        The other released columns, with the reason.
    coarser
        Columns of the original that were brought to the released level first.
    """

    original: Table
    released: tuple[Table, ...]
    forms: Mapping[str, Form]
    left_out: Mapping[str, str] = field(default_factory=dict)
    coarser: tuple[str, ...] = ()


def pair(original: Any, released: Any) -> Pairing:
    """Return a table and its released versions, opened, with the columns that can be compared.

    Where a release generalised a column, the original is brought to the same level: generalised
    values are compared with generalised ones.

    Parameters
    ----------
    original
        Anything `veladura.open` takes.
    released
        A release, one released table, or a list of them.
    """
    before, after = open_quietly(original), _tables(released)
    before, coarser = (
        generalise(before, released) if isinstance(released, Release) else (before, ())
    )
    if not after:
        msg = "there is no released table to compare."
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


def _tables(released: Any) -> tuple[Table, ...]:
    if isinstance(released, Release):
        return tuple(dataset.table for dataset in released.tables)
    return tuple(
        open_quietly(one)
        for one in (released if isinstance(released, (list, tuple)) else [released])
    )


def _form(column: Field) -> Form:
    if column.kind in LABELLED:
        return "labels"
    return "dates" if column.kind == "date" else "numbers"
