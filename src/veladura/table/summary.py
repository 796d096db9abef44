"""Summaries of columns for the codebook, from rows in memory or by queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.class_sizes import sizes_of_rows
from veladura.table.counts import MOST_VALUES, Counts
from veladura.table.database.connection import fetch, fetch_one
from veladura.table.database_errors import without_values
from veladura.table.schema import LABELLED, Field

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True)
class Summary:
    """Summary of one column.

    Attributes
    ----------
    missing
        Rows without a value.
    ends
        Lowest and highest value of numbers and dates; None for a column without values.
    values
        The distinct values of a column of categories or text, unless they are very many.
    distinct
        How many there are, where they are too many to be held.
    """

    missing: int
    ends: tuple[Any, Any] = field(default=(None, None), repr=False)
    values: pa.Array | None = field(default=None, repr=False)
    distinct: int | None = None


def summarize(tables: Sequence[Table]) -> dict[str, Summary]:
    """Return a summary of every column over all tables, which have one schema."""
    alone = len(tables) == 1  # distinct values of several tables cannot be added up
    parts = [
        _in_memory(table) if table.in_memory else _lazy(table, alone=alone) for table in tables
    ]
    return {
        field_.name: _joined(field_, [part[field_.name] for part in parts])
        for field_ in tables[0].schema
    }


def _joined(field_: Field, parts: Sequence[Summary]) -> Summary:
    missing = sum(part.missing for part in parts)
    if len(parts) == 1 and parts[0].distinct is not None:
        return parts[0]
    if field_.kind in LABELLED:
        values = pa.chunked_array([part.values for part in parts], type=field_.type).unique()
        return Summary(missing, values=values)
    lows, highs = ([end for part in parts if (end := part.ends[i]) is not None] for i in (0, 1))
    return Summary(missing, (min(lows, default=None), max(highs, default=None)))


def _in_memory(table: Table) -> dict[str, Summary]:
    summaries = {}
    for field_, column in zip(table.schema, table.data.columns, strict=True):
        if field_.kind in LABELLED:
            summaries[field_.name] = Summary(column.null_count, values=column.drop_null().unique())
        else:
            ends = pc.min_max(column).as_py()
            summaries[field_.name] = Summary(column.null_count, (ends["min"], ends["max"]))
    return summaries


def _lazy(table: Table, *, alone: bool) -> dict[str, Summary]:
    """Return summaries: numbers and dates by one query, categories from their counts, all once."""
    kept = table.cache.summaries
    for field_ in table.schema:
        asked_for = field_.kind not in LABELLED and field_.name not in kept
        if asked_for and table.knows_profile(field_.name):
            kept[field_.name] = _of_profile(table.profile(field_.name))
    asked = [
        (f"c{i}", field_)
        for i, field_ in enumerate(table.schema)
        if field_.kind not in LABELLED and field_.name not in kept
    ]
    if asked:
        figures: dict[str, Any] = {}
        for place, _ in asked:
            column = table.expression[place]
            figures |= {
                f"n{place}": column.count(),
                f"low{place}": column.min(),
                f"high{place}": column.max(),
            }
        with without_values(table.source.name):
            row = fetch(table.expression.aggregate(**figures))
        for place, field_ in asked:
            low, high = (
                row.column(f"{end}{place}").cast(field_.type)[0].as_py() for end in ("low", "high")
            )
            missing = table.rows - row.column(f"n{place}")[0].as_py()
            kept[field_.name] = Summary(missing, (low, high))
    return {
        field_.name: (
            kept[field_.name] if field_.name in kept else _values(table, field_.name, alone=alone)
        )
        for field_ in table.schema
    }


def _of_profile(profile: Counts) -> Summary:
    """Return the ends of a distribution that was counted: its lowest and highest value stay."""
    column, size = profile.columns[0], profile.size
    present = np.flatnonzero(~column.missing)
    missing = int(size[column.missing].sum())
    if not present.size:
        return Summary(missing)
    order = present[np.argsort(column.values[present], kind="stable")]
    low, high = column.take(order[[0, -1]]).to_arrow().to_pylist()
    return Summary(missing, (low, high))


def _values(table: Table, name: str, *, alone: bool) -> Summary:
    if alone and not table.knows_counts([name]):
        groups = sizes_of_rows(table, [name]).classes
        if groups > MOST_VALUES:
            column = table.expression[f"c{table.schema.position(name)}"]
            with without_values(table.source.name):
                row = fetch_one(table.expression, {"known": column.count()})
            missing = table.rows - int(row["known"])
            return Summary(missing, distinct=groups - (missing > 0))
    counts = table.counts([name])
    column = counts.columns[0]
    return Summary(
        int(counts.size[column.missing].sum()), values=column.to_arrow().drop_null().unique()
    )
