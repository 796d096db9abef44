"""Predictors as small codes: a bin for each value where there are few, quantiles where many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veladura.base.arrays import Floats, Ints, Mask
from veladura.base.jit import compiled
from veladura.numeric.distinct import distinct
from veladura.numeric.trees.values import Values

if TYPE_CHECKING:
    from veladura.table.codes import Column

MAX_BINS = 255
TOGETHER = 64  # values that are looked up at the same time


@dataclass(frozen=True, eq=False)
class Binning:
    """How the values of one column become codes. Holds original values: its repr shows none.

    Attributes
    ----------
    levels
        Number of codes; the last one means missing.
    edges
        Between the bins of a number; None for categories, whose codes stay as they are.
    """

    levels: int
    edges: Floats | None = field(repr=False)

    @property
    def categorical(self) -> bool:
        """Whether codes have no order."""
        return self.edges is None

    def codes(self, values: Floats | Ints, missing: Mask) -> NDArray[np.uint16]:
        """Return the codes of some values; a category that is new to the tree has the highest."""
        if self.edges is None:
            return np.where(missing, self.levels - 1, np.minimum(values, self.levels)).astype(
                np.uint16
            )
        codes: NDArray[np.uint16] = bin_of(self.edges, values.astype(np.float64))
        codes[missing] = self.levels - 1
        return codes

    def codes_of(self, column: Column) -> NDArray[np.uint16]:
        """Return the codes of a column whose distinct values are known: one look-up a value."""
        if self.edges is None:
            return self.codes(column.values, column.missing)
        values = Values.of_column(column)
        if not values.distinct.size:
            return self.codes(column.values, column.missing)
        codes = bin_of(self.edges, values.distinct.astype(np.float64)).take(values.place)
        codes[column.missing] = self.levels - 1
        return codes


def binning_of(column: Column) -> Binning:
    """Return the bins of a column: its categories, or cuts between ordered values and numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veladura.table.codes import encode
    >>> from veladura.table.schema import Field
    >>> column = encode(pa.array([1, 5, None, 9]), Field("x", "integer", pa.int64()))
    >>> missing = np.array([False, False, False, True])
    >>> binning_of(column).codes(np.array([0, 4, 6, 0]), missing).tolist()
    [0, 1, 1, 3]
    """
    if column.labels is not None and column.field.kind != "ordered":
        return Binning(len(column.labels) + 1, None)
    values = Values.of_column(column)
    edges = cuts_between(values.distinct.astype(np.float64), values.holders)
    return Binning(edges.size + 2, edges)


def cuts(values: Floats, most: int = MAX_BINS) -> Floats:
    """Return cuts halfway between values: between all where there are few, else at quantiles.

    Examples
    --------
    >>> cuts(np.array([3.0, 1.0, 1.0, 2.0])).tolist()
    [1.5, 2.5]
    """
    return cuts_between(*distinct(values), most)


def cuts_between(ordered: Floats, count: Ints, most: int = MAX_BINS) -> Floats:
    """Return the same for distinct values in order, and how often each occurs."""
    at = np.arange(max(ordered.size - 1, 0))
    if ordered.size > most:
        starts = np.cumsum(count)[:-1]  # where a new value begins
        wanted = np.linspace(0, int(count.sum()), most + 1)[1:-1]
        at = np.unique(np.minimum(np.searchsorted(starts, wanted), starts.size - 1))
    lower, upper = ordered[at], ordered[at + 1]
    middle = lower + (upper - lower) / 2
    return np.where(middle < upper, middle, lower)  # neighbours without a number between them


class Predictors(NamedTuple):
    """Binned columns side by side, with what the kernel must know of each.

    The last ``scores`` of them are linear scores.
    """

    bins: NDArray[np.uint16]
    categorical: Mask
    levels: Ints
    scores: int = 0


def stack(columns: Sequence[NDArray[np.uint16]], binnings: Sequence[Binning]) -> Predictors:
    """Return binned columns as the kernel takes them: a row for each record, side by side."""
    bins = (
        np.ascontiguousarray(np.column_stack(columns))
        if columns
        else np.zeros((0, 0), dtype=np.uint16)
    )
    categorical, levels = [b.categorical for b in binnings], [b.levels for b in binnings]
    return Predictors(bins, np.array(categorical, dtype=bool), np.array(levels, dtype=np.int64))


def bin_columns(columns: Mapping[str, Column]) -> tuple[dict[str, Binning], Predictors]:
    """Return the bins of some columns by name, and the columns in these bins side by side."""
    binnings = {name: binning_of(column) for name, column in columns.items()}
    codes = [binnings[name].codes_of(column) for name, column in columns.items()]
    return binnings, stack(codes, list(binnings.values()))


@compiled("uint16[::1](float64[::1], float64[::1])", wraparound=False)
def bin_of(edges: Floats, values: Floats) -> NDArray[np.uint16]:
    """Return how many edges lie below each value.

    The same as ``searchsorted``, and faster for few edges and many values in no order: some values
    are halved together, so that none waits for another.
    """
    bins = np.zeros(values.size, dtype=np.uint16)
    if edges.size == 0:
        return bins
    low = np.empty(TOGETHER, dtype=np.int64)
    for first in range(0, values.size, TOGETHER):
        size = min(TOGETHER, values.size - first)
        for i in range(size):
            low[i] = 0
        left = edges.size
        while left > 1:
            half = left >> 1
            for i in range(size):
                low[i] += half if edges[low[i] + half - 1] < values[first + i] else 0
            left -= half
        for i in range(size):
            bins[first + i] = low[i] + (edges[low[i]] < values[first + i])
    return bins
