"""What one person contributes to a private count: at most a declared number of rows."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.context import Context
from veladura.errors import PlanError
from veladura.table.table import from_arrow
from veladura.table.units import person_numbers

if TYPE_CHECKING:
    from veladura.base.arrays import Ints
    from veladura.table.table import Table


def contributed(table: Table, rows_per_person: int | None, context: Context) -> Table:
    """Return the rows that are counted: at most so many of each person, drawn at random.

    Which rows of a person stay depends on no other person, so replacing a person changes at most so
    many rows. They are drawn from the system's entropy, as the noise is.
    """
    if table.person is None:
        if rows_per_person is not None:
            msg = (
                'rows_per_person was given, and no column has the role "person".\n\nHint: declare'
                " the column that says whose row it is, or leave rows_per_person out."
            )
            raise PlanError(msg)
        return table
    if rows_per_person is None:
        _refuse_repeated(table)
        return table
    fetched = table.units.select([*table.names, table.person]).fetched()
    rng = (
        context.streams("private", "rows of a person")
        if context.seeded
        else np.random.default_rng(secrets.randbits(128))
    )
    rows = drawn_rows(person_numbers(fetched), rows_per_person, rng)
    kept = fetched.select(table.names)
    return from_arrow(kept.arrow.take(pa.array(rows)), kept.schema, table.source)


def drawn_rows(persons: Ints, most: int, rng: np.random.Generator) -> Ints:
    """Return at most so many rows of each person, each of them equally likely to stay."""
    order = np.lexsort((rng.random(persons.size), persons))
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    rank = np.arange(persons.size) - np.repeat(starts, np.diff(starts, append=persons.size))
    return np.sort(order[rank < most])


def _refuse_repeated(table: Table) -> None:
    people, rows = table.people, table.rows
    if people < rows:
        msg = (
            f"{people} people have {rows} rows: differential privacy of one row would not protect a"
            " person.\n\nHint: give rows_per_person, the most rows of a person that are counted;"
            " the privacy loss of a person is that many times the one of a row."
        )
        raise PlanError(msg)
