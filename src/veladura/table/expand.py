"""A table of counts: each row stands for as many people as its column of counts says."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from veladura.errors import DataError, PlanError
from veladura.table.schema import NUMERIC, UNITS, Schema
from veladura.table.table import from_arrow

if TYPE_CHECKING:
    from veladura.table.table import Table

MOST_ROWS = 50_000_000
MOST_CELLS = 100_000  # rows of a table of which it is asked whether it holds counts
COUNTED = {"n", "count", "counts", "freq", "frequency", "cases", "people", "persons", "number"}


def expanded(table: Table, counts: str) -> Table:
    """Return a table of counts as one row for each person, without the column of counts.

    Parameters
    ----------
    counts
        The column that says how many people a row stands for.
    """
    if counts not in table.names:
        what = "counts: column"
        raise PlanError.unknown(what, counts, table.names)
    if (kind := table.schema[counts].kind) not in NUMERIC:
        msg = f"the column of counts {counts!r} must hold whole numbers, not {kind}."
        raise DataError(msg)
    if units := table.schema.of_role(*UNITS):
        msg = (
            f"a table of counts has no people with several rows, and {units} are declared as"
            " numbers of people or households.\n\nHint: leave these columns out, or counts."
        )
        raise PlanError(msg)
    rows = table.fetched()
    times = _whole(rows, counts)
    kept = [field for field in rows.schema if field.name != counts]
    places = pa.array(np.repeat(np.arange(times.size), times))
    arrow = rows.arrow.select([field.name for field in kept]).take(places)
    declared = {name: given for name, given in table.source.columns.items() if name != counts}
    source = replace(table.source, columns=declared, counts=counts)
    return from_arrow(arrow, Schema(tuple(kept)), source)


def _whole(table: Table, name: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the counts; an error gives the number of rows that have none."""
    column = table.column(name)
    values = np.where(column.missing, -1, column.values.astype(np.float64))
    wrong = (values < 0) | (values != np.rint(values)) | ~np.isfinite(values)
    if wrong.any():
        msg = (
            f"the column of counts {name!r} is missing, negative or not a whole number in"
            f" {int(wrong.sum())} rows.\n\nHint: a count says how many people a row stands for;"
            " correct these rows, or declare the column as a weight."
        )
        raise DataError(msg)
    if (total := float(values.sum())) > MOST_ROWS:  # before they are whole: 1e30 has no place there
        msg = (
            f"the table of counts stands for {total:,.6g} rows, more than {MOST_ROWS:,}.\n\nHint:"
            " take a sample of the counts, or coarser categories."
        )
        raise DataError(msg)
    return values.astype(np.int64)


def count_column(table: Table) -> str | None:
    """Return the column that looks like counts of identical rows; None where there is none.

    Its name says so, it holds whole numbers, and every combination of the other columns is there
    once, as in a contingency table.
    """
    if table.rows > MOST_CELLS:
        return None
    for field in table.schema:
        others = [name for name in table.names if name != field.name]
        if (
            pa.types.is_integer(field.type)
            and COUNTED & set(re.split(r"[^a-z]+", field.name.lower()))
            and others
            and table.counts(others).size.max(initial=0) == 1
        ):
            return field.name
    return None
