"""Columns as plain arrays, rows in a canonical order that does not depend on the source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veladura.errors import DataError
from veladura.table.order import canonical_order
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
        Values where ``missing`` is true have no meaning.
    missing
        Which rows have no value.
    labels
        The distinct values in order (by code point, or as declared), as an Arrow array.
    """

    field: Field
    values: NDArray[Any] = attribute(repr=False)
    missing: NDArray[np.bool_] = attribute(repr=False)
    labels: pa.Array | None = attribute(default=None, repr=False)

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
        values = self.values[rows]
        return replace(
            self,
            values=values,
            missing=self.missing[rows] if self.missing.any() else np.zeros(values.size, dtype=bool),
        )

    def with_values(self, values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Column:
        """Return the column with new values of the same kind."""
        return replace(self, values=values, missing=self.missing if missing is None else missing)

    def key(self) -> NDArray[Any]:
        """Return the sort key of each row: its value, missing last."""
        top = np.inf if self.values.dtype.kind == "f" else np.iinfo(self.values.dtype).max
        return np.where(self.missing, top, self.values) if self.missing.any() else self.values

    def keys(self) -> Iterator[NDArray[Any]]:
        """Yield the sort key, and a second one where the largest value ties with missing."""
        key = self.key()
        yield key
        if key is not self.values:
            top = np.inf if key.dtype.kind == "f" else np.iinfo(key.dtype).max
            if np.any((self.values == top) & ~self.missing):
                yield self.missing.astype(np.int64)

    @cached_property
    def decimals(self) -> int | None:
        """Number of decimals that write every value exactly; None for more than nine."""
        if self.values.dtype.kind != "f":
            return 0
        values = self.values[~self.missing]
        for decimals in range(MAX_DECIMALS + 1):
            if np.array_equal(np.round(values, decimals), values):
                return decimals
        return None

    def with_decimals(self, decimals: int | None) -> Column:
        """Return the column with the decimals of a larger one, of which it is a part."""
        column = replace(self)
        column.__dict__["decimals"] = decimals  # as if they had been computed
        return column

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as floats, NaN where missing; infinite values are refused."""
        numbers = np.where(self.missing, np.nan, self.values.astype(np.float64))
        if infinite := int(np.isinf(numbers).sum()):
            msg = (
                f"column {self.name!r} has {infinite} infinite values.\n\nHint: declare them as"
                " missing or remove them."
            )
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
        """Return the column in its storage type; no zero has a sign, which would mark a row."""
        mask = self.missing if self.missing.any() else None
        unsigned = self.values + 0.0 if self.values.dtype.kind == "f" else self.values
        values = pa.array(unsigned, mask=mask)
        if self.labels is not None:
            if len(self.labels) == 0:
                return pa.nulls(self.size, self.field.type)
            return self.labels.cast(self.field.type).take(values)
        if pa.types.is_date32(self.field.type):
            return values.cast(pa.int32()).cast(self.field.type)
        return values.cast(self.field.type)


@dataclass(frozen=True, eq=False)
class Codes(Mapping[str, Column]):
    """Columns in the canonical order of rows, and the row number of each in the table."""

    columns: Mapping[str, Column] = attribute(repr=False)
    rows: NDArray[np.int64] = attribute(repr=False)

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
    whole = table.units  # rows that tie in all but their person are not equal
    arrow, encoded = whole.arrow, dict[str, Column]()

    def keys() -> Iterator[NDArray[Any]]:
        for name in dict.fromkeys([*columns, *table.names, *whole.names]):
            column = encode(arrow.column(name), whole.schema[name])
            if name in columns:
                encoded[name] = column
            yield from column.keys()

    rows = canonical_order(keys(), arrow.num_rows)
    taken = {}
    for name in dict.fromkeys(columns):  # one at a time, so that none is in memory twice
        column = encoded.pop(name, None)
        if column is None:
            column = encode(arrow.column(name), table.schema[name])
        taken[name] = column.take(rows)
        # what encoding leaves behind adds up to a third of the table
        pa.default_memory_pool().release_unused()
    return Codes(taken, rows)


def encode(array: pa.ChunkedArray | pa.Array, field_: Field) -> Column:
    """Return an Arrow column as plain arrays, in its own order."""
    if field_.kind in LABELLED:
        return _encode_labels(array, field_)
    flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_date32(flat.type):
        flat = flat.cast(pa.int32())
    if not pa.types.is_floating(flat.type):
        flat = flat.cast(pa.int64())
    missing = _nulls(flat)
    values = (flat.fill_null(0) if flat.null_count else flat).to_numpy(zero_copy_only=False)
    if values.dtype.kind != "f":
        return Column(field_, values, missing)
    values = values.astype(np.float64, copy=False) + 0.0  # a negative zero sorts and counts as zero
    if (not_a_number := np.isnan(values)).any():
        missing, values = missing | not_a_number, np.where(not_a_number, 0.0, values)
    return Column(field_, values, missing)


def _nulls(array: pa.Array) -> NDArray[np.bool_]:
    if not array.null_count:
        return np.zeros(len(array), dtype=bool)
    nulls: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return nulls


def _encode_labels(array: pa.ChunkedArray | pa.Array, field_: Field) -> Column:
    """Return codes into the sorted labels, or into the declared order."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    labels, places = encoded.dictionary, encoded.indices
    missing = _nulls(places)
    if len(labels) == 0:
        return Column(field_, np.zeros(len(array), dtype=np.int64), missing, labels)
    labels, rank = _ordered_labels(labels, field_) if field_.order else _sorted_labels(labels)
    flat = (places.fill_null(0) if places.null_count else places).to_numpy(zero_copy_only=False)
    codes_ = rank[flat]
    if places.null_count:
        codes_[missing] = 0  # must not depend on the order of rows either
    return Column(field_, codes_, missing, labels)


def _sorted_labels(labels: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return labels by code point (or value), and the place of each old label among them."""
    sort = pc.sort_indices(labels)
    rank = np.empty(len(sort), dtype=np.int64)
    rank[sort.to_numpy()] = np.arange(len(sort))
    return labels.take(sort), rank


def _ordered_labels(labels: pa.Array, field_: Field) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return labels in their declared order, and the place of each old label among them."""
    place = {label: i for i, label in enumerate(field_.order)}
    rank = np.array(
        [place.get(label_text(label), -1) for label in labels.to_pylist()], dtype=np.int64
    )
    if unlisted := int(np.count_nonzero(rank < 0)):
        msg = (
            f"column {field_.name!r} holds {unlisted} categories that are not in its declared"
            " order.\n\nHint: add them to the order, or declare another kind."
        )
        raise DataError(msg)
    if labels.type == pa.bool_():
        return pa.array([label == "true" for label in field_.order]), rank
    return pa.array(field_.order, pa.string()).cast(labels.type), rank


def relabelled(column: Column, labels: pa.Array) -> Column:
    """Return a column with its codes among other labels, which must hold all that it has."""
    if column.labels is None:
        return column
    if not len(column.labels):
        return replace(column, labels=labels)
    place = pc.index_in(column.labels.cast(labels.type), labels)
    if place.null_count:
        msg = (
            f"column {column.name!r} has {place.null_count} categories that it had not when it was"
            " counted.\n\nHint: give a table that nobody writes to meanwhile."
        )
        raise DataError(msg)
    values = place.cast(pa.int64()).to_numpy()[column.values]
    return replace(column, values=np.where(column.missing, 0, values), labels=labels)


def label_texts(column: Column) -> list[str]:
    """Return the categories of a column as text, in the order of their codes."""
    if column.labels is None:
        msg = f"column {column.name!r} has no categories."
        raise ValueError(msg)
    return [label_text(label) for label in column.labels.to_pylist()]


def label_text(label: object) -> str:
    """Return a category as the text that orders, labels and codebooks use for it."""
    return str(label).lower() if isinstance(label, bool) else str(label)
