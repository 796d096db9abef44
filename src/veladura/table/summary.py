"""What a codebook says of each column: from memory, or asked in one query where the data lives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.database.connection import fetch
from veladura.table.database_errors import told_without_values
from veladura.table.schema import LABELLED, Field

if TYPE_CHECKING:
    from veladura.table.table import Table


@dataclass(frozen=True)
class Summary:
    """One column in a few figures.

    Attributes
    ----------
    missing
        Rows without a value.
    ends
        Lowest and highest value of numbers and dates; None of a column without values.
    values
        The distinct values of a column of categories or text.
    """

    missing: int
    ends: tuple[Any, Any] = field(default=(None, None), repr=False)
    values: pa.Array | None = field(default=None, repr=False)


def summarize(tables: Sequence[Table]) -> dict[str, Summary]:
    """Return every column of some tables of one schema, taken together."""
    each = [_in_memory(table) if table.in_memory else _lazy(table) for table in tables]
    return {
        about.name: _joined(about, [one[about.name] for one in each]) for about in tables[0].schema
    }


def _joined(about: Field, parts: Sequence[Summary]) -> Summary:
    missing = sum(part.missing for part in parts)
    if about.kind in LABELLED:
        values = pa.chunked_array([part.values for part in parts], type=about.type).unique()
        return Summary(missing, values=values)
    lows, highs = ([end for part in parts if (end := part.ends[i]) is not None] for i in (0, 1))
    return Summary(missing, (min(lows, default=None), max(highs, default=None)))


def _in_memory(table: Table) -> dict[str, Summary]:
    found = {}
    for about, column in zip(table.schema, table.arrow.columns, strict=True):
        if about.kind in LABELLED:
            found[about.name] = Summary(column.null_count, values=column.drop_null().unique())
        else:
            ends = pc.min_max(column).as_py()
            found[about.name] = Summary(column.null_count, (ends["min"], ends["max"]))
    return found


def _lazy(table: Table) -> dict[str, Summary]:
    """Ask for all numbers and dates at once, and for each column of categories by itself."""
    figures: dict[str, Any] = {"rows": table.expression.count()}
    for i, about in enumerate(table.schema):
        column = table.expression[f"c{i}"]
        if about.kind not in LABELLED:
            figures |= {f"n{i}": column.count(), f"low{i}": column.min(), f"high{i}": column.max()}
    with told_without_values(table.source.name):
        row = fetch(table.expression.aggregate(**figures))
    rows = row.column("rows")[0].as_py()
    found = {}
    for i, about in enumerate(table.schema):
        if about.kind in LABELLED:
            found[about.name] = _values(table, about)
        else:
            low, high = (
                row.column(f"{end}{i}").cast(about.type)[0].as_py() for end in ("low", "high")
            )
            found[about.name] = Summary(rows - row.column(f"n{i}")[0].as_py(), (low, high))
    return found


def _values(table: Table, about: Field) -> Summary:
    counts = table.counts([about.name])
    column = counts.columns[0]
    return Summary(
        int(counts.size[column.missing].sum()), values=column.to_arrow().drop_null().unique()
    )
