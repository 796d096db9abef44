"""Columns as plain arrays, rows in a canonical order that no source and no server can move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.table.schema import LABELLED, Field

if TYPE_CHECKING:
    from veladura.table.table import Table

MAX_DECIMALS = 9


@dataclass(frozen=True, eq=False)
class Column:
    """One column as plain arrays.

    Attributes
    ----------
    values
        Codes into ``labels`` for a labelled column, else the numbers; days or time units for dates.
        What stands where ``missing`` is true has no meaning.
    labels
        The distinct values in order (by code point, or as declared), as an Arrow array.
    """

    field: Field
    values: NDArray[Any] = field(repr=False)
    missing: NDArray[np.bool_] = field(repr=False)
    labels: pa.Array | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.field.name

    @property
    def size(self) -> int:
        """Number of rows."""
        return int(self.values.size)

    def take(self, rows: NDArray[np.int64]) -> Column:
        """Return the column at some rows."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])

    def with_values(self, values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
        """Return the column with new values of the same kind."""
        return replace(self, values=values, missing=self.missing if missing is None else missing)

    def key(self) -> NDArray[Any]:
        """Return what rows are sorted by: the values, missing last."""
        top = np.inf if self.values.dtype.kind == "f" else np.iinfo(self.values.dtype).max
        return np.where(self.missing, top, self.values) if self.missing.any() else self.values

    @cached_property
    def decimals(self) -> int | None:
        """Number of decimals that write every value exactly; None when more than nine would be needed."""
        if self.values.dtype.kind != "f":
            return 0
        values = self.values[~self.missing]
        for decimals in range(MAX_DECIMALS + 1):
            if np.array_equal(np.round(values, decimals), values):
                return decimals
        return None

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as floats, NaN where missing, after refusing infinite ones."""
        numbers = np.where(self.missing, np.nan, self.values.astype(np.float64))
        if infinite := int(np.isinf(numbers).sum()):
            msg = f"column {self.name!r} has {infinite} infinite values.\n\nHint: declare them as missing or remove them."
            raise DataError(msg)
        return numbers

    def rounded(self, numbers: NDArray[np.float64]) -> Column:
        """Return the column with new numbers, written with the decimals of the old ones."""
        missing = np.isnan(numbers)
        clean = np.where(missing, 0.0, numbers)
        if self.decimals is not None:
            clean = np.round(clean, self.decimals) + 0.0  # no negative zero
        if self.values.dtype.kind != "f":
            limit = np.iinfo(np.int64)
            clean = np.clip(clean, limit.min, np.nextafter(limit.max, 0)).astype(np.int64)
        return replace(self, values=clean, missing=missing)

    def to_arrow(self) -> pa.Array:
        """Return the column in its storage type."""
        if self.labels is not None:
            indices = pa.array(self.values, mask=self.missing)
            return self.labels.take(indices).cast(self.field.type)
        values = pa.array(self.values, mask=self.missing)
        if pa.types.is_date32(self.field.type):
            return values.cast(pa.int32()).cast(self.field.type)
        return values.cast(self.field.type)


@dataclass(frozen=True, eq=False)
class Codes(Mapping[str, Column]):
    """Columns in the canonical order of rows, and where each row stands in the table."""

    columns: Mapping[str, Column] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)


def codes(table: Table, columns: Sequence[str]) -> Codes:
    """Return some columns of a table as plain arrays, in the canonical order of rows.

    Rows are sorted by these columns; ties, by the others from left to right. So neither the
    order of the source nor a column appended to it moves a draw, and rows that still tie are equal.
    """
    table.schema.check("columns", columns)
    ordered = [*columns, *(name for name in table.names if name not in columns)]
    used = {name: encode(table.arrow.column(name), table.schema[name]) for name in columns}
    keys = (used[name].key() if name in used else encode(table.arrow.column(name), table.schema[name]).key() for name in ordered)
    rows = canonical_order(keys, table.arrow.num_rows)
    return Codes({name: column.take(rows) for name, column in used.items()}, rows)


def encode(array: pa.ChunkedArray | pa.Array, field_: Field) -> Column:
    """Return an Arrow column as plain arrays, in its own order."""
    flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if field_.kind in LABELLED:
        return _encode_labels(flat, field_)
    if pa.types.is_date32(flat.type):
        flat = flat.cast(pa.int32())
    if not pa.types.is_floating(flat.type):
        flat = flat.cast(pa.int64())
    missing = flat.is_null().to_numpy(zero_copy_only=False)
    values = (flat.fill_null(0) if flat.null_count else flat).to_numpy(zero_copy_only=False)
    if values.dtype.kind == "f" and (unknown := np.isnan(values)).any():
        missing, values = missing | unknown, np.where(unknown, 0.0, values)
    return Column(field_, values, missing)


def _encode_labels(flat: pa.Array, field_: Field) -> Column:
    """Return codes into the sorted labels, or into the declared order."""
    encoded = flat.dictionary_encode()
    labels = encoded.dictionary
    missing = encoded.indices.is_null().to_numpy(zero_copy_only=False)
    places = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    if field_.order:
        order = [field_.order.index(str(label)) for label in labels.to_pylist()]
        labels, rank = pa.array(field_.order).cast(labels.type), np.array(order, dtype=np.int64)
    else:
        sort = pc.sort_indices(labels).to_numpy()
        rank = np.empty(len(sort), dtype=np.int64)
        rank[sort] = np.arange(len(sort))
        labels = labels.take(pa.array(sort))
    values = rank[places] if len(rank) else np.zeros(len(flat), dtype=np.int64)
    return Column(field_, values, missing, labels)


def canonical_order(keys: Iterable[NDArray[Any]], size: int) -> NDArray[np.int64]:
    """Return the rows sorted by the first key, ties by the next, and so on until none is left.

    Examples
    --------
    >>> canonical_order([np.array([2, 1, 2]), np.array([5, 9, 4])], 3).tolist()
    [1, 2, 0]
    """
    order = np.arange(size, dtype=np.int64)
    tied = np.arange(size)  # places in `order` whose rows are not told apart yet
    block = np.zeros(size, dtype=np.int64)  # which tied block each of them is in
    for key in keys:
        if tied.size == 0:
            break
        values = key[order[tied]]
        inner = np.lexsort((values, block))
        order[tied], values = order[tied][inner], values[inner]
        starts = np.ones(tied.size, dtype=bool)
        starts[1:] = (values[1:] != values[:-1]) | (block[1:] != block[:-1])
        block = np.cumsum(starts)
        alone = starts & np.append(starts[1:], True)
        tied, block = tied[~alone], block[~alone]
    return order
