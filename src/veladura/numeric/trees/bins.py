"""Predictors as small codes: each value its own bin where there are few, quantiles where there are many."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from veladura.table.codes import Column

MAX_BINS = 255


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
    edges: NDArray[np.float64] | None = field(repr=False)

    @property
    def categorical(self) -> bool:
        """Whether codes have no order."""
        return self.edges is None

    def codes(
        self, values: NDArray[np.float64] | NDArray[np.int64], missing: NDArray[np.bool_]
    ) -> NDArray[np.uint16]:
        """Return the codes of some values; a category the tree never saw has a code of its own, above all others."""
        if self.edges is None:
            return np.where(missing, self.levels - 1, np.minimum(values, self.levels)).astype(
                np.uint16
            )
        from veladura.numeric.trees.draws import bin_of

        found: NDArray[np.uint16] = bin_of(self.edges, values.astype(np.float64))
        found[missing] = self.levels - 1
        return found


def binning_of(column: Column) -> Binning:
    """Return the bins of a column: categories as they are, ordered ones and numbers by cuts between values.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from veladura.table.codes import encode
    >>> from veladura.table.schema import Field
    >>> column = encode(pa.array([1, 5, None, 9]), Field("x", "integer", pa.int64()))
    >>> binning_of(column).codes(np.array([0, 4, 6, 0]), np.array([False, False, False, True])).tolist()
    [0, 1, 1, 3]
    """
    if column.labels is not None and column.field.kind != "ordered":
        return Binning(len(column.labels) + 1, None)
    edges = cuts(column.values[~column.missing].astype(np.float64))
    return Binning(edges.size + 2, edges)


def cuts(values: NDArray[np.float64], most: int = MAX_BINS) -> NDArray[np.float64]:
    """Return cuts halfway between values: between all of them where there are few, else between quantiles.

    Examples
    --------
    >>> cuts(np.array([3.0, 1.0, 1.0, 2.0])).tolist()
    [1.5, 2.5]
    """
    ordered = np.sort(values)
    starts = np.flatnonzero(np.diff(ordered) > 0) + 1  # where a new value begins
    if starts.size + 1 > most:
        wanted = np.linspace(0, ordered.size, most + 1)[1:-1]
        starts = np.unique(starts[np.minimum(np.searchsorted(starts, wanted), starts.size - 1)])
    lower, upper = ordered[starts - 1], ordered[starts]
    middle = lower + (upper - lower) / 2
    return np.where(middle < upper, middle, lower)  # neighbours without a number between them
