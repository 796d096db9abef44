"""Distinct tuples with sums over their rows, by one query where the rows live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.base.arrays import Floats, Ints
from veladura.base.memory import cells_within, memory_limit
from veladura.errors import DataError, PlanError
from veladura.table.class_sizes import sizes_of_rows
from veladura.table.codes import Column, encode
from veladura.table.database.connection import fetch
from veladura.table.database_errors import without_values
from veladura.table.table import cast

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True, eq=False)
class TupleSums:
    """The distinct tuples of some columns. Its repr shows none.

    Attributes
    ----------
    size
        Rows that hold each.
    shown
        Of these, rows in which at least one of some columns has a value.
    weight
        The sum of their weights; their number without weights.
    """

    columns: tuple[Column, ...] = field(repr=False)
    size: Ints = field(repr=False)
    shown: Ints = field(repr=False)
    weight: Floats = field(repr=False)


def tuple_sums(
    table: Table, columns: Sequence[str], shown: Sequence[str], weight: str | None
) -> TupleSums:
    """Return the tuples of some columns with sums over their rows; refuse more than can be held."""
    _refuse_many(table, columns)
    rows = table.expression
    place = {n: f"c{table.schema.position(n)}" for n in (*columns, *shown, *filter(None, [weight]))}
    with without_values(table.source.name):
        flag = reduce(or_, [rows[place[name]].notnull() for name in shown])
        asked = {"size": rows.count(), "shown": flag.cast("int64").sum()}
        if weight is not None:
            heavy = rows[place[weight]].cast("float64")
            asked |= {"total": heavy.sum(), "least": heavy.min(), "weighed": heavy.count()}
        found = fetch(rows.group_by([place[name] for name in dict.fromkeys(columns)]).agg(**asked))
    size, visible = (found.column(n).cast(pa.int64()).to_numpy() for n in ("size", "shown"))
    total = size.astype(np.float64)
    if weight is not None:
        least, total = (found.column(n).to_numpy().astype(np.float64) for n in ("least", "total"))
        if (
            not ((least > 0) & np.isfinite(total)).all()
            or (found.column("weighed").cast(pa.int64()).to_numpy() != size).any()
        ):
            msg = f"weight {weight!r} must hold numbers above 0, none missing."
            raise DataError(msg)
    schema = table.schema
    coded = tuple(
        encode(cast(found.column(place[name]), schema[name].type), schema[name]) for name in columns
    )
    return TupleSums(coded, size, visible, total)


def _refuse_many(table: Table, columns: Sequence[str]) -> None:
    """Refuse combinations that do not fit into the memory of a run, before any is fetched."""
    most = cells_within()
    if most is None or table.rows * len(columns) <= most:
        return
    number = sizes_of_rows(table, columns).classes
    if number * len(columns) <= most:
        return
    limit = memory_limit() or 0
    msg = (
        f"{table.source.name} has {number:,} combinations of {list(columns)}, and at most"
        f" {most // len(columns):,} are held within {limit / 2**30:.1f} GiB: the risk is that of"
        " combinations.\n\nHint: coarsen these columns by a step recode before this one, leave one"
        " out, or allow more with [run] memory."
    )
    raise PlanError(msg)
