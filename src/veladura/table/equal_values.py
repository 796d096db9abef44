"""Values that are equal but look different: -0.0 and 0.0, NaN and missing.

Counts take them for one value. Released as they were, they would mark rows inside a class whose
members must look the same, so every table has them in one form from its opening on. Texts that
differ in any sign (blanks at the end, forms of an accent) are different categories, in counts and
in files alike: nothing is done to them.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def plain_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column with NaN as missing and a negative zero as zero; others stay as they are."""
    if not _is_float(column.type):
        return column
    if pc.any(pc.is_nan(column)).as_py():
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if _has_negative_zero(column):
        column = pc.if_else(pc.equal(column, 0.0), pa.scalar(0.0, column.type), column)
    return column


def has_twins(column: pa.ChunkedArray) -> bool:
    """Whether a column has negative zeros, or NaN beside missing values."""
    twins = Twins()
    twins.look(pa.table({"column": column}))
    return twins.found


class Twins:
    """Looks for negative zeros, and for NaN beside missing values, in columns that pass by."""

    def __init__(self) -> None:
        self.found = False
        self._missing: set[str] = set()
        self._undefined: set[str] = set()

    def look(self, rows: pa.Table) -> None:
        """Look at some more rows."""
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if not _is_float(column.type):
                continue
            if column.null_count:
                self._missing.add(name)
            if pc.any(pc.is_nan(column)).as_py():
                self._undefined.add(name)
            self.found = self.found or _has_negative_zero(column)
        self.found = self.found or not self._missing.isdisjoint(self._undefined)


def _has_negative_zero(column: pa.ChunkedArray) -> bool:
    """Whether a zero has a sign: dividing by it gives minus infinity."""
    zeros = column.filter(pc.fill_null(pc.equal(column, 0.0), fill_value=False))
    if not len(zeros):
        return False
    return bool(pc.any(pc.less(pc.divide(pa.scalar(1.0, column.type), zeros), 0.0)).as_py())


def _is_float(type_: pa.DataType) -> bool:
    return bool(pa.types.is_float32(type_) or pa.types.is_float64(type_))
