"""Facts on the columns of a table, counts, never values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veladura.table.codes import label_texts
from veladura.table.database.connection import fetch_one
from veladura.table.database_errors import without_values
from veladura.table.schema import LABELLED, Field, Kind
from veladura.table.table import Table

LONG_TEXT = 40
UNIQUE_SHARE = 0.95


@dataclass(frozen=True)
class Facts:
    """Counts about one column, enough to guess its kind."""

    name: str
    kind: Kind
    present: int
    distinct: int
    longest: int
    rows: int = 0
    format: str | None = None
    missing: tuple[str, ...] = field(default=(), repr=False)
    note: str = ""


def inspect_table(table: Table) -> dict[str, Facts]:
    """Return facts on every column of a table, with the notes on guessed kinds."""
    figures = _figures(table, table.names)
    return {field.name: _facts(table, field, figures[field.name]) for field in table.schema}


def _facts(table: Table, field: Field, figures: tuple[int, int, int]) -> Facts:
    facts = Facts(field.name, field.kind, *figures, rows=table.rows)
    if (seen := table.guessed.get(field.name)) is None:
        return facts
    return replace(facts, format=seen.format, missing=seen.missing, note=seen.note)


def _figures(table: Table, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return numbers of present and distinct values, and the longest text, by column."""
    if table.in_memory:
        return {
            name: _figures_of(table.data.column(table.schema.position(name)), table.schema[name])
            for name in names
        }
    table.count_few_valued()
    counted = {n: _figures_by_counts(table, n) for n in names if (n,) in table.cache.counts}
    return counted | _figures_there(table, [name for name in names if name not in counted])


def _figures_by_counts(table: Table, name: str) -> tuple[int, int, int]:
    """Return the figures of a column that has been counted."""
    counts = table.counts([name])
    column = counts.columns[0]
    given = ~column.missing
    longest = 0
    if column.labels is not None:
        texts = label_texts(column)
        longest = max((len(texts[code]) for code in column.values[given]), default=0)
    return int(counts.size[given].sum()), int(given.sum()), longest


def _figures_there(table: Table, names: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return the figures of the other columns by one query."""
    if not names:
        return {}
    figures: dict[str, Any] = {}
    for i, name in enumerate(names):
        column = table.expression[f"c{table.schema.position(name)}"]
        figures |= {f"present{i}": column.count(), f"distinct{i}": column.nunique()}
        if table.schema[name].kind in LABELLED:
            figures[f"longest{i}"] = column.length().max()
    with without_values(table.source.name):
        row = fetch_one(table.expression, figures)
    return {
        name: (
            int(row[f"present{i}"]),
            int(row[f"distinct{i}"]),
            int(row.get(f"longest{i}") or 0),
        )
        for i, name in enumerate(names)
    }


def _figures_of(column: pa.ChunkedArray, field: Field) -> tuple[int, int, int]:
    present = len(column) - column.null_count
    distinct = pc.count_distinct(column, mode="only_valid").as_py()
    longest = (
        pc.max(pc.utf8_length(column)).as_py() or 0
        if field.kind in LABELLED and pa.types.is_string(column.type)
        else 0
    )
    return present, distinct, longest
